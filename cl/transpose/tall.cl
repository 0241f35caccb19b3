// Transpose of packed arrays of few columns: out[c][r] = in[r][c].
//
// A group's elements are one contiguous run of the input, which is copied to local memory as it lies. On the other side they are a window of
// STRIP rows of each output row, which begins at a multiple of ALIGN bytes: for that a group reads up to HALO rows more. ALIGNED: output rows
// begin at such multiples, so that no row is read twice.
//
// Lanes that store side by side read places `cols` words apart, whatever an element's size: in different banks if that is odd.
// PADDED, for an even number: a word of padding follows every `cols` words of the run.
//
// Launch: one dimension, GROUP work-items a group, as lines of LANES; a group for each strip of each matrix. Local memory: LOCAL_WORDS words.
#include "common/attributes.clh"

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
#ifndef ALIGN
#define ALIGN 32  // bytes that memory writes together
#endif
#ifndef ALIGNED
#define ALIGNED 0
#endif
#ifndef UNROLL
#define UNROLL 8  // words in flight of a work-item
#endif
#ifndef PADDED
#define PADDED 1
#endif
#include "transpose/strip.clh"

#define MULTIPLE (LANES * WORD_ELEMENTS)  // rows that divide a strip
#define WINDOW (ALIGNED || ALIGN < ELEMENT_BYTES ? 1 : ALIGN / ELEMENT_BYTES)
#define HALO (WINDOW - 1)
#define LINES (GROUP / LANES)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_tall(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
                    global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
                    ulong rows, ulong cols, ulong batch) {
  (void)in_pitch, (void)batch;
  local word tile[LOCAL_WORDS] __attribute__((aligned(16)));
  const uint thin = (uint)cols, strip = strip_of(thin, MULTIPLE), strips = (uint)((rows + HALO + strip - 1) / strip);
  const uint matrix = get_group_id(0) / strips;
  const ulong row = (ulong)(get_group_id(0) - matrix * strips) * strip;  // before windows are shifted
  const uint halo = (uint)min(row, (ulong)HALO);
  const ulong begin = row - halo;
  const int here = (int)(min(row + strip, rows) - begin);
  const ulong from = in_offset + matrix * in_stride + begin * cols;
  const uint before = run_to_tile(tile, in, from, (uint)here * thin, thin);
  barrier(CLK_LOCAL_MEM_FENCE);

  // Element (r, c) of the run is element before + r * thin + c of the tile, and with padding e = (that / thin) / WORD_ELEMENTS words further.
  local const element* cells = (local const element*)tile;
  const uint lane = get_local_id(0) % LANES, line = get_local_id(0) / LANES, steps = strip / MULTIPLE;
  const divisor by_steps = divisor_of(steps), by_thin = divisor_of(thin);
  const ulong to = out_offset + matrix * out_stride;
#pragma unroll 2
  for (uint n = line; n < thin * steps; n += LINES) {
    const uint c = divided(n, by_steps), step = lane + (n - c * steps) * LANES;
    const ulong start = to + (ulong)((long)c * out_pitch);  // the output row's first element
    const int first = (int)(halo - ((uint)start & (WINDOW - 1))), r = first + (int)(step * WORD_ELEMENTS);
    if (r >= here || r + WORD_ELEMENTS <= 0) continue;
    const int x = (int)(before + c), past = (int)divided((uint)x, by_thin);
    const int at = x + (int)(step * (thin + PADDED) * WORD_ELEMENTS);
    global element* place = out + (start + begin) + r;
    word value = 0;
#define CELL(k) cells[at + (first + (k)) * (int)thin + (PADDED ? (first + (k) + past) & ~(WORD_ELEMENTS - 1) : 0)]
    if (r >= 0 && r + WORD_ELEMENTS <= here) {
#if WORD_ELEMENTS > 1
#pragma unroll
      for (int k = 0; k < WORD_ELEMENTS; ++k) value |= (word)CELL(k) << (8 * ELEMENT_BYTES * k);
#else
      value = CELL(0);
#endif
      *(global word*)place = value;
    } else {
      for (int k = 0; k < WORD_ELEMENTS; ++k)
        if (r + k >= 0 && r + k < here) place[k] = CELL(k);
    }
  }
}
