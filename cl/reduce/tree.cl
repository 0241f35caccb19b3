// Reduce, first steps of the ladder: a tree in local memory for every GROUP elements of a vector. M. Harris, "Optimizing Parallel
// Reduction in CUDA", NVIDIA, 2007.
//
// VARIANT 0, "interleaved": in step k every 2^k-th work-item adds the value of its neighbour: active work-items diverge in all
// sub-groups, and their accesses have bank conflicts. VARIANT 1, "sequential": the first half adds the second half: active
// work-items and their accesses are contiguous. VARIANT 2, "first_add": as 1, but each work-item combines two elements when it
// loads them, because otherwise half of the group would be idle after the load.
//
// Launch: one dimension, GROUP work-items a group; the work-group of part p has tiles p, p + parts, ... of GROUP elements
// (first_add: 2 * GROUP), with a tree for each; a second launch combines the parts. Local memory: GROUP accumulators.
#include "reduce/input.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef VARIANT
#define VARIANT 0  // 0: interleaved, 1: sequential, 2: first_add
#endif
#define TILE (VARIANT == 2 ? 2 * GROUP : GROUP)

static inline accumulator read_element(row_source row, ulong i) {
  return i < row.count ? accumulate(identity(), load_term(row, i, i), i) : identity();
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_tree(REDUCE_ARGUMENTS) {
  USE_REDUCE_ARGUMENTS;
  (void)rows, (void)batch, (void)counters;
  local accumulator tree[GROUP];
  const uint item = get_local_id(0);
  const ulong part = get_group_id(0);
  const row_source row = find_row(in, in_offset, pitch, stride, other, other_offset, bounds, bounds_offset, cols, 0, 0);
  accumulator sum = identity();  // of all trees so far, in the first work-item
  for (ulong first = part * TILE; first < row.count; first += parts * TILE) {
    tree[item] = read_element(row, first + item);
#if VARIANT == 2
    tree[item] = combine(tree[item], read_element(row, first + GROUP + item));
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
#if VARIANT == 0
    for (uint apart = 1; apart < GROUP; apart *= 2) {
      if (item % (2 * apart) == 0) tree[item] = combine(tree[item], tree[item + apart]);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
#else
    for (uint apart = GROUP / 2; apart > 0; apart /= 2) {
      if (item < apart) tree[item] = combine(tree[item], tree[item + apart]);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
    if (item == 0) sum = combine(sum, tree[0]);
    barrier(CLK_LOCAL_MEM_FENCE);  // the next tile takes its place
  }
  if (item == 0) {
    if (parts == 1) {
      write_result(out + out_offset, 0, sum, row.count);
    } else {
      partials[part] = sum;
    }
  }
}
