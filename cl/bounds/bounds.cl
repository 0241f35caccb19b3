// Where keys stand in a sorted vector, by bisection: how many of its keys come before each, with UPPER those that are equal too. With
// CHECK: whether a vector is sorted; `places` gets 1 if it is not.
//
// Launch: one dimension; a grid-stride loop over the keys, or, with BATCH, groups of one work-item, which is a thread of a CPU, over batches of
// keys. The searches of a batch go on together, each with as many keys left, so that no load waits for that of another search.
#include "sort/keys.clh"
#include "sort/image.clh"

#ifndef PLACE
#define PLACE uint  // uint or ulong
#endif
#ifndef UPPER
#define UPPER 0
#endif
#ifndef CHECK
#define CHECK 0
#endif
#ifndef BATCH
#define BATCH 0  // keys that a thread searches for at once; 0: a work-item searches for one
#endif

#if BATCH
#define COMES_BEFORE(y, x) (UPPER ? (y) <= (x) : (y) < (x))
// Not inlined: PoCL copies a kernel's body three times, and vectorises each.
__attribute__((noinline)) void search_batch(global const KEY* restrict sorted, ulong size, global const KEY* restrict keys, uint count,
                                            global PLACE* restrict places, uint begin_bit, uint end_bit) {
  sortable x[BATCH];
  PLACE low[BATCH];
  for (uint k = 0; k < BATCH; ++k) x[k] = image_of(keys[min(k, count - 1)], begin_bit, end_bit), low[k] = 0;
  for (ulong left = size; left > 1;) {
    const PLACE half_of = (PLACE)(left / 2);
    for (uint k = 0; k < BATCH; ++k)
      low[k] += COMES_BEFORE(image_of(sorted[low[k] + (half_of - 1)], begin_bit, end_bit), x[k]) ? half_of : 0;
    left -= half_of;
  }
  if (size != 0)
    for (uint k = 0; k < BATCH; ++k) low[k] += COMES_BEFORE(image_of(sorted[low[k]], begin_bit, end_bit), x[k]) ? 1 : 0;
  for (uint k = 0; k < count; ++k) places[k] = low[k];
}
#endif

kernel void bounds(global const KEY* sorted, ulong sorted_offset, ulong size, global const KEY* keys UNUSED, ulong keys_offset UNUSED,
                   ulong count, global PLACE* places, ulong places_offset, uint begin_bit, uint end_bit) {
  sorted += sorted_offset;
#if BATCH
  for (ulong i = get_group_id(0) * BATCH; i < count; i += get_num_groups(0) * BATCH)
    search_batch(sorted, size, keys + keys_offset + i, (uint)min(count - i, (ulong)BATCH), places + places_offset + i, begin_bit, end_bit);
#else
  for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
#if CHECK
    if (i + 1 < size && image_of(sorted[i + 1], begin_bit, end_bit) < image_of(sorted[i], begin_bit, end_bit))
      places[places_offset] = 1;  // all writers write the same value
#else
    const sortable x = image_of(keys[keys_offset + i], begin_bit, end_bit);
    ulong low = 0, high = size;
    while (low < high) {
      const ulong middle = low + (high - low) / 2;
      const sortable y = image_of(sorted[middle], begin_bit, end_bit);
      if (UPPER ? y <= x : y < x) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    places[places_offset + i] = (PLACE)low;
#endif
  }
#endif
}
