// Convolution of many channels as a product of matrices, one of which is nowhere as a whole ("implicit GEMM"):
//   C(k, p) = sum over q of weights(k, q) * X(q, p)
// where p is a result (n, y, x) of any image, q = (c, r, s) is a weight of a filter, and X(q, p) is the element of the input
// that the two have in common. A tile of X is gathered from the input as it is needed. S. Chetlur et al., "cuDNN: efficient
// primitives for deep learning", 2014.
//
// A work-group makes BLOCK_K planes of BLOCK_P results, DEPTH weights of each filter at a time; a work-item has EACH_K x
// EACH_P of them in registers, in strips of 4 x 4, and the work-items of a sub-group a block of LANES_DOWN x LANES_ACROSS. The
// next tiles are on their way to registers while the present ones are multiplied, and there are two places for each: one
// barrier every DEPTH weights.
//
// A work-item that gathers X has the same result p each time: so it knows once where the window of p begins and which of its
// rows and columns lie outside of the plane, as bits. Of each weight q a table in local memory has how far it is from the
// window's beginning and the bits of its row and column: an element costs an addition and a test.
//
// Of few results a step waits for memory more than it multiplies. So several teams of a group make the same results (TEAMS), each of a part of
// the weights, side by side; the first one adds their sums, in order.
//
// Launch: GROUP work-items a group; groups: blocks of planes innermost, then blocks of results, then groups of channels. Local
// memory, for each team: twice DEPTH rows of the weights' tile, as its layout has them, of the input's, and of the table.
#include "conv2d/arguments.clh"
#include "common/work_group.clh"

#ifndef WINDOW_W
#define WINDOW_W 3  // weights of a row of the window: 1 to 15
#endif
#ifndef WINDOW_H
#define WINDOW_H 3  // its rows: 1 to 16
#endif
#ifndef BLOCK_K
#define BLOCK_K 32  // planes of a group: a power of two, EACH_K * EACH_P at least
#endif
#ifndef BLOCK_P
#define BLOCK_P 32  // results of each plane: a power of two
#endif
#ifndef DEPTH
#define DEPTH 8  // weights of a filter at once: a power of two, at least TEAM / BLOCK_P and at most TEAM * PACK
#endif
#ifndef EACH_K
#define EACH_K 4  // planes of a work-item: 4, 8
#endif
#ifndef EACH_P
#define EACH_P 4  // results of each: 4, 8
#endif
#ifndef LANES_DOWN
#define LANES_DOWN 4  // work-items of a sub-group's block: powers of two
#endif
#ifndef LANES_ACROSS
#define LANES_ACROSS 8
#endif
#ifndef PACK_OUT
#define PACK_OUT 1  // results that are written at once: 4 where planes have no gaps and all begin at a multiple of 4, else 1
#endif
#ifndef WEIGHT_PITCH
#define WEIGHT_PITCH (BLOCK_K + 4)  // items from one row of the weights' tile to the next: whole vectors
#endif
#ifndef TEAMS
#define TEAMS 1  // if several, BLOCK_K * BLOCK_P sums fit the tiles of a team
#endif
#ifndef UNROLL
#define UNROLL DEPTH  // turns of the innermost loop that are written out
#endif
#define DOWN (BLOCK_K / EACH_K)  // work-items
#define ACROSS (BLOCK_P / EACH_P)
#define TEAM (DOWN * ACROSS)
#define GROUP (TEAM * TEAMS)
#define LANES (LANES_DOWN * LANES_ACROSS)
#define BLOCKS_ACROSS (ACROSS / LANES_ACROSS)
#define WEIGHT_ITEMS (DEPTH * WEIGHT_PITCH)
#define INPUT_ITEMS (DEPTH * BLOCK_P)
#define TEAM_VECTORS ((WEIGHT_ITEMS + INPUT_ITEMS) * 2 / 4)
#define ROWS_AT_ONCE (TEAM / BLOCK_P)         // of the input's tile: what a team brings together
#define INPUT_STEPS (DEPTH / ROWS_AT_ONCE)
#define PLANES_AT_ONCE (TEAM * PACK / DEPTH)  // of the weights'
#define WEIGHT_STEPS ((BLOCK_K + PLANES_AT_ONCE - 1) / PLANES_AT_ONCE)

// Bits of what a window lacks: rows, columns, and a last one that every window lacks, for weights that are not there.
#define NO_WEIGHT 0x80000000U
static inline uint row_bit(uint r) { return 1U << r; }
static inline uint column_bit(uint s) { return 0x10000U << s; }

typedef JOIN(VALUE, 4) value4;

// Plane i and result j of a work-item, from its first ones on.
GROUP_FUNCTION uint plane_of(uint i) { return i / 4 * (4 * DOWN) + i % 4; }
GROUP_FUNCTION uint result_of(uint j) { return j / 4 * (4 * ACROSS) + j % 4; }

// Where the weights (c, r, s) from `first` on are in an image, from the beginning of a window, and the bits of r and s.
GROUP_FUNCTION void fill_table(local ulong2* table, uint first, uint weights_of_filter, ulong in_plane, ulong in_pitch,
                               uint dilation_x, uint dilation_y, uint item) {
  for (uint i = item; i < DEPTH; i += TEAM) {
    const uint q = first + i, c = q / (WINDOW_W * WINDOW_H), tap = q % (WINDOW_W * WINDOW_H);
    const uint r = tap / WINDOW_W, s = tap % WINDOW_W;
    const ulong at = c * in_plane + (ulong)(r * dilation_y) * in_pitch + s * dilation_x;
    table[i] = (ulong2)(at, q < weights_of_filter ? row_bit(r) | column_bit(s) : NO_WEIGHT);
  }
}

// A work-item's elements of the input's tile: of one result, whose window lacks `missing`, and every ROWS_AT_ONCE-th weight.
GROUP_FUNCTION void fetch_input(VALUE fetched[INPUT_STEPS], global const ELEMENT* window, uint missing,
                                local const ulong2* table, uint item) {
  table += item / BLOCK_P;
#pragma unroll
  for (uint step = 0; step < INPUT_STEPS; ++step) {
    const ulong2 place = table[step * ROWS_AT_ONCE];
    fetched[step] = 0;
    if ((missing & (uint)place.s1) == 0) fetched[step] = load_value(window, place.s0);
  }
}
GROUP_FUNCTION void put_input(local VALUE* tile, const VALUE fetched[INPUT_STEPS], uint item) {
  tile += item;
#pragma unroll
  for (uint step = 0; step < INPUT_STEPS; ++step) tile[step * TEAM] = fetched[step];
}

// A work-item's packs of the weights' tile: the same weights of every PLANES_AT_ONCE-th plane. Planes that are not there have
// the last one's weights, and are not written; but weights behind the end of a filter may be NaN.
GROUP_FUNCTION void fetch_weights(pack fetched[WEIGHT_STEPS], global const ELEMENT* filters, ulong weight_stride, uint first,
                                  uint weights_of_filter, uint planes, uint item) {
  const uint plane = item * PACK / DEPTH, q = first + item * PACK % DEPTH;
#pragma unroll
  for (uint step = 0; step < WEIGHT_STEPS; ++step) {
#pragma unroll
    for (uint i = 0; i < PACK; ++i) fetched[step].each[i] = 0;
    if (q < weights_of_filter)
      fetched[step].all = load_pack(filters, min(plane + step * PLANES_AT_ONCE, planes - 1) * weight_stride + q);
  }
}
GROUP_FUNCTION void put_weights(local VALUE* tile, const pack fetched[WEIGHT_STEPS], uint item) {
  const uint plane = item * PACK / DEPTH, row = item * PACK % DEPTH;
  tile += row * WEIGHT_PITCH + plane;
#pragma unroll
  for (uint step = 0; step < WEIGHT_STEPS; ++step) {
#pragma unroll
    for (uint i = 0; i < PACK; ++i)
      if (BLOCK_K % PLANES_AT_ONCE == 0 || plane < BLOCK_K)
        tile[i * WEIGHT_PITCH + step * PLANES_AT_ONCE] = fetched[step].each[i];
  }
}

// Adds the products of whole tiles, from a work-item's first plane and its first result on.
GROUP_FUNCTION void multiply_tiles(VALUE sums[EACH_K][EACH_P], local const VALUE* weight_tile, local const VALUE* input_tile) {
#pragma unroll UNROLL
  for (uint q = 0; q < DEPTH; ++q) {
    VALUE left[EACH_K], right[EACH_P];
#pragma unroll
    for (uint i = 0; i < EACH_K; i += 4) {
      const value4 v = *(local const value4*)(weight_tile + q * WEIGHT_PITCH + plane_of(i));
      left[i] = v.s0, left[i + 1] = v.s1, left[i + 2] = v.s2, left[i + 3] = v.s3;
    }
#pragma unroll
    for (uint j = 0; j < EACH_P; j += 4) {
      const value4 v = *(local const value4*)(input_tile + q * BLOCK_P + result_of(j));
      right[j] = v.s0, right[j + 1] = v.s1, right[j + 2] = v.s2, right[j + 3] = v.s3;
    }
#pragma unroll
    for (uint i = 0; i < EACH_K; ++i)
#pragma unroll
      for (uint j = 0; j < EACH_P; ++j) sums[i][j] = MULTIPLY_ADD(left[i], right[j], sums[i][j]);
  }
}

// Writes the results of one plane, where it is there. `out`: plane 0 of the block; `bias`: its own; to[j / PACK_OUT]: where result j
// is in a plane.
GROUP_FUNCTION void write_plane(const VALUE sums[EACH_P], uint plane, uint planes, global RESULT* out, ulong out_plane,
                                global const RESULT* bias, uint with_bias, const ulong to[EACH_P / PACK_OUT], uint results_left) {
  if (plane >= planes) return;  // no barrier follows
  const VALUE add = with_bias ? load_bias(bias, plane) : 0;
#pragma unroll
  for (uint j = 0; j < EACH_P; j += PACK_OUT) {
    if (result_of(j) < results_left) {
      const ulong at = to[j / PACK_OUT] + plane * out_plane;
#if PACK_OUT == 4
      const value4 all = (value4)(activate(sums[j] + add), activate(sums[j + 1] + add), activate(sums[j + 2] + add),
                                  activate(sums[j + 3] + add));
      store_four(all, out + at);
#else
      store_result(out, at, activate(sums[j] + add));
#endif
    }
  }
}

// Four planes, call by call: Intel's compiler obeys no "#pragma unroll" of a loop that calls functions, and where they are as long as
// GELU it leaves the sums of a loop that is not written out in memory.
GROUP_FUNCTION void write_planes(const VALUE sums[4][EACH_P], uint plane, uint planes, global RESULT* out, ulong out_plane,
                                 global const RESULT* bias, uint with_bias, const ulong to[EACH_P / PACK_OUT], uint results_left) {
  write_plane(sums[0], plane, planes, out, out_plane, bias, with_bias, to, results_left);
  write_plane(sums[1], plane + 1, planes, out, out_plane, bias, with_bias, to, results_left);
  write_plane(sums[2], plane + 2, planes, out, out_plane, bias, with_bias, to, results_left);
  write_plane(sums[3], plane + 3, planes, out, out_plane, bias, with_bias, to, results_left);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_implicit(CONV2D_ARGUMENTS) {
  CONV2D_NUMBERS
  (void)groups, (void)window_w, (void)window_h;  // known from the launch and to the compiler
  (void)block_k, (void)tile_w, (void)tile_h, (void)depth;
  local value4 vectors[TEAMS * TEAM_VECTORS];
  local ulong2 all_tables[TEAMS * 2 * DEPTH];
  const uint team = TEAMS > 1 ? get_local_id(0) / TEAM : 0, item = TEAMS > 1 ? get_local_id(0) % TEAM : get_local_id(0);
  local VALUE *const weight_tiles = (local VALUE*)(vectors + team * TEAM_VECTORS), *const input_tiles = weight_tiles + 2 * WEIGHT_ITEMS;
  local ulong2* const tables = all_tables + team * (2 * DEPTH);
  const uint blocks = (out_channels + BLOCK_K - 1) / BLOCK_K, weights_of_filter = in_channels * (WINDOW_W * WINDOW_H);
  const uint plane_results = out_w * out_h;
  const ulong results = images * plane_results, blocks_of_results = (results + BLOCK_P - 1) / BLOCK_P;
  const uint number = get_group_id(0), job = number / blocks;
  const uint first_k = (number - job * blocks) * BLOCK_K, group = job / (uint)blocks_of_results;
  const ulong first_p = (ulong)(job - group * (uint)blocks_of_results) * BLOCK_P;
  const ulong first_image = first_p / plane_results;
  const uint first_of_image = first_p - first_image * plane_results, planes = min(out_channels - first_k, (uint)BLOCK_K);
  const uint results_here = min(results - first_p, (ulong)BLOCK_P);
  global const ELEMENT* filters = weights + weight_offset + ((ulong)group * out_channels + first_k) * weight_stride;

  // The window whose elements this work-item brings.
  const uint mine = item % BLOCK_P, of_image = first_of_image + mine, image = of_image / plane_results;
  const uint y = (of_image - image * plane_results) / out_w, x = of_image - image * plane_results - y * out_w;
  const int top = (int)(y * stride_y) - (int)pad_top, left = (int)(x * stride_x) - (int)pad_left;
  // It may begin before its plane, where nothing is read.
  global const ELEMENT* window = in + in_offset + (first_image + image) * in_stride + (ulong)group * in_channels * in_plane +
                                 ((long)top * (long)in_pitch + left);
  uint missing = mine < results_here ? NO_WEIGHT : ~0U;
#pragma unroll
  for (uint r = 0; r < WINDOW_H; ++r)
    if ((uint)(top + (int)(r * dilation_y)) >= in_h) missing |= row_bit(r);
#pragma unroll
  for (uint s = 0; s < WINDOW_W; ++s)
    if ((uint)(left + (int)(s * dilation_x)) >= in_w) missing |= column_bit(s);

  const uint block = item / LANES, lane = item % LANES;
  const uint my_k = (block / BLOCKS_ACROSS * LANES_DOWN + lane / LANES_ACROSS) * 4;  // the first of its planes
  const uint my_p = (block % BLOCKS_ACROSS * LANES_ACROSS + lane % LANES_ACROSS) * 4;
  VALUE sums[EACH_K][EACH_P], next_input[INPUT_STEPS];
  pack next_weights[WEIGHT_STEPS];
#pragma unroll
  for (uint i = 0; i < EACH_K; ++i)
#pragma unroll
    for (uint j = 0; j < EACH_P; ++j) sums[i][j] = 0;

  // The team's part of the weights: whole steps.
  const uint part = (weights_of_filter + TEAMS * DEPTH - 1) / (TEAMS * DEPTH) * DEPTH, begin = team * part, end = TEAMS > 1 ? begin + part : weights_of_filter;
  fill_table(tables, begin, weights_of_filter, in_plane, in_pitch, dilation_x, dilation_y, item);
  fill_table(tables + DEPTH, begin + DEPTH, weights_of_filter, in_plane, in_pitch, dilation_x, dilation_y, item);
  barrier(CLK_LOCAL_MEM_FENCE);
  fetch_input(next_input, window, missing, tables, item);
  fetch_weights(next_weights, filters, weight_stride, begin, weights_of_filter, planes, item);
  put_input(input_tiles, next_input, item);
  put_weights(weight_tiles, next_weights, item);
  uint now = 0;  // which of the two places
  for (uint first = begin; first < end; first += DEPTH) {
    // The present tiles and the next table are there; the other ones have been read by all since the barrier before.
    barrier(CLK_LOCAL_MEM_FENCE);
    fetch_input(next_input, window, missing, tables + (now ^ 1) * DEPTH, item);
    fetch_weights(next_weights, filters, weight_stride, first + DEPTH, weights_of_filter, planes, item);
    fill_table(tables + now * DEPTH, first + 2 * DEPTH, weights_of_filter, in_plane, in_pitch, dilation_x, dilation_y, item);
    multiply_tiles(sums, weight_tiles + now * WEIGHT_ITEMS + my_k, input_tiles + now * INPUT_ITEMS + my_p);
    now ^= 1;
    put_input(input_tiles + now * INPUT_ITEMS, next_input, item);
    put_weights(weight_tiles + now * WEIGHT_ITEMS, next_weights, item);
  }
#if TEAMS > 1
  barrier(CLK_LOCAL_MEM_FENCE);  // all tiles have been read
  if (team > 0)
#pragma unroll
    for (uint i = 0; i < EACH_K; ++i)
#pragma unroll
      for (uint j = 0; j < EACH_P; j += 4)
        vectors[team * TEAM_VECTORS + (i * (EACH_P / 4) + j / 4) * TEAM + item] = (value4)(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (team > 0) return;  // no barrier follows
  for (uint other = 1; other < TEAMS; ++other)
#pragma unroll
    for (uint i = 0; i < EACH_K; ++i)
#pragma unroll
      for (uint j = 0; j < EACH_P; j += 4) {
        const value4 more = vectors[other * TEAM_VECTORS + (i * (EACH_P / 4) + j / 4) * TEAM + item];
        sums[i][j] += more.s0, sums[i][j + 1] += more.s1, sums[i][j + 2] += more.s2, sums[i][j + 3] += more.s3;
      }
#endif

  ulong to[EACH_P / PACK_OUT];
#pragma unroll
  for (uint j = 0; j < EACH_P; j += PACK_OUT) {
    const uint p = first_of_image + my_p + result_of(j), n = p / plane_results, row = (p - n * plane_results) / out_w;
    const uint col = p - n * plane_results - row * out_w;
    to[j / PACK_OUT] = out_offset + (first_image + n) * out_stride + (ulong)row * out_pitch + col;
  }
  const ulong first_filter = (ulong)group * out_channels + first_k;
  const uint results_left = results_here - min(my_p, results_here);
  out += first_filter * out_plane;
  bias += with_bias ? bias_offset + first_filter : 0;
#pragma unroll
  for (uint i = 0; i < EACH_K; i += 4)
    write_planes(sums + i, my_k + plane_of(i), planes, out, out_plane, bias, with_bias, to, results_left);
}
