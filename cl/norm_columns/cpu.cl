// layer_norm and rms_norm of columns for a CPU: a work-group is one work-item, which is one thread, and computes blocks of at most WIDTH columns, in
// vectors of LANES columns. It reads BLOCK_ROWS rows at a time, and merges their statistics while they are in its first cache. Columns of at most
// TILE_ROWS rows remain in its second cache, as differences; of longer ones, rows are read again for the results.
//
// PHASE 0 and 1: of long columns, whose rows are in `parts` ranges; the first launch leaves the statistics of each part in `partials`, the second one
// merges those of all parts. `partials`: of each part, for all columns, a number near the mean, the mean of the differences from it, and the squares
// of the differences from both, each padded to whole vectors.
//
// Launch: one dimension, local size 1; group g computes a range of neighbouring blocks, or of parts of them. Local memory: TILE_ROWS + 6 values a
// column.
#ifndef LANES
#define LANES 16
#endif
#ifndef PACK
#define PACK LANES
#endif
#define GROUP 1
#ifndef PHASE
#define PHASE 2  // 0: statistics, 1: results, 2: both
#endif
#define ONE_A_COLUMN 0
#include "norm_columns/columns.clh"
#include "common/row_vectors.clh"
typedef packed_vector lanes;
#include "common/column_vectors.clh"

// Loads `high` rows of `wide` columns of x. `more`: a row of a residual.
INLINED void load_rows_of_x(local VALUE* kept, global const ELEMENT* from, ulong pitch, global const ELEMENT* other, ulong other_pitch,
                            local VALUE* more, uint high, uint wide) {
  (void)other, (void)other_pitch, (void)more;
  for (uint r = 0; r < high; ++r) {
    load_row(kept + r * WIDTH, from + r * pitch, wide);
#if HAS_RESIDUAL
    load_row(more, other + r * other_pitch, wide);
    for (uint k = 0; k < wide; k += LANES) LANES_AT(kept + r * WIDTH + k) += LANES_AT(more + k);
#endif
  }
}

// Rows whose statistics are merged with those of all rows before: else what one huge term takes from all others by rounding would add up.
#define SOME_ROWS (32 * BLOCK_ROWS)
// Merges the statistics of `more` rows with those of `rows` rows.
INLINED void merge_columns(local VALUE* mean, local VALUE* squares, uint rows, lanes more_mean, lanes more_squares, uint more) {
  const VALUE share = (VALUE)more / (VALUE)(rows + more);
  const lanes apart = more_mean - LANES_AT(mean);
  LANES_AT(squares) += more_squares + apart * (VALUE)rows * (apart * share);
  LANES_AT(mean) += apart * share;
}

// Merges `high` rows of LANES columns with their statistics so far, of `before` rows. are_first: `base` becomes the mean of these rows. Differences
// from it remain, whose mean and squares are merged. `next`: the rows that follow, in memory.
INLINED void count_block(local VALUE* rows, local VALUE* base, local VALUE* mean, local VALUE* squares, uint before, uint high, bool are_first,
                         global const ELEMENT* next, ulong pitch) {
  lanes here = 0, more = 0;
#if OPERATION == OP_LAYER
  if (are_first) {
    for (uint r = 0; r < high; ++r) here += LANES_AT(rows + r * WIDTH);
    LANES_AT(base) = here / (VALUE)high;
    here = 0;
  }
  const lanes number = LANES_AT(base);
  for (uint r = 0; r < high; ++r) here += LANES_AT(rows + r * WIDTH) -= number;
  here /= (VALUE)high;
#else
  (void)base, (void)are_first;
#endif
  for (uint r = 0; r < high; ++r) {
    prefetch_ahead(next + r * pitch);
    const lanes d = LANES_AT(rows + r * WIDTH) - here;
    more += d * d;
  }
  merge_columns(mean, squares, before, here, more, high);
}

#if PHASE == 1
// Merges the statistics of all parts of LANES columns, which begin at `partials`; means are differences from the first part's number. `of_part`: rows.
INLINED void merge_parts(local VALUE* base, local VALUE* mean, local VALUE* squares, global const VALUE* partials, ulong parts, ulong padded,
                         uint of_part, uint rows) {
  LANES_AT(base) = *(global const lanes*)partials;
  LANES_AT(mean) = LANES_AT(squares) = (lanes)0;
  for (uint p = 0, counted = 0; p < parts && counted < rows; ++p, counted += of_part, partials += 3 * padded) {
    const lanes apart = *(global const lanes*)partials - LANES_AT(base);
    merge_columns(mean, squares, counted, apart + *(global const lanes*)(partials + padded), *(global const lanes*)(partials + 2 * padded),
                  min(of_part, rows - counted));
  }
}
#endif

#define KEPT(k) LANES_AT(row + (k))
#define DIFFERENCE(k) (OPERATION == OP_RMS ? KEPT(k) : fits ? KEPT(k) - LANES_AT(mean + (k)) : KEPT(k) - LANES_AT(base + (k)) - LANES_AT(mean + (k)))
// Of rows that are read again, the next ones are prefetched, too.
#define RESULT_OF(k)                                                                                              \
  (prefetch_ahead(after + (k)), PHASE == 1 ? prefetch_ahead(coming + (k)) : (void)0, DIFFERENCE(k) * LANES_AT(squares + (k)) WEIGHED)
#if HAS_WEIGHT && HAS_BIAS
#define WEIGHED *factor + summand
#elif HAS_WEIGHT
#define WEIGHED *factor
#elif HAS_BIAS
#define WEIGHED +summand
#else
#define WEIGHED
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
#if PHASE == 2
void norm_columns_cpu(NORM_ARGUMENTS) {
  const ulong parts = 1;
#else
void norm_columns_cpu(NORM_ARGUMENTS, ulong parts, global VALUE* partials) {
#endif
  USE_NORM_ARGUMENTS;
  local VALUE kept[TILE_ROWS * WIDTH] __attribute__((aligned(64)));
  local VALUE base[WIDTH] __attribute__((aligned(64)));
  local VALUE mean[WIDTH] __attribute__((aligned(64)));
  local VALUE squares[WIDTH] __attribute__((aligned(64)));  // then the factors
  local VALUE some_mean[WIDTH] __attribute__((aligned(64)));
  local VALUE some_squares[WIDTH] __attribute__((aligned(64)));
  local VALUE more[WIDTH] __attribute__((aligned(64)));
  const ulong all = BLOCKS * batch * parts, share = (all + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share, all), end = min(begin + share, all);
  const uint of_part = (uint)((rows + parts - 1) / parts), width = width_of_blocks(cols);
  for (ulong job = begin; job < end; ++job) {
    const ulong block_of_all = job / parts, part = job - block_of_all * parts, matrix = block_of_all / BLOCKS;
    const ulong col = min((block_of_all - matrix * BLOCKS) * width, cols), top = min(part * of_part, (ulong)rows);
    const uint wide = (uint)min((ulong)width, cols - col), beside = col + width < cols ? width : 0;
    const uint count = (uint)min((ulong)of_part, rows - top);
    const bool fits = PHASE == 2 && count <= TILE_ROWS;
    column_place at = PLACE_OF_COLUMN(matrix, col);
    at.from += top * in_pitch, at.other += top * residual_pitch, at.sum_to += top * sums_pitch, at.to += top * out_pitch;
#if PHASE == 1
    const ulong padded = (cols + LANES - 1) / LANES * LANES;
    for (uint k = 0; k < wide; k += LANES)
      merge_parts(base + k, mean + k, squares + k, partials + 3 * matrix * parts * padded + col + k, parts, padded, of_part, rows);
    (void)some_mean, (void)some_squares;
#else
    for (uint k = 0; k < wide; k += LANES) LANES_AT(base + k) = LANES_AT(mean + k) = LANES_AT(squares + k) = (lanes)0;
    for (uint first = 0; first < count; first += BLOCK_ROWS) {
      const uint high = min((uint)BLOCK_ROWS, count - first), of_some = first % SOME_ROWS;
      local VALUE* block = kept + (fits ? first * WIDTH : 0);
      global const ELEMENT* next = in + at.from + first * in_pitch + place_ahead(count - first, in_pitch, beside);
      load_rows_of_x(block, in + at.from + first * in_pitch, in_pitch, residual + at.other + first * residual_pitch, residual_pitch, more, high, wide);
#if HAS_SUM
      for (uint r = 0; r < high && fits; ++r) {
        local VALUE* row = block + r * WIDTH;
        STORE_ROW(sums + at.sum_to + (first + r) * sums_pitch, row, wide, KEPT);
      }
#endif
      for (uint k = 0; k < wide; k += LANES) {
        if (count <= SOME_ROWS) {
          count_block(block + k, base + k, mean + k, squares + k, first, high, first == 0, next + k, in_pitch);
          continue;
        }
        if (of_some == 0) LANES_AT(some_mean + k) = LANES_AT(some_squares + k) = (lanes)0;
        count_block(block + k, base + k, some_mean + k, some_squares + k, of_some, high, first == 0, next + k, in_pitch);
        if (of_some + BLOCK_ROWS == SOME_ROWS || first + high == count)
          merge_columns(mean + k, squares + k, first - of_some, LANES_AT(some_mean + k), LANES_AT(some_squares + k), of_some + high);
      }
    }
#endif
#if PHASE == 0
    const ulong padded = (cols + LANES - 1) / LANES * LANES;
    global VALUE* left = partials + 3 * (matrix * parts + part) * padded + col;
    for (uint k = 0; k < wide; k += LANES) {
      *(global lanes*)(left + k) = LANES_AT(base + k);
      *(global lanes*)(left + padded + k) = LANES_AT(mean + k);
      *(global lanes*)(left + 2 * padded + k) = LANES_AT(squares + k);
    }
#else
    for (uint k = 0; k < wide; k += LANES) {
      const lanes variance = LANES_AT(squares + k) / (VALUE)rows;
      LANES_AT(squares + k) = isfinite(variance) ? rsqrt(variance + epsilon) : (lanes)NAN;  // as factor_of()
    }
    for (uint k = 0; k < wide && part == 0 && flags & (STORES_MEAN | STORES_FACTOR); ++k) {
      if (flags & STORES_MEAN) means[means_offset + matrix * cols + col + k] = rows > 0 ? base[k] + mean[k] : (VALUE)NAN;
      if (flags & STORES_FACTOR) factors[factors_offset + matrix * cols + col + k] = squares[k];
    }
    for (uint first = 0; first < count; first += BLOCK_ROWS) {
      const uint high = min((uint)BLOCK_ROWS, count - first);
      local VALUE* block = kept + (fits ? first * WIDTH : 0);
      if (!fits)
        load_rows_of_x(block, in + at.from + first * in_pitch, in_pitch, residual + at.other + first * residual_pitch, residual_pitch, more, high, wide);
      for (uint r = 0; r < high; ++r) {
        local VALUE* row = block + r * WIDTH;
        global RESULT* to_row = out + at.to + (first + r) * out_pitch;
        global const RESULT* after = to_row + place_ahead(count - first, out_pitch, beside);
        global const ELEMENT* coming = in + at.from + (first + r) * in_pitch + place_ahead(count - first, in_pitch, beside);
#if HAS_SUM
        if (!fits) STORE_ROW(sums + at.sum_to + (first + r) * sums_pitch, row, wide, KEPT);
#endif
#if HAS_WEIGHT
        const VALUE factor = load_weight(weight, weight_offset + top + first + r);
#endif
#if HAS_BIAS
        const VALUE summand = load_weight(bias, bias_offset + top + first + r);
#endif
        STORE_ROW(to_row, row, wide, RESULT_OF);
      }
    }
#endif
  }
}
