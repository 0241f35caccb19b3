// Softmax of columns of narrow matrices for a CPU: a work-group is one work-item, which is one thread, and has `parts` ranges of rows of a matrix.
// PHASE 0 leaves the statistics of each part in `partials`, PHASE 1 merges those of all parts and computes the part's results.
//
// `partials`: of each part the largest elements of all columns, then their sums, each padded to whole vectors.
//
// Launch: one dimension, local size 1; group g has a range of neighbouring parts. Local memory: TILE + 2 * LANES * MOST_COLS + 2 * MOST_COLS values.
#include "softmax/operation.clh"

#ifndef PHASE
#define PHASE 1  // 0: statistics, 1: results
#endif
#define GROUP 1
#define ONE_A_COLUMN (PHASE == 0 || OPERATION == OP_LOGSUMEXP)
#include "common/columns.clh"
#include "common/narrow_columns.clh"
#include "common/vector_exp.clh"

#if PHASE == 0
// Merges LANES places of `stripes` stripes with their statistics so far.
INLINED void count_places(const local VALUE* tile, local VALUE* most, local VALUE* sums, uint stripes, uint stripe) {
  const lanes before = LANES_AT(most);
  lanes largest = before;
  for (uint s = 0; s < stripes; ++s) {
    const lanes v = *(const local lanes*)(tile + s * stripe);
    largest = v > largest ? v : largest;
  }
  const lanes shift = isinf(largest) ? (lanes)0 : largest;
  lanes sum = LANES_AT(sums) * vector_exp(before - shift);
  for (uint s = 0; s < stripes; ++s) sum += vector_exp(*(const local lanes*)(tile + s * stripe) - shift);
  LANES_AT(most) = largest;
  LANES_AT(sums) = sum;
}

// Leaves the statistics of columns, from those of the places of a stripe.
INLINED void leave_columns(global VALUE* partials, local VALUE* most, local VALUE* sums, local VALUE* column, local VALUE* moved, uint cols,
                           uint stripe) {
  for (uint c = 0; c < PADDED(cols); ++c) {
    VALUE largest = LEAST;
    if (c < cols)
      for (uint k = c; k < stripe; k += cols) largest = fmax(largest, most[k]);
    column[c] = shift_of(largest);
    partials[c] = largest;
  }
  repeat_columns(moved, column, cols, stripe);
  for (uint k = 0; k < stripe; k += LANES) LANES_AT(sums + k) *= vector_exp(LANES_AT(most + k) - LANES_AT(moved + k));
  for (uint c = 0; c < PADDED(cols); ++c) {
    VALUE sum = 0;
    if (c < cols)
      for (uint k = c; k < stripe; k += cols) sum += sums[k];
    partials[PADDED(cols) + c] = sum;
  }
}
#else
// Merges the statistics of all parts: what is subtracted from the elements of each column, and what finishes its results.
INLINED void merge_parts(global const VALUE* partials, ulong parts, local VALUE* shift, local VALUE* finish, uint cols, uint masked) {
  const uint padded = PADDED(cols);
  for (uint c = 0; c < padded; c += LANES) {
    lanes largest = LEAST, sum = 0;
    for (ulong p = 0; p < parts; ++p) largest = fmax(largest, JOIN(vload, LANES)(0, partials + 2 * p * padded + c));
    const lanes moved = isinf(largest) ? (lanes)0 : largest;
    for (ulong p = 0; p < parts; ++p) {
      global const VALUE* part = partials + 2 * p * padded + c;
      sum += JOIN(vload, LANES)(0, part + padded) * vector_exp(JOIN(vload, LANES)(0, part) - moved);
    }
    LANES_AT(shift + c) = moved;
    LANES_AT(finish + c) = sum;
  }
  for (uint c = 0; c < cols; ++c) finish[c] = finish_of(shift[c], finish[c], masked);
}
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void softmax_columns_cpu_narrow(COLUMN_ARGUMENTS, uint masked, ulong parts, global VALUE* partials) {
  local VALUE kept[TILE] __attribute__((aligned(64)));
  local VALUE first[MOST_STRIPE] __attribute__((aligned(64)));   // of the places: largest elements, or shifts
  local VALUE second[MOST_STRIPE] __attribute__((aligned(64)));  // and sums, or what finishes results
  local VALUE of_column[MOST_COLS] __attribute__((aligned(64)));
  local VALUE finish[MOST_COLS] __attribute__((aligned(64)));
  const uint wide = (uint)cols, stripe = stripe_of(wide), tile_rows = TILE / stripe * (stripe / wide);
  const ulong all = parts * batch, share = (all + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share, all), end = min(begin + share, all);
  const ulong rows_of_part = ((ulong)rows + parts - 1) / parts;
  for (ulong job = begin; job < end; ++job) {
    const ulong matrix = job / parts, part = job - matrix * parts;
    const ulong first_row = min(part * rows_of_part, (ulong)rows), end_row = min(first_row + rows_of_part, (ulong)rows);
    global const ELEMENT* from = in + in_offset + matrix * in_stride;
#if PHASE == 0
    (void)out, (void)out_offset, (void)out_pitch, (void)out_stride, (void)masked;
    for (uint k = 0; k < stripe; ++k) first[k] = LEAST, second[k] = 0;
    for (ulong r = first_row; r < end_row; r += tile_rows) {
      const uint high = (uint)min((ulong)tile_rows, end_row - r), stripes = (high * wide + stripe - 1) / stripe;
      load_rows(kept, from + r * in_pitch, in_pitch, high, wide);
      for (uint k = high * wide; k < stripes * stripe; ++k) kept[k] = LEAST;
      for (uint k = 0; k < stripe; k += LANES) count_places(kept + k, first + k, second + k, stripes, stripe);
    }
    leave_columns(partials + 2 * job * PADDED(wide), first, second, of_column, kept, wide, stripe);
    (void)finish;
#else
    if (job == begin || part == 0) {
      merge_parts(partials + 2 * matrix * parts * PADDED(wide), parts, of_column, finish, wide, masked);
      repeat_columns(first, of_column, wide, stripe);
      repeat_columns(second, finish, wide, stripe);
    }
    global RESULT* to = out + out_offset + matrix * out_stride;
#if OPERATION == OP_LOGSUMEXP
    (void)in_pitch, (void)out_pitch, (void)kept, (void)from, (void)tile_rows, (void)end_row;
    if (part == 0)
      for (uint c = 0; c < wide; ++c) store_result(to, c, finish[c]);
#else
    for (ulong r = first_row; r < end_row; r += tile_rows) {
      const uint high = (uint)min((ulong)tile_rows, end_row - r), stripes = (high * wide + stripe - 1) / stripe;
      load_rows(kept, from + r * in_pitch, in_pitch, high, wide);
      for (uint k = high * wide; k < stripes * stripe; ++k) kept[k] = 0;
      for (uint s = 0; s < stripes; ++s)
        for (uint k = 0; k < stripe; k += LANES) {
          local lanes* v = (local lanes*)(kept + s * stripe + k);
          const lanes less = *v - LANES_AT(first + k), last = LANES_AT(second + k);
          *v = OPERATION == OP_SOFTMAX ? vector_exp(less) * last : less - last;
        }
      store_rows(to + r * out_pitch, out_pitch, kept, high, wide);
    }
#endif
#endif
  }
}
