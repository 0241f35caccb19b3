// Convolution of many channels by the matrix units of AMD and Intel, through the fragment layer (common/matrix_unit.clh), as a product of
// matrices (implicit GEMM): windows, a row for each result, times filters, a column each. half and bfloat16 with sums in float, int8 with
// sums in int.
//
// The input has interleaved channels, in_channels a multiple of PIECE for each group, and all cells begin at multiples of PIECE elements'
// bytes; so do filters, which have their weights in the same order, (r, s, c). The output is planar or interleaved.
//
// Tiles are rows of TILE_K along k, of elements as they are in memory, padded against bank conflicts. The next ones are on their way to
// registers while the present ones are multiplied, and there are two places for each. A sub-group has SUB_M results of SUB_N filters.
//
// Launch: GROUP = LANES * SUBS_M * SUBS_N work-items a group; a group for each TILE_M results of all images and TILE_N filters of a group
// of channels, filters innermost, since they share their windows in the cache. Local memory: twice the rows of both tiles, and 8 * TILE_M
// bytes. In the tiles' place sub-groups lay their sums at the end, a row of fragments at a time. The emulated unit has UNIT_SHARED elements
// for each sub-group more.
#ifndef SUBS_M
#define SUBS_M 2  // sub-groups of a group, along results
#endif
#ifndef SUBS_N
#define SUBS_N 2  // along filters
#endif
#ifndef SUB_M
#define SUB_M 32  // results of a sub-group: a multiple of the unit's rows
#endif
#ifndef SUB_N
#define SUB_N 32  // filters: a multiple of its columns
#endif
#ifndef TILE_K
#define TILE_K 32  // a multiple of the unit's; with 16 bytes in a row at least
#endif
#ifndef GROUP
#define GROUP 256
#endif
#ifndef ELEMENT_TYPE
#define ELEMENT_TYPE 2  // 2: half, 3: bfloat16, 4: int8, as gemm/numbers.clh has them
#endif
#ifndef RESULT_TYPE
#define RESULT_TYPE ELEMENT_TYPE  // or that of the sums; of int8 int32
#endif
#ifndef A_TILE_STRIDE
#define A_TILE_STRIDE (TILE_K + 8)  // elements from one row of the tile to the next: a multiple of 16 bytes
#endif
#ifndef B_TILE_STRIDE
#define B_TILE_STRIDE (TILE_K + 8)
#endif

#define ELEMENT element
#define RESULT result
#define IN_INTERLEAVED 1
#define WEIGHTS_INTERLEAVED 1
#define ELEMENT_BYTES (ELEMENT_TYPE == 4 ? 1 : 2)
#define TILE_M (SUBS_M * SUB_M)
#define TILE_N (SUBS_N * SUB_N)
#define WINDOW_ITEMS GROUP
#define A_TILE (TILE_M * A_TILE_STRIDE)
#define B_TILE (TILE_N * B_TILE_STRIDE)
#define OUT_PITCH (SUB_N + 1)  // of sums in local memory: columns meet other banks

#include "common/sub_group.clh"
#include "common/work_group.clh"
#include "gemm/numbers.clh"
#include "common/unit_tiles.clh"
#include "conv2d/parameters.clh"
#include "conv2d/windows.clh"
#include "conv2d/results.clh"

#define FILTER_ROWS ((TILE_N + ROWS_APART - 1) / ROWS_APART)  // of a work-item
#if PIECE * ELEMENT_BYTES == 16
typedef uint4 piece;
#else
typedef uint2 piece;
#endif

// The filters of a tile.
typedef struct {
  global const element* from;  // its first
  ulong stride;
  uint filters, weights;       // that there are; of a filter
} filter_rows;

// Loads a work-item's pieces of the step that begins at k `first`.
GROUP_FUNCTION void fetch_step(piece windows[WINDOW_ROWS], piece filters[FILTER_ROWS], const int at[WINDOW_ROWS],
                               const uint missing[WINDOW_WORDS], const window_grid* g, const window_place* p, const filter_rows* f,
                               uint first) {
  const uint item = get_local_id(0), bits = bits_of(p), k = first + item % PIECES_ACROSS * PIECE;
  const int away = away_of(p, g);
  UNROLLED
  for (uint i = 0; i < WINDOW_ROWS; ++i) {
    windows[i] = 0;
    if (has_piece(missing, bits, i)) windows[i] = *(global const piece*)(g->in + (at[i] + away));
  }
  UNROLLED
  for (uint i = 0; i < FILTER_ROWS; ++i) {
    const uint row = item / PIECES_ACROSS + i * ROWS_APART;
    filters[i] = 0;
    if (row < f->filters && k < f->weights) filters[i] = *(global const piece*)(f->from + row * f->stride + k);
  }
}

// Stores them to local memory.
GROUP_FUNCTION void put_step(local element* a_tile, local element* b_tile, const piece windows[WINDOW_ROWS],
                             const piece filters[FILTER_ROWS]) {
  const uint first = get_local_id(0) / PIECES_ACROSS, k = get_local_id(0) % PIECES_ACROSS * PIECE;
  UNROLLED
  for (uint i = 0; i < WINDOW_ROWS; ++i) {
    const uint row = first + i * ROWS_APART;
    if (TILE_M % ROWS_APART == 0 || row < TILE_M) *(local piece*)(a_tile + row * A_TILE_STRIDE + k) = windows[i];
  }
  UNROLLED
  for (uint i = 0; i < FILTER_ROWS; ++i) {
    const uint row = first + i * ROWS_APART;
    if (TILE_N % ROWS_APART == 0 || row < TILE_N) *(local piece*)(b_tile + row * B_TILE_STRIDE + k) = filters[i];
  }
}

// Writes the sums of a row of fragments, from row and column (row, col) of the tile on: neighbouring work-items neighbours in memory.
GROUP_FUNCTION void write_rows(const result_grid* g, local const value* rows, uint row, uint col, uint lane) {
#pragma unroll 1
  for (uint e = lane; e < UNIT_M * SUB_N; e += LANES) {
    const uint r = OUT_INTERLEAVED ? e / SUB_N : e % UNIT_M, c = OUT_INTERLEAVED ? e % SUB_N : e / UNIT_M;
    if (row + r < g->rows && col + c < g->filters)
      store_result(g->out + g->cells[row + r] + (col + c) * g->plane, finished(g, rows[r * OUT_PITCH + c], col + c));
  }
}

kernel SUB_GROUP_SIZE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_matrix_units(CONV2D_ARGUMENTS) {
  CONV2D_NUMBERS
  (void)in_plane, (void)window_w, (void)window_h;  // known from the layout and to the compiler
  (void)block_k, (void)tile_w, (void)tile_h, (void)depth;
  local uint4 vectors[2 * (A_TILE + B_TILE) * ELEMENT_BYTES / 16];
  local ulong cells[TILE_M];
  local element *const a_tiles = (local element*)vectors, *const b_tiles = a_tiles + 2 * A_TILE;
  const uint item = get_local_id(0), sub = item / LANES, sub_row = sub / SUBS_N * SUB_M, sub_col = sub % SUBS_N * SUB_N;
  matrix_unit unit;
  unit.lane = item % LANES;
#if EMULATED_UNIT
  local uint shared[SUBS_M * SUBS_N * UNIT_SHARED * UNIT_BYTES / 4];
  unit.shared = (local element*)shared + sub * UNIT_SHARED;
#endif
  const uint plane_results = out_w * out_h, weights_of_filter = in_channels * TAPS;
  const ulong results = images * plane_results;
  const uint blocks = (out_channels + TILE_N - 1) / TILE_N, blocks_of_results = (uint)((results + TILE_M - 1) / TILE_M);
  const uint number = get_group_id(0), job = number / blocks;
  const uint first_k = (number - job * blocks) * TILE_N, group = job / blocks_of_results;
  const ulong first_p = (ulong)(job - group * blocks_of_results) * TILE_M, first_image = first_p / plane_results;
  const uint first_of_image = (uint)(first_p - first_image * plane_results);
  const uint rows = (uint)min(results - first_p, (ulong)TILE_M);
  const ulong first_filter = (ulong)group * out_channels + first_k;
  const filter_rows filter = {weights + weight_offset + first_filter * weight_stride, weight_stride,
                              min(out_channels - first_k, (uint)TILE_N), weights_of_filter};
  const window_grid windows = {in + in_offset + first_image * in_stride + (ulong)group * in_channels, (uint)in_pitch,
                               (uint)in_stride, groups * in_channels, in_channels, in_w, in_h, out_w, plane_results,
                               stride_x, stride_y, dilation_x, dilation_y, pad_left, pad_top};
  int at[WINDOW_ROWS];
  uint missing[WINDOW_WORDS];
  find_windows(at, missing, &windows, first_of_image, rows, item);
  window_place place = first_place(&windows, item);
#pragma unroll 1
  for (uint row = item; row < TILE_M; row += GROUP) {
    const uint of_image = first_of_image + row, image = of_image / plane_results, y = (of_image - image * plane_results) / out_w;
    const uint x = of_image - image * plane_results - y * out_w;
    cells[row] = out_offset + (first_image + image) * out_stride + (ulong)y * out_pitch +
                 (ulong)x * (OUT_INTERLEAVED ? groups * out_channels : 1);
  }
  fragment_c sums[MS][NS];
  piece next_windows[WINDOW_ROWS], next_filters[FILTER_ROWS];
  UNROLLED
  for (uint i = 0; i < MS; ++i)
    UNROLLED
    for (uint j = 0; j < NS; ++j) sums[i][j] = 0;

  fetch_step(next_windows, next_filters, at, missing, &windows, &place, &filter, 0);
  put_step(a_tiles, b_tiles, next_windows, next_filters);
  uint now = 0;  // which of the two places
#pragma unroll 1
  for (uint first = 0; first < weights_of_filter; first += TILE_K) {
    barrier(CLK_LOCAL_MEM_FENCE);  // the present tiles are complete, and all reads of the other ones are done
    next_place(&place, &windows);
    fetch_step(next_windows, next_filters, at, missing, &windows, &place, &filter, first + TILE_K);
    multiply_rows(&unit, sums, a_tiles + now * A_TILE + sub_row * A_TILE_STRIDE, b_tiles + now * B_TILE + sub_col * B_TILE_STRIDE);
    now ^= 1;
    put_step(a_tiles + now * A_TILE, b_tiles + now * B_TILE, next_windows, next_filters);
  }

  const result_grid to = {out + first_filter * out_plane, out_plane, bias + (with_bias ? bias_offset + first_filter : 0),
                          with_bias, rows, filter.filters, cells};
  local value* const mine = (local value*)vectors + sub * (UNIT_M * OUT_PITCH);
  UNROLLED
  for (uint i = 0; i < MS; ++i) {
    barrier(CLK_LOCAL_MEM_FENCE);  // the tiles, or the rows before, were read
    UNROLLED
    for (uint j = 0; j < NS; ++j) store_c(mine + j * UNIT_N, OUT_PITCH, sums[i][j], &unit);
    barrier(CLK_LOCAL_MEM_FENCE);
    write_rows(&to, mine, sub_row + i * UNIT_M, sub_col, unit.lane);
  }
}
