// Convolution of many channels by Hopper's matrix units, whose windows are read where they lie: what nvidia/conv2d/wgmma.cl computes, of
// windows without strides.
//
// The product is turned: a tile has 64 filters, the rows, and TILE_N cells, the columns. Its cells with their halo, 64 channels of each at a
// time, are one box of the input (nvidia/tensor_map.clh), padded by zeros: rows of `pitch` cells, of which the padding between two rows
// is the right one of the first and the left one of the second. So tap (r, s) of the windows reads the same box, r rows and s cells later: the
// instruction's descriptor moves. Columns of padding are computed too, and not written.
//
// One work-item, the producer, copies halos and the filters' tiles of each tap. Two warpgroups, the consumers, multiply: they take turns at
// the tiles of a group, so that one multiplies while the other one writes.
//
// tile_w: pitch; tile_h: rows of results of a tile; block_k: rows of the input of an image in a box; depth: images of a tile. If they are
// several, tile_h is out_h, and the padding between two images is shared as that between rows is. Strides of the input's cells, rows and
// images, and of filters, are multiples of 16 bytes.
//
// Launch: WORK_ITEMS; as many groups as multiprocessors, or tiles if they are fewer. `maps`: MAPS_BYTES for each group. Local memory: HALOS *
// HALO_ROWS * 128, STAGES * 8192, 20480, 16 * TILE_N, and 1024. For sm_90a: see nvidia/wgmma.clh.
#ifndef ELEMENT_TYPE
#define ELEMENT_TYPE 2  // 2: half, 3: bfloat16, as gemm/numbers.clh has them
#endif
#ifndef RESULT_TYPE
#define RESULT_TYPE ELEMENT_TYPE  // or float
#endif
#ifndef TILE_N
#define TILE_N 256  // a multiple of 16 from 64 to 256
#endif
#define MMA_N TILE_N
#ifndef STAGES
#define STAGES 8  // of filters
#endif
#ifndef RESIDENT
#define RESIDENT 0  // 1: all jobs have the same filters, whose taps are STAGES at most, and stay in local memory
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

#define ELEMENT element
#define RESULT result
#define IN_INTERLEAVED 1
#define WEIGHTS_INTERLEAVED 1
#define A_ALONG_K 1
#define B_ALONG_K 1
#define ELEMENT_BYTES 2
#define TILE_K 64
#define STAGE_BYTES 8192  // 64 filters
#define HALO_BYTES (HALO_ROWS * 128)
#define WORK_ITEMS 384
#define MAPS_BYTES 256
#define CELL_PITCH 20    // of 16 filters, and of 32 cells, in local memory: stores have no conflicts
#define FILTER_PITCH 40
#define WARP_VALUES 640

#define TAPS (WINDOW_W * WINDOW_H)

#include "common/work_group.clh"
#include "gemm/numbers.clh"
#include "conv2d/parameters.clh"
#include "nvidia/copy_async.clh"
#include "nvidia/mbarrier.clh"
#include "nvidia/pipeline.clh"
#include "nvidia/sync_items.clh"
#include "nvidia/tensor_map.clh"
#include "nvidia/wgmma.clh"
#include "nvidia/conv2d_results.clh"
#include "nvidia/conv2d_halo.clh"

// The bytes of a pitch, which of a single row may be any number.
static inline ulong whole_pieces(ulong pitch) { return (pitch * ELEMENT_BYTES + 15) / 16 * 16; }

// Adds the products of a tile: `blocks` of 64 channels. What a step read is released one step later, when its instructions are complete.
GROUP_FUNCTION void multiply_halos(value sum[TILE_N / 2], uint blocks, pipeline* p, halo_ring* h, uint down, uint right, uint lane) {
  uint last = 0, last_halo = 0, is_first = 1;
#pragma unroll 1
  for (uint block = 0; block < blocks; ++block) {
    ulong line = tile_descriptor(halo_address(h), 16, 1024);
    wait_phase(h->full + h->stage * 8, h->parity);
#pragma unroll 1
    for (uint r = 0; r < WINDOW_H; ++r, line += down * 8) {
      ulong cell = line;
#pragma unroll 1
      for (uint s = 0; s < WINDOW_W; ++s, cell += right * 8) {
        const ulong filters = tile_descriptor(stage_address(p), 16, 1024);
        consumer_wait(p);
        begin_wgmma();
#pragma unroll
        for (uint x = 0; x < 4; ++x) multiply_add(sum, filters + x * 2, cell + x * 2);
        end_wgmma();
        WAIT_WGMMA(1);
        if (lane == 0 && !is_first) {
          if (!RESIDENT) consumer_release(p, last);
          if (r + s == 0) arrive(h->empty + last_halo * 8);
        }
        is_first = 0;
        last = p->stage;
        advance(p);
      }
    }
    last_halo = h->stage;
    halo_advance(h, 1);
  }
  WAIT_WGMMA(0);
  HOLD_SUMS(sum, TILE_N);
  if (lane == 0) {
    if (!RESIDENT) consumer_release(p, last);
    arrive(h->empty + last_halo * 8);
  }
}

kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1)))
void conv2d_wgmma_halo(CONV2D_ARGUMENTS, global uchar* maps) {
  (void)in_plane, (void)window_w, (void)window_h, (void)stride_x, (void)stride_y, (void)groups;
  local uchar tiles[HALOS * HALO_BYTES + STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
  local ulong barriers[2 * STAGES + 2 * HALOS];
  local value staged[8 * WARP_VALUES] __attribute__((aligned(16)));
  local ulong cells[2 * TILE_N];
  local ulong new_maps[MAPS_BYTES / 8] __attribute__((aligned(TENSOR_MAP_BYTES)));
  const uint item = get_local_id(0), lane = item % 32;
  const halo_grid g = halo_grid_of(tile_w, tile_h, block_k, depth, images, out_h, out_channels);
  pipeline p = begin_pipeline(tiles + HALOS * HALO_BYTES, barriers);
  halo_ring h = {local_address(tiles), local_address(barriers + 2 * STAGES), local_address(barriers + 2 * STAGES + HALOS), 0, 0};
  if (item == 0) {
    for (uint i = 0; i < HALOS; ++i) init_mbarrier(h.full + i * 8, 1), init_mbarrier(h.empty + i * 8, 4);
    init_pipeline(&p, 1, 4);
  }
  // Zeros below the boxes.
  const uint box_rows = g.pitch * g.image_rows * g.tile_images;
  for (uint i = 0; i < HALOS; ++i)
    for (uint at = box_rows * 8 + item; at < HALO_ROWS * 8; at += WORK_ITEMS) ((local uint4*)(tiles + i * HALO_BYTES))[at] = (uint4)0;
  fence_async();
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint channel_blocks = (in_channels + TILE_K - 1) / TILE_K;
  if (item < 128) {
    // One warp makes the map of the input and copies halos, another one that of the filters and copies their tiles.
    const uint producer = item / 32;
    global uchar* const map = maps + get_group_id(0) * MAPS_BYTES + producer * TENSOR_MAP_BYTES;
    local ulong* const made = new_maps + producer * (TENSOR_MAP_BYTES / 8);
    if (producer < 2) {
      if (lane < TENSOR_MAP_BYTES / 8) made[lane] = 0;
      sync_warp();
      const ulong cell = in_channels * ELEMENT_BYTES;
      if (item == 0) {
        const tensor_4d x = {in + in_offset, {cell, whole_pieces(in_pitch), whole_pieces(in_stride)}, {in_channels, in_w, in_h, (uint)images},
                             {g.pitch, g.image_rows, g.tile_images}, {1, 1, 1}};
        describe_tensor_4d(local_address(made), &x);
      } else if (item == 32) {
        const tensor_4d x = {weights + weight_offset, {cell, whole_pieces(weight_stride), whole_pieces(weight_stride)},
                             {in_channels, TAPS, out_channels, 1}, {1, 64, 1}, {1, 1, 1}};
        describe_tensor_4d(local_address(made), &x);
      }
      sync_warp();
      publish_tensor_map(map, local_address(made));
    }
    if (item == 0) {
#pragma unroll 1
      for (uint job = get_group_id(0); job < g.jobs; job += get_num_groups(0)) {
        const halo_job j = halo_job_of(job, &g);
#pragma unroll 1
        for (uint block = 0; block < channel_blocks; ++block) {
          const uint full = h.full + h.stage * 8;
          wait_phase(h.empty + h.stage * 8, h.parity ^ 1);
          expect_bytes(full, box_rows * 128);
          copy_box_4d(halo_address(&h), map, block * TILE_K, -(int)pad_left, (int)j.y - (int)pad_top, j.image, full);
          halo_advance(&h, 1);
        }
      }
    } else if (item == 32) {
#pragma unroll 1
      for (uint job = get_group_id(0); job < (RESIDENT ? get_group_id(0) + 1 : g.jobs); job += get_num_groups(0)) {
        const halo_job j = halo_job_of(job, &g);
#pragma unroll 1
        for (uint block = 0; block < channel_blocks; ++block) {
#pragma unroll 1
          for (uint tap = 0; tap < TAPS; ++tap) {
            producer_acquire(&p);
            expect_bytes(p.full + p.stage * 8, STAGE_BYTES);
            copy_box_4d(stage_address(&p), map, block * TILE_K, tap, j.filter, 0, p.full + p.stage * 8);
            advance(&p);
          }
        }
      }
    }
  } else {
    const uint consumer = item / 128 - 1, warp = item / 32 % 4;
    local value* const mine = staged + (consumer * 4 + warp) * WARP_VALUES;
    local ulong* const places = cells + consumer * TILE_N;
    uint turn = 0;
#pragma unroll 1
    for (uint job = get_group_id(0); job < g.jobs; job += get_num_groups(0), turn ^= 1) {
      if (turn != consumer) {
        if (!RESIDENT) skip_steps(&p, channel_blocks * TAPS);
        halo_advance(&h, channel_blocks);
        continue;
      }
      const halo_job j = halo_job_of(job, &g);
      sync_items(consumer + 1, 128);  // the cells of the last tile are no longer read
      find_cells(places, &g, j, g.image_rows * g.pitch, out_w, out_h, images, out_pitch, out_stride, OUT_INTERLEAVED ? out_channels : 1,
                 item % 128);
      sync_items(consumer + 1, 128);
      value sum[TILE_N / 2];
#pragma unroll
      for (uint i = 0; i < TILE_N / 2; ++i) sum[i] = 0;
      if (RESIDENT) p.stage = p.parity = 0;
      multiply_halos(sum, channel_blocks, &p, &h, g.pitch * dilation_y, dilation_x, lane);
      const result_grid to = {out + out_offset + (ulong)j.filter * out_plane, out_plane, bias + (with_bias ? bias_offset + j.filter : 0),
                              with_bias, 0, min(out_channels - j.filter, 64u), places};
      write_halo(&to, sum, mine, warp * 16, lane);
    }
  }
}
