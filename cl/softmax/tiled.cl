// Softmax with a row in local memory, which is read from global memory once. A work-group has a row; trees in local memory find its
// largest element and its sum. A work-item reads only what it has stored itself, so the row needs no barrier.
//
// Launch: one dimension, GROUP work-items a group, a group a row; a grid-stride loop over the rows. Local memory: PACKS packs, and GROUP
// values.
#include "softmax/operation.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef PACKS
#define PACKS 1024  // of a row, at most
#endif

static inline VALUE larger_of(VALUE a, VALUE b) { return fmax(a, b); }
static inline VALUE sum_of(VALUE a, VALUE b) { return a + b; }
DEFINE_TEAM_REDUCE(team_max, VALUE, larger_of)
DEFINE_TEAM_REDUCE(team_sum, VALUE, sum_of)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_tiled(SOFTMAX_ARGUMENTS) {
  local packed_vector kept[PACKS];
  local VALUE scratch[GROUP];
  const int item = get_local_id(0);
  for (ulong r = get_group_id(0); r < rows * batch; r += get_num_groups(0)) {
    const ulong from = row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    const ulong to = row_place(r, rows, batch, out_offset, out_pitch, out_stride);
    const int shift = from % PACK, packs = (cols + shift + PACK - 1) / PACK;
    VALUE largest = LEAST;
    for (int p = item; p < packs; p += GROUP) {
      const packed_vector v = load_row_pack(in + from, p * PACK - shift, cols, LEAST);
      kept[p] = v;
      largest = fmax(largest, pack_max(v));
    }
    team_max(&largest, scratch, item, GROUP);
    const VALUE moved = shift_of(largest);
    VALUE sum = 0;
    for (int p = item; p < packs; p += GROUP) {
      const packed_vector less = kept[p] - moved, e = exp(less);
      kept[p] = OPERATION == OP_SOFTMAX ? e : less;
      sum += pack_sum(e);
    }
    team_sum(&sum, scratch, item, GROUP);
    const VALUE finish = finish_of(moved, sum, masked);
#if OPERATION == OP_LOGSUMEXP
    if (item == 0) store_result(out + to, 0, finish);
#else
    const int aligned = ARE_ALIGNED(to, shift);
    for (int p = item; p < packs; p += GROUP) {
      const packed_vector v = kept[p];
      store_row_pack(out + to, p * PACK - shift, cols, aligned, OPERATION == OP_SOFTMAX ? v * finish : v - finish);
    }
#endif
  }
}
