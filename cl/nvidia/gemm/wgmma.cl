// GEMM by Hopper's matrix units, warp-specialised: C = alpha A B + beta C of half or bfloat16 with sums in float; where both
// factors are contiguous along k, of int8 with sums in int, and of fp8; and where B is, of float, of which the bits of TF32 are read.
//
// PRODUCERS warpgroups fill the STAGES stages of a pipeline in local memory with tiles of A and B, 128 bytes of k each. CONSUMERS
// warpgroups multiply them: each has 64 rows by TILE_N columns of accumulators in registers. They synchronise only at the barriers of
// the stages (nvidia/pipeline.clh). The kernel is persistent: a group computes several tiles of C, and its producers load the next tile
// while its consumers store the last one. Or each consumer has tiles of its own (PINGPONG), so that some store while others multiply.
//
// Tiles have the layouts of nvidia/wgmma.clh, whichever dimension is contiguous in memory: wgmma takes 16-bit operands K-major and
// MN-major, so nothing is transposed; words of A go through registers (nvidia/wgmma_words.clh). If all rows of A and B are aligned, cp.async
// copies pieces of 16 bytes to their places (nvidia/gemm_producer.clh), or one work-item copies boxes by tensor maps (TENSOR:
// nvidia/gemm_producer_tensor.clh). Unaligned rows are shifted while they are copied (nvidia/gemm_producer_unaligned.clh). Elements outside of
// the matrices are zeros.
//
// Launch: GROUP work-items; as many groups as multiprocessors, or as tiles (with STREAM also units) if they are fewer. Local memory:
// STAGES * STAGE_BYTES and the barriers. LOOSE adds (TILE_M + TILE_N) * 144 bytes. TENSOR adds 640. BOXES_OF_WARP adds CONSUMERS * 8192 a box.
// THROUGH_LOCAL adds CONSUMERS * 16 * ROWS_OF_WARP, PINGPONG CONSUMERS * 8.
// For sm_90a: nvidia/wgmma.clh says how that passes NVIDIA's OpenCL compiler.
//
// EXCHANGED: nvidia/gemm_exchanged.clh. SHARED_JOIN: nvidia/gemm_shared_join.clh.
//
// After: Shah et al., "FlashAttention-3" (producers and consumers); Thakkar et al., CUTLASS, "Efficient GEMM in CUDA: Hopper warp
// specialization".
#ifndef ELEMENT_TYPE
#define ELEMENT_TYPE 2  // half; gemm/numbers.clh has the others
#endif
#ifndef CONSUMERS
#define CONSUMERS 2  // warpgroups that multiply: 1, 2, 3, 4
#endif
#ifndef PRODUCERS
#define PRODUCERS 1  // warpgroups that fill stages: 1, 2
#endif
#ifndef TILE_N
#define TILE_N 256  // 16, 32, or a multiple of 16 from 64 to 320, as nvidia/wgmma.clh has instructions
#endif
#ifndef MMA_N
// Columns of an instruction: those of nvidia/wgmma.clh. 256 needs a GROUP of at most 384. If several instructions make a row of the tile, a
// multiple of 64; the last one has MMA_REST columns where MMA_N does not divide TILE_N.
#define MMA_N TILE_N
#endif
#ifndef STAGES
#define STAGES 4  // 2 to 8, as local memory allows
#endif
#ifndef LAG
#define LAG 1  // steps whose copies a producer keeps in flight: 0 to STAGES - 2
#endif
#ifndef PRODUCER_REGISTERS
#define PRODUCER_REGISTERS 0  // 0: the compiler's choice; else a multiple of 8
#endif
#ifndef CONSUMER_REGISTERS
#define CONSUMER_REGISTERS 0
#endif
#ifndef LOOSE
#define LOOSE 0  // 1: rows of A and B are unaligned, that is, not all begin at a multiple of 16 bytes
#endif
#ifndef TENSOR
#define TENSOR 0  // 1: aligned rows: a work-item copies boxes (nvidia/gemm_producer_tensor.clh)
#endif
#ifndef C_VECTOR
// Elements of a store: of 16 bits 8 if all rows of C begin at multiples of 16 bytes; 2 if they begin at a multiple of two elements' bytes;
// else 1.
#define C_VECTOR 1
#endif
#ifndef BOXES_OF_WARP
// 1, 2: with TENSOR and of one product, results of 4 bytes go to C by boxes, of which a warp has so many in local memory
// (nvidia/gemm_box_results.clh). Rows of C begin and end at multiples of 16 bytes; without an epilogue, beta and SHARED_JOIN, and not EXCHANGED.
#define BOXES_OF_WARP 0
#endif
#ifndef EXCHANGED
// 1: C's columns are the rows of tiles, of which an instruction takes 64 at least, and its rows the columns of tiles. A and B, their layouts, m
// and n are exchanged everywhere but where results are stored. Without an epilogue, beta and a list; rows of C begin at multiples of 16 bytes.
#define EXCHANGED 0
#endif
#ifndef BAND
#define BAND 12  // tile rasterisation: nvidia/gemm_band.clh
#endif
#ifndef PINGPONG
#define PINGPONG 0  // 1: consumers take the group's tiles, of 64 rows, in turn. Without STREAM, EXCHANGED and A_WORDS; k is not 0
#endif
#ifndef SHARED_JOIN
#define SHARED_JOIN 0  // 1: nvidia/gemm_shared_join.clh, with ALIGNED_UNITS of which each group has one
#endif
#ifndef FINISHES_ROWS
#define FINISHES_ROWS 0  // 1: registers are left for what C and the epilogue read of several rows (nvidia/gemm_finished_rows.clh)
#endif

#define TILE_M (64 * (PINGPONG ? 1 : CONSUMERS))
#define GROUP (128 * (PRODUCERS + CONSUMERS))
#define PRODUCER_ITEMS (128 * PRODUCERS)
#define A_BYTES (TILE_M * 128)
#define B_BYTES ((B_MN_MAJOR ? (TILE_N + 63) / 64 * 64 : TILE_N) * 128)  // whole blocks of 64 n
#define STAGE_BYTES (A_BYTES + B_BYTES)
// Results go through local memory if rows of C are unaligned, there is an epilogue (nvidia/gemm_rows.clh), or they have 16 bits.
#define THROUGH_LOCAL (!BOXES_OF_WARP && (C_VECTOR != 2 || EPILOGUE || EXCHANGED))
// Of a warp's results 8 rows of OUT_COLUMNS are in local memory at a time.
#define OUT_COLUMNS (CONSUMERS < 4 ? 64 : 32)
#define OUT_ROW (OUT_COLUMNS + 8)  // their pitch: the pairs of 4 rows access 32 banks
// Of how many rows at a time what C and the epilogue read is in registers, with FINISHES_ROWS.
#define FINISHED_ROWS (CONSUMERS == 3 && TILE_N > 160 ? 2 : TILE_N > 224 || (EPILOGUE && RESIDUAL) ? 4 : 8)
#define ROWS_OF_WARP (CONSUMERS < 4 ? 640 : 320)  // values that a warp has there
#define COLUMNS_FROM(x) (TILE_N % OUT_COLUMNS == 0 ? OUT_COLUMNS : min(TILE_N - (x), (uint)OUT_COLUMNS))  // that a tile has from column x on

#include "common/work_group.clh"
#include "gemm/operation.clh"
#if ELEMENT_TYPE == TYPE_INT8 || FP8
#define ELEMENT_BYTES 1
#elif ELEMENT_TYPE == TYPE_FLOAT
#define ELEMENT_BYTES 4
#else
#define ELEMENT_BYTES 2
#endif
#define TILE_K (128 / ELEMENT_BYTES)
#define PIECE (16 / ELEMENT_BYTES)  // elements of 16 bytes
#define A_MN_MAJOR (!A_ALONG_K)
#define B_MN_MAJOR (!B_ALONG_K)
#define A_WORDS (ELEMENT_BYTES == 4 && A_MN_MAJOR)  // nvidia/wgmma_words.clh
#if ELEMENT_BYTES != 2 && ((A_MN_MAJOR && !A_WORDS) || B_MN_MAJOR || LOOSE)
#error elements of other than 2 bytes lie along k, but for the first factor of TF32, in rows that begin at multiples of 16 bytes
#endif
#if FP8 && MMA_N > 128
#error an instruction of fp8 has at most 128 columns, so that its sums fit registers of their own
#endif
#if LOOSE && ((TILE_M & (TILE_M - 1)) || (TILE_N & (TILE_N - 1)))
#error a tile of unaligned rows has powers of two of rows and columns
#endif
// Results of 16 bits that begin anywhere: nvidia/gemm_loose_halves.clh.
#define LOOSE_HALVES (C_VECTOR == 1 && (RESULT_TYPE == TYPE_HALF || RESULT_TYPE == TYPE_BFLOAT16) && !EPILOGUE && !EXCHANGED)
#include "nvidia/copy_async.clh"
#include "nvidia/mbarrier.clh"
#include "nvidia/pipeline.clh"
#include "nvidia/gemm_band.clh"
#include "nvidia/gemm_pair.clh"
#include "nvidia/gemm_segments.clh"
#include "nvidia/sync_items.clh"
#if STREAM
#include "nvidia/gemm_join.clh"
#endif
#if SHARED_JOIN
#include "nvidia/gemm_shared_join.clh"
#endif
#if EXCHANGED
#include "nvidia/gemm_exchanged.clh"
#else
#include "nvidia/gemm_rows.clh"
#include "nvidia/gemm_finished_rows.clh"
#endif
#include "nvidia/gemm_operands.clh"
#include "nvidia/gemm_listed_tile.clh"
#include "nvidia/wgmma.clh"
#if A_WORDS
#include "nvidia/wgmma_words.clh"
#else
#include "nvidia/wgmma_tile.clh"
#endif
#if LOOSE
#include "nvidia/gemm_producer_unaligned.clh"
#elif TENSOR
#include "nvidia/tensor_map.clh"
#if BOXES_OF_WARP
#include "nvidia/gemm_box_results.clh"
#endif
#include "nvidia/gemm_producer_tensor.clh"
#if LISTED
#include "nvidia/gemm_producer_listed.clh"
#endif
#else
#include "nvidia/gemm_producer.clh"
#endif

#if THROUGH_LOCAL && !EXCHANGED
// Stores OUT_COLUMNS columns from `x` on of rows h * 8 to h * 8 + 7 of a warp's accumulators through local memory, so that stores are coalesced.
// Rows and columns before row_end and col_end lie in C.
GROUP_FUNCTION void store_columns(const destination d, const value sum[TILE_N / 2], const uint h, const uint x, ulong row, ulong row_end,
                                  ulong col, ulong col_end, uint lane, local value* mine) {
#pragma unroll
  for (uint j = 0; j < OUT_COLUMNS / 8; ++j)
    if (x / 8 + j < TILE_N / 8) {
      const uint at = (x / 8 + j) * 4;
      const value2 upper = (value2)(sum[at], sum[at + 1]), lower = (value2)(sum[at + 2], sum[at + 3]);
      *(local value2*)(mine + lane / 4 * OUT_ROW + j * 8 + lane % 4 * 2) = h == 0 ? upper : lower;
    }
#if FINISHES_ROWS
  const uint finishes = EPILOGUE + (C_VECTOR == 8) + (d.beta != 0);
  if (finishes > 0)
#if FINISHES_IN_LOOP
#pragma unroll 1
#else
#pragma unroll
#endif
    for (uint r = 0; r < 8; r += FINISHED_ROWS)
      finish_rows(&d, mine + r * OUT_ROW, OUT_ROW, FINISHED_ROWS, COLUMNS_FROM(x), row + h * 8 + r, row_end, col + x, col_end, lane);
  else
    store_rows(&d, mine, OUT_ROW, 8, COLUMNS_FROM(x), row + h * 8, 1, row_end, col + x, col_end, lane);
#elif EPILOGUE || C_VECTOR == 8
  write_rows(&d, mine, OUT_ROW, 8, COLUMNS_FROM(x), row + h * 8, 1, row_end, col + x, col_end, lane);
#else
  store_rows(&d, mine, OUT_ROW, 8, COLUMNS_FROM(x), row + h * 8, 1, row_end, col + x, col_end, lane);
#endif
}
// Stores all.
GROUP_FUNCTION void store_through_local(const destination d, const value sum[TILE_N / 2], ulong row, ulong row_end, ulong col,
                                        ulong col_end, uint lane, local value* mine) {
#if TILE_N <= OUT_COLUMNS
  store_columns(d, sum, 0, 0, row, row_end, col, col_end, lane, mine);
  store_columns(d, sum, 1, 0, row, row_end, col, col_end, lane, mine);
#else
#if FINISHES_ROWS && FINISHES_IN_LOOP
#pragma unroll 1  // half of the program and of the compiler's time
#else
#pragma unroll
#endif
  for (uint h = 0; h < 2; ++h)
#pragma unroll
    for (uint x = 0; x < TILE_N; x += OUT_COLUMNS) store_columns(d, sum, h, x, row, row_end, col, col_end, lane, mine);
#endif
}
#endif

#if LOOSE_HALVES || (LISTED && C_VECTOR == 8 && !EPILOGUE)
#include "nvidia/gemm_loose_halves.clh"
#endif

#if C_VECTOR == 8 && !EPILOGUE && !EXCHANGED
#include "nvidia/gemm_half_results.clh"
#endif

#if READS_C && !THROUGH_LOCAL && !BOXES_OF_WARP
// Stores a warp's accumulators in pairs where C is read: loads of several pairs are in flight at once.
GROUP_FUNCTION void add_pairs(const destination d, const value sum[TILE_N / 2], ulong row, ulong row_end, ulong col, ulong col_end, uint lane) {
  const uint at_once = 8;
#pragma unroll
  for (uint h = 0; h < 2; ++h) {
    const ulong r = row + lane / 4 + h * 8, first = col + lane % 4 * 2;
    const uint width = r < row_end && first < col_end ? (uint)min(col_end - first, (ulong)TILE_N) : 0;
    global result* const to = d.c + r * d.pitch + first;
#pragma unroll
    for (uint x = 0; x < TILE_N / 8; x += at_once) {
      value2 old[8];
#pragma unroll
      for (uint j = x; j < x + at_once; ++j) {
        old[j - x] = 0;
        if (j * 8 + 1 < width)
          old[j - x] = *(global const value2*)(to + j * 8);
        else if (j * 8 < width)
          old[j - x].s0 = to[j * 8];
      }
#pragma unroll
      for (uint j = x; j < x + at_once; ++j) {
        if (j >= TILE_N / 8) continue;
        const value2 v = d.alpha * (value2)(sum[j * 4 + h * 2], sum[j * 4 + h * 2 + 1]) + d.beta * old[j - x];
        if (j * 8 + 1 < width)
          *(global value2*)(to + j * 8) = v;
        else if (j * 8 < width)
          to[j * 8] = v.s0;
      }
    }
  }
}
#endif

#if STREAM
// The parts of a segment's tile that a consumer makes. A unit has a part of at most two tiles: of the one that it continues, and of the
// one that it begins.
static inline tile_parts parts_of(const gemm_arguments* g, const segment* s, uint consumer) {
  const uint steps = steps_in_row(g), chunk = (uint)g->part_depth, size = 64 * TILE_N;
  const uint start = (s->tile - g->parts) * steps, unit = start / chunk;
  tile_parts x;
  x.stride = 2 * CONSUMERS * size;
  x.first = unit * x.stride + (CONSUMERS + consumer) * size;
  x.second = (unit + 1) * x.stride + consumer * size;
  x.mine = s->first == 0 ? x.first : (start + s->first) / chunk * x.stride + consumer * size;
  x.count = (start + steps - 1) / chunk - unit + 1;
  return x;
}
#endif

// Multiplies and stores all tiles of the group: 64 rows of each by a warpgroup.
// `maps`: with BOXES_OF_WARP the group's.
GROUP_FUNCTION void consume(const gemm_arguments* g, tile_grid grid, pipeline p, uint item, local value* rows, local uint* flags,
                            global const uchar* maps) {
#if !THROUGH_LOCAL && !BOXES_OF_WARP
  (void)rows;
#endif
#if !BOXES_OF_WARP
  (void)maps;
#endif
#if !STREAM
  (void)flags;
#endif
  const uint consumer = item / 128, lane = item % 32, warp = item / 32 % 4;
  const uint slab = PINGPONG ? 0 : consumer;  // which 64 rows of a tile
  work_list work = begin_work();
#if PINGPONG
  const uint steps = steps_of_tile(g);
  begin_turns(&p, consumer);
  work.item += consumer * get_num_groups(0);
  skip_stages(&p, consumer * steps);
#endif
  segment s;
#if BOXES_OF_WARP
  uint acquired = 0;  // a full stage says that the producer has released the maps
#endif
  while (next_segment(g, grid.all, &work, &s)) {
    const tile_place place = place_in_bands(s.tile, grid.down, grid.across);
    const product q = product_of_segment(g, place.number, &s);
    value sum[TILE_N / 2];
#pragma unroll
    for (uint i = 0; i < TILE_N / 2; ++i) sum[i] = 0;
#if PINGPONG
    await_turn(&p);
#endif
    // Boxes of a list come also of products that are not computed.
    multiply_tile(sum, TENSOR && LISTED ? steps_of_tile(g) : (uint)((q.k + TILE_K - 1) / TILE_K), &p, slab, lane);
#if PINGPONG
    work.item += (CONSUMERS - 1) * get_num_groups(0);
    skip_stages(&p, (CONSUMERS - 1) * steps);
#endif
#if SHARED_JOIN
    const tile_parts parts = parts_of(g, &s, consumer);
    share_parts(destination_of(g, place.number), sum, g->partials, parts, s.first / (uint)g->part_depth,
                g->counters + parts.first / parts.stride * CONSUMERS + consumer, item % 128, consumer + 1, flags + consumer,
                (ulong)place.down * TILE_M + consumer * 64, q.m, (ulong)place.across * TILE_N, q.n);
#else
#if STREAM
    if (s.steps < steps_of_tile(g)) {
      const tile_parts parts = parts_of(g, &s, consumer);
      const uint unit = parts.first / parts.stride;  // a counter for each consumer of the unit that begins the tile
      if (!join_parts(sum, TILE_N / 2, g->partials, parts, g->counters + unit * CONSUMERS + consumer, 128, item % 128, consumer + 1,
                      flags + consumer))
        continue;
    }
#endif

    const destination d = destination_of(g, place.number);
    const ulong row = (ulong)place.down * TILE_M + slab * 64 + warp * 16, col = (ulong)place.across * TILE_N;
#if BOXES_OF_WARP
    if (!acquired && lane == 0) acquire_tensor_map(maps + MAP_OF_RESULTS);
    acquired = 1;
    store_boxes(maps + MAP_OF_RESULTS, sum, d.alpha, (uint)row, (uint)q.m, (uint)col, (uint)q.n, lane,
                (local uchar*)rows + (consumer * 4 + warp) * (BOXES_OF_WARP * BOX_OF_WARP));
#elif EXCHANGED
    store_exchanged(d, sum, col, q.n, row - warp * 16, q.m, item % 128, consumer + 1, (local staged*)(rows + consumer * 4 * ROWS_OF_WARP));
#elif THROUGH_LOCAL
    local value* const mine = rows + (consumer * 4 + warp) * ROWS_OF_WARP;
#if LISTED && C_VECTOR == 8 && !EPILOGUE
    if (d.beta == 0 && (ulong)d.c % 16 != 0)
      store_loose_halves(d, sum, row, q.m, col, q.n, lane, (local uint*)mine);
    else
#endif
#if C_VECTOR == 8 && !EPILOGUE
    if (d.beta == 0)
      store_halves(d, sum, row, q.m, col, q.n, lane, (local uint*)mine);
    else
#elif LOOSE_HALVES
    if (d.beta == 0)
      store_loose_halves(d, sum, row, q.m, col, q.n, lane, (local uint*)mine);
    else
#endif
      store_through_local(d, sum, row, q.m, col, q.n, lane, mine);
#else
#if READS_C
    if (d.beta != 0) {
      add_pairs(d, sum, row, q.m, col, q.n, lane);
      continue;
    }
#endif
#pragma unroll
    for (uint h = 0; h < 2; ++h) store_row_pairs(&d, sum + h * 2, TILE_N / 8, row + lane / 4 + h * 8, q.m, col, q.n, lane);
#endif
#endif
  }
#if BOXES_OF_WARP
  if (lane == 0) wait_stored_boxes();
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_wgmma(GEMM_ARGUMENTS) {
  local uchar tiles[STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
  local ulong barriers[2 * STAGES + (PINGPONG ? CONSUMERS : 0)];
#if LOOSE
  local uchar pieces[(TILE_M + TILE_N) * 144] __attribute__((aligned(128)));
#endif
#if BOXES_OF_WARP
  local value rows[CONSUMERS * 4 * BOXES_OF_WARP * BOX_OF_WARP / 4] __attribute__((aligned(1024)));
#elif THROUGH_LOCAL
  local value rows[CONSUMERS * 4 * ROWS_OF_WARP] __attribute__((aligned(16)));
#else
  local value* const rows = 0;
#endif
  local uint flags[CONSUMERS];
#if TENSOR
  local ulong maps[MAPS_BYTES / 8] __attribute__((aligned(TENSOR_MAP_BYTES)));
#endif
  const uint item = get_local_id(0);
  pipeline p = begin_pipeline(tiles, barriers);
  if (item == 0) init_pipeline(&p, TENSOR ? 1 : PRODUCER_ITEMS, PINGPONG ? 4 : 4 * CONSUMERS);
  barrier(CLK_LOCAL_MEM_FENCE);

#if TENSOR || EXCHANGED
  gemm_arguments g = GEMM_ALL_ARGUMENTS;
#else
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
#endif
#if EXCHANGED
  exchange_factors(&g);
#endif
#if TENSOR
  global uchar* const all_maps = (global uchar*)g.partials;
  g.partials += get_num_groups(0) * MAPS_VALUES;
  global const uchar* const group_maps = all_maps + get_group_id(0) * MAPS_BYTES;
#else
  global const uchar* const group_maps = 0;
#endif
  const tile_grid grid = tiles_of(g.m, g.n, (uint)g.batch);
  if (item < PRODUCER_ITEMS) {
#if PRODUCER_REGISTERS
    FEWER_REGISTERS(PRODUCER_REGISTERS);
#endif
#if LOOSE
    produce_unaligned(&g, grid, p, item, local_address(pieces));
#elif TENSOR
    if (item < 32) make_maps(&g, all_maps, maps, item);
#if LISTED
    produce_listed(&g, grid, p, group_maps, item);
#else
    if (item == 0) produce_tensors(&g, grid, p, group_maps);
#endif
#else
    produce(&g, grid, p, item);
#endif
  } else {
#if CONSUMER_REGISTERS
    MORE_REGISTERS(CONSUMER_REGISTERS);
#endif
    consume(&g, grid, p, item - PRODUCER_ITEMS, rows, flags, group_maps);
  }
}
