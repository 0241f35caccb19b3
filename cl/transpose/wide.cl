// Transpose of few long rows to a packed array: out[c][r] = in[r][c].
//
// A group has `strip` columns of all rows: one run of each row of the input, whose words are dealt to places of local memory as the output
// has them, and one contiguous run of the output, copied from there.
//
// Lanes that load side by side write places `rows` words apart, whatever an element's size: in different banks if that is odd.
// PADDED, for an even number: a word of padding follows every `rows` words of the run.
//
// Launch: one dimension, GROUP work-items a group; a group for each strip of each matrix. Local memory: LOCAL_WORDS words.
#ifndef GROUP
#define GROUP 512  // work-items
#endif
#ifndef CHUNK
#define CHUNK 49152  // elements of a group, about
#endif
#ifndef LOCAL_WORDS
#define LOCAL_WORDS 14000
#endif
#ifndef UNROLL
#define UNROLL 8  // words in flight of a work-item
#endif
#ifndef PADDED
#define PADDED 1
#endif
#include "transpose/strip.clh"

#define MULTIPLE 64  // columns that divide a strip, as in the plan: runs of all groups begin alike

// Loads word `first`, counted in elements from in[begin] on, of a row that reaches from there to `end`. Others are not read.
static inline word load_word(global const element* in, ulong begin, long first, long end) {
#if WORD_ELEMENTS > 1
  if (first >= 0 && first + WORD_ELEMENTS <= end) return *(global const word*)(in + begin + first);
  word result = 0;
  for (int k = 0; k < WORD_ELEMENTS; ++k)
    if (first + k >= 0 && first + k < end) result |= (word)in[begin + (ulong)(first + k)] << (8 * ELEMENT_BYTES * k);
  return result;
#else
  return in[begin + (ulong)min(first, end - 1)];
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_wide(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
                    global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
                    ulong rows, ulong cols, ulong batch) {
  (void)out_pitch, (void)batch;
  local word tile[LOCAL_WORDS] __attribute__((aligned(16)));
  const uint thin = (uint)rows, strip = strip_of(thin, MULTIPLE), strips = (uint)((cols + strip - 1) / strip);
  const uint matrix = get_group_id(0) / strips;
  const ulong begin = (ulong)(get_group_id(0) - matrix * strips) * strip;
  const uint here = (uint)min((ulong)strip, cols - begin);
  const ulong from = in_offset + matrix * in_stride, to = out_offset + matrix * out_stride + begin * rows;
  const uint before = before_run(out, to), slots = strip / WORD_ELEMENTS + (WORD_ELEMENTS > 1), all = thin * slots;  // words of a run
  const divisor by_slots = divisor_of(slots), by_thin = divisor_of(thin);

  // Element (r, c) of the strip is element before + c * thin + r of the tile, and with padding e = (that / thin) / WORD_ELEMENTS words further.
  local element* cells = (local element*)tile;
#define ROW_START(r) (from + (ulong)((long)(r) * in_pitch))
#define FIRST(start, n, r) ((int)(((n) - (r) * slots) * WORD_ELEMENTS) - (int)(((uint)(start) + (uint)begin) % WORD_ELEMENTS))
  for (uint first = get_local_id(0); first < all; first += GROUP * UNROLL) {
    word w[UNROLL];
#pragma unroll
    for (uint u = 0; u < UNROLL; ++u) {
      const uint n = min(first + u * GROUP, all - 1), r = divided(n, by_slots);
      const ulong start = ROW_START(r);
      w[u] = load_word(in, start, (long)begin + FIRST(start, n, r), (long)cols);
    }
#pragma unroll
    for (uint u = 0; u < UNROLL; ++u) {
      const uint n = first + u * GROUP, r = divided(n, by_slots);
      if (n >= all) continue;
      const int c = FIRST(ROW_START(r), n, r), x = (int)(before + r), past = (int)divided((uint)x, by_thin);
#pragma unroll
      for (int k = 0; k < WORD_ELEMENTS; ++k) {
        const int at = x + (c + k) * (int)thin + (PADDED ? (c + k + past) & ~(WORD_ELEMENTS - 1) : 0);
#if WORD_ELEMENTS > 1
        if ((uint)(c + k) < here) cells[at] = (element)(w[u] >> (8 * ELEMENT_BYTES * k));
#else
        if ((uint)c < here) cells[at] = w[u];
#endif
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  tile_to_run(out, to, tile, here * thin, thin);
}
