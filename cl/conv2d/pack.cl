// Copies images from a grid of planes or of interleaved channels to another one, with zeros for channels that a group lacks.
// Elements are not converted.
//
// Launch: GROUP work-items; a group for each CELLS cells of CHANNELS channels of an image, cells innermost. Local memory:
// CHANNELS * (CELLS + 2) elements; none where both are interleaved.
#include "conv2d/pack_tile.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_pack(global const element* from, global element* to, copy_numbers n) {
  local element tile[FROM_INTERLEAVED && TO_INTERLEAVED ? 1 : TILE_ITEMS(CELLS, CHANNELS)] __attribute__((aligned(16)));
  const grid_copy copy = COPY_OF(from, to, n);
  read_tile(&copy, get_group_id(0), tile, CELLS, CHANNELS, FROM_INTERLEAVED, TO_INTERLEAVED, READ, WHOLE);
  barrier(CLK_LOCAL_MEM_FENCE);
  write_tile(&copy, get_group_id(0), tile, CELLS, CHANNELS, FROM_INTERLEAVED, TO_INTERLEAVED, WRITE, WHOLE);
}
