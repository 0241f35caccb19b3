// Transpose of few long rows to a packed array: out[c][r] = in[r][c].
//
// A group has `strip` columns of all rows: one run of each row of the input, whose elements are dealt to the places of local memory that the
// output has for them, and one contiguous run of the output, which is copied from there.
//
// Lanes that load side by side write places `rows` words apart, whatever an element's size: in different banks if that is odd.
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
#ifndef STEPS
#define STEPS 4  // words of a row that a work-item loads
#endif
#ifndef PADDED
#define PADDED 1
#endif
#ifndef PIECE_WORDS
#define PIECE_WORDS 1
#endif
#define AHEAD 1
#include "transpose/strip.clh"

#define MULTIPLE (LANES * STEPS * WORD_ELEMENTS)
#define LINES (GROUP / LANES)
#define BESIDE 16  // columns by which a strip is less than its words: rows begin anywhere in a word, but all runs of the output alike

// Loads the word at element `first`, counted from in, of a row of `count` elements. Those outside are not read.
static inline word load_word(global const element* in, long first, long count) {
#if WORD_ELEMENTS > 1
  if (first >= 0 && first + WORD_ELEMENTS <= count) return *(global const word*)(in + first);
  word result = 0;
  for (int k = 0; k < WORD_ELEMENTS; ++k)
    if (first + k >= 0 && first + k < count) result |= (word)in[first + k] << (8 * ELEMENT_BYTES * k);
  return result;
#else
  return in[min(first, count - 1)];
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_wide(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
                    global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
                    ulong rows, ulong cols, ulong batch) {
  (void)out_pitch, (void)batch;
  local word tile[LOCAL_WORDS] __attribute__((aligned(16)));
  const uint thin = (uint)rows, words = strip_of(thin, MULTIPLE), strip = words - BESIDE, strips = (uint)((cols + strip - 1) / strip);
  const uint matrix = get_group_id(0) / strips;
  const ulong begin = (ulong)(get_group_id(0) - matrix * strips) * strip;
  const uint here = (uint)min((ulong)strip, cols - begin);
  const ulong to = out_offset + matrix * out_stride + begin * rows;
  const ulong from = in_offset + matrix * in_stride;
  const uint before = before_run(out, to), lane = get_local_id(0) % LANES, parts = words / MULTIPLE, apart = (thin + PADDED) * WORD_ELEMENTS;
  const divisor by_parts = divisor_of(parts), by_thin = divisor_of(thin);

  // Element (r, c) of the strip is element at = before + c * thin + r of the tile, and with padding at / thin / WORD_ELEMENTS words further.
  local element* cells = (local element*)tile;
  for (uint n = get_local_id(0) / LANES; n < thin * parts; n += LINES) {
    const uint r = divided(n, by_parts), step = (n - r * parts) * (LANES * STEPS) + lane, x = before + r;
    const ulong start = from + (ulong)((long)r * in_pitch);
    const int phase = (int)(((uint)start + (uint)begin) % WORD_ELEMENTS), past = (int)divided(x, by_thin);
    const int c = (int)(step * WORD_ELEMENTS) - phase;
    word w[STEPS];
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
      w[s] = load_word(in + start, (long)begin + c + s * LANES * WORD_ELEMENTS, (long)cols);
    int at[WORD_ELEMENTS];
#pragma unroll
    for (int k = 0; k < WORD_ELEMENTS; ++k)
      at[k] = (int)(x + step * apart) + (k - phase) * (int)thin + (PADDED ? (k - phase + past) & ~(WORD_ELEMENTS - 1) : 0);
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
#pragma unroll
      for (int k = 0; k < WORD_ELEMENTS; ++k) {
#if WORD_ELEMENTS > 1
        const element one = (element)(w[s] >> (8 * ELEMENT_BYTES * k));
#else
        const element one = w[s];
#endif
        if ((uint)(c + k + s * LANES * WORD_ELEMENTS) < here) cells[at[k] + s * LANES * (int)apart] = one;
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  tile_to_run(out, to, tile, here * thin, thin);
}
