// layer_norm and rms_norm for a CPU: a work-group is one work-item, which is one thread, and computes whole rows. It has TILE elements in its
// cache, in vectors of LANES: a row that fits is read once; of a longer one, the moments of tiles are merged, and tiles read again for the
// results.
//
// Launch: one dimension, local size 1; group g computes a range of neighbouring rows. Local memory: TILE values.
#include "common/attributes.clh"
#include "norm/operation.clh"

#ifndef TILE
#define TILE 16384  // elements: a multiple of LANES
#endif
#ifndef LANES
#define LANES 16
#endif
#define CHUNK 512  // elements of a residual, or weights, that are converted at once: a multiple of LANES

typedef JOIN(VALUE, LANES) lanes;
DEFINE_LOAD_RUN(load_run, local, VALUE)
DEFINE_LOAD_RUN(load_chunk, private, VALUE)
DEFINE_STORE_RUN(store_run, local)

INLINED VALUE lanes_sum(lanes v) {
  VALUE each[LANES];
  JOIN(vstore, LANES)(v, 0, each);
  for (uint apart = LANES / 2; apart > 0; apart /= 2)
    for (uint k = 0; k < apart; ++k) each[k] += each[k + apart];
  return each[0];
}

// Loads elements [first, first + count) of row x.
INLINED void load_tile(local VALUE* kept, global const ELEMENT* row, global const ELEMENT* residual, uint first, uint count) {
  load_run(kept, row, first, count);
#if HAS_RESIDUAL
  VALUE more[CHUNK];
  for (uint begin = 0; begin < count; begin += CHUNK) {
    const uint size = min((uint)CHUNK, count - begin);
    load_chunk(more, residual, first + begin, size);
    for (uint k = 0; k < size; ++k) kept[begin + k] += more[k];
  }
#else
  (void)residual;
#endif
}

// Fills up the last vector with zeros. \returns the vectors.
INLINED uint fill_up(local VALUE* kept, uint count) {
  const uint vectors = (count + LANES - 1) / LANES;
  for (uint i = count; i < vectors * LANES; ++i) kept[i] = 0;
  return vectors;
}

INLINED VALUE sum_tile(const local VALUE* kept, uint vectors) {
  const local lanes* v = (const local lanes*)kept;
  lanes sums = 0;
  for (uint i = 0; i < vectors; ++i) sums += v[i];
  return lanes_sum(sums);
}

// Subtracts a number from a tile. \returns the sum of the squares of what is left.
INLINED VALUE subtract_and_square(local VALUE* kept, uint count, VALUE number) {
  const uint vectors = (count + LANES - 1) / LANES;
  local lanes* v = (local lanes*)kept;
  lanes sums = 0;
  for (uint i = 0; i < vectors; ++i) v[i] -= number;
  fill_up(kept, count);
  for (uint i = 0; i < vectors; ++i) sums += v[i] * v[i];
  return lanes_sum(sums);
}

#if HAS_WEIGHT || HAS_BIAS
INLINED void load_weight_chunk(VALUE* w, global const WEIGHT* from, uint first, uint count) {
#if WEIGHT_IS_ELEMENT
  load_chunk(w, from, first, count);
#else
  for (uint k = 0; k < count; ++k) w[k] = from[first + k];
#endif
}
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void norm_cpu(NORM_ARGUMENTS) {
  USE_NORM_ARGUMENTS;
  local VALUE kept[TILE] __attribute__((aligned(64)));
  const ulong all = rows * batch, share = (all + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share, all), end = min(begin + share, all);
  const uint count = cols;
  for (ulong r = begin; r < end; ++r) {
    global const ELEMENT* from = in + row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    global const ELEMENT* other = residual + row_place(r, rows, batch, residual_offset, residual_pitch, residual_stride);
    global RESULT* to = out + row_place(r, rows, batch, out_offset, out_pitch, out_stride);
#if HAS_SUM
    global RESULT* sum_to = sums + row_place(r, rows, batch, sums_offset, sums_pitch, sums_stride);
#endif
    // Of the tiles so far: the mean of the first one, that of the differences from it, and the squares of the differences from both.
    VALUE base = 0, mean = 0, squares = 0;
    for (uint first = 0; first < count; first += TILE) {
      const uint size = min((uint)TILE, count - first);
      load_tile(kept, from, other, first, size);
#if HAS_SUM
      if (count <= TILE) store_run(sum_to, 0, kept, count);
#endif
      const uint vectors = fill_up(kept, size);
      VALUE here = 0;
#if OPERATION == OP_LAYER
      if (first == 0) base = sum_tile(kept, vectors) / (VALUE)size;
      subtract_and_square(kept, size, base);
      here = sum_tile(kept, vectors) / (VALUE)size;
#else
      (void)vectors;
#endif
      const VALUE more = subtract_and_square(kept, size, here);
      const VALUE part = (VALUE)size / (VALUE)(first + size), apart = here - mean;
      squares += more + apart * (VALUE)first * (apart * part);
      mean += apart * part;
    }
    const VALUE factor = factor_of(squares, cols, epsilon);
    if (flags & STORES_MEAN) means[means_offset + r] = count > 0 ? base + mean : (VALUE)NAN;
    if (flags & STORES_FACTOR) factors[factors_offset + r] = factor;
    for (uint first = 0; first < count; first += TILE) {
      const uint size = min((uint)TILE, count - first);
      local lanes* v = (local lanes*)kept;
      if (count > TILE) {
        load_tile(kept, from, other, first, size);
#if HAS_SUM
        store_run(sum_to, first, kept, size);
#endif
        const uint vectors = fill_up(kept, size);
        for (uint i = 0; i < vectors; ++i) v[i] = v[i] - base - mean;
      }
      for (uint i = 0; i < (size + LANES - 1) / LANES; ++i) v[i] *= factor;
#if HAS_WEIGHT || HAS_BIAS
      VALUE w[CHUNK];
      for (uint part = 0; part < size; part += CHUNK) {
        const uint some = min((uint)CHUNK, size - part);
#if HAS_WEIGHT
        load_weight_chunk(w, weight + weight_offset, first + part, some);
        for (uint k = 0; k < some; ++k) kept[part + k] *= w[k];
#endif
#if HAS_BIAS
        load_weight_chunk(w, bias + bias_offset, first + part, some);
        for (uint k = 0; k < some; ++k) kept[part + k] += w[k];
#endif
      }
#endif
      store_run(to, first, kept, size);
    }
  }
}
