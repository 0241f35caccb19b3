// Transpose for a CPU of matrices with a short side of SIDE elements: planes that become interleaved, and interleaved elements that
// become planes. The side that is interleaved has no gaps.
//
// A work-group is one work-item, which is one thread. It moves CHUNK places of the long side at a time through a buffer that its first
// cache holds: SIDE is a constant, so compilers turn neighbours in registers. Whole cache lines are written by non-temporal stores, so
// that no line of the output is read before it is overwritten.
//
// Launch: one dimension, local size 1; group g moves the chunks g, g + groups, ... Local memory: (CHUNK + LINE) * SIDE elements.
#include "common/element.clh"
#include "transpose/cache_lines.clh"
#include "transpose/write_run.clh"

#ifndef SIDE
#define SIDE 3
#endif
#ifndef INTERLEAVES
#define INTERLEAVES 1  // 1: the input has SIDE rows; 0: the input has SIDE columns
#endif
#ifndef CHUNK
#define CHUNK 1024  // a multiple of LINE
#endif

#define PITCH (CHUNK + LINE)  // of planes in the buffer, which begin in different cache sets

// Not inlined: PoCL copies a kernel's body three times.
#if INTERLEAVES
__attribute__((noinline)) void interleave(local element* restrict to, global const element* restrict from, long pitch, int count) {
  for (int i = 0; i < count; ++i)
#pragma unroll
    for (int k = 0; k < SIDE; ++k) to[i * SIDE + k] = from[k * pitch + i];
}
#else
__attribute__((noinline)) void separate(local element* restrict to, global const element* restrict from, int count) {
  for (int i = 0; i < count; ++i)
#pragma unroll
    for (int k = 0; k < SIDE; ++k) to[k * PITCH + i] = from[i * SIDE + k];
}
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void transpose_cpu_narrow(global const element* in, ulong in_offset, long in_pitch, ulong in_stride,
                          global element* out, ulong out_offset, long out_pitch, ulong out_stride,
                          ulong rows, ulong cols, ulong batch) {
  local element buffer[PITCH * SIDE];
  const ulong places = INTERLEAVES ? cols : rows, chunks = (places + CHUNK - 1) / CHUNK;
  for (ulong t = get_group_id(0); t < chunks * batch; t += get_num_groups(0)) {
    const ulong first = t % chunks * CHUNK, b = t / chunks;
    const int count = (int)min(places - first, (ulong)CHUNK);
    global const element* from = in + in_offset + b * in_stride;
    global element* to = out + out_offset + b * out_stride;
#if INTERLEAVES
    (void)out_pitch;
    interleave(buffer, from + first, in_pitch, count);
    write_run(to + first * SIDE, buffer, count * SIDE);
#else
    (void)in_pitch;
    separate(buffer, from + first * SIDE, count);
    PLAIN_LOOP for (int k = 0; k < SIDE; ++k) write_run(to + k * out_pitch + first, buffer + k * PITCH, count);
#endif
  }
}
