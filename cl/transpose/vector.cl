// Transpose with several items per work-item: out[j][i] = in[i][j], for rows that begin at a multiple of a vector.
//
// A vector has VECTOR_WORDS words, BLOCK elements. A work-item loads BLOCK x BLOCK elements as BLOCK vectors, one of each
// input row, transposes them in registers, and stores BLOCK vectors to the tile; one vector of the tile has BLOCK rows of one
// input column. After the barrier the vectors are written along the output's rows. So all accesses to global and local memory
// are vectors. The tile's layout (common/tile.clh) avoids bank conflicts of the stores, whose neighbours differ in column, and
// of the loads, whose neighbours differ in row; for that its columns are interleaved: column c is row LOCAL_ROW(c) of the
// tile, so that neighbouring work-items, BLOCK columns apart, write neighbouring rows.
//
// Launch: GROUP work-items a group. A group has one tile of TILE_R x TILE_C elements; in place, a pair of tiles.
// Local memory: TILE_C rows of TILE_STRIDE vectors, twice that in place.
#include "common/attributes.clh"
#include "common/word.clh"

#ifndef VECTOR_WORDS
#define VECTOR_WORDS 2  // words of a vector: 1, 2, 4, at most 16 bytes
#endif
#ifndef TILE_R
#define TILE_R 64  // rows of the input: a power of two
#endif
#ifndef TILE_C
#define TILE_C 64  // columns: a power of two; in place, TILE_R
#endif
#ifndef GROUP
#define GROUP 256  // work-items: a power of two, at most the blocks of a tile
#endif
#ifndef TILE_LOOP
#define TILE_LOOP 0  // 1: a loop over tiles, although the launch has a group for each
#endif
#ifndef IN_PLACE
#define IN_PLACE 0  // 1: in and out are the same square matrix
#endif

#if IN_PLACE
#define RESTRICT
#else
#define RESTRICT restrict  // allows loads through the read-only cache
#endif

#define BLOCK (WORD_ELEMENTS * VECTOR_WORDS)
#define BLOCKS_DOWN (TILE_R / BLOCK)  // also the vectors of a row of the tile in local memory
#define BLOCKS_ACROSS (TILE_C / BLOCK)
#define BLOCKS_EACH (BLOCKS_DOWN * BLOCKS_ACROSS / GROUP)  // of a work-item

#ifndef TILE_STRIDE
#define TILE_STRIDE BLOCKS_DOWN
#endif
#include "common/grid.clh"
#include "common/tile.clh"

// The row in local memory of column c of a tile. A macro: as a function it changes the registers of this kernel on NVIDIA.
#define LOCAL_ROW(c) ((c) % BLOCK * BLOCKS_ACROSS + (c) / BLOCK)

#if VECTOR_WORDS == 1
typedef word vector;
#elif ELEMENT_BYTES == 8
typedef ulong2 vector;
#elif VECTOR_WORDS == 2
typedef uint2 vector;
#else
typedef uint4 vector;
#endif
typedef union {
  vector v;
  word w[VECTOR_WORDS];
} vector_words;

// Transposes a block, whose vectors are of BLOCK rows, and stores it to the tile. Word j of each row belongs to the same WORD_ELEMENTS
// columns.
INLINED void store_block(local vector* tile, const vector_words rows[BLOCK], uint across, uint down) {
#pragma unroll
  for (uint j = 0; j < VECTOR_WORDS; ++j) {
    vector_words columns[WORD_ELEMENTS];
#pragma unroll
    for (uint i = 0; i < VECTOR_WORDS; ++i) {
      word w[WORD_ELEMENTS];
#pragma unroll
      for (uint k = 0; k < WORD_ELEMENTS; ++k) w[k] = rows[i * WORD_ELEMENTS + k].w[j];
      transpose_words(w);
#pragma unroll
      for (uint k = 0; k < WORD_ELEMENTS; ++k) columns[k].w[i] = w[k];
    }
#pragma unroll
    for (uint k = 0; k < WORD_ELEMENTS; ++k)
      tile[TILE_AT((j * WORD_ELEMENTS + k) * BLOCKS_ACROSS + across, down)] = columns[k].v;
  }
}

// PoCL 7.1 would read other local arrays in functions that are not inlined. Of two tiles in place ptxas for sm_90 would spill 592 bytes if all were.
#ifdef __NV_CL_C_VERSION
#define TILE_FUNCTION static inline
#else
#define TILE_FUNCTION INLINED
#endif

// A tile at the edge, in the same layout: of small elements whole blocks, then the elements beside and below them one by one.
TILE_FUNCTION void read_edge(local vector* tile, global const element* in, long pitch, uint height, uint width) {
  local element* cells = (local element*)tile;
  const uint item = get_local_id(0);
#if WORD_ELEMENTS > 1
  const uint whole_down = height / BLOCK, whole_across = width / BLOCK;
#pragma unroll 1
  for (uint n = item; n < BLOCKS_DOWN * BLOCKS_ACROSS; n += GROUP) {
    const uint across = n % BLOCKS_ACROSS, down = n / BLOCKS_ACROSS;
    if (across >= whole_across || down >= whole_down) continue;
    vector_words rows[BLOCK];
#pragma unroll
    for (uint k = 0; k < BLOCK; ++k)
      rows[k].v = *(global const vector*)(in + (long)(down * BLOCK + k) * pitch + across * BLOCK);
    store_block(tile, rows, across, down);
  }
  const uint beside = width % BLOCK != 0 ? height * BLOCK : 0, below = height % BLOCK * TILE_C;
#pragma unroll 1
  for (uint i = item; i < beside + below; i += GROUP) {
    const bool is_beside = i < beside;
    const uint r = is_beside ? i / BLOCK : whole_down * BLOCK + (i - beside) / TILE_C;
    const uint c = is_beside ? whole_across * BLOCK + i % BLOCK : (i - beside) % TILE_C;
    if (c < (is_beside ? width : whole_across * BLOCK))
      cells[TILE_AT(LOCAL_ROW(c), r / BLOCK) * BLOCK + r % BLOCK] = in[(long)r * pitch + c];
  }
#else
  for (uint i = item; i < TILE_R * TILE_C; i += GROUP) {
    const uint c = i % TILE_C, r = i / TILE_C;
    if (r < height && c < width) cells[TILE_AT(LOCAL_ROW(c), r / BLOCK) * BLOCK + r % BLOCK] = in[(long)r * pitch + c];
  }
#endif
}

// Loads a tile, whose first element is `in`, and stores it transposed in local memory.
TILE_FUNCTION void read_tile(local vector* tile, global const element* in, long pitch, ulong height, ulong width) {
  const uint item = get_local_id(0);
  if (height >= TILE_R && width >= TILE_C) {  // uniform in the group
    // All loads first, so that they are in flight together.
    vector_words rows[BLOCKS_EACH][BLOCK];
#pragma unroll
    for (uint n = 0; n < BLOCKS_EACH; ++n) {
      const uint across = (item + n * GROUP) % BLOCKS_ACROSS, down = (item + n * GROUP) / BLOCKS_ACROSS;
#pragma unroll
      for (uint k = 0; k < BLOCK; ++k)
        rows[n][k].v = *(global const vector*)(in + (long)(down * BLOCK + k) * pitch + across * BLOCK);
    }
#pragma unroll
    for (uint n = 0; n < BLOCKS_EACH; ++n)
      store_block(tile, rows[n], (item + n * GROUP) % BLOCKS_ACROSS, (item + n * GROUP) / BLOCKS_ACROSS);
  } else {
    read_edge(tile, in, pitch, (uint)min(height, (ulong)TILE_R), (uint)min(width, (ulong)TILE_C));
  }
}

// Writes a tile at the edge: of small elements whole vectors, then the elements behind them one by one.
TILE_FUNCTION void write_edge(local const vector* tile, global element* out, long pitch, uint height, uint width) {
  local const element* cells = (local const element*)tile;
  const uint item = get_local_id(0);
#if WORD_ELEMENTS > 1
  const uint whole_down = height / BLOCK;
#pragma unroll 1
  for (uint n = item; n < width * BLOCKS_DOWN; n += GROUP) {
    const uint down = n % BLOCKS_DOWN, c = n / BLOCKS_DOWN;
    if (down < whole_down) *(global vector*)(out + (long)c * pitch + down * BLOCK) = tile[TILE_AT(LOCAL_ROW(c), down)];
  }
#pragma unroll 1
  for (uint i = item; i < (height % BLOCK != 0 ? width * BLOCK : 0); i += GROUP) {
    const uint r = whole_down * BLOCK + i % BLOCK, c = i / BLOCK;
    if (r < height) out[(long)c * pitch + r] = cells[TILE_AT(LOCAL_ROW(c), whole_down) * BLOCK + i % BLOCK];
  }
#else
  for (uint i = item; i < TILE_R * TILE_C; i += GROUP) {
    const uint r = i % TILE_R, c = i / TILE_R;
    if (r < height && c < width) out[(long)c * pitch + r] = cells[TILE_AT(LOCAL_ROW(c), r / BLOCK) * BLOCK + r % BLOCK];
  }
#endif
}

// Writes a transposed tile to the output, whose first element there is `out`. `height` and `width`: of the input's tile.
TILE_FUNCTION void write_tile(local const vector* tile, global element* out, long pitch, ulong height, ulong width) {
  const uint item = get_local_id(0);
  if (height >= TILE_R && width >= TILE_C) {
#pragma unroll
    for (uint n = 0; n < TILE_C * BLOCKS_DOWN / GROUP; ++n) {
      const uint down = (item + n * GROUP) % BLOCKS_DOWN, c = (item + n * GROUP) / BLOCKS_DOWN;
      *(global vector*)(out + (long)c * pitch + down * BLOCK) = tile[TILE_AT(LOCAL_ROW(c), down)];
    }
  } else {
    write_edge(tile, out, pitch, (uint)min(height, (ulong)TILE_R), (uint)min(width, (ulong)TILE_C));
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_vector(global const element* RESTRICT in, ulong in_offset, long in_pitch, ulong in_stride,
                      global element* RESTRICT out, ulong out_offset, long out_pitch, ulong out_stride,
                      ulong rows, ulong cols, ulong batch) {
  local vector tile[TILE_C * TILE_STRIDE];
  const uint tiles_down = (rows + TILE_R - 1) / TILE_R, tiles_across = (cols + TILE_C - 1) / TILE_C;
#if IN_PLACE
  local vector mirror[TILE_C * TILE_STRIDE];
#endif

#if TILE_LOOP
  const uint tiles = (IN_PLACE ? tiles_down * (tiles_down + 1) / 2 : tiles_down * tiles_across) * (uint)batch;
  for (uint t = get_group_id(0); t < tiles; t += get_num_groups(0))
#else
  (void)batch;  // the launch has a group for each tile of the batch
  const uint t = get_group_id(0);
#endif
  {
#if IN_PLACE
    const tile_place place = place_of_pair(t, tiles_down);
#else
    const tile_place place = place_of_tile(t, tiles_down, tiles_across);
#endif
    const ulong row = (ulong)place.row * TILE_R, col = (ulong)place.col * TILE_C;
    const ulong height = rows - row, width = cols - col;  // from here on to the end of the matrix
    global const element* from = in + in_offset + place.matrix * in_stride + ((long)row * in_pitch + (long)col);
    global element* to = out + out_offset + place.matrix * out_stride + ((long)col * out_pitch + (long)row);

    read_tile(tile, from, in_pitch, height, width);
#if IN_PLACE  // `to` is the mirror tile: both tiles are loaded before either is overwritten, by other work-items
    if (row != col) read_tile(mirror, to, out_pitch, width, height);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#else
    barrier(CLK_LOCAL_MEM_FENCE);
#endif

    write_tile(tile, to, out_pitch, height, width);
#if IN_PLACE
    if (row != col) write_tile(mirror, (global element*)from, in_pitch, width, height);
#endif
#if TILE_LOOP
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next tile is stored
#endif
  }
}
