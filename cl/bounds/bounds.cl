// Where keys stand in a sorted vector, by bisection: how many of its keys come before each, with UPPER those that are equal too. With
// CHECK: whether a vector is sorted; `places` gets 1 if it is not.
//
// Launch: one dimension; a grid-stride loop over the keys.
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

kernel void bounds(global const KEY* sorted, ulong sorted_offset, ulong size, global const KEY* keys UNUSED, ulong keys_offset UNUSED,
                   ulong count, global PLACE* places, ulong places_offset, uint begin_bit, uint end_bit) {
  sorted += sorted_offset;
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
}
