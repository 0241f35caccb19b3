// Scan, first steps of the ladder: textbook scans of one tile in local memory. Vectors only.
//
// VARIANT 0, "hillis_steele": an element a work-item; in step k each element adds the one 2^k before it. n log n operations. W. D.
// Hillis and G. L. Steele, "Data parallel algorithms", CACM 29, 1986.
// VARIANT 1, "blelloch": two elements a work-item; the up-sweep builds a tree of sums; in the down-sweep a node passes its exclusive
// prefix to its left child, and that plus the left child's sum to its right child. 2 n operations. G. E. Blelloch, "Prefix sums
// and their applications", 1990. The strides of the tree are powers of two, which conflict in the banks: the plan's layout
// avoids it (M. Harris, S. Sengupta and J. D. Owens, "Parallel prefix sum (scan) with CUDA", GPU Gems 3, 2007).
//
// Launch: one dimension, GROUP work-items a group, which scans the tiles of its part in their order; the aggregates of the parts
// come from a first launch (scan/reduce.cl). Local memory: 2 * GROUP numbers (blelloch: in the layout).
#include "scan/operation.clh"
#include "common/tile.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef VARIANT
#define VARIANT 0  // 0: hillis_steele, 1: blelloch
#endif
#ifndef ROW
#define ROW 32  // numbers in a row of the layout: a power of two, at most 2 * GROUP
#endif

#if VARIANT == 1
// The place of number i of the tree.
static inline uint place_of(uint i) { return TILE_AT(i / ROW, i % ROW); }
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_ladder(SCAN_ARGUMENTS) {
  USE_SCAN_ARGUMENTS;
  (void)marks, (void)marks_offset, (void)marks_count, (void)in_pitch, (void)in_stride, (void)out_pitch, (void)out_stride,
      (void)rows, (void)batch, (void)parts;
  local ACC tree[VARIANT == 0 ? 2 * GROUP : 2 * GROUP / ROW * TILE_STRIDE];
  const uint item = get_local_id(0);
  const ulong part = get_group_id(0), end = min((part + 1) * piece, cols);
  global const ELEMENT* row = in + in_offset;
  global RESULT* results = out + out_offset;
  global const ACC* earlier = (global const ACC*)scratch;
  ACC before = start_value(initial_bits, has_initial);
  for (ulong p = 0; p < part; ++p) before = combine(before, earlier[p]);
#if VARIANT == 0
  for (ulong first = part * piece; first < end; first += GROUP) {
    const ulong i = first + item;
    const ACC x = i < end ? lift(load_value(row, i)) : identity();
    uint from = 0;  // the half that is read; the other one is written: one barrier a step
    tree[item] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint apart = 1; apart < GROUP; apart *= 2) {
      const ACC own = tree[from + item];
      tree[(GROUP - from) + item] = item >= apart ? combine(tree[from + item - apart], own) : own;
      from = GROUP - from;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
#if EXCLUSIVE
    const ACC result = item == 0 ? before : combine(before, tree[from + item - 1]);
#else
    const ACC result = combine(before, tree[from + item]);
#endif
    if (i < end) store_result(results, i, (result_value)result);
    before = combine(before, tree[from + GROUP - 1]);
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next tile is stored
  }
#else
  for (ulong first = part * piece; first < end; first += 2 * GROUP) {
    // Coalesced loads.
    const ulong i = first + item, j = i + GROUP;
    const ACC x = i < end ? lift(load_value(row, i)) : identity(), y = j < end ? lift(load_value(row, j)) : identity();
    tree[place_of(item)] = x;
    tree[place_of(item + GROUP)] = y;
    // Up-sweep: each node is the sum of its children, stored at the place of the right one.
    for (uint apart = 1, nodes = GROUP; nodes > 0; apart *= 2, nodes /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (item < nodes) {
        const uint right = 2 * apart * (item + 1) - 1;
        tree[place_of(right)] = combine(tree[place_of(right - apart)], tree[place_of(right)]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const ACC whole = tree[place_of(2 * GROUP - 1)];
    // Down-sweep: exclusive prefixes; the root's is the identity.
    for (uint apart = GROUP, nodes = 1; nodes <= GROUP; apart /= 2, nodes *= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (item < nodes) {
        const uint right = 2 * apart * (item + 1) - 1;
        const ACC left_sum = tree[place_of(right - apart)];
        const ACC before_node = nodes == 1 ? identity() : tree[place_of(right)];
        tree[place_of(right - apart)] = before_node;
        tree[place_of(right)] = combine(before_node, left_sum);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const ACC p = combine(before, tree[place_of(item)]), q = combine(before, tree[place_of(item + GROUP)]);
    if (i < end) store_result(results, i, (result_value)(EXCLUSIVE ? p : combine(p, x)));
    if (j < end) store_result(results, j, (result_value)(EXCLUSIVE ? q : combine(q, y)));
    before = combine(before, whole);
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next tile is stored
  }
#endif
}
