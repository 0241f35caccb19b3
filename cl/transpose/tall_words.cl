// Transpose of packed arrays of few columns, whose rows begin at words: out[c][r] = in[r][c].
//
// A group's elements are one contiguous run of the input, which is copied to local memory as it lies. A work-item takes a block of
// WORD_ELEMENTS rows and BLOCK columns, turns it in registers, and stores a word of each column beside its neighbours' words. SHIFTED: output
// rows begin anywhere, so that words are cut out of this block's and the one's above it, which a group reads as well.
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
#ifndef SHIFTED
#define SHIFTED 0
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
#define HALO (SHIFTED ? WORD_ELEMENTS - 1 : 0)

// Turns the block of which word j of row k is word at = x + k * row_words + j from `from` on, where padding follows `thin` words.
static inline void turn_block(word w[BLOCK], local const word* from, uint x, uint row_words, uint thin) {
#pragma unroll
  for (uint j = 0; j < BLOCK / WORD_ELEMENTS; ++j) {
#pragma unroll
    for (uint k = 0; k < WORD_ELEMENTS; ++k) {
      const uint at = x + k * row_words + j;
      w[j * WORD_ELEMENTS + k] = from[at + (PADDED && at >= thin)];
    }
    transpose_words(w + j * WORD_ELEMENTS);
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_tall_words(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
                          global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
                          ulong rows, ulong cols, ulong batch) {
  (void)in_pitch, (void)batch;
  local word tile[LOCAL_WORDS] __attribute__((aligned(16)));
  const uint thin = (uint)cols, strip = strip_of(thin, MULTIPLE), strips = (uint)((rows + HALO + strip - 1) / strip);
  const uint matrix = get_group_id(0) / strips;
  const ulong begin = (ulong)(get_group_id(0) - matrix * strips) * strip, above = SHIFTED && begin > 0 ? WORD_ELEMENTS : 0;
  const int here = (int)(min(begin + strip, rows) - begin);  // SHIFTED: less than 0 where only rows above are left
  const uint count = (uint)(here + (int)above) * thin;
  const uint before = run_to_tile(tile, in, in_offset + matrix * in_stride + (begin - above) * cols, count, thin) / WORD_ELEMENTS;
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint lane = get_local_id(0) % LANES, steps = strip / MULTIPLE, blocks = (thin + BLOCK - 1) / BLOCK, row_words = thin / WORD_ELEMENTS;
  const divisor by_steps = divisor_of(steps);
  global element* to = out + out_offset + matrix * out_stride + begin;
  const uint start = (uint)(out_offset + matrix * out_stride + begin);
  for (uint n = get_local_id(0) / LANES; n < blocks * steps; n += LINES) {
    const uint block = divided(n, by_steps), step = (n - block * steps) * LANES + lane, c = block * BLOCK;
    const int r = (int)(step * WORD_ELEMENTS);
    if (r >= here + HALO) continue;
    local const word* from = tile + (step + above / WORD_ELEMENTS) * (thin + PADDED);
    word w[BLOCK];
    turn_block(w, from, before + c / WORD_ELEMENTS, row_words, thin);
#if SHIFTED
    word v[BLOCK];
    turn_block(v, step + above > 0 ? from - (thin + PADDED) : from, before + c / WORD_ELEMENTS, row_words, thin);
#endif
    global element* place = to + (long)c * out_pitch + r;
#pragma unroll
    for (uint j = 0; j < BLOCK; ++j) {
      if (c + j >= thin) continue;
      global element* target = place + (long)j * out_pitch;
      int first = r;
#if SHIFTED
      const uint phase = (start + (c + j) * (uint)out_pitch) % WORD_ELEMENTS;
      first -= (int)phase;
      target -= phase;
      if (phase > 0) w[j] = cut_words(v[j], w[j], WORD_ELEMENTS - phase);
#endif
#if WORD_ELEMENTS > 1
      if (first + WORD_ELEMENTS > here || (SHIFTED && first + (int)above < 0)) {
        for (int k = 0; k < WORD_ELEMENTS; ++k)
          if (first + k < here && first + k + (int)above >= 0) target[k] = (element)(w[j] >> (8 * ELEMENT_BYTES * k));
        continue;
      }
#endif
      *(global word*)target = w[j];
    }
  }
}
