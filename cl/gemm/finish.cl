// Split-k, second launch: adds the partial sums of the splits, always in the same order, and writes the results.
//
// With many splits and few results SLICES work-items share each result: work-item s of them adds splits s, s + SLICES, ...,
// and the first one adds their sums.
//
// Launch: three dimensions of work-items: column, row, and slice of a product of the batch; grid-stride loops over rows and
// products.
// Local memory: GROUP_0 * GROUP_1 * SLICES values, if SLICES is more than 1.
#include "gemm/operation.clh"

#ifndef GROUP_0
#define GROUP_0 16  // work-group, by dimension
#endif
#ifndef GROUP_1
#define GROUP_1 16
#endif
#ifndef SLICES
#define SLICES 1  // work-items that share a result: the group's third dimension
#endif

kernel __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, SLICES)))
void gemm_finish(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
#if SLICES > 1
  local value slices[SLICES][GROUP_1 * GROUP_0];
  const uint item = get_local_id(1) * GROUP_0 + get_local_id(0);
#endif
  const uint slice = get_local_id(2);
  const ulong col = get_global_id(0);

  // Grid-stride loops, because some drivers limit the second and third dimension of a launch. The trip counts are uniform in a
  // group.
  for (ulong number = get_group_id(2); number < g.batch; number += get_num_groups(2)) {
    const product q = product_of(&g, number);
    const destination d = destination_of(&g, number);
    for (ulong first = get_group_id(1) * GROUP_1; first < g.m; first += get_num_groups(1) * GROUP_1) {
      const ulong row = first + get_local_id(1);
      const bool is_inside = row < q.m && col < q.n;
      value sum = 0;
      if (is_inside) {
        global const value* part = partials + (number * g.parts * g.m + row) * g.n + col;
#pragma unroll 4
        for (uint p = slice; p < g.parts; p += SLICES) sum += part[p * g.m * g.n];
      }
#if SLICES > 1
      slices[slice][item] = sum;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (slice == 0)
        for (uint s = 1; s < SLICES; ++s) sum += slices[s][item];
#endif
      if (slice == 0 && is_inside) write_sum(&d, row, col, sum);
#if SLICES > 1
      barrier(CLK_LOCAL_MEM_FENCE);  // before the next results are stored
#endif
    }
  }
}
