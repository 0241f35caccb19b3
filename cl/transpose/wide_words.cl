// Transpose of few long rows to a packed array, whose rows begin at words on both sides: out[c][r] = in[r][c].
//
// A group has `strip` columns of all rows. A work-item takes blocks of BLOCK rows and WORD_ELEMENTS columns, which its neighbours continue,
// turns them in registers, and stores the words to local memory as the output has them: one contiguous run, which is copied from there.
//
// Lanes that load side by side store words `rows` words apart, whatever an element's size: in different banks if that is odd.
// PADDED, for an even number: a word of padding follows every `rows` words of the run.
//
// Launch: one dimension, GROUP work-items a group, as lines of LANES; a group for each strip of each matrix. Local memory: LOCAL_WORDS words.
#ifndef LANES
#define LANES 32  // work-items that load side by side
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
#define BLOCK 4  // rows of a work-item: a multiple of WORD_ELEMENTS
#endif
#ifndef TURNS
#define TURNS 2  // blocks in flight of a work-item
#endif
#ifndef PADDED
#define PADDED 1
#endif
#ifndef PIECE_WORDS
#define PIECE_WORDS 1
#endif
#define AHEAD 1
#include "transpose/strip.clh"

#define MULTIPLE (LANES * WORD_ELEMENTS)  // columns that divide a strip
#define LINES (GROUP / LANES)

// Loads a word of a row of which `count` elements are left, which may be none.
static inline word load_word(global const element* in, long count) {
#if WORD_ELEMENTS > 1
  if (count >= WORD_ELEMENTS) return *(global const word*)in;
  word result = 0;
  for (int k = 0; k < count; ++k) result |= (word)in[k] << (8 * ELEMENT_BYTES * k);
  return result;
#else
  return count > 0 ? *in : (word)0;
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_wide_words(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
                          global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
                          ulong rows, ulong cols, ulong batch) {
  (void)out_pitch, (void)batch;
  local word tile[LOCAL_WORDS] __attribute__((aligned(16)));
  const uint thin = (uint)rows, strip = strip_of(thin, MULTIPLE), strips = (uint)((cols + strip - 1) / strip);
  const uint matrix = get_group_id(0) / strips;
  const ulong begin = (ulong)(get_group_id(0) - matrix * strips) * strip;
  const int here = (int)min((ulong)strip, cols - begin);
  const ulong to = out_offset + matrix * out_stride + begin * rows;
  global const element* from = in + in_offset + matrix * in_stride + begin;
  const uint before = before_run(out, to) / WORD_ELEMENTS, row_words = thin / WORD_ELEMENTS;
  const uint lane = get_local_id(0) % LANES, line = get_local_id(0) / LANES, steps = strip / MULTIPLE;
  const uint blocks = (thin + BLOCK - 1) / BLOCK, all = blocks * steps;
  const divisor by_steps = divisor_of(steps);

  for (uint first = line; first < all; first += LINES * TURNS) {
    word w[TURNS][BLOCK];
#pragma unroll
    for (uint t = 0; t < TURNS; ++t) {
      const uint n = min(first + t * LINES, all - 1), block = divided(n, by_steps), step = (n - block * steps) * LANES + lane;
      const int left = here - (int)(step * WORD_ELEMENTS);
      global const element* place = from + (long)(block * BLOCK) * in_pitch + step * WORD_ELEMENTS;
#pragma unroll
      for (uint j = 0; j < BLOCK; ++j) w[t][j] = load_word(place + j * in_pitch, block * BLOCK + j < thin ? left : 0);
    }
#pragma unroll
    for (uint t = 0; t < TURNS; ++t) {
      const uint n = first + t * LINES, block = divided(n, by_steps), step = (n - block * steps) * LANES + lane;
      if (n >= all) continue;
      // Word j of column k beside step * WORD_ELEMENTS is word before + step * thin + k * row_words + block * BLOCK / WORD_ELEMENTS + j of the run.
      local word* places = tile + step * (thin + PADDED);
      const uint x = before + block * (BLOCK / WORD_ELEMENTS);
#pragma unroll
      for (uint j = 0; j < BLOCK / WORD_ELEMENTS; ++j) {
        if (block * BLOCK + j * WORD_ELEMENTS >= thin) continue;
        transpose_words(w[t] + j * WORD_ELEMENTS);
#pragma unroll
        for (uint k = 0; k < WORD_ELEMENTS; ++k) {
          const uint at = x + k * row_words + j;
          places[at + (PADDED && at >= thin)] = w[t][j * WORD_ELEMENTS + k];
        }
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  tile_to_run(out, to, tile, (uint)here * thin, thin);
}
