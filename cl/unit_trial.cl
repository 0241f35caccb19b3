// One product of a matrix unit: fragments of A and B from rows along k, by one sub-group. A device that should have the unit shows by it
// that its compiler takes the instructions, and that the layouts of common/matrix_unit.clh are right (host/runtime/matrix_unit.cpp).
//
// Launch: one group of LANES work-items. Local memory: the fragments, of A and B in rows of ROW numbers. The emulated unit has UNIT_SHARED
// numbers more.
#ifndef UNIT_TYPE
#define UNIT_TYPE 0  // half, bfloat16, int8: common/matrix_unit.clh
#endif
#include "common/matrix_unit.clh"
#include "common/sub_group.clh"

#define ROW (UNIT_K + 32 / UNIT_BYTES)  // padded, as a product's tiles are

// `c` is 1 + A B, of UNIT_M x UNIT_N.
kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(LANES, 1, 1)))
void unit_trial(global const unit_number* a, global const unit_number* b, global unit_sum* c) {
  local uint4 a_vectors[UNIT_M * ROW * UNIT_BYTES / 16], b_vectors[UNIT_N * ROW * UNIT_BYTES / 16];
  local unit_sum sums[UNIT_M * UNIT_N];
  local unit_number *const a_rows = (local unit_number*)a_vectors, *const b_rows = (local unit_number*)b_vectors;
  matrix_unit unit;
  unit.lane = get_local_id(0);
#if EMULATED_UNIT
  local uint shared[UNIT_SHARED * UNIT_BYTES / 4];
  unit.shared = (local unit_number*)shared;
#endif
  for (uint i = unit.lane; i < UNIT_M * UNIT_K; i += LANES) a_rows[i / UNIT_K * ROW + i % UNIT_K] = a[i];
  for (uint i = unit.lane; i < UNIT_N * UNIT_K; i += LANES) b_rows[i / UNIT_K * ROW + i % UNIT_K] = b[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  store_c(sums, UNIT_N, multiply_add(&unit, load_a(a_rows, ROW, &unit), load_b(b_rows, ROW, &unit), (fragment_c)(1)), &unit);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = unit.lane; i < UNIT_M * UNIT_N; i += LANES) c[i] = sums[i];
}
