// layer_norm and rms_norm for a CPU: a work-group is one work-item, which is one thread, and computes whole rows in vectors of PACK elements. It
// reads a row from memory once, and again from its cache for the squares of differences and for the results. Of a row with more than TILE elements,
// which the cache does not hold, the moments of tiles are merged, and the row is read again for the results.
//
// Launch: one dimension, local size 1; group g computes a range of neighbouring rows. Local memory: with a residual TILE values, else none.
#ifndef PACK
#define PACK 16  // elements of a vector: 16, or 8 doubles
#endif
#include "common/attributes.clh"
#include "norm/operation.clh"
#include "common/row_vectors.clh"

#ifndef TILE
#define TILE 16384  // elements: a multiple of PACK
#endif
#define STRIDE (4 * PACK)  // elements of four vectors, each with sums of its own

// Elements [i, i + PACK) of a tile, and those of load_end(): sums of input and residual are in local memory, as their place may be that of the input.
#if HAS_RESIDUAL
typedef local const VALUE* tile_values;
#define ELEMENTS(i) (*(local const packed_vector*)(x + (i)))
#define END_OF(count) ELEMENTS((count) / PACK * PACK)
#else
typedef global const ELEMENT* tile_values;
#define ELEMENTS(i) load_loose_pack(x, i)
#define END_OF(count) load_end(x, count)
#endif

#if HAS_RESIDUAL
// Leaves the sums of a tile in local memory, and in `sum_to` where it is not null.
INLINED void add_residual(local VALUE* kept, global const ELEMENT* row, global const ELEMENT* residual, global RESULT* sum_to, uint count) {
  const uint whole = count / PACK * PACK;
  const packed_vector end = load_end(row, count) + load_end(residual, count);  // before a sum is in its place
  for (uint i = 0; i < whole; i += PACK) {
    const packed_vector v = load_loose_pack(row, i) + load_loose_pack(residual, i);
    *(local packed_vector*)(kept + i) = v;
    if (HAS_SUM && sum_to) store_vector(sum_to + i, v);
  }
  if (whole == count) return;
  *(local packed_vector*)(kept + whole) = end;
  if (HAS_SUM && sum_to) store_end(sum_to, end, count);
}
#endif

#if OPERATION == OP_LAYER
// The mean of a tile's elements less `base`.
INLINED VALUE mean_of_tile(tile_values x, uint count, VALUE base) {
  const uint over = count % PACK, whole = count - over;
  packed_vector a = 0, b = 0, c = 0, d = 0;
  uint i = 0;
  for (; i + STRIDE <= whole; i += STRIDE) {
    a += ELEMENTS(i) - base;
    b += ELEMENTS(i + PACK) - base;
    c += ELEMENTS(i + 2 * PACK) - base;
    d += ELEMENTS(i + 3 * PACK) - base;
  }
  for (; i < whole; i += PACK) a += ELEMENTS(i) - base;
  if (over > 0) b += last_of(END_OF(count) - base, over, 0);
  return vector_sum((a + b) + (c + d)) / (VALUE)count;
}
#endif

// The sums of a tile's elements less base and mean, and of the squares of these differences.
INLINED void add_differences(VALUE* sum, VALUE* squares, tile_values x, uint count, VALUE base, VALUE mean) {
  const uint over = count % PACK, whole = count - over;
  packed_vector a = 0, b = 0, aa = 0, bb = 0;
  uint i = 0;
  for (; i + 2 * PACK <= whole; i += 2 * PACK) {
    const packed_vector v = ELEMENTS(i) - base - mean, w = ELEMENTS(i + PACK) - base - mean;
    a += v, aa += v * v;
    b += w, bb += w * w;
  }
  if (i < whole) {
    const packed_vector v = ELEMENTS(i) - base - mean;
    a += v, aa += v * v;
  }
  if (over > 0) {
    const packed_vector v = last_of(END_OF(count) - base - mean, over, 0);
    b += v, bb += v * v;
  }
  *sum = OPERATION == OP_LAYER ? vector_sum(a + b) : 0;
  *squares = vector_sum(aa + bb);
}

#if HAS_WEIGHT || HAS_BIAS
#if WEIGHT_IS_ELEMENT
#define WEIGHTS(from, i) load_loose_pack(from, i)
#define END_OF_WEIGHTS(from, count) load_end(from, count)
#else
#define WEIGHTS(from, i) LOAD_LOOSE(VALUE, PACK, (from) + (i))
#define END_OF_WEIGHTS(from, count) end_of_weights(from, count)
INLINED packed_vector end_of_weights(global const WEIGHT* from, uint count) {
  if (count >= PACK) return WEIGHTS(from, count - PACK);
  pack p;
  p.all = 0;
  for (uint k = 0; k < count; ++k) p.each[PACK - count + k] = from[k];
  return p.all;
}
#endif
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void norm_cpu(NORM_ARGUMENTS) {
  USE_NORM_ARGUMENTS;
#if HAS_RESIDUAL
  local VALUE kept[TILE] __attribute__((aligned(64)));
#endif
  const ulong all = rows * batch, share = (all + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share, all), end = min(begin + share, all);
  const uint count = cols;
  for (ulong r = begin; r < end; ++r) {
    global const ELEMENT* from = in + row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    global RESULT* to = out + row_place(r, rows, batch, out_offset, out_pitch, out_stride);
#if HAS_RESIDUAL
    global const ELEMENT* other = residual + row_place(r, rows, batch, residual_offset, residual_pitch, residual_stride);
    global RESULT* sum_to = sums + row_place(r, rows, batch, sums_offset, sums_pitch, sums_stride);
    const bool fits = count <= TILE;  // else inputs are read again, which may be where sums are written
#endif
    // Of the tiles so far: the mean of the first one, that of the differences from it, and the squares of the differences from both.
    VALUE base = 0, mean = 0, squares = 0;
    for (uint first = 0; first < count; first += TILE) {
      const uint size = min((uint)TILE, count - first);
#if HAS_RESIDUAL
      add_residual(kept, from + first, other + first, fits ? sum_to + first : 0, size);
      tile_values x = kept;
#else
      tile_values x = from + first;
#endif
      VALUE here = 0, sum = 0, more = 0;
#if OPERATION == OP_LAYER
      here = mean_of_tile(x, size, base);
      if (first == 0) base = here, here = 0;
#endif
      add_differences(&sum, &more, x, size, base, here);
#if OPERATION == OP_LAYER
      const VALUE left = sum / (VALUE)size;  // of the mean's rounding
      more -= sum * left;
      here += left;
#endif
      if (first == 0) {
        squares = more, mean = here;
        continue;
      }
      const VALUE part = (VALUE)size / (VALUE)(first + size), apart = here - mean;
      squares += more + apart * (VALUE)first * (apart * part);
      mean += apart * part;
    }
    const VALUE factor = factor_of(squares, cols, epsilon);
    if (flags & STORES_MEAN) means[means_offset + r] = count > 0 ? base + mean : (VALUE)NAN;
    if (flags & STORES_FACTOR) factors[factors_offset + r] = factor;
    for (uint first = 0; first < count; first += TILE) {
      const uint size = min((uint)TILE, count - first);
#if HAS_RESIDUAL
      if (!fits) add_residual(kept, from + first, other + first, sum_to + first, size);
      tile_values x = kept;
#else
      tile_values x = from + first;
#endif
      global const WEIGHT *const w = weight + weight_offset + first, *const c = bias + bias_offset + first;
      (void)w, (void)c;
      const uint whole = size / PACK * PACK;
      packed_vector end = 0;  // loaded first: in place, the next results overwrite some of it
      if (whole < size) end = (END_OF(size) - base - mean) * factor;
      for (uint i = 0; i < whole; i += PACK) {
        packed_vector v = (ELEMENTS(i) - base - mean) * factor;
#if HAS_WEIGHT
        v *= WEIGHTS(w, i);
#endif
#if HAS_BIAS
        v += WEIGHTS(c, i);
#endif
        store_vector(to + first + i, v);
      }
      if (whole == size) continue;
#if HAS_WEIGHT
      end *= END_OF_WEIGHTS(w, size);
#endif
#if HAS_BIAS
      end += END_OF_WEIGHTS(c, size);
#endif
      store_end(to + first, end, size);
    }
  }
}
