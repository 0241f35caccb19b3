// Transpose of packed arrays of few columns, whose rows begin at words on both sides: out[c][r] = in[r][c].
//
// A group's elements are one contiguous run of the input, which is copied to local memory as it lies. A work-item takes a block of
// WORD_ELEMENTS rows and BLOCK columns, turns it in registers, and stores a word of each column beside its neighbours' words.
//
// Lanes that store side by side read words `cols` words apart, whatever an element's size: in different banks if that is odd.
// PADDED, for an even number: a word of padding follows every `cols` words of the run.
//
// Launch: one dimension, GROUP work-items a group, as lines of LANES; a group for each strip of each matrix. Local memory: LOCAL_WORDS words.
#ifndef LANES
#define LANES 32  // work-items that store side by side
#endif
#ifndef GROUP
#define GROUP 512  // work-items: a multiple of LANES
#endif
#ifndef CHUNK
#define CHUNK 49152  // elements of a group, about
#endif
#ifndef LOCAL_WORDS
#define LOCAL_WORDS 14000
#endif
#ifndef BLOCK
#define BLOCK 4  // columns of a work-item: a multiple of WORD_ELEMENTS
#endif
#ifndef PADDED
#define PADDED 1
#endif
#ifndef PIECE_WORDS
#define PIECE_WORDS 1
#endif
#ifndef AHEAD
#define AHEAD 4
#endif
#include "transpose/strip.clh"

#define MULTIPLE (LANES * WORD_ELEMENTS)  // rows that divide a strip
#define LINES (GROUP / LANES)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_tall_words(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
                          global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
                          ulong rows, ulong cols, ulong batch) {
  (void)in_pitch, (void)batch;
  local word tile[LOCAL_WORDS] __attribute__((aligned(16)));
  const uint thin = (uint)cols, strip = strip_of(thin, MULTIPLE), strips = (uint)((rows + strip - 1) / strip);
  const uint matrix = get_group_id(0) / strips;
  const ulong begin = (ulong)(get_group_id(0) - matrix * strips) * strip;
  const uint here = (uint)min((ulong)strip, rows - begin);
  const uint before = run_to_tile(tile, in, in_offset + matrix * in_stride + begin * cols, here * thin, thin) / WORD_ELEMENTS;
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint lane = get_local_id(0) % LANES, steps = strip / MULTIPLE, blocks = (thin + BLOCK - 1) / BLOCK, row_words = thin / WORD_ELEMENTS;
  const divisor by_steps = divisor_of(steps);
  global element* to = out + out_offset + matrix * out_stride + begin;
  for (uint n = get_local_id(0) / LANES; n < blocks * steps; n += LINES) {
    const uint block = divided(n, by_steps), step = (n - block * steps) * LANES + lane, r = step * WORD_ELEMENTS, c = block * BLOCK;
    if (r >= here) continue;
    // Word j of row r + k is word before + step * thin + k * row_words + c / WORD_ELEMENTS + j of the run.
    local const word* from = tile + step * (thin + PADDED);
    const uint x = before + c / WORD_ELEMENTS;
    word w[BLOCK];
#pragma unroll
    for (uint j = 0; j < BLOCK / WORD_ELEMENTS; ++j) {
#pragma unroll
      for (uint k = 0; k < WORD_ELEMENTS; ++k) {
        const uint at = x + k * row_words + j;
        w[j * WORD_ELEMENTS + k] = from[at + (PADDED && at >= thin)];
      }
      transpose_words(w + j * WORD_ELEMENTS);
    }
    global element* place = to + (long)c * out_pitch + r;
#pragma unroll
    for (uint j = 0; j < BLOCK; ++j) {
      if (c + j >= thin) continue;
#if WORD_ELEMENTS > 1
      if (r + WORD_ELEMENTS > here) {
        for (uint k = 0; r + k < here; ++k) (place + j * out_pitch)[k] = (element)(w[j] >> (8 * ELEMENT_BYTES * k));
        continue;
      }
#endif
      *(global word*)(place + j * out_pitch) = w[j];
    }
  }
}
