// A bitonic sort of one tile in local memory. K. E. Batcher, "Sorting networks and their applications", AFIPS 1968.
//
// A sorting network is not stable; keys that are equal are ordered by their places. Only then are keys and values moved, so that
// they keep their bits.
//
// Launch: one group of GROUP work-items.
#include "sort/keys.clh"

#ifndef GROUP
#define GROUP 256
#endif
#ifndef TILE
#define TILE 1024  // a power of two, at least `size`; at most 65536
#endif
#define ITEMS ((TILE + GROUP - 1) / GROUP)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void sort_bitonic(SORT_ARGUMENTS) {
  USE_SORT_ARGUMENTS;
  local sortable order[TILE];
  local ushort places[TILE];
  const uint item = get_local_id(0), count = (uint)size;
  const uint bits = end_bit - begin_bit;
  const sortable range = bits == 0 ? 0 : ALL_BITS >> (KEY_BITS - bits);
  global const KEY* from = in + in_offset;
  uint width = 1;  // a power of two: what lies beyond it needs no sorting
  while (width < count) width *= 2;
  for (uint i = item; i < width; i += GROUP) {
    order[i] = i < count ? order_of(from[i]) >> (begin_bit & (KEY_BITS - 1)) & range : ALL_BITS;
    places[i] = (ushort)i;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint run = 2; run <= width; run *= 2) {
    for (uint apart = run / 2; apart > 0; apart /= 2) {
      for (uint t = item; t < width / 2; t += GROUP) {
        const uint a = 2 * t - (t & (apart - 1)), b = a + apart;
        const sortable x = order[a], y = order[b];
        const ushort p = places[a], q = places[b];
        const int follows = x > y || (x == y && p > q);
        if (follows == ((a & run) == 0)) {
          order[a] = y;
          order[b] = x;
          places[a] = q;
          places[b] = p;
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
  // All is read before anything is written, which may take its place.
  KEY keys[ITEMS];
#if VALUES == 1
  VALUE moved[ITEMS * VALUE_PARTS];
#endif
  for (uint u = 0; u < ITEMS; ++u) {
    const uint i = item + u * GROUP;
    if (i < count) {
      keys[u] = from[places[i]];
#if VALUES == 1
      for (uint k = 0; k < VALUE_PARTS; ++k)
        moved[u * VALUE_PARTS + k] = values[values_offset + (ulong)places[i] * VALUE_PARTS + k];
#endif
    }
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (uint u = 0; u < ITEMS; ++u) {
    const uint i = item + u * GROUP;
    if (i < count) {
#if VALUES == 2
      out_values[out_values_offset + i] = places[i];
#else
      out[out_offset + i] = keys[u];
#endif
#if VALUES == 1
      for (uint k = 0; k < VALUE_PARTS; ++k)
        out_values[out_values_offset + (ulong)i * VALUE_PARTS + k] = moved[u * VALUE_PARTS + k];
#endif
    }
  }
}
