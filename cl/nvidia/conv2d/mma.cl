// Convolution of many channels by the matrix units of NVIDIA's sm_80 and later, as a product of matrices (implicit GEMM): windows,
// a row for each result, times filters, a column each; of half and bfloat16 with sums in float, of int8 with sums in int.
//
// The input has interleaved channels, in_channels a multiple of PIECE for each group, and all cells begin at multiples of PIECE elements'
// bytes. A filter has its weights in the same order, (r, s, c), from a multiple of 16 bytes on. The output is planar or interleaved.
//
// cp.async gathers windows (nvidia/conv2d_windows.clh) and copies filters to stages in local memory, STAGES - 1 steps of TILE_K weights
// ahead. A warp computes WARP_M results of WARP_N filters, as in nvidia/gemm/mma.cl.
//
// Launch: GROUP work-items a group; a group for each TILE_M results of all images and TILE_N filters of a group of channels, filters
// innermost, since they share their windows in the cache. Local memory: STAGES * (TILE_M + TILE_N) * 128 bytes and 8 * TILE_M.
#ifndef ELEMENT_TYPE
#define ELEMENT_TYPE 2  // 2: half, 3: bfloat16, 4: int8, as gemm/numbers.clh has them
#endif
#ifndef RESULT_TYPE
#define RESULT_TYPE ELEMENT_TYPE  // or that of the sums; of int8 int32
#endif
#ifndef WARPS_M
#define WARPS_M 2  // warps of a group, along results: 1 to 8
#endif
#ifndef WARPS_N
#define WARPS_N 2  // warps of a group, along filters
#endif
#ifndef WARP_M
#define WARP_M 64  // results of a warp: 16, 32, 64
#endif
#ifndef WARP_N
#define WARP_N 64  // filters of a warp: 16, 32, 64
#endif
#ifndef STAGES
#define STAGES 3  // 2 to 8
#endif

#define ELEMENT element
#define RESULT result
#define IN_INTERLEAVED 1
#define WEIGHTS_INTERLEAVED 1
#define A_ALONG_K 1
#define B_ALONG_K 1
#define ELEMENT_BYTES (ELEMENT_TYPE == 4 ? 1 : 2)
#define ROW_BYTES 128
#define TILE_K (ROW_BYTES / ELEMENT_BYTES)
#define TILE_M (WARPS_M * WARP_M)
#define TILE_N (WARPS_N * WARP_N)
#define GROUP (32 * WARPS_M * WARPS_N)
#define WINDOW_ITEMS GROUP
#define A_BYTES (TILE_M * ROW_BYTES)
#define STAGE_BYTES ((TILE_M + TILE_N) * ROW_BYTES)

#include "common/work_group.clh"
#include "gemm/numbers.clh"
#include "conv2d/parameters.clh"
#if EMULATED
#include "nvidia/emulated_copies.clh"
#else
#include "nvidia/copy_async.clh"
#endif
#include "nvidia/mma.clh"
#if EMULATED
#include "nvidia/emulated_tiles.clh"
#else
#define COPIES_SELECT 1
#include "nvidia/fill_tile.clh"
#include "nvidia/mma_fragments.clh"
#endif
#include "nvidia/conv2d_windows.clh"
#include "nvidia/conv2d_results.clh"

#define OUT_ROW (WARP_N + 8)  // pitches of sums in local memory, which pairs and columns of 8 rows store without conflicts
#define OUT_COLUMN (WARP_M + 4)

// Writes the sums of a warp, from row and column (row, col) of the tile on, 8 rows or columns at a time.
GROUP_FUNCTION void write_warp(const result_grid* g, value sum[MS][NS][4], local value* mine, uint row, uint col, uint lane) {
#if OUT_INTERLEAVED
#pragma unroll
  for (uint i = 0; i < MS; ++i)
#pragma unroll
    for (uint h = 0; h < 2; ++h) {
#pragma unroll
      for (uint j = 0; j < NS; ++j)
        *(local value2*)(mine + lane / 4 * OUT_ROW + j * 8 + lane % 4 * 2) = (value2)(sum[i][j][h * 2], sum[i][j][h * 2 + 1]);
      write_results(g, mine, OUT_ROW, 8, WARP_N, row + i * 16 + h * 8, col, lane);
    }
#else
#pragma unroll
  for (uint j = 0; j < NS; ++j) {
#pragma unroll
    for (uint i = 0; i < MS; ++i)
#pragma unroll
      for (uint e = 0; e < 4; ++e)
        mine[(lane % 4 * 2 + e % 2) * OUT_COLUMN + i * 16 + e / 2 * 8 + lane / 4] = sum[i][j][e];
    write_results(g, mine, OUT_COLUMN, WARP_M, 8, row, col + j * 8, lane);
  }
#endif
}

// The filters, and the steps that are copied.
typedef struct {
  uint copied, steps;  // steps whose copies were started, of all
  uint weights;        // of a filter
  global const element* filter;
  ulong stride;
  uint filters;
} step_source;
// Starts the copies of the next step to a stage, if a step is left, and ends a group of copies.
GROUP_FUNCTION void copy_step(tile_address to, step_source* from, const int at[WINDOW_ROWS], const uint missing[WINDOW_WORDS],
                              const window_grid* windows, window_place* place, uint item) {
  if (from->copied < from->steps) {
    const uint first = from->copied * TILE_K;
    copy_windows(to, at, missing, windows, place, item);
    fill_tile(to + A_BYTES, from->filter + first, from->stride, from->filters, min(from->weights - first, (uint)TILE_K), from->filter, TILE_N, 1,
              16, item);
    next_place(place, windows);
    ++from->copied;
  }
  end_copies();
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_mma(CONV2D_ARGUMENTS) {
  CONV2D_NUMBERS
  (void)in_plane, (void)window_w, (void)window_h;  // known from the layout and to the compiler
  (void)block_k, (void)tile_w, (void)tile_h, (void)depth;
  local uchar tiles[STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
  local ulong cells[TILE_M];
  MMA_SCRATCH
  const uint item = get_local_id(0), lane = item % 32, warp = item / 32;
  const uint plane_results = out_w * out_h, weights_of_filter = in_channels * TAPS;
  const ulong results = images * plane_results;
  const uint blocks = (out_channels + TILE_N - 1) / TILE_N, blocks_of_results = (uint)((results + TILE_M - 1) / TILE_M);
  const uint number = get_group_id(0), job = number / blocks;
  const uint first_k = (number - job * blocks) * TILE_N, group = job / blocks_of_results;
  const ulong first_p = (ulong)(job - group * blocks_of_results) * TILE_M, first_image = first_p / plane_results;
  const uint first_of_image = (uint)(first_p - first_image * plane_results);
  const uint rows = (uint)min(results - first_p, (ulong)TILE_M), filters = min(out_channels - first_k, (uint)TILE_N);
  const ulong first_filter = (ulong)group * out_channels + first_k;

  const window_grid windows = {in + in_offset + first_image * in_stride + (ulong)group * in_channels, (uint)in_pitch,
                               (uint)in_stride, groups * in_channels, in_channels, in_w, in_h, out_w, plane_results,
                               stride_x, stride_y, dilation_x, dilation_y, pad_left, pad_top};
  int at[WINDOW_ROWS];
  uint missing[WINDOW_WORDS];
  find_windows(at, missing, &windows, first_of_image, rows, item);
  window_place place = first_place(&windows, item);
  global const element* filter = weights + weight_offset + first_filter * weight_stride;
  for (uint row = item; row < TILE_M; row += GROUP) {
    const uint of_image = first_of_image + row, image = of_image / plane_results, y = (of_image - image * plane_results) / out_w;
    const uint x = of_image - image * plane_results - y * out_w;
    cells[row] = out_offset + (first_image + image) * out_stride + (ulong)y * out_pitch +
                 (ulong)x * (OUT_INTERLEAVED ? groups * out_channels : 1);
  }

  const tile_address stages = local_address(tiles);
  const uint steps = (weights_of_filter + TILE_K - 1) / TILE_K;
  step_source source = {0, steps, weights_of_filter, filter, weight_stride, filters};

  value sum[MS][NS][4];
#pragma unroll
  for (uint i = 0; i < MS * NS * 4; ++i) sum[i / (NS * 4)][i / 4 % NS][i % 4] = 0;
#pragma unroll 1
  for (uint s = 0; s < STAGES - 1; ++s) copy_step(stages + s * STAGE_BYTES, &source, at, missing, &windows, &place, hidden(item));
  WAIT_COPIES(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint warp_row = warp % WARPS_M * WARP_M, warp_col = warp / WARPS_M * WARP_N;
  uint left[2][MS][4], right[2][NS][2];
  uint stage = 0, next = STAGES - 1;  // the stage that is read, and the stage that is filled
  read_fragments(left[0], right[0], stages, stages + A_BYTES, warp_row, warp_col, 0, lane);
#pragma unroll 1
  for (uint step = 0; step < steps; ++step) {
#pragma unroll
    for (uint x = 0; x < ROW_BYTES / 32; ++x) {
      const uint after = (x + 1) % (ROW_BYTES / 32);
      if (after == 0) {  // all fragments of this stage are in registers: go to the next stage
        WAIT_COPIES(STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
      }
      const tile_address from = stages + stage * STAGE_BYTES;
      read_fragments(left[(x + 1) % 2], right[(x + 1) % 2], from, from + A_BYTES, warp_row, warp_col, after, lane);
      if (x == 0) {
        copy_step(stages + next * STAGE_BYTES, &source, at, missing, &windows, &place, hidden(item));
        next = next + 1 == STAGES ? 0 : next + 1;
      }
      UNROLL_UNITS
      for (uint i = 0; i < MS; ++i)
        UNROLL_UNITS
        for (uint j = 0; j < NS; ++j) MULTIPLY_ADD(sum[i][j], left[x % 2][i], right[x % 2][j]);
    }
  }
  WAIT_COPIES(0);
  barrier(CLK_LOCAL_MEM_FENCE);  // the stages are no longer read

  // Computed again, so that no register holds it in the loop.
  const uint filters_to = hidden(out_channels), job_to = hidden(number) / blocks, first_to = (number - job_to * blocks) * TILE_N;
  const ulong filter_to = (ulong)(job_to / blocks_of_results) * filters_to + first_to;
  const result_grid to = {out + filter_to * out_plane, out_plane, bias + (with_bias ? bias_offset + filter_to : 0),
                          with_bias, rows, min(filters_to - first_to, (uint)TILE_N), cells};
  write_warp(&to, sum, (local value*)tiles + warp * (8 * max(OUT_ROW, OUT_COLUMN)), warp_row, warp_col, lane);
}
