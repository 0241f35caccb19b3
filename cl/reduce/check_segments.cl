// Whether the bounds of segments ascend and stay inside a vector: sets `bad` to 1 where they do not.
//
// Launch: one dimension; work-item i checks bounds i, i + work-items, ...
#ifndef BOUND
#define BOUND uint  // uint or ulong
#endif

kernel void check_segments(global const BOUND* bounds, ulong first, ulong count, ulong size, global uint* bad) {
  for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
    const BOUND bound = bounds[first + i];
    if (bound > size || (i > 0 && bound < bounds[first + i - 1])) *bad = 1;  // whoever writes, writes the same
  }
}
