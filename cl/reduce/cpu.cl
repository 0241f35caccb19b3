// Reduce for a CPU: rows, vectors and segments, or columns.
//
// A work-group is one work-item, which is one thread, and uses no local memory. A thread reads long contiguous chunks. The
// compiler vectorises LANES independent accumulators, which are a structure of arrays.
//
// Launch: one dimension, local size 1; group g computes a range of neighbouring jobs. A job is a row or, if there are few
// rows, one of its `parts` chunks; for columns (COLUMNS 1) a strip of STRIP columns, or a chunk of its rows.
#include "reduce/input.clh"
#include "common/convert.clh"
#include "common/hand_over.clh"
#include "common/loose.clh"
#include "common/read_ahead.clh"
#include "common/vector_loop.clh"
#include "reduce/half_codes.clh"

#ifndef ONE_LAUNCH
#define ONE_LAUNCH 0  // 1: the last part of a result to finish combines all; 0: a second launch does (reduce/finish.cl)
#endif
#ifndef NARROW
#define NARROW 0  // sums of integers of 8 and 16 bits: 1 of int8, 2 of uint8, 3 of int16, 4 of uint16
#endif
#ifndef SHORT_ROWS
#define SHORT_ROWS 0  // 1: rows have few elements
#endif
#ifndef FOUR_ROWS
#define FOUR_ROWS 0  // 1: dot products of four rows at once
#endif
#ifndef FOLDS
#define FOLDS 0  // 1: a strip has room for several rows of columns, whose order makes no difference
#endif
#define STRIP LANES  // columns that are accumulated at once

#if ELEMENT_HALF
#define BLOCK (LANES < 64 ? 64 : LANES)  // elements that are read at once
DEFINE_LOAD_RUN(load_run, private, VALUE)
// Accumulates `count` neighbours, at most BLOCK, in turns of one a lane. Element i is number `place` of the elements of its result.
// `along`: 1 if the other factor has an element for each, 0 if it has one for all.
static inline void accumulate_run(lane_set* lanes, row_source row, ulong i, ulong place, const uint along, const uint count) {
  VALUE first[BLOCK];
  load_run(first, row.first, i, count);
#if OPERATION == OP_DOT
  VALUE other[BLOCK];
  if (along) {
    load_run(other, row.other, place, count);
  } else {
    const VALUE same = load_value(row.other, place);
    for (uint k = 0; k < count; ++k) other[k] = same;
  }
#endif
  for (uint turn = 0; turn < count; turn += LANES) {
    VECTOR_LOOP
    for (uint k = 0; k < min((uint)LANES, count - turn); ++k) {
#if OPERATION == OP_DOT
      const term t = {(ACC)first[turn + k], (ACC)other[turn + k]};
#else
      const term t = first[turn + k];
#endif
      put_lane(lanes, k, accumulate(get_lane(lanes, k), t, along ? place + turn + k : place));
    }
  }
}
#endif

#if ELEMENT_HALF && !COMPENSATED && LANES == 64 && (OPERATION == OP_SUM || OPERATION == OP_MEAN || OPERATION == OP_PRODUCT)
#define WHOLE_BLOCKS 1
typedef JOIN(ACC, 16) acc_run;
// Accumulates as many whole blocks as there are, in registers: loops over lanes would keep these in memory. Returns the first element that is
// left.
static inline ulong accumulate_blocks(lane_set* lanes, row_source row, ulong begin, ulong end) {
  acc_run runs[4];
  ulong i = begin;
#pragma unroll
  for (uint v = 0; v < 4; ++v) runs[v] = identity();
  for (; i + 64 <= end; i += 64) {
    READ_ON(row.first + i, 64);
#pragma unroll
    for (uint v = 0; v < 4; ++v) runs[v] = COMBINE(runs[v], CONVERT(acc_run, load_loose_halves16(row.first + i + 16 * v)));
  }
  for (uint v = 0; v < 4; ++v) {
    union { acc_run all; ACC each[16]; } made;
    made.all = runs[v];
    for (uint k = 0; k < 16; ++k) put_lane(lanes, 16 * v + k, made.each[k]);
  }
  return i;
}
#else
#define WHOLE_BLOCKS 0
#endif

#if NARROW
// Sums of NARROW_TURNS elements fit integers of twice their bits, of which a vector holds more than of accumulators.
#if NARROW == 1
#define NARROW_SUM short
#elif NARROW == 2
#define NARROW_SUM ushort
#elif NARROW == 3
#define NARROW_SUM int
#else
#define NARROW_SUM uint
#endif
typedef JOIN(NARROW_SUM, 16) narrow_sums;
#define NARROW_TURNS 256
#define NARROW_VECTORS 8
// Accumulates elements from `begin` on, as many as fill whole turns. Returns the first one that is left.
static inline ulong accumulate_narrow(lane_set* lanes, row_source row, ulong begin, ulong end) {
  ulong i = begin;
  while (i + 16 * NARROW_VECTORS <= end) {
    narrow_sums sums[NARROW_VECTORS];
#pragma unroll
    for (uint v = 0; v < NARROW_VECTORS; ++v) sums[v] = 0;
    const ulong turns = min((end - i) / (16 * NARROW_VECTORS), (ulong)NARROW_TURNS);
    for (ulong turn = 0; turn < turns; ++turn, i += 16 * NARROW_VECTORS) {
      READ_ON(row.first + i, 16 * NARROW_VECTORS);
#pragma unroll
      for (uint v = 0; v < NARROW_VECTORS; ++v) sums[v] += CONVERT(narrow_sums, LOAD_LOOSE(ELEMENT, 16, row.first + i + 16 * v));
    }
    for (uint v = 0; v < NARROW_VECTORS; ++v) {
      union { narrow_sums all; NARROW_SUM each[16]; } made;
      made.all = sums[v];
      for (uint k = 0; k < 16; ++k) put_lane(lanes, k % LANES, combine(get_lane(lanes, k % LANES), (accumulator)made.each[k]));
    }
  }
  return i;
}
#endif

#if HALF_CODES
// The best codes of [begin, end), a multiple of 64 elements. Not inlined: PoCL copies a kernel's body three times.
__attribute__((noinline)) code_set find_codes(row_source row, ulong begin, ulong end) {
  code_set sets[4];
#pragma unroll
  for (uint v = 0; v < 4; ++v) sets[v] = no_codes();
  for (ulong i = begin; i < end; i += 64) {
    READ_ON(row.first + i, 64);
#pragma unroll
    for (uint v = 0; v < 4; ++v) sets[v] = join_codes(sets[v], half_bits16(row.first + i + 16 * v));
  }
  return join_sets(join_sets(sets[0], sets[1]), join_sets(sets[2], sets[3]));
}
#endif

#if OPERATION == OP_ARGMIN || OPERATION == OP_ARGMAX
#define FINDS_BLOCK 1  // the best value of each block first, then its place in one block
// Elements of a block: a multiple of LANES. On two Zen 5 cores 2^26 floats take 4.6 ms by 256, 4.3 by 1024 and 4.2 by 4096.
#define SEARCHED (LANES < 1024 ? 1024 : LANES)
#if OPERATION == OP_ARGMIN
#define BETTER(a, b) ((a) < (b))
#else
#define BETTER(a, b) ((a) > (b))
#endif
#if FLOATING
#define WORST (OPERATION == OP_ARGMIN ? (ACC)INFINITY : -(ACC)INFINITY)
#else
#define WORST (OPERATION == OP_ARGMIN ? (ACC)LARGEST : (ACC)SMALLEST)
#endif
// The best number of a block, or WORST where it has no better one.
static inline ACC best_of_block(row_source row, ulong begin) {
#if HALF_CODES
  return decoded(greatest_code(find_codes(row, begin, begin + SEARCHED).best), LEAST_IS_BEST);
#else
  ACC best[LANES];
  for (uint k = 0; k < LANES; ++k) best[k] = WORST;
  for (ulong i = begin; i < begin + SEARCHED; i += LANES) {
    READ_ON(row.first + i, LANES);
    VECTOR_LOOP
    for (uint k = 0; k < LANES; ++k) {
      const ACC v = (ACC)load_term(row, i + k, i + k);
      best[k] = BETTER(v, best[k]) ? v : best[k];
    }
  }
  for (uint apart = LANES / 2; apart > 0; apart /= 2)
    VECTOR_LOOP
    for (uint k = 0; k < apart; ++k) best[k] = BETTER(best[k + apart], best[k]) ? best[k + apart] : best[k];
  return best[0];
#endif
}
// The first of the best elements of as many whole blocks as fit; the identity if none is better than WORST. *next: what is left.
static inline accumulator search_blocks(row_source row, ulong begin, ulong end, ulong* next) {
  ACC best = WORST;
  ulong block = end, i = begin;
  for (; i + SEARCHED <= end; i += SEARCHED) {
    const ACC b = best_of_block(row, i);
    if (BETTER(b, best)) best = b, block = i;
  }
  *next = block < end ? i : begin;
  accumulator a = identity();
  if (block < end) {
    while ((ACC)load_term(row, block, block) != best) ++block;
    a.index = block, a.best = best;
  }
  return a;
}
#else
#define FINDS_BLOCK 0
#endif

#if SHORT_ROWS
#include "reduce/short_rows.clh"
#ifndef COLS
#define COLS 0  // columns of short rows, if a vector has the elements of 16 of them
#endif
#if COLS
#include "reduce/kept_rows.clh"
#endif
#define reduce_run reduce_short_run
#else
// Accumulates elements [begin, end) of a row. Not inlined: PoCL copies a kernel's body three times, and vectorises each copy.
__attribute__((noinline)) accumulator reduce_run(row_source row, ulong begin, ulong end) {
  lane_set lanes;
  for (uint k = 0; k < LANES; ++k) put_lane(&lanes, k, identity());
  ulong i = begin;
#if FINDS_BLOCK
  put_lane(&lanes, 0, search_blocks(row, begin, end, &i));
#endif
#if ELEMENT_HALF
#if WHOLE_BLOCKS
  i = accumulate_blocks(&lanes, row, begin, end);
#elif HALF_CODES && !FINDS_BLOCK
  if (begin + 64 <= end) {
    i = begin + (end - begin) / 64 * 64;
    put_lane(&lanes, 0, best_of_codes(find_codes(row, begin, i)));
  }
#else
  for (; i + BLOCK <= end; i += BLOCK) {
    READ_ON(row.first + i, BLOCK);
    accumulate_run(&lanes, row, i, i, 1, BLOCK);
  }
#endif
  if (i < end) accumulate_run(&lanes, row, i, i, 1, (uint)(end - i));
#else
#if NARROW
  i = accumulate_narrow(&lanes, row, begin, end);
#endif
  for (; i + LANES <= end; i += LANES) {
    READ_ON(row.first + i, LANES);
    VECTOR_LOOP
    for (uint k = 0; k < LANES; ++k) put_lane(&lanes, k, accumulate(get_lane(&lanes, k), load_term(row, i + k, i + k), i + k));
  }
  for (uint k = 0; i < end; ++i, ++k) put_lane(&lanes, k, accumulate(get_lane(&lanes, k), load_term(row, i, i), i));
#endif
  for (uint apart = LANES / 2; apart > 0; apart /= 2)
    VECTOR_LOOP
    for (uint k = 0; k < apart; ++k) put_lane(&lanes, k, combine(get_lane(&lanes, k), get_lane(&lanes, k + apart)));
  return get_lane(&lanes, 0);
}
#endif

#if FOUR_ROWS
#include "reduce/four_rows.clh"
#endif

#if COLUMNS
#include "reduce/column_blocks.clh"
#else
#define ROWS_OF_BLOCK 0
#endif

#if FOLDS
#if OPERATION == OP_DOT
// The other factors of `fold` rows from r on, each `width` times. In whole vectors, of which the next row overwrites what is too much.
static inline void repeat_factors(VALUE factors[STRIP + 16], row_source columns, ulong r, uint fold, uint width) {
  VALUE of_rows[STRIP];
#if ELEMENT_HALF
  load_run(of_rows, columns.other, r, fold);
#else
  for (uint j = 0; j < fold; ++j) of_rows[j] = load_value(columns.other, r + j);
#endif
  VALUE* to = factors;
  if (width <= 4) {
    for (uint j = 0; j < fold; ++j, to += width)
#pragma unroll
      for (uint c = 0; c < 4; ++c) to[c] = of_rows[j];
  } else {
    for (uint j = 0; j < fold; ++j, to += width)
      for (uint k = 0; k < width; k += 16)
#pragma unroll
        for (uint c = 0; c < 16; ++c) to[k + c] = of_rows[j];
  }
}
#define FOLDED_TERM(x) ((term){(ACC)(x), (ACC)factors[k]})
#else
#define FOLDED_TERM(x) ((term)(x))
#endif

// Accumulates rows from `begin` on, which lie one after the other: as many at once as the strip has room for, as one long row. Each lane then
// has every so many-th row of its column. Returns the first row that is left.
__attribute__((noinline)) ulong reduce_folded(lane_set* restrict lanes, row_source columns, ulong begin, ulong end, uint width) {
  const uint fold = STRIP / width, wide = fold * width;
  uint after[STRIP];  // rows after the first one
  for (uint k = 0; k < wide; ++k) after[k] = k / width;
  ulong r = begin;
#if ROWS_OF_BLOCK && (IS_PLACE || IS_NARROW_SUM) && HAS_SHORT_ELEMENTS  // all others are as fast below
  const ulong turns = (end - begin) / fold;
  columns.first += begin * width;
  reduce_blocks(lanes, columns, wide, 0, turns, wide, begin, fold, after);
  r += turns * fold;
#endif
  for (; r + fold <= end; r += fold) {
#if OPERATION == OP_DOT
    VALUE factors[STRIP + 16];
    repeat_factors(factors, columns, r, fold, width);
#endif
#if ELEMENT_HALF
    VALUE x[STRIP];
    load_run(x, columns.first, r * width, wide);
    VECTOR_LOOP
    for (uint k = 0; k < wide; ++k) put_lane(lanes, k, accumulate(get_lane(lanes, k), FOLDED_TERM(x[k]), r + after[k]));
#else
    VECTOR_LOOP
    for (uint k = 0; k < wide; ++k)
      put_lane(lanes, k, accumulate(get_lane(lanes, k), FOLDED_TERM(load_value(columns.first, r * width + k)), r + after[k]));
#endif
  }
  for (uint f = 1; f < fold; ++f)
    for (uint k = 0; k < width; ++k) put_lane(lanes, k, combine(get_lane(lanes, k), get_lane(lanes, f * width + k)));
  return r;
}
#endif

#define ONE_NUMBER (!(COMPENSATED && FLOATING) && OPERATION != OP_MINMAX && OPERATION != OP_ARGMIN && OPERATION != OP_ARGMAX && OPERATION != OP_NORM)
#if ELEMENT_HALF && COLUMNS && ONE_NUMBER
// Columns that are converted at a time where the matrix is wider than the strip; else the whole row. On two Zen 5 cores vecmat of 1000 x 4000 halves
// takes 0.46 ms by 256 and 0.53 by 1024, of 5000 x 1024 0.70 and 0.40. Four rows take longer than one where accumulators have several numbers.
#define NEIGHBOURS 256
#if OPERATION == OP_DOT
#define TERM_OF(x, u) ((term){(ACC)(x), (ACC)factors[u]})
#else
#define TERM_OF(x, u) ((term)(x))
#endif
// Accumulates four rows of `width` columns.
static inline void accumulate_four_rows(lane_set* restrict lanes, row_source columns, ulong pitch, ulong r, uint width) {
#if OPERATION == OP_DOT
  VALUE factors[4];
  load_run(factors, columns.other, r, 4);
#endif
  const uint most = pitch == width ? width : NEIGHBOURS;
  for (uint first = 0; first < width; first += most) {
    VALUE x[4][STRIP];
    const uint count = min(most, width - first);
    for (uint u = 0; u < 4; ++u) load_run(x[u], columns.first, (r + u) * pitch + first, count);
    VECTOR_LOOP
    for (uint k = 0; k < count; ++k) {
      accumulator a = get_lane(lanes, first + k);
      a = accumulate(a, TERM_OF(x[0][k], 0), r);
      a = accumulate(a, TERM_OF(x[1][k], 1), r + 1);
      a = accumulate(a, TERM_OF(x[2][k], 2), r + 2);
      a = accumulate(a, TERM_OF(x[3][k], 3), r + 3);
      put_lane(lanes, first + k, a);
    }
  }
}
#endif

// Accumulates rows [begin, end) of `width` columns, four rows at a time: the accumulators, which are in the L1 cache, are loaded
// and stored a quarter as often.
__attribute__((noinline)) void reduce_strip(lane_set* restrict lanes, row_source columns, ulong pitch, ulong begin, ulong end, uint width) {
  for (uint k = 0; k < STRIP; ++k) put_lane(lanes, k, identity());
  ulong r = begin;
#if FOLDS
  if (pitch == width) r = reduce_folded(lanes, columns, begin, end, width);
#endif
#if ROWS_OF_BLOCK
  const uint none = 0;
  reduce_blocks(lanes, columns, pitch, r, end, width, 0, 1, &none);
  r = end;
#endif
#if ELEMENT_HALF
#if COLUMNS && ONE_NUMBER
  for (; r + 4 <= end; r += 4) accumulate_four_rows(lanes, columns, pitch, r, width);
#endif
  if (width == STRIP)
    for (; r < end; ++r) accumulate_run(lanes, columns, r * pitch, r, 0, STRIP);
  for (; r < end; ++r) accumulate_run(lanes, columns, r * pitch, r, 0, width);
#else
  // Narrow rows that follow each other without gaps are one stream, which is read row by row. On two Zen 5 cores, us, by one row and by four: vecmat
  // of 30000 x 300 floats 525 and 780, of 3000 x 3000, whose last strip is narrow, 910 and 670, of 1000 x 6000 390 and 320.
  if (width == STRIP || pitch != width) {
    for (; r + 4 <= end; r += 4) {
      VECTOR_LOOP
      for (uint k = 0; k < width; ++k) {
        accumulator a = get_lane(lanes, k);
        a = accumulate(a, load_term(columns, r * pitch + k, r), r);
        a = accumulate(a, load_term(columns, (r + 1) * pitch + k, r + 1), r + 1);
        a = accumulate(a, load_term(columns, (r + 2) * pitch + k, r + 2), r + 2);
        a = accumulate(a, load_term(columns, (r + 3) * pitch + k, r + 3), r + 3);
        put_lane(lanes, k, a);
      }
    }
  }
  for (; r < end; ++r)
    VECTOR_LOOP
    for (uint k = 0; k < width; ++k) put_lane(lanes, k, accumulate(get_lane(lanes, k), load_term(columns, r * pitch + k, r), r));
#endif
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void reduce_cpu(REDUCE_ARGUMENTS) {
  USE_REDUCE_ARGUMENTS;
  const ulong results = (COLUMNS ? cols : rows) * batch;
  const ulong strips = (cols + STRIP - 1) / STRIP;
  const ulong jobs = (COLUMNS ? strips * batch : results) * parts;
  const ulong share = (jobs + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong first_job = get_group_id(0) * share;
#if SHORT_ROWS
  if (parts == 1) {
    ulong first = min(first_job, jobs);
    const ulong last = min(first + share, jobs);
#if COLS
    const bool is_packed = cols == COLS && pitch == cols && (batch == 1 || stride == rows * cols);
    if (is_packed) first = reduce_kept_rows(in + in_offset, out + out_offset, first, last);
#endif
    reduce_short_rows(in, other, bounds, out, &numbers, first, last);
    return;
  }
#endif
#if !COLUMNS
  // Counted on from job to job: a row may take less time than a division.
  ulong result = first_job / parts, part = first_job - result * parts, matrix = result / max(rows, (ulong)1), number = result - matrix * rows;
#endif
  for (ulong job = first_job; job < min(first_job + share, jobs); ++job) {
#if COLUMNS
    const ulong strip = job % strips, part = job / strips % parts, matrix = job / strips / parts;
    const ulong piece = (rows + parts - 1) / parts;
    const row_source columns = find_columns(in, in_offset, stride, other, other_offset, rows, matrix, strip * STRIP);
    const uint width = (uint)min((ulong)STRIP, cols - strip * STRIP);
    lane_set lanes;
    reduce_strip(&lanes, columns, pitch, min(part * piece, rows), min((part + 1) * piece, rows), width);
    for (uint k = 0; k < width; ++k) {
      const ulong result = matrix * cols + strip * STRIP + k;
      if (parts == 1) {
        write_result(out + out_offset, result, get_lane(&lanes, k), rows);
      } else {
        partials[part * results + result] = get_lane(&lanes, k);
      }
    }
    (void)counters;
#else
    const row_source row = find_row(in, in_offset, pitch, stride, other, other_offset, bounds, bounds_offset, cols, matrix, number);
#if FOUR_ROWS
    if (parts == 1 && job + 4 <= min(first_job + share, jobs) && number + 4 <= rows) {
      accumulator four[4];
      reduce_four_rows(four, row, pitch, (acc_vector)0);
      for (uint u = 0; u < 4; ++u) write_result(out + out_offset, result + u, four[u], row.count);
      job += 3, result += 4, number += 4;
      if (number == rows) number = 0, ++matrix;
      continue;
    }
#endif
    const ulong piece = parts == 1 ? row.count : (row.count / LANES + parts) / parts * LANES;
    const accumulator mine = reduce_run(row, min(part * piece, row.count), min((part + 1) * piece, row.count));
    if (parts == 1) {
      write_result(out + out_offset, result, mine, row.count);
    } else {
      partials[job] = mine;
#if ONE_LAUNCH
      // The last part to finish combines all partial results.
      if (hand_over(counters + result) == parts - 1) {
        take_over();
        accumulator all = partials[result * parts];
        for (ulong p = 1; p < parts; ++p) all = combine(all, partials[result * parts + p]);
        write_result(out + out_offset, result, all, row.count);
        counters[result] = 0;  // ready for the next launch
      }
#else
      (void)counters;
#endif
    }
    if (++part == parts) {
      part = 0;
      ++result;
      if (++number == rows) number = 0, ++matrix;
    }
#endif
  }
}
