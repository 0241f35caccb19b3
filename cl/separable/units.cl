// Separable filter of bytes by matrix units: exact sums, where all weights are whole 256ths of at most 255 that add up to 1, or, with MEAN, the
// means of boxes.
//
// A warp has a strip of 16 BLOCKS columns and goes down a band, 16 rows a step. Both directions are products by a band of weights. Along rows,
// a block of 16 columns of sums is a matrix of 16 x 32 weights times the 32 bytes of 8 rows that its windows cover. Down columns, 16 rows of
// results are 16 x 32 weights times the sums of 32 rows: of the step before, and of this one. Those sums have 16 bits; their low and high
// bytes are multiplied by themselves.
//
// The order of k and of the rows of a matrix is free as long as both factors have the same. It is chosen so that a work-item loads 8
// neighbouring bytes of a row, has the sums in the places where the second product needs them, and has 4 neighbouring results of a row:
// nothing is exchanged between work-items. The next step's bytes are loaded ahead of time.
//
// Rows begin at multiples of 8 bytes. Windows reach at most 8 bytes to either side, and have at most 17 rows. Launch: one dimension, GROUP
// work-items a group, whole warps of 32; warp w computes strips of `band` rows: w, w + warps, ... EMULATED: in plain OpenCL C; a group is one
// warp.
#ifndef ELEMENT
#define ELEMENT uchar
#endif
#ifndef RESULT
#define RESULT uchar
#define RESULT_INTEGER 1
#endif
#include "common/work_group.clh"
#include "separable/arguments.clh"

#ifndef GROUP
#define GROUP 32
#endif
#ifndef BLOCKS
#define BLOCKS 4  // of 16 columns
#endif
#ifndef COLUMN_TAPS
#define COLUMN_TAPS 5
#endif
#ifndef ROW_TAPS
#define ROW_TAPS 5
#endif
#ifndef ROW_ORIGIN
#define ROW_ORIGIN 2
#endif
#ifndef VECTOR_OUT
#define VECTOR_OUT 1  // 1: rows of results begin at multiples of 4 of them
#endif
#ifndef EMULATED
#define EMULATED 1  // 0: mma.sync of NVIDIA's sm_80 and later
#endif
#define STRIP (16 * BLOCKS)
#define ROWS 16            // of a step
#define REACH 8            // bytes that are read before a block, and after it
#define PAIR 8             // bytes of a load
#define FIRST_TAP (REACH - ROW_ORIGIN * CHANNELS)  // where the window of a block's first result begins in what is read
#define ALL_COLUMNS (0xffffffffu >> (32 - 4 * BLOCKS))
#define HALF_A_UNIT 32768  // a result is a sum of 65536ths

// What a work-item holds: words of factors, and sums. Of lane l, with g = l / 4 and q = l % 4: words 0 and 2 of the first factor have k 4 q to
// 4 q + 3, and those 16 later, of row g, words 1 and 3 the same of row g + 8; words of the second factor have these k of column g; sums are those
// of row g, columns 2 q and 2 q + 1, and of row g + 8.
#if EMULATED
#define SCRATCH_PARAMETER , local uint* scratch
#define SCRATCH_ARGUMENT , scratch
GROUP_FUNCTION void multiply_bytes(int sums[4], const uint a[4], uint b0, uint b1, int start, local uint* scratch) {
  const uint lane = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (uint i = 0; i < 4; ++i) scratch[lane * 6 + i] = a[i];
  scratch[lane * 6 + 4] = b0, scratch[lane * 6 + 5] = b1;
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (uint i = 0; i < 4; ++i) {
    int sum = start;
    for (uint k = 0; k < 32; ++k) {
      const uint q = k % 16 / 4, high = k / 16, bits = k % 4 * 8;
      const uint x = scratch[(lane / 4 * 4 + q) * 6 + high * 2 + i / 2], y = scratch[((lane % 4 * 2 + i % 2) * 4 + q) * 6 + 4 + high];
      sum += (int)((x >> bits & 255) * (y >> bits & 255));
    }
    sums[i] = sum;
  }
}
// Bytes of two words, as for NVIDIA's.
static inline uint permuted_bytes(uint a, uint b, uint selector) {
  const ulong both = (ulong)b << 32 | a;
  return (uint)(both >> 8 * (selector & 7) & 255) | (uint)(both >> 8 * (selector >> 4 & 7) & 255) << 8 |
         (uint)(both >> 8 * (selector >> 8 & 7) & 255) << 16 | (uint)(both >> 8 * (selector >> 12 & 7) & 255) << 24;
}
#else
#include "nvidia/bytes.clh"
#define SCRATCH_PARAMETER
#define SCRATCH_ARGUMENT
// PTX ISA, "Warp Level Matrix Instructions: mma".
static inline void multiply_bytes(int sums[4], const uint a[4], uint b0, uint b1, int start) {
  __asm__ volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                   : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(start));
}
#endif

// The column of a block that is row m of the first product: work-item q then has columns 4 q to 4 q + 3 of the second one.
static inline uint column_of(uint m) { return m % 8 / 2 * 4 + m / 8 * 2 + m % 2; }

// The weights of both directions: of a place, counted from the first one that a result may have.
#define ROW_PLACES (16 + 4 * PAIR)
#define COLUMN_PLACES (16 + 2 * ROWS)
typedef struct {
  uchar along[ROW_PLACES], down[COLUMN_PLACES];
} placed_weights;

// By all work-items.
GROUP_FUNCTION void place_weights(local placed_weights* placed, constant VALUE* weights, uint item) {
  const VALUE whole = MEAN ? 1 : 256;
  for (uint i = item; i < ROW_PLACES; i += GROUP) {
    const int at = (int)i - 15 - FIRST_TAP, tap = at / CHANNELS;
    placed->along[i] = at >= 0 && at % CHANNELS == 0 && tap < ROW_TAPS ? (uchar)(row_weights(weights)[tap] * whole) : 0;
  }
  for (uint i = item; i < COLUMN_PLACES; i += GROUP) {
    const int at = (int)i - 15;
    placed->down[i] = at >= 0 && at < COLUMN_TAPS ? (uchar)(column_weights(weights, ROW_TAPS)[at] * whole) : 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// The first factors of both products.
static inline void find_factors(uint along[4], uint down[4], local const placed_weights* placed, uint lane) {
  const uint g = lane / 4, q = lane % 4;
#pragma unroll
  for (uint i = 0; i < 4; ++i) {
    const uint m = g + i % 2 * 8;
    along[i] = down[i] = 0;
#pragma unroll
    for (uint b = 0; b < 4; ++b) {
      const uint byte = q * PAIR + i / 2 * 4 + b, row = i / 2 * ROWS + b / 2 * 8 + 2 * q + b % 2;
      along[i] |= (uint)placed->along[byte + 15 - column_of(m)] << 8 * b;
      down[i] |= (uint)placed->down[row + 15 - m] << 8 * b;
    }
  }
}

// Where bytes beyond the ends of a row are found: at its left end and at its right one.
typedef int edge_places[2][PAIR][GROUP];

// Loads the bytes of a row of block `b` that the work-item has. `wanted`: the column of those of block 0.
static inline uint2 load_edge(global const uchar* line, int wanted, int width, local const edge_places* places, uint item, uint beyond) {
  if (wanted >= 0 && wanted + PAIR <= width) return *(global const uint2*)(line + wanted);
  if (wanted >= width + REACH) return 0;  // for no result
  local const int(*place)[GROUP] = (*places)[wanted < 0 ? 0 : 1];
  uint byte[PAIR];
#pragma unroll
  for (uint k = 0; k < PAIR; ++k) byte[k] = place[k][item] < 0 ? beyond : line[place[k][item]];
  return (uint2)(byte[0] | byte[1] << 8 | byte[2] << 16 | byte[3] << 24, byte[4] | byte[5] << 8 | byte[6] << 16 | byte[7] << 24);
}

// element_within() of rows of less than 2^30 elements.
static inline int element_in_few(int i, int width) {
#if CHANNELS == 1
  return place_in_few(i, width);
#else
  const int cell = i >= 0 ? i / CHANNELS : -((CHANNELS - 1 - i) / CHANNELS);
  const int place = place_in_few(cell, width / CHANNELS);
  return place < 0 ? -1 : place * CHANNELS + (i - cell * CHANNELS);
#endif
}

static inline void find_places(local edge_places* places, uint item, int wanted, int width) {
#pragma unroll 1
  for (uint b = 0; b < BLOCKS; ++b) {
    const int first = wanted + 16 * (int)b;
    if ((first >= 0 && first + PAIR <= width) || first >= width + REACH) continue;
#pragma unroll 1
    for (uint k = 0; k < PAIR; ++k) (*places)[first < 0 ? 0 : 1][k][item] = element_in_few(first + (int)k, width);
  }
}

// Loads the bytes of ROWS rows from row `first` on.
INLINED void load_rows(uint2 ahead[BLOCKS][2], global const uchar* plane, ulong pitch, int first, int rows, int wanted, int width, bool inside,
                       local const edge_places* places, uint item, uint beyond) {
  const int row = first + (int)(item % 32 / 4);
  if (inside && first >= 0 && first + ROWS <= rows) {
    global const uchar* from = plane + (ulong)(uint)row * pitch + wanted;
#pragma unroll
    for (uint b = 0; b < BLOCKS; ++b) {
      ahead[b][0] = *(global const uint2*)(from + 16 * b);
      ahead[b][1] = *(global const uint2*)(from + 8 * pitch + 16 * b);
    }
  } else {
#pragma unroll
    for (uint h = 0; h < 2; ++h) {
      const int place = place_in_few(row + 8 * (int)h, rows);
      global const uchar* line = plane + (ulong)(uint)max(place, 0) * pitch;
#pragma unroll
      for (uint b = 0; b < BLOCKS; ++b)
        ahead[b][h] = BOUNDARY < 2 && place < 0 ? (uint2)(beyond * 0x01010101u)
                                                : load_edge(line, wanted + 16 * (int)b, width, places, item, beyond);
    }
  }
}

// The sums along the rows of a block, low bytes and high ones: of columns g, and of those 8 later.
INLINED void sum_along(uint sums[4], const uint2 bytes[2], const uint along[4] SCRATCH_PARAMETER) {
  int upper[4], lower[4];
  multiply_bytes(upper, along, bytes[0].s0, bytes[0].s1, 0 SCRATCH_ARGUMENT);
  multiply_bytes(lower, along, bytes[1].s0, bytes[1].s1, 0 SCRATCH_ARGUMENT);
#pragma unroll
  for (uint t = 0; t < 2; ++t) {
    const uint a = permuted_bytes((uint)upper[2 * t], (uint)upper[2 * t + 1], 0x5140),
               b = permuted_bytes((uint)lower[2 * t], (uint)lower[2 * t + 1], 0x5140);
    sums[2 * t] = permuted_bytes(a, b, 0x5410);
    sums[2 * t + 1] = permuted_bytes(a, b, 0x7632);
  }
}

// The sums of the windows of four neighbours in two rows, 8 apart. `before`: the sums along rows of the step before.
INLINED void sum_down(uint sums[2][4], const uint before[4], const uint now[4], const uint down[4], int start SCRATCH_PARAMETER) {
#pragma unroll
  for (uint t = 0; t < 2; ++t) {
    int low[4], high[4];
    multiply_bytes(low, down, before[2 * t], now[2 * t], start SCRATCH_ARGUMENT);
    multiply_bytes(high, down, before[2 * t + 1], now[2 * t + 1], 0 SCRATCH_ARGUMENT);
#pragma unroll
    for (uint i = 0; i < 4; ++i) sums[i / 2][2 * t + i % 2] = (uint)low[i] + ((uint)high[i] << 8);
  }
}

// Four neighbouring results, as they are stored.
#if RESULT_INTEGER
typedef uint four_results;
static inline four_results results_of(const uint sum[4], uint inverse) {
#if MEAN
  // The inverse of the area is rounded up: the product is too great by less than 2^17 / 2^32, and no quotient is nearer to the next number.
  return permuted_bytes(permuted_bytes(mul_hi(sum[0], inverse), mul_hi(sum[1], inverse), 0x40),
                        permuted_bytes(mul_hi(sum[2], inverse), mul_hi(sum[3], inverse), 0x40), 0x5410);
#else
  (void)inverse;
  return permuted_bytes(permuted_bytes(sum[0], sum[1], 0x62), permuted_bytes(sum[2], sum[3], 0x62), 0x5410);
#endif
}
static inline RESULT result_at(four_results v, uint c) { return (RESULT)(v >> 8 * c); }
#else
typedef float4 four_results;
static inline four_results results_of(const uint sum[4], uint inverse) {
  (void)inverse;
  return convert_float4((uint4)(sum[0], sum[1], sum[2], sum[3])) * 0x1p-16f;
}
static inline RESULT result_at(four_results v, uint c) { return c == 0 ? v.s0 : c == 1 ? v.s1 : c == 2 ? v.s2 : v.s3; }
#endif

// Writes the results of a step: all, or those whose bits are set in `written`, one for each column, and whose rows are among `rows`.
INLINED void store_results(global RESULT* to, ulong pitch, four_results made[BLOCKS][2], uint written, int rows) {
  if (VECTOR_OUT && written == ALL_COLUMNS && rows > 8) {
#pragma unroll
    for (uint b = 0; b < BLOCKS; ++b) {
      *(global four_results*)(to + 16 * b) = made[b][0];
      *(global four_results*)(to + 8 * pitch + 16 * b) = made[b][1];
    }
  } else {
#pragma unroll
    for (uint h = 0; h < 2; ++h)
#pragma unroll
      for (uint b = 0; b < BLOCKS; ++b)
#pragma unroll
        for (uint c = 0; c < 4; ++c)
          if ((int)(8 * h) < rows && written >> (4 * b + c) & 1) to[8 * h * pitch + 16 * b + c] = result_at(made[b][h], c);
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void separable_units(SEPARABLE_ARGUMENTS) {
  (void)row_taps, (void)column_taps, (void)row_origin, (void)streaming, (void)scratch;
  local placed_weights placed;
  local edge_places places;
#if EMULATED
  local uint shared[GROUP * 6];
#define SHARED_ARGUMENT , shared
#else
#define SHARED_ARGUMENT
#endif
  const uint item = get_local_id(0), lane = item % 32, g = lane / 4, q = lane % 4, beyond = (uint)value_beyond(weights);
  place_weights(&placed, weights, item);
  uint along[4], down[4];
  find_factors(along, down, &placed, lane);
  const uint area = ROW_TAPS * COLUMN_TAPS, inverse = area == 1 ? 0 : (uint)((1ul << 32) / area + 1);
  const int start = MEAN ? (int)area / 2 : RESULT_INTEGER ? HALF_A_UNIT : 0;
  const ulong across = (end_col + STRIP - 1) / STRIP, bands = (end_row - first_row + band - 1) / band;
  for (ulong t = get_global_id(0) / 32; t < across * bands * planes; t += get_global_size(0) / 32) {
    const ulong line = t / across, p = line / bands;
    const int first = (int)((t - line * across) * STRIP), wanted = first - REACH + PAIR * (int)q;  // columns
    const ulong top = first_row + (line - p * bands) * band;
    const int height = (int)min((ulong)band, end_row - top), first_read = (int)top - (int)column_origin;
    global const uchar* plane = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane) + ((top + g) * out_pitch + (ulong)first + 4 * q);
    uint written = 0;  // one bit for each column
#pragma unroll
    for (uint c = 0; c < 4 * BLOCKS; ++c) {
      const ulong col = (ulong)first + c / 4 * 16 + 4 * q + c % 4;
      if (col >= first_col && col < end_col) written |= 1u << c;
    }
    const bool inside = wanted >= 0 && wanted + 16 * (BLOCKS - 1) + PAIR <= (int)width;
    if (!inside) find_places(&places, item, wanted, (int)width);

    uint before[BLOCKS][4], now[BLOCKS][4];
    uint2 ahead[BLOCKS][2];
    for (int y = -2 * ROWS; y < height; y += ROWS) {  // the first result that the step completes
      if (y >= -ROWS) {
#pragma unroll
        for (uint b = 0; b < BLOCKS; ++b) sum_along(now[b], ahead[b], along SHARED_ARGUMENT);
      }
      if (y + ROWS < height)
        load_rows(ahead, plane, in_pitch, first_read + y + 2 * ROWS, (int)rows, wanted, (int)width, inside, &places, item, beyond);
      if (y >= 0) {
        four_results made[BLOCKS][2];
#pragma unroll
        for (uint b = 0; b < BLOCKS; ++b) {
          uint sums[2][4];
          sum_down(sums, before[b], now[b], down, start SHARED_ARGUMENT);
          made[b][0] = results_of(sums[0], inverse);
          made[b][1] = results_of(sums[1], inverse);
        }
        store_results(to, out_pitch, made, written, height - y - (int)g);
        to += ROWS * out_pitch;
      }
#pragma unroll
      for (uint b = 0; b < BLOCKS; ++b)
#pragma unroll
        for (uint i = 0; i < 4; ++i) before[b][i] = now[b][i];
    }
  }
}
