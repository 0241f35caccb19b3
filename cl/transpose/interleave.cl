// Transpose of SIDE planes of small elements that become neighbours: out[j * SIDE + k] = in[k][j], as of planes of colours to pixels.
//
// A work-item loads a word of each plane, turns them in registers to the SIDE words of the output that hold the same columns, and
// leaves those in local memory. From there neighbouring work-items store neighbouring words. A plane, and the output, may begin
// anywhere in a word: both loads and stores are cut out of two words.
//
// Launch: one dimension, GROUP work-items a group; a group for each strip of GROUP * EACH words of a plane, of each matrix.
// Local memory: STRIP_WORDS words, padded.
#include "common/word.clh"

#ifndef SIDE
#define SIDE 3  // planes: 2 .. 16
#endif
#ifndef GROUP
#define GROUP 256  // work-items
#endif
#ifndef EACH
#define EACH 4  // words of each plane that a work-item has under way
#endif

#define STRIP (GROUP * EACH * WORD_ELEMENTS)  // columns of a group
#define STRIP_WORDS (GROUP * EACH * SIDE)     // of the output
#define PADDED (SIDE % 2 == 0)                // planes of an even number would meet in banks

// The place of a word: one of padding after 32 spreads those of neighbouring work-items over the banks.
static inline uint padded(uint w) { return PADDED ? w + w / 32 : w; }

// Word j of the output: its elements are of columns and planes that follow each other.
static inline word turned(const word planes[SIDE], uint j) {
#define PLANE(n) planes[(j * WORD_ELEMENTS + (n)) % SIDE]
#define COLUMN(n) ((j * WORD_ELEMENTS + (n)) / SIDE)
#if WORD_ELEMENTS == 4 && SIDE == 2
  return bytes_of(planes[0], planes[1], 0x5140 + COLUMN(0) * 0x1111);
#elif WORD_ELEMENTS == 4  // the last byte is of the first one's plane if there are three
  const uint two = bytes_of(PLANE(0), PLANE(1), COLUMN(0) | (4 + COLUMN(1)) << 4 | (SIDE == 3 ? COLUMN(3) << 12 : 0));
  const uint three = bytes_of(two, PLANE(2), 0x3010 | (4 + COLUMN(2)) << 8);
  return SIDE == 3 ? three : bytes_of(three, PLANE(3), 0x0210 | (4 + COLUMN(3)) << 12);
#elif WORD_ELEMENTS == 2
  return bytes_of(PLANE(0), PLANE(1), COLUMN(0) * 0x22 + COLUMN(1) * 0x2200 + 0x5410);
#else
  return planes[j];
#endif
}

// The word of a plane, whose element `run` is the strip's first column: columns `column` on. The plane has `here` of them.
static inline word load_word(global const element* in, ulong run, uint column, uint here) {
  word value = 0;
#pragma unroll
  for (uint n = 0; n < WORD_ELEMENTS; ++n)
    if (column + n < here) {
#if WORD_ELEMENTS > 1
      value |= (word)in[run + column + n] << (8 * ELEMENT_BYTES * n);
#else
      value = in[run + column];
#endif
    }
  return value;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_interleave(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
                          global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
                          ulong rows, ulong cols, ulong batch) {
  (void)rows, (void)out_pitch, (void)batch;  // SIDE planes, and a launch that has a group for each strip of the batch
  local word tile[STRIP_WORDS + PADDED * STRIP_WORDS / 32];
  const uint item = get_local_id(0), strips = (uint)((cols + STRIP - 1) / STRIP), matrix = get_group_id(0) / strips;
  const ulong begin = (ulong)(get_group_id(0) - matrix * strips) * STRIP;
  const uint here = (uint)min((ulong)STRIP, cols - begin);
  const ulong from = in_offset + matrix * in_stride + begin, to = out_offset + matrix * out_stride + begin * SIDE;

  // Inside, both words of which a word is cut belong to its plane.
  const bool inside = begin > 0 && begin + STRIP + WORD_ELEMENTS <= cols;
  word w[EACH][SIDE];
  if (inside) {
#pragma unroll
    for (uint k = 0; k < SIDE; ++k) {
      const ulong run = from + (ulong)((long)k * in_pitch);
      const uint phase = (uint)run % WORD_ELEMENTS;
      global const word* p = (global const word*)in + run / WORD_ELEMENTS + item;
#pragma unroll
      for (uint e = 0; e < EACH; ++e) w[e][k] = cut_words(p[e * GROUP], p[e * GROUP + (WORD_ELEMENTS > 1 && phase != 0)], phase);
    }
  } else {
#pragma unroll
    for (uint k = 0; k < SIDE; ++k) {
      const ulong run = from + (ulong)((long)k * in_pitch);
#pragma unroll
      for (uint e = 0; e < EACH; ++e) w[e][k] = load_word(in, run, (item + e * GROUP) * WORD_ELEMENTS, here);
    }
  }
#pragma unroll
  for (uint e = 0; e < EACH; ++e)
#pragma unroll
    for (uint j = 0; j < SIDE; ++j) tile[padded((item + e * GROUP) * SIDE + j)] = turned(w[e], j);
  barrier(CLK_LOCAL_MEM_FENCE);

  // Words of the output, of which the first one may begin before the strip.
  const uint phase = (uint)to % WORD_ELEMENTS, count = here * SIDE;
  global word* words = (global word*)out + to / WORD_ELEMENTS;
  if (phase == 0 && here == STRIP) {  // uniform in the group
#pragma unroll 4
    for (uint n = 0; n < EACH * SIDE; ++n) words[item + n * GROUP] = tile[padded(item + n * GROUP)];
    return;
  }
  for (uint n = item; n * WORD_ELEMENTS < count + phase; n += GROUP) {
    const int first = (int)(n * WORD_ELEMENTS) - (int)phase;
    const word low = n > 0 ? tile[padded(n - 1)] : (word)0, high = tile[padded(min(n, (uint)STRIP_WORDS - 1))];
    const word value = phase == 0 ? high : cut_words(low, high, WORD_ELEMENTS - phase);
    if (first >= 0 && first + WORD_ELEMENTS <= (int)count) {
      words[n] = value;
      continue;
    }
#if WORD_ELEMENTS > 1
    for (int k = 0; k < WORD_ELEMENTS; ++k)
      if (first + k >= 0 && first + k < (int)count) out[to + (ulong)(long)(first + k)] = (element)(value >> (8 * ELEMENT_BYTES * k));
#endif
  }
}
