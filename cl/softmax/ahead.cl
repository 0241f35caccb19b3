// Softmax with a row in local memory, which is read from global memory once: see common/row_ahead.clh. The largest element and the sum are found
// at once, as the packs of the row arrive.
//
// Launch: one dimension, GROUP work-items a group, in a loop over the rows. Local memory: PACKS packs of ELEMENTs, and GROUP values, or with
// COPY_ASYNC 32.
#include "softmax/operation.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#include "common/row_ahead.clh"
#define SHUFFLES COPY_ASYNC
#include "softmax/team.clh"

// Merges packs of the row with its statistics so far.
INLINED void count_packs(const packed_vector* v, VALUE* largest, VALUE* sum) {
  VALUE most = *largest, part = 0;
  UNROLLED
  for (int k = 0; k < AT_ONCE; ++k) most = fmax(most, pack_max(v[k]));
  const VALUE moved = shift_of(most);
  UNROLLED
  for (int k = 0; k < AT_ONCE; ++k) part += pack_sum(pack_exp(v[k] - moved));
  *sum = *sum * exp(*largest - moved) + part;
  *largest = most;
}

#if OPERATION != OP_LOGSUMEXP
// Writes the results of pack `place`, whose elements are v.
static inline void store_results(global RESULT* out, int place, int shift, int cols, int aligned, packed_vector v, VALUE moved, VALUE finish) {
  const packed_vector less = v - moved;
  store_row_pack(out, place * PACK - shift, cols, aligned, OPERATION == OP_SOFTMAX ? pack_exp(less) * finish : less - finish);
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_ahead(SOFTMAX_ARGUMENTS) {
  local raw_pack kept[PACKS] __attribute__((aligned(16)));
  local VALUE scratch[COPY_ASYNC ? 32 : GROUP];
  const int item = get_local_id(0);
  for (ulong r = get_group_id(0); r < rows * batch; r += get_num_groups(0)) {
    const ulong from = row_place(r, rows, batch, in_offset, in_pitch, in_stride);
    const int shift = from % LINE;
    copy_row(kept, in + from, shift, cols, item);
    VALUE largest = LEAST, sum = 0;
    ROLLED
    for (int first = item; first < CHUNKS * CHUNK; first += CHUNK) {
      packed_vector v[AT_ONCE];
      WAIT_CHUNK(0);
      UNROLLED
      for (int k = 0; k < AT_ONCE; ++k) v[k] = kept_pack(kept, first + k * GROUP, shift, cols, LEAST);
      count_packs(v, &largest, &sum);
      END_CHUNK();
    }
    VALUE most = largest;
    team_max(&most, scratch, item, GROUP);
    const VALUE moved = shift_of(most);
    sum *= exp(largest - moved);
    team_sum(&sum, scratch, item, GROUP);
    const VALUE finish = finish_of(moved, sum, masked);
    const ulong to = row_place(r, rows, batch, out_offset, out_pitch, out_stride);
#if OPERATION == OP_LOGSUMEXP
    if (item == 0) store_result(out + to, 0, finish);
#else
    const int aligned = ARE_ALIGNED(to, shift % PACK);
    ROLLED
    for (int first = item; first < CHUNKS * CHUNK; first += CHUNK) {
      UNROLLED
      for (int k = 0; k < AT_ONCE; ++k) {
        const int place = first + k * GROUP;
        store_results(out + to, place, shift, cols, aligned, kept_pack(kept, place, shift, cols, LEAST), moved, finish);
      }
    }
#endif
  }
}
