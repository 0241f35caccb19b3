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
void conv2d_pack_both(global const element* from, ulong from_offset, ulong from_pitch, ulong from_plane, ulong from_stride,
                      global element* to, ulong to_offset, ulong to_pitch, ulong to_plane, ulong to_stride, uint width, uint height,
                      uint groups, uint channels, uint to_channels, global const element* filters, ulong filters_offset,
                      ulong filters_pitch, ulong filters_plane, ulong filters_stride, global element* to_filters,
                      ulong to_filters_offset, ulong to_filters_pitch, ulong to_filters_plane, ulong to_filters_stride,
                      uint window_w, uint window_h, uint filter_channels, uint to_filter_channels, uint filter_tiles) {
  local element tile[ITEMS > FILTERS_ITEMS ? ITEMS : FILTERS_ITEMS] __attribute__((aligned(16)));
  const grid_copy input = {from + from_offset, from_pitch, from_plane, from_stride, to + to_offset, to_pitch, to_plane, to_stride,
                           width, height, groups, channels, to_channels};
  const grid_copy weights = {filters + filters_offset, filters_pitch, filters_plane, filters_stride, to_filters + to_filters_offset,
                             to_filters_pitch, to_filters_plane, to_filters_stride, window_w, window_h, 1, filter_channels, to_filter_channels};
  const uint number = get_group_id(0);
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
