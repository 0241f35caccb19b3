// Softmax of columns for a CPU: a work-group is one work-item, which is one thread, and computes blocks of at most WIDTH columns, in vectors of
// LANES columns. It reads BLOCK_ROWS rows at a time, and counts them while they are in its first cache. Columns of at most TILE_ROWS rows remain
// in its second cache, of softmax as exponentials; of longer ones, rows are read again for the results.
//
// PHASE 0 and 1: of long columns, whose rows are in `parts` ranges; the first launch leaves the statistics of each part in `partials`, the second one
// merges those of all parts. `partials`: of each part the largest elements of all columns, then their sums, each padded to whole vectors.
//
// Launch: one dimension, local size 1; group g computes a range of neighbouring blocks, or of parts of them. Local memory: TILE_ROWS + 3 values a
// column, and one for each block of rows.
#ifndef LANES
#define LANES 16
#endif
#ifndef PACK
#define PACK LANES
#endif
#include "softmax/operation.clh"
#define GROUP 1
#ifndef PHASE
#define PHASE 2  // 0: statistics, 1: results, 2: both
#endif
#define ONE_A_COLUMN (PHASE == 0 || OPERATION == OP_LOGSUMEXP)
#include "common/row_vectors.clh"
typedef packed_vector lanes;
#include "common/columns.clh"
#include "common/column_vectors.clh"
#include "common/vector_exp.clh"

// Merges `high` rows of LANES columns with their statistics so far; none, if they are the first. Exponentials remain of softmax; `shifts`: what was
// subtracted. `next`: the rows that follow, in memory.
INLINED void count_block(local VALUE* rows, local VALUE* most, local VALUE* sums, local VALUE* shifts, uint high, bool are_first,
                         global const ELEMENT* next, ulong pitch) {
  const lanes before = are_first ? (lanes)LEAST : LANES_AT(most);
  lanes largest = before, sum = 0;
  for (uint r = 0; r < high; ++r) largest = MOST_OF(largest, LANES_AT(rows + r * WIDTH));
  const lanes shift = isinf(largest) ? (lanes)0 : largest;
  if (!are_first) sum = LANES_AT(sums) * vector_exp(before - shift);
  for (uint r = 0; r < high; ++r) {
    prefetch_ahead(next + r * pitch);
    const lanes e = vector_exp(LANES_AT(rows + r * WIDTH) - shift);
    sum += e;
    if ((OPERATION == OP_SOFTMAX) & (PHASE == 2)) LANES_AT(rows + r * WIDTH) = e;
  }
  LANES_AT(most) = largest;
  LANES_AT(sums) = sum;
  LANES_AT(shifts) = shift;
}

#if PHASE == 1
// Merges the statistics of all parts of LANES columns, which begin at `partials`.
INLINED void merge_parts(local VALUE* most, local VALUE* sums, global const VALUE* partials, ulong parts, ulong padded) {
  lanes largest = LEAST, sum = 0;
  for (ulong p = 0; p < parts; ++p) largest = MOST_OF(largest, *(global const lanes*)(partials + 2 * p * padded));
  const lanes shift = isinf(largest) ? (lanes)0 : largest;
  for (ulong p = 0; p < parts; ++p) {
    global const lanes* part = (global const lanes*)(partials + 2 * p * padded);
    sum += *(global const lanes*)(partials + (2 * p + 1) * padded) * vector_exp(*part - shift);
  }
  LANES_AT(most) = largest;
  LANES_AT(sums) = sum;
}
#endif

#if OPERATION != OP_LOGSUMEXP
// What the exponentials of a block are multiplied by, in place of their shifts. A shift is at most that of all rows, unless infinity is the largest
// element so far: then exponentials are 0, or the results are NaNs.
INLINED void make_factors(local VALUE* shifts, const local VALUE* most, const local VALUE* finish, uint wide) {
  for (uint k = 0; k < wide; k += LANES) {
    const lanes less = LANES_AT(shifts + k) - *(const local lanes*)(most + k);
    LANES_AT(shifts + k) = vector_exp(less > 0 ? (lanes)0 : less) * *(const local lanes*)(finish + k);
  }
}

// Of rows that are read again, the next ones are prefetched, too.
#define LOG_RESULT(k) (prefetch_ahead(after + (k)), prefetch_ahead(coming + (k)), LANES_AT(row + (k)) - LANES_AT(most + (k)) - LANES_AT(finish + (k)))
#define KEPT_RESULT(k) (prefetch_ahead(after + (k)), LANES_AT(row + (k)) * LANES_AT(factors + (k)))
#define NEW_RESULT(k)                                             \
  (prefetch_ahead(after + (k)), prefetch_ahead(coming + (k)),     \
   vector_exp(LANES_AT(row + (k)) - LANES_AT(most + (k))) * LANES_AT(finish + (k)))
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
#if PHASE == 2
void softmax_columns_cpu(COLUMN_ARGUMENTS, uint masked) {
  const ulong parts = 1;
#else
void softmax_columns_cpu(COLUMN_ARGUMENTS, uint masked, ulong parts, global VALUE* partials) {
#endif
  local VALUE kept[TILE_ROWS * WIDTH] __attribute__((aligned(64)));
  local VALUE shifts[BLOCKS_OF_TILE * WIDTH] __attribute__((aligned(64)));
  local VALUE most[WIDTH] __attribute__((aligned(64)));
  local VALUE sums[WIDTH] __attribute__((aligned(64)));
  local VALUE finish[WIDTH] __attribute__((aligned(64)));
  const ulong all = BLOCKS * batch * parts, share = (all + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share, all), end = min(begin + share, all);
  const uint of_part = (uint)((rows + parts - 1) / parts), width = width_of_blocks(cols);
  for (ulong job = begin; job < end; ++job) {
    const ulong block_of_all = job / parts, part = job - block_of_all * parts, matrix = block_of_all / BLOCKS;
    const ulong col = min((block_of_all - matrix * BLOCKS) * width, cols), top = min(part * of_part, (ulong)rows);
    const uint wide = (uint)min((ulong)width, cols - col), beside = col + width < cols ? width : 0;
    const uint count = (uint)min((ulong)of_part, rows - top);
    const bool fits = PHASE == 2 && count <= TILE_ROWS;
    global const ELEMENT* from = in + in_offset + matrix * in_stride + top * in_pitch + col;
    global RESULT* to = out + out_offset + matrix * out_stride + top * out_pitch + col;
#if PHASE == 1
    const ulong padded = (cols + LANES - 1) / LANES * LANES;
    for (uint k = 0; k < wide; k += LANES) merge_parts(most + k, sums + k, partials + 2 * matrix * parts * padded + col + k, parts, padded);
#else
    for (uint k = 0; k < wide; ++k) most[k] = LEAST, sums[k] = 0;
    for (uint first = 0; first < count; first += BLOCK_ROWS) {
      const uint high = min((uint)BLOCK_ROWS, count - first);
      local VALUE* block = kept + (fits ? first * WIDTH : 0);
      local VALUE* shift = shifts + (fits ? first / BLOCK_ROWS * WIDTH : 0);
      global const ELEMENT* next = from + first * in_pitch + place_ahead(count - first, in_pitch, beside);
      load_rows(block, from + first * in_pitch, in_pitch, high, wide);
      for (uint k = 0; k < wide; k += LANES) count_block(block + k, most + k, sums + k, shift + k, high, first == 0, next + k, in_pitch);
    }
#endif
#if PHASE == 0
    const ulong padded = (cols + LANES - 1) / LANES * LANES;
    global VALUE* left = partials + 2 * (matrix * parts + part) * padded + col;
    for (uint k = 0; k < wide; k += LANES) {
      *(global lanes*)(left + k) = LANES_AT(most + k);
      *(global lanes*)(left + padded + k) = LANES_AT(sums + k);
    }
    (void)to, (void)finish, (void)masked;
#else
    for (uint k = 0; k < wide; ++k) {
      most[k] = shift_of(most[k]);
      finish[k] = finish_of(most[k], sums[k], masked);
    }
#if OPERATION == OP_LOGSUMEXP
    for (uint k = 0; k < wide && part == 0; ++k) store_result(to, k, finish[k]);
#else
    for (uint first = 0; first < count; first += BLOCK_ROWS) {
      const uint high = min((uint)BLOCK_ROWS, count - first);
      local VALUE* block = kept + (fits ? first * WIDTH : 0);
      local VALUE* factors = count <= BLOCK_ROWS ? finish : shifts + (fits ? first / BLOCK_ROWS * WIDTH : 0);
      if (!fits) load_rows(block, from + first * in_pitch, in_pitch, high, wide);
      if (fits && count > BLOCK_ROWS) make_factors(factors, most, finish, wide);
      for (uint r = 0; r < high; ++r) {
        local VALUE* row = block + r * WIDTH;
        global RESULT* to_row = to + (first + r) * out_pitch;
        global const RESULT* after = to_row + place_ahead(count - first, out_pitch, beside);
        global const ELEMENT* coming = from + (first + r) * in_pitch + place_ahead(count - first, in_pitch, beside);
#if OPERATION == OP_LOG_SOFTMAX
        STORE_ROW(to_row, row, wide, LOG_RESULT);
        (void)factors;
#else
        if (fits) {
          STORE_ROW(to_row, row, wide, KEPT_RESULT);
        } else {
          STORE_ROW(to_row, row, wide, NEW_RESULT);
        }
#endif
      }
    }
#endif
#endif
  }
}
