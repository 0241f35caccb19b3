// Transpose for a CPU of many small matrices without gaps, whose shape is a constant, so that each goes through registers.
//
// A work-group is one work-item, which is one thread. It turns CHUNK matrices at a time into a buffer that its first cache holds. Whole cache
// lines are written by non-temporal stores, so that no line of the output is read before it is overwritten.
//
// Launch: one dimension, local size 1; group g turns the chunks g, g + groups, ... Local memory: CHUNK matrices.
#include "common/element.clh"
#include "transpose/cache_lines.clh"
#include "transpose/write_run.clh"

#ifndef IN_PLACE
#define IN_PLACE 0  // 1: in and out are the same matrices
#endif
#ifndef ROWS
#define ROWS 3  // of the input
#endif
#ifndef COLS
#define COLS 3
#endif
#ifndef CHUNK
#define CHUNK 64
#endif
#define SIZE (ROWS * COLS)

// Not inlined: PoCL copies a kernel's body three times.
__attribute__((noinline)) void turn_matrices(local element* restrict to, global const element* restrict from, int count) {
  PLAIN_LOOP for (int i = 0; i < count; ++i, from += SIZE, to += SIZE) {
    element e[SIZE];
#pragma unroll
    for (int k = 0; k < SIZE; ++k) e[k] = from[k];
#pragma unroll
    for (int k = 0; k < SIZE; ++k) to[k] = e[k % ROWS * COLS + k / ROWS];
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void transpose_cpu_small(global const element* in, ulong in_offset, long in_pitch, ulong in_stride,
                         global element* out, ulong out_offset, long out_pitch, ulong out_stride,
                         ulong rows, ulong cols, ulong batch) {
  (void)in_pitch, (void)in_stride, (void)out_pitch, (void)out_stride, (void)rows, (void)cols;
  local element buffer[CHUNK * SIZE];
  for (ulong first = get_group_id(0) * CHUNK; first < batch; first += get_num_groups(0) * CHUNK) {
    const int count = (int)min(batch - first, (ulong)CHUNK);
    global element* to = out + out_offset + first * SIZE;
    turn_matrices(buffer, IN_PLACE ? (global const element*)to : in + in_offset + first * SIZE, count);
    write_run(to, buffer, count * SIZE);
  }
}
