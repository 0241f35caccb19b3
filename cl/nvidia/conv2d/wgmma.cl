// Convolution of many channels by Hopper's matrix units, warp-specialised: what nvidia/conv2d/mma.cl computes, of the same layouts.
//
// CONSUMERS warpgroups multiply the stages of a pipeline in local memory, 64 results by TILE_N filters each. A warpgroup behind them, the
// producer, gathers windows and copies filters to the stages (nvidia/conv2d_producer.clh); or, with TENSOR, a warp, of which one work-item
// copies windows of a tap each by tensor maps (nvidia/conv2d_producer_tensor.clh). The kernel is persistent: a group computes several
// tiles, and its producer fills stages of the next one while its consumers write the last one.
//
// Launch: WORK_ITEMS a group; as many groups as multiprocessors, or tiles if they are fewer. A tile: TILE_M results of all
// images and TILE_N filters of a group of channels, filters innermost. Local memory: STAGES * ((TILE_M + TILE_N) * 128 + 16),
// CONSUMERS * 10752, with TENSOR also 256. For sm_90a: see nvidia/wgmma.clh.
#ifndef ELEMENT_TYPE
#define ELEMENT_TYPE 2  // 2: half, 3: bfloat16, 4: int8, as gemm/numbers.clh has them
#endif
#ifndef RESULT_TYPE
#define RESULT_TYPE ELEMENT_TYPE  // or that of the sums; of int8 int32
#endif
#ifndef CONSUMERS
#define CONSUMERS 2  // warpgroups that multiply: 1, 2, with TENSOR to 4
#endif
#ifndef TILE_N
#define TILE_N 128  // 64, 128, 192, 256
#endif
#define MMA_N TILE_N
#ifndef STAGES
#define STAGES 4  // 2 to 8
#endif
#ifndef LAG
#define LAG 2  // steps whose copies the producer keeps in flight: 0 to STAGES - 2
#endif
#ifndef TENSOR
#define TENSOR 0  // 1: by tensor maps, whose memory `maps` is
#endif
#ifndef SPLIT
#define SPLIT 0  // 1, with TENSOR: each tile has `split` parts along its steps, of a group each, and the last group adds them (nvidia/gemm_join.clh)
#endif

#define ELEMENT element
#define RESULT result
#define IN_INTERLEAVED 1
#define WEIGHTS_INTERLEAVED 1
#define A_ALONG_K 1
#define B_ALONG_K 1
#define A_MN_MAJOR 0
#define B_MN_MAJOR 0
#define ELEMENT_BYTES (ELEMENT_TYPE == 4 ? 1 : 2)
#define ROW_BYTES 128
#define TILE_K (ROW_BYTES / ELEMENT_BYTES)
#define TILE_M (64 * CONSUMERS)
#define GROUP (TENSOR ? 32 : 128)  // work-items of the producer
#define WORK_ITEMS (128 * CONSUMERS + GROUP)
#define WINDOW_ITEMS GROUP
#define A_BYTES (TILE_M * ROW_BYTES)
#define STAGE_BYTES ((TILE_M + TILE_N) * ROW_BYTES)
#define OUT_ROW 40     // pitches of 16 rows or 32 columns of sums in local memory, which are stored without conflicts
#define OUT_COLUMN 20

#include "common/work_group.clh"
#include "gemm/numbers.clh"
#include "conv2d/parameters.clh"
#include "nvidia/copy_async.clh"
#include "nvidia/mbarrier.clh"
#include "nvidia/pipeline.clh"
#include "nvidia/wgmma.clh"
#include "nvidia/wgmma_tile.clh"
#include "nvidia/conv2d_tiles.clh"
// Of a tile, where results may be computed again.
#define RESULT_PLACE const window_source* source; ulong first_image; uint first_of_image, group, first_filter;
#include "nvidia/conv2d_results.clh"
#if SPLIT
#include "nvidia/gemm_join.clh"
#endif

#if TENSOR
#include "nvidia/tensor_map.clh"
#include "nvidia/conv2d_producer_tensor.clh"
#define CONV2D_WGMMA_ARGUMENTS CONV2D_ARGUMENTS, global uchar *maps, uint split, global uint *counters
#else
#define COPIES_SELECT 1
#include "nvidia/fill_tile.clh"
#include "nvidia/conv2d_windows.clh"
#include "nvidia/conv2d_producer.clh"
#define CONV2D_WGMMA_ARGUMENTS CONV2D_ARGUMENTS
#endif

#include "nvidia/conv2d_write_warp.clh"

kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1)))
void conv2d_wgmma(CONV2D_WGMMA_ARGUMENTS) {
  CONV2D_NUMBERS
  (void)in_plane;  // known from the layout
  (void)block_k, (void)tile_w, (void)tile_h, (void)depth;
  local uchar tiles[STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
  local ulong barriers[2 * STAGES];
  local value staged[CONSUMERS * 4 * 16 * OUT_ROW] __attribute__((aligned(16)));
  local ulong cells[TILE_M];
#if TENSOR
  local ulong made[2 * TENSOR_MAP_BYTES / 8] __attribute__((aligned(TENSOR_MAP_BYTES)));
#endif
  const uint item = get_local_id(0), lane = item % 32, consumer = item / 128;
  pipeline p = begin_pipeline(tiles, barriers);
  if (item == 0) init_pipeline(&p, TENSOR ? 1 : GROUP, 4 * CONSUMERS);
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint plane_results = out_w * out_h;
  const ulong results = images * plane_results;
  const uint blocks = (out_channels + TILE_N - 1) / TILE_N, blocks_of_results = (uint)((results + TILE_M - 1) / TILE_M);
#if SPLIT
  local uint last[CONSUMERS];
  const uint parts = split;
  global value* const partials = (global value*)(maps + get_num_groups(0) * (2 * TENSOR_MAP_BYTES));
#else
  const uint parts = 1;
#endif
  const tile_grid grid = {groups * blocks_of_results * blocks * parts, parts, blocks, blocks_of_results, results, plane_results, out_channels};
  const window_source source = {in + in_offset, weights + weight_offset, in_pitch, in_stride, weight_stride, (uint)images, groups, in_channels,
                                out_channels, in_w, in_h, out_w, out_h, window_w, window_h, stride_x, stride_y, dilation_x, dilation_y, pad_left,
                                pad_top};
  if (consumer == CONSUMERS) {
#if TENSOR
    global uchar* const mine = maps + get_group_id(0) * (2 * TENSOR_MAP_BYTES);
    make_maps(&source, mine, made, lane);
    if (lane == 0) produce(&source, &grid, p, mine);
#else
    produce(&source, &grid, p, item - 128 * CONSUMERS);
#endif
  } else {
    const uint row = consumer * 64 + item / 32 % 4 * 16, steps = steps_of(&source);
    local value* const mine = staged + row * OUT_ROW;
#pragma unroll 1
    for (uint job = get_group_id(0); job < grid.jobs; job += get_num_groups(0)) {
      value sum[TILE_N / 2];
#pragma unroll
      for (uint i = 0; i < TILE_N / 2; ++i) sum[i] = 0;
      multiply_tile(sum, place_of(&grid, job, steps).steps, &p, consumer, lane);
#if SPLIT
      const uint size = 64 * TILE_N, tile = job / parts, first = (tile * parts * CONSUMERS + consumer) * size;
      const tile_parts all = {(job * CONSUMERS + consumer) * size, first, first + CONSUMERS * size, CONSUMERS * size, parts};
      if (!join_parts(sum, TILE_N / 2, partials, all, counters + tile * CONSUMERS + consumer, 128, item % 128, 1 + consumer, last + consumer))
        continue;
#endif
      const tile_place t = place_of(&grid, hidden(job), steps);  // computed here, so that no register holds it in the loop
      if (lane < 16) {
        const uint of_image = t.first_of_image + row + lane, image = of_image / plane_results;
        const uint y = (of_image - image * plane_results) / out_w, x = of_image - image * plane_results - y * out_w;
        cells[row + lane] = out_offset + (t.first_image + image) * out_stride + (ulong)y * out_pitch +
                            (ulong)x * (OUT_INTERLEAVED ? groups * out_channels : 1);
      }
      const ulong first_filter = (ulong)t.group * out_channels + t.first_filter;
      const result_grid to = {out + first_filter * out_plane, out_plane, bias + (with_bias ? bias_offset + first_filter : 0),
                              with_bias, t.rows, t.filters, cells, &source, t.first_image, t.first_of_image, t.group, t.first_filter};
      write_warp(&to, sum, mine, row, lane);
    }
  }
}
