// layer_norm and rms_norm of columns for a CPU: a work-group is one work-item, which is one thread, and computes blocks of WIDTH columns, in
// vectors of LANES columns. It has TILE_ROWS rows of a block in its cache: columns that fit are read once; of longer ones, the statistics of
// tiles are merged, and tiles read again for the results.
//
// Launch: one dimension, local size 1; group g computes a range of neighbouring blocks. Local memory: (TILE_ROWS + 4) * WIDTH values.
#ifndef WIDTH
#define WIDTH 64  // columns: a multiple of LANES
#endif
#ifndef TILE_ROWS
#define TILE_ROWS 1024
#endif
#ifndef LANES
#define LANES 16
#endif
#define GROUP 1
#include "norm_columns/columns.clh"

typedef JOIN(VALUE, LANES) lanes;
#define LANES_AT(p) (*(local lanes*)(p))
DEFINE_LOAD_RUN(load_run, local, VALUE)
DEFINE_STORE_RUN(store_run, local)

// Loads `high` rows of `wide` columns of x, and fills up their last vectors with zeros. `more`: a row of a residual.
INLINED void load_tile(local VALUE* kept, global const ELEMENT* from, ulong pitch, global const ELEMENT* other, ulong other_pitch, local VALUE* more,
                       uint high, uint wide) {
  (void)other, (void)other_pitch, (void)more;
  const uint end = (wide + LANES - 1) / LANES * LANES;
  for (uint r = 0; r < high; ++r) {
    local VALUE* row = kept + r * WIDTH;
    load_run(row, from, r * pitch, wide);
#if HAS_RESIDUAL
    load_run(more, other, r * other_pitch, wide);
    for (uint k = 0; k < wide; ++k) row[k] += more[k];
#endif
    for (uint k = wide; k < end; ++k) row[k] = 0;
  }
}

// The sum over the rows [0, high) of a tile of LANES columns, of `term`, an expression of row r. In blocks of 32 rows: else what one huge term
// takes from all others by rounding would add up.
#define SUM_ROWS(sum, high, term)                                 \
  for (uint block = 0; block < (high); block += 32) {             \
    lanes part = 0;                                               \
    for (uint r = block; r < min(block + 32, (high)); ++r) part += term; \
    sum += part;                                                  \
  }

static inline lanes subtract(local VALUE* row, lanes number) { return LANES_AT(row) -= number; }
static inline lanes squared(lanes v) { return v * v; }

// Merges a tile of LANES columns with their statistics so far, of `before` rows: the mean of the first tile, that of the differences from
// it, and the squares of the differences from both. Differences from the first mean remain in the tile.
INLINED void count_tile(local VALUE* tile, local VALUE* base, local VALUE* mean, local VALUE* squares, uint before, uint high) {
  lanes here = 0, more = 0;
#if OPERATION == OP_LAYER
  if (before == 0) {
    lanes sum = 0;
    SUM_ROWS(sum, high, LANES_AT(tile + r * WIDTH))
    LANES_AT(base) = sum / (VALUE)high;
  }
  const lanes first_mean = LANES_AT(base);
  SUM_ROWS(here, high, subtract(tile + r * WIDTH, first_mean))
  here /= (VALUE)high;
#else
  (void)base;
#endif
  SUM_ROWS(more, high, squared(LANES_AT(tile + r * WIDTH) - here))
  const lanes apart = here - LANES_AT(mean);
  const VALUE part_of_all = (VALUE)high / (VALUE)(before + high);
  LANES_AT(squares) += more + apart * (VALUE)before * (apart * part_of_all);
  LANES_AT(mean) += apart * part_of_all;
}

// What a row's elements are multiplied by and what is added, as vectors have it.
static inline VALUE weight_of(global const WEIGHT* w, ulong i) {
#if WEIGHT_IS_ELEMENT
  return load_value(w, i);
#else
  return w[i];
#endif
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void norm_columns_cpu(NORM_ARGUMENTS) {
  USE_NORM_ARGUMENTS;
  local VALUE kept[TILE_ROWS * WIDTH] __attribute__((aligned(64)));
  local VALUE base[WIDTH] __attribute__((aligned(64)));
  local VALUE mean[WIDTH] __attribute__((aligned(64)));
  local VALUE squares[WIDTH] __attribute__((aligned(64)));  // then the factors
  local VALUE more[WIDTH] __attribute__((aligned(64)));
  const ulong all = BLOCKS * batch, share = (all + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share, all), end = min(begin + share, all);
  const uint count = rows;
  for (ulong job = begin; job < end; ++job) {
    const ulong matrix = job / BLOCKS, col = (job - matrix * BLOCKS) * WIDTH;
    const uint wide = (uint)min((ulong)WIDTH, cols - col);
    const column_place at = PLACE_OF_COLUMN(matrix, col);
    for (uint k = 0; k < WIDTH; ++k) base[k] = mean[k] = squares[k] = 0;
    const int again = count > TILE_ROWS;
    for (uint first = 0; first < count; first += TILE_ROWS) {
      const uint high = min((uint)TILE_ROWS, count - first);
      load_tile(kept, in + at.from + first * in_pitch, in_pitch, residual + at.other + first * residual_pitch, residual_pitch, more, high, wide);
#if HAS_SUM
      if (!again)
        for (uint r = 0; r < high; ++r) store_run(sums, at.sum_to + r * sums_pitch, kept + r * WIDTH, wide);
#endif
      for (uint k = 0; k < wide; k += LANES) count_tile(kept + k, base + k, mean + k, squares + k, first, high);
    }
    for (uint k = 0; k < wide; ++k) {
      const VALUE factor = factor_of(squares[k], rows, epsilon);
      if (flags & STORES_MEAN) means[means_offset + matrix * cols + col + k] = count > 0 ? base[k] + mean[k] : (VALUE)NAN;
      if (flags & STORES_FACTOR) factors[factors_offset + matrix * cols + col + k] = factor;
      squares[k] = factor;
    }
    for (uint first = 0; first < count; first += TILE_ROWS) {
      const uint high = min((uint)TILE_ROWS, count - first);
      if (again)
        load_tile(kept, in + at.from + first * in_pitch, in_pitch, residual + at.other + first * residual_pitch, residual_pitch, more, high, wide);
      for (uint r = 0; r < high; ++r) {
        local VALUE* row = kept + r * WIDTH;
#if HAS_SUM
        if (again) store_run(sums, at.sum_to + (first + r) * sums_pitch, row, wide);
#endif
        for (uint k = 0; k < wide; k += LANES) {
          lanes v = LANES_AT(row + k);
#if OPERATION == OP_LAYER
          if (again) v -= LANES_AT(base + k);
          v -= LANES_AT(mean + k);
#endif
          v *= LANES_AT(squares + k);
#if HAS_WEIGHT
          v *= weight_of(weight, weight_offset + first + r);
#endif
#if HAS_BIAS
          v += weight_of(bias, bias_offset + first + r);
#endif
          LANES_AT(row + k) = v;
        }
        store_run(out, at.to + (first + r) * out_pitch, row, wide);
      }
    }
  }
}
