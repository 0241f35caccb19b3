// Convolution of few channels by Hopper's matrix units: the first layers of networks. The product is turned as that of wgmma_halo.cl: a tile
// has 64 filters, the rows, and TILE_N cells, the columns.
//
// A warpgroup, the producer, lays strips of the input in local memory, as nvidia/conv2d_few.clh has them: from planes or interleaved channels
// as they are. No window is copied: the instruction reads overlapping rows. Two warpgroups, the consumers, have the tiles of a strip in turn: one
// multiplies while the other one writes. Filters stay in local memory: a group has the same 64 for all of its strips.
//
// A strip has TILES tiles of ROWS rows of results of an image, PITCH pieces a row, so at most 240 columns. Windows have no dilation.
//
// Launch: WORK_ITEMS; a multiple of the blocks of 64 filters, at most as many groups as multiprocessors. `maps`: 256 bytes for each group. Local
// memory: STAGES * STAGE_BYTES; PIECES, made even, * 1024; TILE_N * 16 if PIECES is odd; STAGED_ROWS * 256, or 20480 + 16 * TILE_N; and 2048.
// For sm_90a: see nvidia/wgmma.clh.
#include "nvidia/conv2d_few_sizes.clh"
#ifndef STAGES
#define STAGES 2  // strips in local memory
#endif
#define MAPS_BYTES (2 * TENSOR_MAP_BYTES)

#include "nvidia/conv2d_halo_parameters.clh"
#include "nvidia/conv2d_few.clh"
#if OUT_PLANES
#include "nvidia/conv2d_halo_planes.clh"
#endif

kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1)))
void conv2d_wgmma_few(CONV2D_ARGUMENTS, global uchar* maps) {
  CONV2D_NUMBERS
  (void)in_channels, (void)window_w, (void)window_h, (void)stride_x, (void)stride_y, (void)groups;  // known to the compiler
  (void)in_plane, (void)out_plane, (void)out_pitch, (void)dilation_x, (void)dilation_y, (void)block_k, (void)tile_w, (void)tile_h, (void)depth;
  local uchar strips[STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
  local uint filters[EVEN_PIECES * 256] __attribute__((aligned(1024)));
#if PIECES % 2
  local uint4 nothing[TILE_N];
#else
  local uint4 nothing[1];
#endif
#if OUT_BOXES || OUT_PLANES
  local uchar staged[2 * STAGED_ROWS * 128] __attribute__((aligned(1024)));
#else
  local value staged[8 * WARP_VALUES] __attribute__((aligned(16)));
  local ulong cells[2 * TILE_N];
#endif
#if OUT_PLANES
  local uint places[TILE_N] __attribute__((aligned(8)));
#endif
  local ulong barriers[2 * STAGES];
#if OUT_BOXES
  local ulong new_maps[MAPS_BYTES / 8] __attribute__((aligned(TENSOR_MAP_BYTES)));
#else
  (void)maps;
#endif
  const uint item = get_local_id(0), lane = item % 32, warp = item / 32 % 4, consumer = item / 128 - 1;
  halo_grid g = halo_grid_of(PITCH, ROWS, 0, 1, images, out_h, out_channels);
  const uint strips_down = (out_h + TILES * ROWS - 1) / (TILES * ROWS), jobs = (uint)images * strips_down;
  const uint first = get_group_id(0) / g.blocks, step = get_num_groups(0) / g.blocks;
  const uint first_filter = (get_group_id(0) - first * g.blocks) * 64;
#if OUT_BOXES
  maps += (get_group_id(0) * 2 + consumer) * TENSOR_MAP_BYTES;
  if (item >= PRODUCERS && warp == 0) {  // of each consumer one map, whose work-item then sees it
    const ulong cell = out_channels * ELEMENT_BYTES;
    const tensor_4d x = {out + out_offset, {cell, whole_pieces(out_stride), whole_pieces(out_pitch)}, {out_channels, out_w, (uint)images, out_h},
                         {PITCH, 1, ROWS}, {1, 1, 1}};
    make_map(maps, new_maps + consumer * (TENSOR_MAP_BYTES / 8), &x, lane);
  }
#endif
  pipeline p = begin_pipeline(strips, barriers);
  if (item == 0) init_pipeline(&p, PRODUCERS, 8);
#if OUT_PLANES
  find_places(places, &g, out_w, out_h, item);
#endif
  if (PIECES % 2 == 1 && item < TILE_N) nothing[item] = (uint4)0;
  fence_async();
  barrier(CLK_LOCAL_MEM_FENCE);

  if (item < PRODUCERS) {
#pragma unroll 1
    for (uint job = first; job < jobs; job += step) {
      const uint image = job / strips_down, y = (job - image * strips_down) * (TILES * ROWS);
      const strip_source s = {in + in_offset + image * in_stride, in_pitch, in_plane, -(int)pad_left, in_w, in_h};
      producer_acquire(&p);
      fill_strip((local uint4*)(strips + p.stage * STAGE_BYTES), &s, (int)(y * STRIDE_Y) - (int)pad_top, item);
      fence_async();
      producer_commit(&p, p.stage);
      advance(&p);
    }
  } else {
    const uint f = first_filter + item % 64;
    lay_filters(filters, weights + weight_offset + (f < out_channels ? f : 0) * weight_stride, f < out_channels, item - PRODUCERS);
    fence_async();
    sync_items(3, 256);
#if OUT_BOXES
    const uint mine = local_address(staged) + consumer * (STAGED_ROWS * 128);
#elif OUT_PLANES
    local ushort* const mine = (local ushort*)(staged + consumer * (STAGED_ROWS * 128));
#else
    local value* const mine = staged + (consumer * 4 + warp) * WARP_VALUES;
    local ulong* const places = cells + consumer * TILE_N;
#endif
    const uint filter = first_filter + warp * 16 + lane / 4;
    value add[2] = {0, 0};
    if (with_bias && filter < out_channels) add[0] = load_result(bias + bias_offset + filter);
    if (with_bias && filter + 8 < out_channels) add[1] = load_result(bias + bias_offset + filter + 8);
    uint turn = consumer;  // 0: the next tile is this consumer's
#pragma unroll 1
    for (uint job = first; job < jobs; job += step) {
      const uint image = job / strips_down;
      halo_job j = {first_filter, (job - image * strips_down) * (TILES * ROWS), image};
      consumer_wait(&p);
      const uint last = TILES >= 2 || turn == 0 ? TILES - 1 - (TILES - 1 + turn) % 2 : TILES;  // of its tiles; TILES: it has none
      if (last == TILES && lane == 0) consumer_release(&p, p.stage);
#pragma unroll 1
      for (uint t = 0; t < TILES; ++t, turn ^= 1, j.y += ROWS) {
        if (turn != 0) continue;
        if (j.y >= out_h) {
          if (t == last && lane == 0) consumer_release(&p, p.stage);
          continue;
        }
        value sum[TILE_N / 2];
#pragma unroll
        for (uint i = 0; i < TILE_N / 2; ++i) sum[i] = 0;
        begin_wgmma();
        multiply_windows(sum, stage_address(&p) + t * (ROWS * PITCH * 16), local_address(filters), local_address(nothing));
        end_wgmma();
        WAIT_WGMMA(0);
        HOLD_SUMS(sum, TILE_N);
        if (t == last && lane == 0) consumer_release(&p, p.stage);
#if OUT_BOXES
        if (item % 128 == 0) wait_stored_boxes();
        sync_items(consumer + 1, 128);  // the last tile has been copied
        if (first_filter + warp * 16 < out_channels) stage_results(sum, mine, add, warp, lane);
        fence_async();
        sync_items(consumer + 1, 128);
        if (item % 128 == 0) store_box_4d(maps, first_filter, 0, image, j.y, mine);
#elif OUT_PLANES
        sync_items(consumer + 1, 128);
        stage_planes(sum, mine, places, add, plane_pitch(&g, out_w, out_h), warp, lane);
        sync_items(consumer + 1, 128);
        copy_planes(out + out_offset + (ulong)image * out_stride + (ulong)first_filter * out_plane, out_plane, out_stride, mine, &g, 1,
                    min(out_channels - first_filter, 64u), min(out_h - j.y, (uint)ROWS), j.y, out_w, out_h, item % 128);
#else
        sync_items(consumer + 1, 128);  // the cells of the last tile are no longer read
        find_cells(places, &g, j, out_w, out_h, images, out_pitch, out_stride, OUT_INTERLEAVED ? out_channels : 1, item % 128);
        sync_items(consumer + 1, 128);
        const result_grid to = {out + out_offset + (ulong)first_filter * out_plane, out_plane,
                                bias + (with_bias ? bias_offset + first_filter : 0), with_bias, 0, min(out_channels - first_filter, 64u), places};
        write_halo(&to, sum, mine, warp * 16, lane);
#endif
      }
      advance(&p);
    }
#if OUT_BOXES
    if (item % 128 == 0) wait_stored_boxes();
#endif
  }
}
