// Where keys stand in a sorted vector, by bisection: how many of its keys come before each, with UPPER those that are equal too. The first
// steps are made in samples of the vector, which a group keeps in local memory: of at most TABLE keys each is one.
//
// A work-item searches for ITEMS keys at once, each in as many steps, so that no load waits for that of another search.
//
// Launch: one dimension; a grid-stride loop over GROUP * ITEMS keys. Local memory: TABLE images.
#include "sort/keys.clh"
#include "sort/image.clh"

#ifndef PLACE
#define PLACE uint  // uint or ulong
#endif
#ifndef UPPER
#define UPPER 0
#endif
#ifndef GROUP
#define GROUP 256
#endif
#ifndef ITEMS
#define ITEMS 4
#endif
#ifndef TABLE
#define TABLE 4096
#endif
#define COMES_BEFORE(y, x) (UPPER ? (y) <= (x) : (y) < (x))

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void bounds_sampled(global const KEY* sorted, ulong sorted_offset, ulong size, global const KEY* keys, ulong keys_offset, ulong count,
                    global PLACE* places, ulong places_offset, uint begin_bit, uint end_bit) {
  local sortable samples[TABLE];
  const uint item = get_local_id(0);
  sorted += sorted_offset;
  // Sample j is the last one of the j-th `step` keys.
  const ulong step = size / TABLE + 1;
  const uint all = (uint)(size / step);
  for (uint j = item; j < all; j += GROUP) samples[j] = image_of(sorted[(j + 1) * step - 1], begin_bit, end_bit);
  barrier(CLK_LOCAL_MEM_FENCE);
  // No barrier follows.
  for (ulong first = get_group_id(0) * (ulong)(GROUP * ITEMS) + item; first < count; first += get_num_groups(0) * (ulong)(GROUP * ITEMS)) {
    sortable x[ITEMS];
    uint low[ITEMS];
    PLACE at[ITEMS];
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u) {
      x[u] = first + u * GROUP < count ? image_of(keys[keys_offset + first + u * GROUP], begin_bit, end_bit) : 0;
      low[u] = 0;
    }
#pragma unroll 1
    for (uint left = all; left > 0; left /= 2) {
      const uint half_of = (left + 1) / 2;
#pragma unroll
      for (uint u = 0; u < ITEMS; ++u) low[u] += COMES_BEFORE(samples[low[u] + half_of - 1], x[u]) ? half_of : 0;
    }
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u) at[u] = (PLACE)(low[u] * step);
#pragma unroll 1
    for (ulong left = step - 1; left > 0; left /= 2) {
      const PLACE half_of = (PLACE)((left + 1) / 2);
#pragma unroll
      for (uint u = 0; u < ITEMS; ++u) {
        const ulong place = (ulong)at[u] + half_of - 1;
        at[u] += place < size && COMES_BEFORE(image_of(sorted[min(place, size - 1)], begin_bit, end_bit), x[u]) ? half_of : 0;
      }
    }
#pragma unroll
    for (uint u = 0; u < ITEMS; ++u)
      if (first + u * GROUP < count) places[places_offset + first + u * GROUP] = at[u];
  }
}
