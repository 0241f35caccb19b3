// Convolution of many channels by Hopper's matrix units, whose windows are read where they lie: what nvidia/conv2d/wgmma.cl computes, of
// windows without strides.
//
// The product is turned: a tile has 64 filters, the rows, and TILE_N cells, the columns. Its cells with their halo, 64 channels of each at a
// time, are one box of the input (nvidia/tensor_map.clh), padded by zeros: rows of `pitch` cells, of which the padding between two rows
// is the right one of the first and the left one of the second. So tap (r, s) of the windows reads the same box, r rows and s cells later: the
// instruction's descriptor moves. Columns of padding are computed too, and not written.
//
// One work-item copies halos, and another one the filters' tiles of each tap. Two warpgroups, the consumers, multiply. They take turns at the
// tiles of a group: one multiplies while the other one writes, and while the halo is copied that it will read.
//
// tile_w: pitch; tile_h: rows of results of a tile; block_k: rows of the input of an image in a box; depth: images of a tile. Strides of the
// input's cells, rows and images, and of filters, are multiples of 16 bytes.
//
// Launch: WORK_ITEMS; as many groups as multiprocessors, or tiles if they are fewer. `maps`: MAPS_BYTES for each group. Local memory: HALOS *
// HALO_ROWS * 128; STAGES * 8192; STAGED_ROWS * 256, or 20480 + 16 * TILE_N; and 2048. For sm_90a: see nvidia/wgmma.clh.
#ifndef STAGES
#define STAGES 8  // of filters
#endif
#ifndef RESIDENT
#define RESIDENT 0  // 1: all jobs have the same filters, whose taps are STAGES at most, and stay in local memory
#endif
#ifndef MMA_STEPS
#define MMA_STEPS 4  // of 16 channels, of the last 64: 1 to 4
#endif
#ifndef HALOS
#define HALOS 2
#endif
#ifndef HALO_ROWS
#define HALO_ROWS 384  // cells of a halo, and zeros that the last windows read: a multiple of 8
#endif
#ifndef WINDOW_W
#define WINDOW_W 3
#endif
#ifndef WINDOW_H
#define WINDOW_H 3
#endif
#define IN_INTERLEAVED 1
#define WEIGHTS_INTERLEAVED 1
#define TILE_K 64
#define STAGE_BYTES 8192  // 64 filters
#define HALO_BYTES (HALO_ROWS * 128)
#define MAPS_BYTES (4 * TENSOR_MAP_BYTES)
#define TAPS (WINDOW_W * WINDOW_H)

#include "nvidia/conv2d_halo_parameters.clh"
#include "nvidia/conv2d_halo_copies.clh"
#if OUT_PLANES
#include "nvidia/conv2d_halo_planes.clh"
#endif

kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1)))
void conv2d_wgmma_halo(CONV2D_ARGUMENTS, global uchar* maps) {
  CONV2D_NUMBERS
  (void)in_plane, (void)out_plane, (void)out_pitch, (void)window_w, (void)window_h, (void)stride_x, (void)stride_y, (void)groups;
  local uchar tiles[HALOS * HALO_BYTES + STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
#if OUT_BOXES || OUT_PLANES
  local uchar staged[2 * STAGED_ROWS * 128] __attribute__((aligned(1024)));
#else
  local value staged[8 * WARP_VALUES] __attribute__((aligned(16)));
  local ulong cells[2 * TILE_N];
#endif
#if OUT_PLANES
  local uint places[TILE_N] __attribute__((aligned(8)));
#endif
  local ulong barriers[2 * STAGES + 2 * HALOS + 2];
  local ulong new_maps[MAPS_BYTES / 8] __attribute__((aligned(TENSOR_MAP_BYTES)));
  const uint item = get_local_id(0), lane = item % 32, warp = item / 32 % 4;
  const halo_grid g = halo_grid_of(tile_w, tile_h, block_k, depth, images, out_h, out_channels);
  const uint channel_blocks = (in_channels + TILE_K - 1) / TILE_K;
  // Maps of the input and the filters; and of the output, for each consumer one, whose work-item then sees it.
  const uint number = item < 128 ? warp : 1 + item / 128;
  maps += (get_group_id(0) * 4 + number) * TENSOR_MAP_BYTES;
  const uint has_map = OUT_BOXES ? item < 64 || item / 32 % 4 == 0 : item < 64;
  if (has_map) {
    const ulong cell = (item < 128 ? in_channels : out_channels) * ELEMENT_BYTES;
    tensor_4d x = {in + in_offset, {cell, whole_pieces(in_stride), whole_pieces(in_pitch)}, {in_channels, in_w, (uint)images, in_h},
                   {g.pitch, g.tile_images, g.image_rows}, {1, 1, 1}};
    if (item >= 128) {
      x.from = out + out_offset;
      x.pitch[1] = whole_pieces(out_stride), x.pitch[2] = whole_pieces(out_pitch);
      x.size[0] = out_channels, x.size[1] = out_w, x.size[3] = out_h;
      x.box[2] = g.rows;
    } else if (item >= 32) {
      x.from = weights + weight_offset;
      x.pitch[1] = x.pitch[2] = whole_pieces(weight_stride);
      x.size[1] = TAPS, x.size[2] = out_channels, x.size[3] = 1;
      x.box[0] = 1, x.box[1] = 64, x.box[2] = 1;
    }
    make_map(maps, new_maps + number * (TENSOR_MAP_BYTES / 8), &x, lane);
  }
  pipeline p = begin_pipeline(tiles + HALOS * HALO_BYTES, barriers);
  halo_ring h = {local_address(tiles), local_address(barriers + 2 * STAGES), local_address(barriers + 2 * STAGES + HALOS), 0, 0};
  const uint turns = local_address(barriers + 2 * STAGES + 2 * HALOS);
  if (item == 64) {
    for (uint i = 0; i < HALOS; ++i) init_mbarrier(h.full + i * 8, 1), init_mbarrier(h.empty + i * 8, 4);
    for (uint i = 0; i < 2; ++i) init_mbarrier(turns + i * 8, 4);
    init_pipeline(&p, 1, 4);
  }
#if OUT_PLANES
  find_places(places, &g, out_w, out_h, item);
#endif
  // Zeros below the boxes.
  for (uint i = 0; i < HALOS; ++i)
    for (uint at = g.pitch * g.image_rows * g.tile_images * 8 + item; at < HALO_ROWS * 8; at += WORK_ITEMS)
      ((local uint4*)(tiles + i * HALO_BYTES))[at] = (uint4)0;
  fence_async();
  barrier(CLK_LOCAL_MEM_FENCE);

  if (item == 0) {
    produce_halos(h, maps, &g, channel_blocks, pad_left, pad_top);
  } else if (item == 32) {
    produce_filters(p, maps, &g, channel_blocks);
  } else if (item >= 128) {
    const uint consumer = item / 128 - 1;
#if OUT_BOXES
    const uint mine = local_address(staged) + consumer * (STAGED_ROWS * 128);
#elif OUT_PLANES
    local ushort* const mine = (local ushort*)(staged + consumer * (STAGED_ROWS * 128));
#else
    local value* const mine = staged + (consumer * 4 + warp) * WARP_VALUES;
    local ulong* const places = cells + consumer * TILE_N;
#endif
    uint turn = 0, parity = consumer ^ 1;
#pragma unroll 1
    for (uint job = get_group_id(0); job < g.jobs; job += get_num_groups(0), turn ^= 1) {
      if (turn != consumer) {
        if (!RESIDENT) skip_steps(&p, channel_blocks * TAPS);
        halo_advance(&h, channel_blocks);
        continue;
      }
      const halo_job j = halo_job_of(job, &g);
#if !OUT_BOXES && !OUT_PLANES
      sync_items(consumer + 1, 128);  // the cells of the last tile are no longer read
      find_cells(places, &g, j, out_w, out_h, images, out_pitch, out_stride, OUT_INTERLEAVED ? out_channels : 1, item % 128);
      sync_items(consumer + 1, 128);
#endif
      value sum[TILE_N / 2];
#pragma unroll
      for (uint i = 0; i < TILE_N / 2; ++i) sum[i] = 0;
      if (RESIDENT) p.stage = p.parity = 0;
      wait_phase(turns + consumer * 8, parity);
      parity ^= 1;
      multiply_halos(sum, channel_blocks, &p, &h, g.pitch * g.tile_images * dilation_y, dilation_x, turns + (consumer ^ 1) * 8, lane);
#if OUT_BOXES || OUT_PLANES
      const uint filter = j.filter + warp * 16 + lane / 4;
      value add[2] = {0, 0};
      if (with_bias && filter < out_channels) add[0] = load_result(bias + bias_offset + filter);
      if (with_bias && filter + 8 < out_channels) add[1] = load_result(bias + bias_offset + filter + 8);
#if OUT_BOXES
      if (item % 128 == 0) wait_stored_boxes();
#endif
      sync_items(consumer + 1, 128);  // the last tile has been copied
#if OUT_BOXES
      stage_results(sum, mine, add, warp, lane);
      fence_async();
      sync_items(consumer + 1, 128);
      if (item % 128 == 0) store_box_4d(maps, j.filter, 0, j.image, j.y, mine);
#else
      stage_planes(sum, mine, places, add, plane_pitch(&g, out_w, out_h), warp, lane);
      sync_items(consumer + 1, 128);
      copy_planes(out + out_offset + (ulong)j.image * out_stride + (ulong)j.filter * out_plane, out_plane, out_stride, mine, &g,
                  (uint)min(images - j.image, (ulong)g.tile_images), min(out_channels - j.filter, 64u), min(out_h - j.y, g.rows), j.y, out_w,
                  out_h, item % 128);
#endif
#else
      const result_grid to = {out + out_offset + (ulong)j.filter * out_plane, out_plane, bias + (with_bias ? bias_offset + j.filter : 0),
                              with_bias, 0, min(out_channels - j.filter, 64u), places};
      write_halo(&to, sum, mine, warp * 16, lane);
#endif
    }
#if OUT_BOXES
    if (item % 128 == 0) wait_stored_boxes();
#endif
  }
}
