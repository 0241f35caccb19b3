// Copies the input and the filters of a convolution as conv2d/pack.cl does, in one launch: a second one takes longer than the filters.
//
// Launch: GROUP work-items; `filter_tiles` groups for the tiles of the filters, then one for each tile of the input. Local memory: the
// larger tile.
#ifndef FILTERS_CELLS
#define FILTERS_CELLS 16  // as conv2d/pack_tile.clh has CELLS and so on for the input
#endif
#ifndef FILTERS_CHANNELS
#define FILTERS_CHANNELS 64
#endif
#ifndef FILTERS_FROM_INTERLEAVED
#define FILTERS_FROM_INTERLEAVED 0
#endif
#ifndef FILTERS_TO_INTERLEAVED
#define FILTERS_TO_INTERLEAVED 1
#endif
#ifndef FILTERS_READ
#define FILTERS_READ 1
#endif
#ifndef FILTERS_WRITE
#define FILTERS_WRITE 1
#endif
#ifndef FILTERS_WHOLE
#define FILTERS_WHOLE 0
#endif
#include "conv2d/pack_tile.clh"
#define ITEMS (FROM_INTERLEAVED && TO_INTERLEAVED ? 1 : TILE_ITEMS(CELLS, CHANNELS))
#define FILTERS_ITEMS (FILTERS_FROM_INTERLEAVED && FILTERS_TO_INTERLEAVED ? 1 : TILE_ITEMS(FILTERS_CELLS, FILTERS_CHANNELS))

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_pack_both(global const element* from, global element* to, copy_numbers of_input, global const element* filters,
                      global element* to_filters, copy_numbers of_filters) {
  local element tile[ITEMS > FILTERS_ITEMS ? ITEMS : FILTERS_ITEMS] __attribute__((aligned(16)));
  const grid_copy input = COPY_OF(from, to, of_input), weights = COPY_OF(filters, to_filters, of_filters);
  const uint number = get_group_id(0), filter_tiles = of_input.filter_tiles;
  if (number < filter_tiles) {
    read_tile(&weights, number, tile, FILTERS_CELLS, FILTERS_CHANNELS, FILTERS_FROM_INTERLEAVED, FILTERS_TO_INTERLEAVED, FILTERS_READ,
              FILTERS_WHOLE);
  } else {
    read_tile(&input, number - filter_tiles, tile, CELLS, CHANNELS, FROM_INTERLEAVED, TO_INTERLEAVED, READ, WHOLE);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (number < filter_tiles) {
    write_tile(&weights, number, tile, FILTERS_CELLS, FILTERS_CHANNELS, FILTERS_FROM_INTERLEAVED, FILTERS_TO_INTERLEAVED, FILTERS_WRITE,
               FILTERS_WHOLE);
  } else {
    write_tile(&input, number - filter_tiles, tile, CELLS, CHANNELS, FROM_INTERLEAVED, TO_INTERLEAVED, WRITE, WHOLE);
  }
}
