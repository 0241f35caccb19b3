// Checks that the bounds of segments ascend and stay inside of a vector: sets `bad` to 1 if they do not.
//
// Launch: one dimension; a grid-stride loop over the bounds.
#ifndef BOUND
#define BOUND uint  // uint or ulong
#endif

kernel void check_segments(global const BOUND* bounds, ulong first, ulong count, ulong size, global uint* bad) {
  for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
    const BOUND bound = bounds[first + i];
    if (bound > size || (i > 0 && bound < bounds[first + i - 1])) *bad = 1;  // all writers write the same value
  }
}
