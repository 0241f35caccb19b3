// Softmax for a CPU: a work-group is one work-item, which is one thread, and computes whole rows in vectors of PACK elements. It reads a row from
// memory once, and again from its cache. Of a row with more than TILE elements, which the cache does not hold, tiles are merged, and the row is read
// again for the results.
//
// Launch: one dimension, local size 1; group g computes a range of neighbouring rows. Local memory: of softmax TILE values.
#ifndef PACK
#define PACK 16  // elements of a vector: 16, or 8 doubles
#endif
#include "common/attributes.clh"
#include "softmax/operation.clh"
#include "common/row_vectors.clh"
#define LANES PACK
typedef packed_vector lanes;
#include "common/vector_exp.clh"

#ifndef TILE
#define TILE 16384  // elements: a multiple of PACK
#endif
#define KEEPS (OPERATION == OP_SOFTMAX)  // exponentials stay in local memory

// The larger elements of two vectors; NaNs of the second one are left out.
INLINED packed_vector larger(packed_vector a, packed_vector b) { return MOST_OF(a, b); }

INLINED void keep(local VALUE* kept, uint i, packed_vector e) {
  if (KEEPS) *(local packed_vector*)(kept + i) = e;
}

// The statistics of a tile, whose exponentials remain in `kept`.
INLINED void count_tile(statistics* tile, local VALUE* kept, global const ELEMENT* x, uint count) {
  const uint over = count % PACK, whole = count - over;
  const packed_vector end = load_end(x, count);
  packed_vector a = LEAST, b = larger((packed_vector)LEAST, last_of(end, over, LEAST)), sum = 0, more = 0;
  uint i = 0;
  for (; i + 2 * PACK <= whole; i += 2 * PACK) {
    a = larger(a, load_loose_pack(x, i));
    b = larger(b, load_loose_pack(x, i + PACK));
  }
  if (i < whole) a = larger(a, load_loose_pack(x, i));
  const VALUE largest = vector_max(larger(a, b)), shift = shift_of(largest);
  for (i = 0; i + 2 * PACK <= whole; i += 2 * PACK) {
    const packed_vector e = vector_exp(load_loose_pack(x, i) - shift), f = vector_exp(load_loose_pack(x, i + PACK) - shift);
    sum += e, more += f;
    keep(kept, i, e);
    keep(kept, i + PACK, f);
  }
  if (i < whole) {
    const packed_vector e = vector_exp(load_loose_pack(x, i) - shift);
    sum += e;
    keep(kept, i, e);
  }
  if (over > 0) {
    const packed_vector e = vector_exp(end - shift);
    more += last_of(e, over, 0);
    keep(kept, whole, e);
  }
  *tile = (statistics)(largest, vector_sum(sum + more));
}

#if OPERATION != OP_LOGSUMEXP
// The results of elements of a row, from exponentials that are there or from the elements less `shift`.
INLINED packed_vector results_of(packed_vector v, VALUE shift, VALUE finish, bool is_exponential) {
  if (OPERATION == OP_LOG_SOFTMAX) return v - shift - finish;
  return (is_exponential ? v : vector_exp(v - shift)) * finish;
}
// Writes the results of a tile.
INLINED void finish_tile(global RESULT* to, const local VALUE* kept, global const ELEMENT* x, uint count, VALUE shift, VALUE finish, bool is_kept) {
  const uint over = count % PACK, whole = count - over;
  packed_vector end = 0;  // loaded first: in place, the next results overwrite some of it
  if (over > 0) end = is_kept ? *(const local packed_vector*)(kept + whole) : load_end(x, count);
  for (uint i = 0; i < whole; i += PACK) {
    const packed_vector v = is_kept ? *(const local packed_vector*)(kept + i) : load_loose_pack(x, i);
    store_vector(to + i, results_of(v, shift, finish, is_kept));
  }
  if (over > 0) store_end(to, results_of(end, shift, finish, is_kept), count);
}
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void softmax_cpu(SOFTMAX_ARGUMENTS) {
#if KEEPS
  local VALUE kept[TILE] __attribute__((aligned(64)));
#else
  local VALUE* const kept = 0;
#endif
  const ulong all = rows * batch, share = (all + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = min(get_group_id(0) * share, all), end = min(begin + share, all);
  const uint count = cols;
  for (ulong r = begin; r < end; ++r) {
    global const ELEMENT* from = in + row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    global RESULT* to = out + row_place(r, rows, batch, out_offset, out_pitch, out_stride);
    statistics mine = NO_STATISTICS;
    for (uint first = 0; first < count; first += TILE) {
      statistics tile;
      count_tile(&tile, kept, from + first, min((uint)TILE, count - first));
      mine = first == 0 ? tile : merge(mine, tile);
    }
    const VALUE shift = shift_of(mine.x), finish = finish_of(shift, mine.y, masked);
#if OPERATION == OP_LOGSUMEXP
    store_result(to, 0, finish);
#else
    for (uint first = 0; first < count; first += TILE)
      finish_tile(to + first, kept, from + first, min((uint)TILE, count - first), shift, finish, KEEPS && count <= TILE);
#endif
  }
}
