// Transpose of interleaved small elements to SIDE planes: out[k][j] = in[j * SIDE + k], as of pixels to planes of colours. Each plane begins
// at a whole word.
//
// A group's elements are one run of the input. A work-item takes SIDE words of it from local memory, turns them in registers to a word of
// each plane, and stores those beside its neighbours' words.
//
// Launch: one dimension, GROUP work-items a group; a group for each strip of GROUP * EACH words of a plane, of each matrix.
// Local memory: STRIP_WORDS words and those beside them, padded.
#ifndef SIDE
#define SIDE 3  // planes: 2 .. 16
#endif
#ifndef GROUP
#define GROUP 256  // work-items
#endif
#ifndef EACH
#define EACH 4  // words of each plane of a work-item
#endif
#define PADDED (SIDE % 2 == 0)  // work-items an even number of words apart would meet in banks
#define AHEAD (PADDED ? EACH * SIDE : (EACH * SIDE + 3) / 4)  // all words of a work-item are in flight together
#include "transpose/runs.clh"

#define STRIP (GROUP * EACH * WORD_ELEMENTS)  // rows of a group
#define STRIP_WORDS (GROUP * EACH * SIDE)     // of the input
#define LOCAL_WORDS (STRIP_WORDS + 5)         // a run begins anywhere in a pack, and a word more is read

// The word of a plane: an element of each of WORD_ELEMENTS rows.
static inline word turned(const word pixels[SIDE], uint plane) {
#define PIXEL_WORD(row) pixels[((row) * SIDE + plane) / WORD_ELEMENTS]
#define PLACE(row) (((row) * SIDE + plane) % WORD_ELEMENTS)
#if WORD_ELEMENTS == 4
  const uint two = bytes_of(PIXEL_WORD(0), PIXEL_WORD(1), PLACE(0) | (4 + PLACE(1)) << 4);
  const uint three = bytes_of(two, PIXEL_WORD(2), 0x0010 | (4 + PLACE(2)) << 8);
  return bytes_of(three, PIXEL_WORD(3), 0x0210 | (4 + PLACE(3)) << 12);
#elif WORD_ELEMENTS == 2
  return bytes_of(PIXEL_WORD(0), PIXEL_WORD(1), 0x5410 + PLACE(0) * 0x22 + PLACE(1) * 0x2200);
#else
  return pixels[plane];
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_separate(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
                        global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
                        ulong rows, ulong cols, ulong batch) {
  (void)in_pitch, (void)cols, (void)batch;  // packed rows of SIDE elements, and a launch that has a group for each strip of the batch
  local word tile[LOCAL_WORDS + PADDED * LOCAL_WORDS / 32] __attribute__((aligned(16)));
  const uint strips = (uint)((rows + STRIP - 1) / STRIP), matrix = get_group_id(0) / strips;
  const ulong begin = (ulong)(get_group_id(0) - matrix * strips) * STRIP;
  const uint here = (uint)min((ulong)STRIP, rows - begin);
  const ulong from = in_offset + matrix * in_stride + begin * SIDE;
  global element* to = out + out_offset + matrix * out_stride + begin;
  const uint before = before_run(in, from), phase = before % WORD_ELEMENTS;
  load_run(tile, in, from, here * SIDE);
  barrier(CLK_LOCAL_MEM_FENCE);

  local const element* cells = (local const element*)tile;
#pragma unroll
  for (uint e = 0; e < EACH; ++e) {
    const uint i = get_local_id(0) + e * GROUP, row = i * WORD_ELEMENTS, first = before / WORD_ELEMENTS + i * SIDE;
    if (row + WORD_ELEMENTS <= here) {
      word w[SIDE + 1];
#pragma unroll
      for (uint j = 0; j <= SIDE; ++j) w[j] = tile[padded(first + j)];
#pragma unroll
      for (uint j = 0; j < SIDE; ++j) w[j] = cut_words(w[j], w[j + 1], phase);
#pragma unroll
      for (uint k = 0; k < SIDE; ++k) *(global word*)(to + (long)k * out_pitch + row) = turned(w, k);
    } else {
      for (uint r = row; r < here; ++r)
        for (uint k = 0; k < SIDE; ++k) to[(long)k * out_pitch + r] = cells[padded_element(before + r * SIDE + k)];
    }
  }
}
