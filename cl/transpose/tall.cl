// Transpose of packed arrays of few columns: out[c][r] = in[r][c].
//
// A group's elements are one contiguous run of the input, which is copied to local memory as it lies. On the other side they are a window of
// `strip` rows of each output row, which begins at a multiple of ALIGN bytes: for that a group reads up to HALO rows more. ALIGNED: output
// rows begin at such multiples, so that no row is read twice.
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
#ifndef STEPS
#define STEPS 4  // words of an output row that a work-item stores
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

#define MULTIPLE (LANES * STEPS * WORD_ELEMENTS)  // rows that divide a strip
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
  const uint before = run_to_tile(tile, in, in_offset + matrix * in_stride + begin * cols, (uint)here * thin, thin);
  barrier(CLK_LOCAL_MEM_FENCE);

  // Element (r, c) of the run is element at = before + r * thin + c of the tile, and with padding at / thin / WORD_ELEMENTS words further.
  local const element* cells = (local const element*)tile;
  const uint lane = get_local_id(0) % LANES, parts = strip / MULTIPLE;
  const divisor by_parts = divisor_of(parts), by_thin = divisor_of(thin);
  global element* to = out + out_offset + matrix * out_stride;
  const uint start = (uint)(out_offset + matrix * out_stride), apart = (thin + PADDED) * WORD_ELEMENTS;  // of neighbouring lanes' places
  for (uint n = get_local_id(0) / LANES; n < thin * parts; n += LINES) {
    const uint c = divided(n, by_parts), step = (n - c * parts) * (LANES * STEPS) + lane, x = before + c;
    const int past = (int)divided(x, by_thin);
    const int first = (int)(halo - ((start + c * (uint)out_pitch) & (WINDOW - 1)));  // row of the window
    const int r = first + (int)(step * WORD_ELEMENTS);
    global element* places = to + ((long)c * out_pitch + (long)begin + r);
    int at[WORD_ELEMENTS];
#pragma unroll
    for (int k = 0; k < WORD_ELEMENTS; ++k)
      at[k] = (int)(x + step * apart) + (first + k) * (int)thin + (PADDED ? (first + k + past) & ~(WORD_ELEMENTS - 1) : 0);
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
      const int row_here = r + s * LANES * WORD_ELEMENTS;
      local const element* from = cells + s * LANES * (int)apart;
      global element* place = places + s * LANES * WORD_ELEMENTS;
      if (row_here >= 0 && row_here + WORD_ELEMENTS <= here) {
#if WORD_ELEMENTS > 1
        word value = 0;
#pragma unroll
        for (int k = 0; k < WORD_ELEMENTS; ++k) value |= (word)from[at[k]] << (8 * ELEMENT_BYTES * k);
        *(global word*)place = value;
#else
        *place = from[at[0]];
#endif
      } else if (WORD_ELEMENTS > 1) {
#pragma unroll
        for (int k = 0; k < WORD_ELEMENTS; ++k)
          if (row_here + k >= 0 && row_here + k < here) place[k] = from[at[k]];
      }
    }
  }
}
