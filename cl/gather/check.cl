// Checks that places are less than `limit`: sets `bad` to 1 if one is not.
//
// Launch: one dimension; a grid-stride loop over the places.
#ifndef PLACE
#define PLACE uint  // uint or ulong
#endif

kernel void check_places(global const PLACE* places, ulong first, ulong count, ulong limit, global uint* bad) {
  for (ulong i = get_global_id(0); i < count; i += get_global_size(0))
    if (places[first + i] >= limit) *bad = 1;  // all writers write the same value
}
