// Transpose through a tile in local memory: out[j][i] = in[i][j].
//
// A work-group reads a TILE x TILE square of the input by rows to local memory, and writes it by columns of the tile to rows of the
// output: loads and stores are coalesced. Steps of the ladder: "tiled", "padded" and "swizzled" are this file with three layouts of
// the tile (common/tile.clh). In the plain layout a column is in one bank and its reads are serialised; in the others it is spread
// over all banks.
//
// Launch: TILE x TILE_STEP work-items a group; each moves TILE / TILE_STEP elements. A group has one tile; in place, a
// pair of tiles that it exchanges.
// Local memory: TILE * TILE_STRIDE elements, twice that in place.
#include "common/element.clh"
#include "common/tile.clh"
#include "common/grid.clh"

#ifndef TILE
#define TILE 32  // tile edge: 4, 8, 16, 32, 64
#endif
#ifndef TILE_STEP
#define TILE_STEP 8  // rows of the tile that the group moves at once: 1 .. TILE
#endif
#ifndef IN_PLACE
#define IN_PLACE 0  // 1: in and out are the same square matrix
#endif

// Loads the part of the tile at (row, col) that lies inside the matrix.
static inline void read_tile(local element* tile, global const element* in, long pitch, ulong rows, ulong cols, ulong row,
                      ulong col) {
  const uint x = get_local_id(0);
  for (uint y = get_local_id(1); y < TILE; y += TILE_STEP)
    if (row + y < rows && col + x < cols) tile[TILE_AT(y, x)] = in[(long)(row + y) * pitch + (long)(col + x)];
}

// Stores the transposed tile to (row, col) of the output.
static inline void write_tile(local const element* tile, global element* out, long pitch, ulong rows, ulong cols, ulong row,
                       ulong col) {
  const uint x = get_local_id(0);
  for (uint y = get_local_id(1); y < TILE; y += TILE_STEP)
    if (row + y < rows && col + x < cols) out[(long)(row + y) * pitch + (long)(col + x)] = tile[TILE_AT(x, y)];
}

kernel __attribute__((reqd_work_group_size(TILE, TILE_STEP, 1)))
void transpose_tiled(global const element* in, ulong in_offset, long in_pitch, ulong in_stride,
                     global element* out, ulong out_offset, long out_pitch, ulong out_stride,
                     ulong rows, ulong cols, ulong batch) {
  (void)batch;  // the launch has a group for each tile of the batch
  local element tile[TILE * TILE_STRIDE];
#if IN_PLACE
  local element mirror[TILE * TILE_STRIDE];
  const tile_place place = place_of_pair(get_group_id(0), (rows + TILE - 1) / TILE);
#else
  const tile_place place = place_of_tile(get_group_id(0), (rows + TILE - 1) / TILE, (cols + TILE - 1) / TILE);
#endif
  const ulong row = (ulong)place.row * TILE;
  const ulong col = (ulong)place.col * TILE;
  in += in_offset + place.matrix * in_stride;
  out += out_offset + place.matrix * out_stride;

  // In place, both tiles of the pair are in local memory before either is overwritten.
  read_tile(tile, in, in_pitch, rows, cols, row, col);
#if IN_PLACE
  read_tile(mirror, in, in_pitch, rows, cols, col, row);
#endif
  barrier(CLK_LOCAL_MEM_FENCE);

  // A pair on the diagonal is one tile.
  write_tile(tile, out, out_pitch, cols, rows, col, row);
#if IN_PLACE
  if (row != col) write_tile(mirror, out, out_pitch, cols, rows, row, col);
#endif
}
