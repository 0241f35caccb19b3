// The filters' matrices of a convolution by Winograd's minimal filtering: G g G^T of the weights g of each filter and channel.
//
// Launch: two dimensions of work-items: channel of a filter's group, and filter; a grid-stride loop over filters. No local memory.
#include "common/sub_group.clh"
#include "conv2d/winograd.clh"
#include "common/group_by_dimension.clh"

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP_0, GROUP_1, GROUP_2)))
void conv2d_winograd_filters(global const ELEMENT* weights, ulong weight_offset, ulong weight_stride, global VALUE* factors, ulong matrix,
                             ulong pitch, uint filters, uint channels) {
  const uint c = get_global_id(0);
  if (c >= channels) return;  // no barrier follows
  for (uint k = get_group_id(1) * GROUP_1 + get_local_id(1); k < filters; k += get_num_groups(1) * GROUP_1) {
    global const ELEMENT* from = weights + weight_offset + k * weight_stride + (WEIGHTS_INTERLEAVED ? (ulong)c : (ulong)c * 9);
    const ulong apart = WEIGHTS_INTERLEAVED ? channels : 1;
    VALUE g[9];
#pragma unroll
    for (uint tap = 0; tap < 9; ++tap) g[tap] = load_value(from, tap * apart);
    write_filter(g, factors + k * pitch + c, matrix);
  }
}
