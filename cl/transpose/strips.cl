// Transpose of packed arrays with a short side: many rows of few elements, or few long rows.
//
// A group's elements are one contiguous run of the side whose rows are short, and on the other side one run a row. All runs
// are read and written by neighbouring work-items, whatever the number of rows and columns; local memory does the permutation.
// For elements of at least four bytes.
//
// SHAPE TALL: `strip` rows of all columns a group: one run in, one run of each column out. WIDE: all rows of `strip` columns:
// one run of each row in, one run out.
//
// Launch: one dimension, GROUP work-items a group; a group for each strip of each matrix. Local memory:
// LOCAL_WORDS words: those of CHUNK elements, padded.
#define TALL 0
#define WIDE 1
#ifndef SHAPE
#define SHAPE TALL
#endif
#ifndef GROUP
#define GROUP 256  // work-items
#endif
#ifndef CHUNK
#define CHUNK 4096  // elements of a group, about
#endif
#ifndef LOCAL_WORDS
#define LOCAL_WORDS 5000  // words of local memory
#endif
#ifndef MULTIPLE
#define MULTIPLE 64  // elements that divide a strip
#endif
#ifndef UNROLL
#define UNROLL 8  // words in flight of a work-item
#endif
#ifndef PADDED
#define PADDED 1  // 0: TALL, of so many columns that neighbouring rows lie in different banks anyway
#endif
#include "transpose/division.clh"
#include "transpose/runs.clh"
#if WORD_ELEMENTS > 1
#error elements of less than four bytes have kernels of their own: tall.cl, wide.cl
#endif

// Elements of a strip: see plan/transpose_strips.cpp.
static inline uint strip_of(uint thin) {
  const uint strip = CHUNK / thin / MULTIPLE * MULTIPLE;
  return strip < MULTIPLE ? MULTIPLE : strip;
}

#if SHAPE == WIDE
// Loads `runs` runs of `count` elements, `pitch` elements apart; run r is at element r * stride of local memory. `slots`: elements of a run, at
// least.
static inline void load_runs(local word* tile, global const element* in, ulong begin, long pitch, uint runs, uint count, divisor slots,
                             uint stride) {
  const uint all = runs * slots.by;
  for (uint first = get_local_id(0); first < all; first += GROUP * UNROLL) {
    word w[UNROLL];
#pragma unroll
    for (uint u = 0; u < UNROLL; ++u) {
      const uint n = min(first + u * GROUP, all - 1), run = divided(n, slots);
      w[u] = in[begin + (ulong)((long)run * pitch) + min(n - run * slots.by, count - 1)];
    }
#pragma unroll
    for (uint u = 0; u < UNROLL; ++u) {
      const uint n = first + u * GROUP, run = divided(n, slots);
      if (n < all) tile[run * stride + n - run * slots.by] = w[u];
    }
  }
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_strips(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
                      global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
                      ulong rows, ulong cols, ulong batch) {
  local word tile[LOCAL_WORDS] __attribute__((aligned(16)));
  const uint item = get_local_id(0);
  // The launch has a group for each strip of the batch.
  (void)batch, (void)in_pitch, (void)out_pitch;
  const ulong length = SHAPE == TALL ? rows : cols;
  const uint thin = SHAPE == TALL ? (uint)cols : (uint)rows, strip = strip_of(thin);
  const uint strips = (uint)((length + strip - 1) / strip);
  const uint matrix = get_group_id(0) / strips;
  const ulong begin = (ulong)(get_group_id(0) - matrix * strips) * strip;
  const uint here = (uint)min((ulong)strip, length - begin), count = here * thin;
  const ulong from = in_offset + matrix * in_stride + (SHAPE == TALL ? begin * cols : begin);
  const ulong to = out_offset + matrix * out_stride + (SHAPE == TALL ? begin : begin * rows);
  const divisor slots = divisor_of(strip);

#if SHAPE == WIDE
  // Lanes read `thin` rows side by side, each at 32 / thin columns: rows are as far apart, counted in banks.
  const uint apart = (31 + thin) / thin % 32, stride = slots.by + (apart + 32 - slots.by % 32) % 32;
  load_runs(tile, in, from, in_pitch, thin, here, slots, stride);
#else
  load_run(tile, in, from, count);
#endif
  barrier(CLK_LOCAL_MEM_FENCE);

#if SHAPE == TALL
  const uint before = before_run(in, from), all = thin * slots.by;
  for (uint n = item; n < all; n += GROUP) {
    const uint col = divided(n, slots), w = n - col * slots.by;
    if (w < here) out[to + (ulong)((long)col * out_pitch) + w] = tile[padded(before + w * thin + col)];
  }
#else
  const divisor across = divisor_of(thin);
  for (uint w = item; w < count; w += GROUP) {
    const uint col = divided(w, across);
    out[to + w] = tile[(w - col * thin) * stride + col];
  }
#endif
}
