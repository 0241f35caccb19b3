// Transpose of small elements for rows of any alignment: out[j][i] = in[i][j].
//
// As in skewed.cl a group writes, of each of TILE_C output rows, a window of TILE_R elements that begins at a multiple of ALIGN bytes, and
// reads a halo of HALO input rows for it. Input rows are copied to local memory as they lie, in aligned packs: a row is there as far behind
// a multiple of a pack as in the input. For that the rows' distance in local memory, counted in bytes, is the input's modulo a pack; where
// it is odd, neighbouring work-items, which read words of rows that follow each other, use different banks. So no element is shifted,
// and all of a work-item's loads are in flight together.
//
// Launch: GROUP work-items a group, as lines of LANES; a group has one tile, and there are
// ceil((rows + WINDOW - 1) / TILE_R) tiles down a matrix.
// Local memory: TILE_R + HALO rows of ROW_PACKS packs, and less than one more.
#include "common/attributes.clh"
#include "common/grid.clh"
#include "common/word.clh"

#ifndef LANES
#define LANES 32  // work-items that store side by side
#endif
#ifndef TILE_R
#define TILE_R 256  // rows of the input: a multiple of LANES * WORD_ELEMENTS
#endif
#ifndef TILE_C
#define TILE_C 256  // columns: a multiple of a pack
#endif
#ifndef GROUP
#define GROUP 512  // work-items: a multiple of LANES
#endif
#ifndef ALIGN
#define ALIGN 64  // bytes that memory writes together
#endif
#ifndef AHEAD
#define AHEAD 5  // packs that a work-item has under way
#endif

#ifndef PATHS
#define PATHS 2  // 2: tiles inside the matrix run without guards; 1: guards everywhere (PoCL 3.1 miscompiles two paths)
#endif

#define PACK (16 / ELEMENT_BYTES)  // elements
#define WINDOW (ALIGN / ELEMENT_BYTES)
#define HALO (WINDOW - 1)
#define ROWS (TILE_R + HALO)
#define ROW_PACKS (TILE_C / PACK + 1)  // that a row of the tile lies in, wherever it begins
#define LINES (GROUP / LANES)
#define STEPS (TILE_R / WORD_ELEMENTS / LANES)

// Copies the packs of the tile's rows, of which row r begins with element `origin + r * pitch` of the input. `guarded`: those that leave
// [low, high), the matrix, are not read, and rows outside of [first_row, last_row] neither.
INLINED void read_tile(local uint4* tile, global const element* in, long origin, long pitch, uint local_pitch, long low, long high,
                       int first_row, int last_row, const bool guarded) {
  const uint phase = (uint)origin % PACK;
#pragma unroll 1
  for (uint first = get_local_id(0); first < ROWS * ROW_PACKS; first += GROUP * AHEAD) {
    uint4 v[AHEAD];
#pragma unroll
    for (uint n = 0; n < AHEAD; ++n) {
      const uint at = min(first + n * GROUP, (uint)(ROWS * ROW_PACKS - 1)), r = at / ROW_PACKS;
      const long begin = origin + (int)r * pitch, pack = begin - (uint)begin % PACK + (at - r * ROW_PACKS) * PACK;
      const bool is_there = !guarded || ((int)r >= first_row && (int)r <= last_row && pack >= low && pack + PACK <= high);
      v[n] = is_there ? *(global const uint4*)(in + pack) : (uint4)0;
    }
#pragma unroll
    for (uint n = 0; n < AHEAD; ++n) {
      const uint at = first + n * GROUP, r = at / ROW_PACKS;
      if (at < ROWS * ROW_PACKS) tile[(phase + r * local_pitch) / PACK + (at - r * ROW_PACKS)] = v[n];
    }
  }
}

// Copies what lies beside whole packs at the matrix's first and last address, element by element, if it is of this tile: less than a pack,
// of one row or of several short ones.
static inline void read_ends(local element* cells, uint local_pitch, global const element* in, ulong base, long pitch, long row, ulong col,
                             long rows, ulong cols) {
  for (uint i = get_local_id(0); i < 2 * PACK * PACK; i += GROUP) {
    const uint across = i / 2 % PACK, down = i / 2 / PACK;
    const bool is_last = i % 2 != 0;
    const long r = is_last == pitch >= 0 ? rows - 1 - down : down, local_row = r - row;
    const ulong c = is_last ? cols - 1 - across : across;
    if (across < cols && down < rows && local_row >= 0 && local_row < ROWS && c >= col && c - col < TILE_C)
      cells[(uint)local_row * local_pitch + (uint)(c - col)] = in[base + (ulong)(r * pitch) + c];
  }
}

// Writes the windows of output rows col .. col + TILE_C - 1. `row` is the tile's first input row before the skew; element (r, c) of the
// tile is cells[r * local_pitch + c].
INLINED void write_tile(local const element* cells, uint local_pitch, global element* out, ulong base, long pitch, long row, ulong col, long rows,
                        ulong cols, const bool guarded) {
  const uint lane = get_local_id(0) % LANES, line = get_local_id(0) / LANES, width = (uint)min((ulong)TILE_C, cols - col);
#pragma unroll 4
  for (uint c = line; c < width; c += LINES) {
    const ulong start = base + (ulong)((long)(col + c) * pitch);  // the output row's first element
    const uint skew = (uint)start & (WINDOW - 1);
    local const element* from = cells + (HALO - skew + lane * WORD_ELEMENTS) * local_pitch + c;
    global word* to = (global word*)out + (start + (ulong)(row - (long)skew)) / WORD_ELEMENTS + lane;
#pragma unroll
    for (uint s = 0; s < STEPS; ++s) {
      word w = 0;
#pragma unroll
      for (uint k = 0; k < WORD_ELEMENTS; ++k) w |= (word)from[(s * LANES * WORD_ELEMENTS + k) * local_pitch] << (8 * ELEMENT_BYTES * k);
      const long r = row - (long)skew + (lane + s * LANES) * WORD_ELEMENTS;
      if (!guarded || (r >= 0 && r + WORD_ELEMENTS <= rows)) {
        to[s * LANES] = w;
      } else {
        for (uint k = 0; k < WORD_ELEMENTS; ++k)
          if (r + k >= 0 && r + k < rows) out[start + (ulong)(r + k)] = (element)(w >> (8 * ELEMENT_BYTES * k));
      }
    }
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_windows(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
                       global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
                       ulong rows, ulong cols, ulong batch) {
  (void)batch;  // the launch has a group for each tile of the batch
  local uint4 tile[(ROWS * (ROW_PACKS * PACK + PACK - 1) + 2 * PACK) / PACK];
  const tile_place place = place_of_tile(get_group_id(0), (rows + WINDOW - 1 + TILE_R - 1) / TILE_R, (cols + TILE_C - 1) / TILE_C);
  const long row = (long)place.row * TILE_R;
  const ulong col = (ulong)place.col * TILE_C;
  const ulong in_base = in_offset + place.matrix * in_stride, out_base = out_offset + place.matrix * out_stride;
  const long origin = (long)(in_base + col) + (row - HALO) * in_pitch;
  const uint local_pitch = ROW_PACKS * PACK + (uint)in_pitch % PACK;
  local element* cells = (local element*)tile + (uint)origin % PACK;
  // Uniform in the group. What lies beside the tile's rows is read as well: of other rows, of the matrix from `low` to `high`.
  const long down = (long)(rows - 1) * in_pitch, tile_down = (ROWS - 1) * in_pitch;
  const long low = (long)in_base + min(down, 0L), high = (long)(in_base + cols) + max(down, 0L);
  const bool inside = PATHS == 2 && row >= HALO && row + TILE_R <= (long)rows && origin + min(tile_down, 0L) - PACK >= low &&
                      origin + max(tile_down, 0L) + TILE_C + PACK <= high;
  if (inside) {
    read_tile(tile, in, origin, in_pitch, local_pitch, 0, 0, 0, 0, false);
  } else {
    read_tile(tile, in, origin, in_pitch, local_pitch, low, high, (int)max(HALO - row, 0L),
              (int)min((long)rows - 1 - (row - HALO), ROWS - 1L), true);
    barrier(CLK_LOCAL_MEM_FENCE);
    read_ends(cells, local_pitch, in, in_base, in_pitch, row - HALO, col, (long)rows, cols);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (inside) {
    write_tile(cells, local_pitch, out, out_base, out_pitch, row, col, (long)rows, cols, false);
  } else {
    write_tile(cells, local_pitch, out, out_base, out_pitch, row, col, (long)rows, cols, true);
  }
}
