// layer_norm and rms_norm of columns of narrow matrices for a CPU: a work-group is one work-item, which is one thread, and has `parts` ranges of rows
// of a matrix. PHASE 0 leaves the statistics of each part in `partials`, PHASE 1 merges those of all parts and computes the part's results.
//
// `partials`: of each part, for all columns, a number near the mean, the mean of the differences from it, and the squares of the differences from
// both, each padded to whole vectors.
//
// Launch: one dimension, local size 1; group g has a range of neighbouring parts. Local memory: TILE (of a residual, 2 * TILE) +
// 3 * LANES * MOST_COLS + 4 * MOST_COLS values.
#ifndef PHASE
#define PHASE 1  // 0: statistics, 1: results
#endif
#define GROUP 1
#define ONE_A_COLUMN (PHASE == 0)
#include "norm_columns/columns.clh"
#include "common/narrow_columns.clh"

// Loads `high` rows of x. `other`: as large as a tile, for a residual.
INLINED void load_of_x(local VALUE* kept, global const ELEMENT* from, ulong pitch, local VALUE* other, global const ELEMENT* residual,
                       ulong residual_pitch, uint high, uint cols) {
  load_rows(kept, from, pitch, high, cols);
#if HAS_RESIDUAL
  load_rows(other, residual, residual_pitch, high, cols);
  for (uint k = 0; k < high * cols; ++k) kept[k] += other[k];
#else
  (void)other, (void)residual, (void)residual_pitch;
#endif
}

#if PHASE == 0
// The last stripe of a tile has `count` elements: the places that they leave are filled from those of another stripe.
INLINED void fill_stripe(local VALUE* last, uint count, const local VALUE* places, uint stripe) {
  for (uint k = count; k < stripe; ++k) last[k] = places[k];
}

// For each place of a stripe the sum of `term` over the stripes, an expression of the tile's vector v. In blocks of 32: else what one huge term takes
// from all others by rounding would add up.
#define SUM_STRIPES(sum, v, term)                                                                         \
  lanes sum = 0;                                                                                          \
  for (uint block = 0; block < stripes; block += 32) {                                                    \
    lanes some = 0;                                                                                       \
    for (uint s = block; s < min(block + 32, stripes); ++s) {                                             \
      local lanes* v = (local lanes*)(kept + s * stripe + k);                                             \
      some += term;                                                                                       \
    }                                                                                                     \
    sum += some;                                                                                          \
  }

INLINED void add_places(local VALUE* columns, const local VALUE* places, uint cols, uint stripe) {
  for (uint c = 0; c < PADDED(cols); ++c) columns[c] = 0;
  for (uint k = 0; k < stripe; k += cols)
    for (uint c = 0; c < cols; ++c) columns[c] += places[k + c];
}
#endif

// Merges statistics of `more` rows with those of `rows` rows.
INLINED void merge_columns(local VALUE* mean, local VALUE* squares, ulong rows, lanes more_mean, lanes more_squares, ulong more) {
  const VALUE share = (VALUE)more / (VALUE)(rows + more);
  const lanes apart = more_mean - LANES_AT(mean);
  LANES_AT(squares) += more_squares + apart * (VALUE)rows * (apart * share);
  LANES_AT(mean) += apart * share;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void norm_columns_cpu_narrow(NORM_ARGUMENTS, ulong parts, global VALUE* partials) {
  USE_NORM_ARGUMENTS;
  local VALUE kept[TILE] __attribute__((aligned(64)));
  local VALUE other[HAS_RESIDUAL ? TILE : LANES] __attribute__((aligned(64)));
  local VALUE first[MOST_STRIPE] __attribute__((aligned(64)));   // of the places: the bases; or the means,
  local VALUE second[MOST_STRIPE] __attribute__((aligned(64)));  // sums; or the rests of the means,
  local VALUE third[MOST_STRIPE] __attribute__((aligned(64)));   // squares; or the factors
  local VALUE base[MOST_COLS] __attribute__((aligned(64)));
  local VALUE mean[MOST_COLS] __attribute__((aligned(64)));
  local VALUE squares[MOST_COLS] __attribute__((aligned(64)));
  local VALUE here[MOST_COLS] __attribute__((aligned(64)));
  const uint wide = (uint)cols, padded = PADDED(wide), stripe = stripe_of(wide), tile_rows = TILE / stripe * (stripe / wide);
  const ulong all = parts * batch, share = (all + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share, all), end = min(begin + share, all);
  const ulong rows_of_part = ((ulong)rows + parts - 1) / parts;
  for (ulong job = begin; job < end; ++job) {
    const ulong matrix = job / parts, part = job - matrix * parts;
    const ulong first_row = min(part * rows_of_part, (ulong)rows), end_row = min(first_row + rows_of_part, (ulong)rows);
    const column_place at = PLACE_OF_COLUMN(matrix, 0);
#if PHASE == 0
    for (uint c = 0; c < padded; ++c) base[c] = mean[c] = squares[c] = 0;
#if OPERATION == OP_LAYER
    for (uint c = 0; c < wide; ++c) {
      const column_place of = PLACE_OF_COLUMN(matrix, c);
      base[c] = middle_of(LOAD_OF_COLUMN(of, 0), LOAD_OF_COLUMN(of, rows / 2), LOAD_OF_COLUMN(of, rows - 1));
    }
#endif
    repeat_columns(first, base, wide, stripe);
    for (uint k = 0; k < stripe; ++k) second[k] = 0;
    for (ulong r = first_row; r < end_row; r += tile_rows) {
      const uint high = (uint)min((ulong)tile_rows, end_row - r), stripes = (high * wide + stripe - 1) / stripe;
      local VALUE* last = kept + (stripes - 1) * stripe;
      const uint in_last = high * wide - (stripes - 1) * stripe;
      load_of_x(kept, in + at.from + r * in_pitch, in_pitch, other, residual + at.other + r * residual_pitch, residual_pitch, high, wide);
#if OPERATION == OP_LAYER
      fill_stripe(last, in_last, first, stripe);
      for (uint k = 0; k < stripe; k += LANES) {
        const lanes number = LANES_AT(first + k);
        SUM_STRIPES(sum, v, *v -= number)
        LANES_AT(second + k) = sum;
      }
      add_places(here, second, wide, stripe);
      for (uint c = 0; c < padded; ++c) here[c] /= (VALUE)high;
      repeat_columns(second, here, wide, stripe);
#else
      for (uint c = 0; c < padded; ++c) here[c] = 0;
#endif
      fill_stripe(last, in_last, second, stripe);
      for (uint k = 0; k < stripe; k += LANES) {
        const lanes number = LANES_AT(second + k);
        SUM_STRIPES(sum, v, (*v - number) * (*v - number))
        LANES_AT(third + k) = sum;
      }
      add_places(kept, third, wide, stripe);
      for (uint c = 0; c < padded; c += LANES) merge_columns(mean + c, squares + c, r - first_row, LANES_AT(here + c), LANES_AT(kept + c), high);
    }
    global VALUE* left = partials + 3 * job * padded;
    for (uint c = 0; c < padded; ++c) left[c] = base[c], left[padded + c] = mean[c], left[2 * padded + c] = squares[c];
    (void)out, (void)at.to, (void)at.sum_to;
#else
    if (job == begin || part == 0) {
      for (uint c = 0; c < padded; c += LANES) {
        global const VALUE* of_part = partials + 3 * matrix * parts * padded + c;
        LANES_AT(base + c) = JOIN(vload, LANES)(0, of_part);
        LANES_AT(mean + c) = LANES_AT(squares + c) = (lanes)0;
        for (ulong p = 0, counted = 0; p < parts && counted < (ulong)rows; ++p, counted += rows_of_part, of_part += 3 * padded)
          merge_columns(mean + c, squares + c, counted, JOIN(vload, LANES)(0, of_part + padded), JOIN(vload, LANES)(0, of_part + 2 * padded),
                        min(rows_of_part, (ulong)rows - counted));
      }
      for (uint c = 0; c < wide; ++c) {
        const statistics of = (statistics)((VALUE)rows, mean[c], squares[c], base[c]);
        const VALUE middle = mean_of(of), factor = factor_of(squares[c], rows, epsilon);
        mean[c] = middle;
        here[c] = rest_of_mean(of, middle);
        squares[c] = factor;
        if (part == 0 && (flags & STORES_MEAN)) means[means_offset + matrix * cols + c] = middle;
        if (part == 0 && (flags & STORES_FACTOR)) factors[factors_offset + matrix * cols + c] = factor;
      }
      repeat_columns(first, mean, wide, stripe);
      repeat_columns(second, here, wide, stripe);
      repeat_columns(third, squares, wide, stripe);
    }
    for (ulong r = first_row; r < end_row; r += tile_rows) {
      const uint high = (uint)min((ulong)tile_rows, end_row - r), stripes = (high * wide + stripe - 1) / stripe;
      load_of_x(kept, in + at.from + r * in_pitch, in_pitch, other, residual + at.other + r * residual_pitch, residual_pitch, high, wide);
#if HAS_SUM
      store_rows(sums + at.sum_to + r * sums_pitch, sums_pitch, kept, high, wide);
#endif
      for (uint k = high * wide; k < stripes * stripe; ++k) kept[k] = 0;
      for (uint s = 0; s < stripes; ++s)
        for (uint k = 0; k < stripe; k += LANES) {
          local lanes* v = (local lanes*)(kept + s * stripe + k);
#if OPERATION == OP_LAYER
          *v -= LANES_AT(first + k);
          *v -= LANES_AT(second + k);
#endif
          *v *= LANES_AT(third + k);
        }
#if HAS_WEIGHT || HAS_BIAS
      for (uint l = 0; l < high; ++l)
        for (uint c = 0; c < wide; ++c) kept[l * wide + c] = kept[l * wide + c] TIMES_WEIGHT(r + l) PLUS_BIAS(r + l);
#endif
      store_rows(out + at.to + r * out_pitch, out_pitch, kept, high, wide);
    }
#endif
  }
}
