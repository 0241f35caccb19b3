// Transpose for rows of any alignment: out[j][i] = in[i][j].
//
// If rows do not begin at a multiple of 32 bytes, a tile's stores fill the memory sectors at both of its ends only partly, and
// the memory must merge them. Here a group writes, of each of TILE_C output rows, a window of TILE_R elements that begins at
// a multiple of ALIGN bytes: skew(row) < WINDOW elements before the tile's first one. So all stores but those at the two ends
// of a whole output row fill their sectors. For this a group reads a halo of HALO input rows, which its neighbour has just
// loaded to the cache.
//
// Local memory has words (common/word.clh); a word of small elements has WORD_ELEMENTS input rows of one column. A load shifts
// two aligned words by the input row's misalignment; a store shifts two neighbouring words of the tile by the skew. So bytes,
// too, are moved four at a time.
//
// Launch: GROUP work-items a group, as lines of LANES; a group has one tile, and there are
// ceil((rows + WINDOW - 1) / TILE_R) tiles down a matrix.
// Local memory: TILE_C columns of TILE_STRIDE words.
#include "common/attributes.clh"
#include "common/grid.clh"
#include "common/word.clh"

#ifndef LANES
#define LANES 32  // work-items along a row, of loads and of stores: at most the device's sub-group width
#endif
#ifndef TILE_R
#define TILE_R 64  // rows of the input: a multiple of LANES * WORD_ELEMENTS and of WINDOW
#endif
#ifndef TILE_C
#define TILE_C 128  // columns: a multiple of LANES * WORD_ELEMENTS
#endif
#ifndef GROUP
#define GROUP 384  // work-items: a multiple of LANES
#endif
#ifndef ALIGN
#define ALIGN 32  // bytes: a memory sector
#endif
#ifndef AHEAD
#define AHEAD 6  // loads of words down a column in flight of a work-item
#endif
#ifndef UNROLL_READS
#define UNROLL_READS 1  // rounds of such loads that are unrolled
#endif
#ifndef PATHS
#define PATHS 2  // 2: tiles inside the matrix run without guards; 1: guards everywhere (PoCL 3.1 miscompiles two paths)
#endif

#define WINDOW (ALIGN > ELEMENT_BYTES ? ALIGN / ELEMENT_BYTES : 1)
#define HALO ((WINDOW - 1 + WORD_ELEMENTS - 1) / WORD_ELEMENTS * WORD_ELEMENTS)
#define COLUMN_WORDS ((TILE_R + HALO) / WORD_ELEMENTS)
#ifndef TILE_STRIDE
#define TILE_STRIDE ((COLUMN_WORDS + (WORD_ELEMENTS > 1)) | 1)  // odd: neighbouring columns begin in different banks
#endif
#define LINES (GROUP / LANES)
#define STEPS_IN (TILE_C / WORD_ELEMENTS / LANES)
#define STEPS_OUT (TILE_R / WORD_ELEMENTS / LANES)

// The place in the tile of a column's word: columns are interleaved, so that the WORD_ELEMENTS columns of a word are far apart and
// neighbouring work-items write neighbouring columns.
static inline uint cell_at(uint col, uint word_row) {
  return (col % WORD_ELEMENTS * (TILE_C / WORD_ELEMENTS) + col / WORD_ELEMENTS) * TILE_STRIDE + word_row;
}

// Loads the TILE_R + HALO input rows from `row` on, columns col .. col + TILE_C - 1. `guarded`: rows and words outside of the matrix are
// clamped to its first and last ones, because loads in branches would not be in flight together. `last` is the last word of this tile
// whose two source words lie inside every row.
INLINED void read_tile(local word* tile, global const element* in, ulong base, long pitch, long row, ulong col, long rows, int last,
                       const bool guarded) {
  const uint lane = get_local_id(0) % LANES, line = get_local_id(0) / LANES;
  const ulong origin = base + (ulong)(row * pitch) + col;
  const int first_row = (int)max(-row, 0L), last_row = (int)min(rows - 1 - row, (long)(TILE_R + HALO));  // of the tile, in the matrix
#pragma unroll UNROLL_READS
  for (uint first = 0; first < COLUMN_WORDS; first += LINES * AHEAD) {  // uniform in the group
    word w[AHEAD][STEPS_IN][WORD_ELEMENTS];
#pragma unroll
    for (uint n = 0; n < AHEAD; ++n) {
      const int word_row = (int)min(first + n * LINES + line, (uint)COLUMN_WORDS - 1);
#pragma unroll
      for (int k = 0; k < WORD_ELEMENTS; ++k) {
        const int r = word_row * WORD_ELEMENTS + k;
        const ulong begin = origin + (ulong)((guarded ? clamp(r, first_row, last_row) : r) * pitch);
        global const word* p = (global const word*)in + begin / WORD_ELEMENTS;
        if (!guarded) p += lane;
#pragma unroll
        for (uint s = 0; s < STEPS_IN; ++s) {
          const int i = guarded ? min((int)(lane + s * LANES), last) : (int)(s * LANES);
          w[n][s][k] = cut_words(p[i], WORD_ELEMENTS > 1 ? p[i + 1] : (word)0, (uint)begin % WORD_ELEMENTS);
        }
      }
    }
    local word* cell = tile + cell_at(lane * WORD_ELEMENTS, first + line);  // of this work-item's first word
#pragma unroll
    for (uint n = 0; n < AHEAD; ++n) {
      if (first + n * LINES + line < COLUMN_WORDS) {
#pragma unroll
        for (uint s = 0; s < STEPS_IN; ++s) {
          transpose_words(w[n][s]);
#pragma unroll
          for (uint k = 0; k < WORD_ELEMENTS; ++k) cell[cell_at(s * LANES * WORD_ELEMENTS + k, n * LINES)] = w[n][s][k];
        }
      }
    }
  }
}

#if WORD_ELEMENTS > 1
// Loads the columns from `begin` on that do not fill a word, element by element.
static inline void read_last_columns(local word* tile, global const element* in, ulong base, long pitch, long row, ulong col,
                              long rows, ulong cols, int begin) {
  local element* cells = (local element*)tile;
  for (uint i = get_local_id(0); i < COLUMN_WORDS * WORD_ELEMENTS * 2 * WORD_ELEMENTS; i += GROUP) {
    const int c = begin + (int)(i % (2 * WORD_ELEMENTS));
    const uint down = i / (2 * WORD_ELEMENTS);
    const long r = row + down;
    if (c >= 0 && c < TILE_C && col + (ulong)c < cols && r >= 0 && r < rows)
      cells[cell_at(c, down / WORD_ELEMENTS) * WORD_ELEMENTS + down % WORD_ELEMENTS] = in[base + (ulong)(r * pitch) + col + c];
  }
}
#endif

// Writes the windows of output rows col .. col + TILE_C - 1. `row` is the tile's first input row before the skew.
INLINED void write_tile(local const word* tile, global element* out, ulong base, long pitch, long row, ulong col, long rows, ulong cols,
                        const bool guarded) {
  const uint lane = get_local_id(0) % LANES, line = get_local_id(0) / LANES;
#pragma unroll 4
  for (uint first = 0; first < TILE_C; first += LINES) {
    const uint c = first + line;
    if (TILE_C % LINES != 0 && c >= TILE_C) continue;
    const ulong start = base + (ulong)((long)(col + c) * pitch);  // the output row's first element
    const uint skew = (uint)start & (WINDOW - 1);
    const uint q = HALO - skew;  // the window's first row in the tile
    local const word* from = tile + cell_at(c, q / WORD_ELEMENTS) + lane;
    global word* to = (global word*)out + (start + (ulong)(row - (long)skew)) / WORD_ELEMENTS + lane;
#pragma unroll
    for (uint s = 0; s < STEPS_OUT; ++s) {
      const long r = row - (long)skew + (lane + s * LANES) * WORD_ELEMENTS;
      const word w = cut_words(from[s * LANES], WORD_ELEMENTS > 1 ? from[s * LANES + 1] : (word)0, q % WORD_ELEMENTS);
      if (!guarded || (col + c < cols && r >= 0 && r + WORD_ELEMENTS <= rows)) {
        to[s * LANES] = w;
      }
#if WORD_ELEMENTS > 1
      else if (col + c < cols) {
        for (uint k = 0; k < WORD_ELEMENTS; ++k)
          if (r + k >= 0 && r + k < rows) out[start + (ulong)(r + k)] = (element)(w >> (8 * ELEMENT_BYTES * k));
      }
#endif
    }
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_skewed(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
                      global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
                      ulong rows, ulong cols, ulong batch) {
  (void)batch;  // the launch has a group for each tile of the batch
  local word tile[TILE_C * TILE_STRIDE];
  const tile_place place = place_of_tile(get_group_id(0), (rows + WINDOW - 1 + TILE_R - 1) / TILE_R, (cols + TILE_C - 1) / TILE_C);
  const long row = (long)place.row * TILE_R;
  const ulong col = (ulong)place.col * TILE_C;
  const ulong in_base = in_offset + place.matrix * in_stride, out_base = out_offset + place.matrix * out_stride;
  const bool inside = PATHS == 2 && row >= HALO && row + TILE_R <= (long)rows &&
                      col + TILE_C + (WORD_ELEMENTS > 1 ? WORD_ELEMENTS : 0) <= cols;  // uniform in the group

#if WORD_ELEMENTS > 1  // the word after a column's last one is read, but not used
  for (uint c = get_local_id(0); c < TILE_C; c += GROUP) tile[cell_at(c, COLUMN_WORDS)] = 0;
#endif

  if (inside) {
    read_tile(tile, in, in_base, in_pitch, row - HALO, col, (long)rows, 0, false);
  } else {
    const bool has_words = WORD_ELEMENTS == 1 || cols >= 2 * WORD_ELEMENTS;
    const int last = (int)min((long)(cols / WORD_ELEMENTS) - (WORD_ELEMENTS > 1 ? 2 : 1) - (long)(col / WORD_ELEMENTS), (long)TILE_C);
    if (has_words) read_tile(tile, in, in_base, in_pitch, row - HALO, col, (long)rows, last, true);
#if WORD_ELEMENTS > 1
    barrier(CLK_LOCAL_MEM_FENCE);
    read_last_columns(tile, in, in_base, in_pitch, row - HALO, col, (long)rows, cols, has_words ? (last + 1) * WORD_ELEMENTS : 0);
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  if (inside) {
    write_tile(tile, out, out_base, out_pitch, row, col, (long)rows, cols, false);
  } else {
    write_tile(tile, out, out_base, out_pitch, row, col, (long)rows, cols, true);
  }
}
