// layer_norm and rms_norm with a row in local memory, which is read from global memory once. A work-group has a row; trees in local memory
// combine its sums. A work-item reads only what it has stored itself, so the row needs no barrier.
//
// Launch: one dimension, GROUP work-items a group, a group a row; a grid-stride loop over the rows. Local memory: PACKS packs, and GROUP
// moments.
#include "norm/operation.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef PACKS
#define PACKS 1024  // of a row, at most
#endif

DEFINE_TEAM_REDUCE(team_add, moments, add_moments)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void norm_tiled(NORM_ARGUMENTS) {
  USE_NORM_ARGUMENTS;
  local packed_vector kept[PACKS];
  local moments scratch[GROUP];
  const int item = get_local_id(0);
  for (ulong r = get_group_id(0); r < rows * batch; r += get_num_groups(0)) {
    const ulong from = row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    const ulong other = row_place(r, rows, batch, residual_offset, residual_pitch, residual_stride);
    const ulong to = row_place(r, rows, batch, out_offset, out_pitch, out_stride);
    const int shift = from % PACK, packs = (cols + shift + PACK - 1) / PACK;
#if HAS_SUM
    const ulong sum_to = row_place(r, rows, batch, sums_offset, sums_pitch, sums_stride);
#endif
    moments mine = 0;
    for (int p = item; p < packs; p += GROUP) {
      const int i = p * PACK - shift;
      const packed_vector x = load_x(in + from, residual + other, i, cols, ARE_ALIGNED(other, shift));
      kept[p] = x;
#if HAS_SUM
      store_row_pack(sums + sum_to, i, cols, ARE_ALIGNED(sum_to, shift), x);
#endif
#if OPERATION == OP_LAYER
      mine.x += pack_sum(x);
#else
      mine.y += pack_sum(x * x);
#endif
    }
    team_add(&mine, scratch, item, GROUP);
    VALUE mean = 0, left = 0;
#if OPERATION == OP_LAYER
    mean = mine.x / (VALUE)cols;
    mine = 0;
    for (int p = item; p < packs; p += GROUP) {
      const packed_vector d = in_row(kept[p] - mean, p * PACK - shift, cols);
      kept[p] = d;
      mine += (moments)(pack_sum(d), pack_sum(d * d));
    }
    team_add(&mine, scratch, item, GROUP);
    left = mine.x / (VALUE)cols;  // of the mean's rounding
#endif
    const VALUE factor = factor_of(mine.y - left * mine.x, cols, epsilon);
    if (item == 0 && flags & STORES_MEAN) means[means_offset + r] = mean + left;
    if (item == 0 && flags & STORES_FACTOR) factors[factors_offset + r] = factor;
    for (int p = item; p < packs; p += GROUP) {
      const int i = p * PACK - shift;
      const packed_vector results = weighted((kept[p] - left) * factor, weight, weight_offset, bias, bias_offset, i, cols, shift, flags);
      store_row_pack(out + to, i, cols, ARE_ALIGNED(to, shift), results);
    }
  }
}
