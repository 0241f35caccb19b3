// Separable filter of bytes by matrix units: exact sums, where all weights are whole 256ths of at most 255 that add up to 1, or, with MEAN, the
// means of boxes.
//
// A group has a strip of columns, of which a warp computes 16 BLOCKS, and goes down a band, 16 rows a step. Both directions are products by a
// band of weights. Along rows, a block of 16 columns of sums is a matrix of 16 x 32 ALONG weights times the bytes of 8 rows that its windows
// cover. Down columns, 16 rows of results are 16 x 16 DOWN weights times the sums of so many rows: of this step, and of DOWN - 1 before, which
// stay in registers. Those sums have 16 bits; their low and high bytes are multiplied by themselves.
//
// The order of k and of the rows of a matrix is free as long as both factors have the same. It is chosen so that a work-item reads 8
// neighbouring bytes of a row, has the sums in the places where the second product needs them, and has 4 neighbouring results of a row:
// the matrices are exchanged between work-items by nothing but the units.
//
// The bytes come through local memory, by asynchronous copies of 16 bytes, STAGES - 1 steps ahead of time. At the ends of rows they are made
// one by one when they have come. Results go through local memory of the warp's own, so that 16 bytes are written at once.
//
// Rows begin at multiples of 16 bytes. Windows reach at most REACH bytes to either side, and have at most 16 DOWN - 15 rows. With MEAN 255
// times a window's elements is less than 2^23. Launch: one dimension, GROUP work-items a group, whole warps of 32; group g computes strips of
// `band` rows: g, g + groups, ... EMULATED: in plain OpenCL C.
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
#define VECTOR_OUT 1  // 1: rows of results begin at multiples of 16 bytes
#endif
#ifndef EMULATED
#define EMULATED 1  // 0: mma.sync of NVIDIA's sm_80 and later
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef ALONG
#define ALONG 1  // products along rows for 8 rows of a block
#endif
#ifndef DOWN
#define DOWN 2  // steps whose sums along rows are in a sum down columns; even
#endif
#define OWN_COLUMNS (16 * BLOCKS)  // of a warp
#define STRIP (GROUP / 32 * OWN_COLUMNS)
#define ROWS 16                  // of a step
#define REACH (16 * ALONG - 8)   // bytes that are read before a block, and after it
#define PAIR 8                   // bytes of a load
#define LOADS (BLOCKS + 2 * ALONG - 2)             // of a row; block b has loads b, b + 2, ...
#define FIRST_TAP (REACH - ROW_ORIGIN * CHANNELS)  // where the window of a block's first result begins in what is read
// Rows in local memory: whole vectors, so that the places of 8 rows of 32 bytes are in different banks.
#define SIDE ((REACH + 15) / 16 * 16)  // bytes before those of the strip, and after them
#define CHUNKS ((STRIP + 2 * SIDE) / 16)
#define PITCH (16 * CHUNKS + (96 - 16 * CHUNKS % 64) % 64)
#define STAGE_BYTES (ROWS * PITCH)
#define OUT_PITCH (OWN_COLUMNS + 16)  // the same of 8 rows of 16 bytes of results
// Products whose weights are all 1, known to the compiler.
#define ALONG_IS_WHOLE(n) (MEAN && CHANNELS == 1 && 32 * (n) >= FIRST_TAP + 15 && 32 * (n) + 31 < FIRST_TAP + ROW_TAPS)
#define DOWN_IS_WHOLE(n) (MEAN && 32 * (n) >= 15 && 32 * (n) + 31 < COLUMN_TAPS)
#if MEAN
#define START 0x4b000000  // the bits of 2^23, whose last places sums are added to
#elif RESULT_INTEGER
#define START 32768  // half of a unit: a result is a sum of 65536ths
#else
#define START 0
#endif

// What a work-item holds: words of factors, and sums. Of lane l, with g = l / 4 and q = l % 4: words 0 and 2 of the first factor have k 4 q to
// 4 q + 3, and those 16 later, of row g, words 1 and 3 the same of row g + 8; words of the second factor have these k of column g; sums are those
// of row g, columns 2 q and 2 q + 1, and of row g + 8.
#if EMULATED
#define UNROLL_UNITS _Pragma("unroll 1")  // code with many barriers takes compilers long
#define COPY_16(to, from) (*(local uint4*)(to) = *(global const uint4*)(from))
#define WAIT_COPIES(groups)
static inline void end_copies(void) {}
#define sync_warp() barrier(CLK_LOCAL_MEM_FENCE)
#define SCRATCH_PARAMETER , local uint* scratch
#define SCRATCH_ARGUMENT , scratch
GROUP_FUNCTION void add_products(int sums[4], const uint a[4], uint b0, uint b1, local uint* scratch) {
  const uint item = get_local_id(0), lane = item % 32, first = item - lane;
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (uint i = 0; i < 4; ++i) scratch[item * 6 + i] = a[i];
  scratch[item * 6 + 4] = b0, scratch[item * 6 + 5] = b1;
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (uint i = 0; i < 4; ++i) {
    for (uint k = 0; k < 32; ++k) {
      const uint q = k % 16 / 4, high = k / 16, bits = k % 4 * 8;
      const uint x = scratch[(first + lane / 4 * 4 + q) * 6 + high * 2 + i / 2],
                 y = scratch[(first + (lane % 4 * 2 + i % 2) * 4 + q) * 6 + 4 + high];
      sums[i] += (int)((x >> bits & 255) * (y >> bits & 255));
    }
  }
}
GROUP_FUNCTION void begin_products(int sums[4], const uint a[4], uint b0, uint b1, int start, local uint* scratch) {
#pragma unroll
  for (uint i = 0; i < 4; ++i) sums[i] = start;
  add_products(sums, a, b0, b1, scratch);
}
// Bytes of two words, as for NVIDIA's.
static inline uint permuted_bytes(uint a, uint b, uint selector) {
  const ulong both = (ulong)b << 32 | a;
  return (uint)(both >> 8 * (selector & 7) & 255) | (uint)(both >> 8 * (selector >> 4 & 7) & 255) << 8 |
         (uint)(both >> 8 * (selector >> 8 & 7) & 255) << 16 | (uint)(both >> 8 * (selector >> 12 & 7) & 255) << 24;
}
#else
#include "nvidia/bytes.clh"
#include "nvidia/copy_async.clh"
#define UNROLL_UNITS _Pragma("unroll")
#define COPY_16(to, from) copy_whole_16(local_address(to), from)
#define SCRATCH_PARAMETER
#define SCRATCH_ARGUMENT
// PTX ISA, "Warp Level Matrix Instructions: mma".
#define MMA_BYTES "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
static inline void begin_products(int sums[4], const uint a[4], uint b0, uint b1, int start) {
  __asm__ volatile(MMA_BYTES "{%10, %10, %10, %10};"
                   : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(start));
}
static inline void add_products(int sums[4], const uint a[4], uint b0, uint b1) {
  __asm__ volatile(MMA_BYTES "{%0, %1, %2, %3};"
                   : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif

// The column of a block that is row m of the first product: work-item q then has columns 4 q to 4 q + 3 of the second one.
static inline uint column_of(uint m) { return m % 8 / 2 * 4 + m / 8 * 2 + m % 2; }

// The weights of both directions: of a place, counted from the first one that a result may have.
#define ROW_PLACES (16 + 32 * ALONG)
#define COLUMN_PLACES (16 + 16 * DOWN)
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

// The first factors of the products.
typedef struct {
  uint along[ALONG][4], down[DOWN / 2][4];
} unit_factors;

INLINED void find_factors(unit_factors* f, local const placed_weights* placed, uint lane) {
  const uint g = lane / 4, q = lane % 4;
#pragma unroll
  for (uint i = 0; i < 4; ++i) {
    const uint m = g + i % 2 * 8;
#pragma unroll
    for (uint n = 0; n < ALONG; ++n) {
      f->along[n][i] = ALONG_IS_WHOLE(n) ? 0x01010101u : 0;
#pragma unroll
      for (uint b = 0; b < 4; ++b)
        if (!ALONG_IS_WHOLE(n)) f->along[n][i] |= (uint)placed->along[32 * n + q * PAIR + i / 2 * 4 + b + 15 - column_of(m)] << 8 * b;
    }
#pragma unroll
    for (uint n = 0; n < DOWN / 2; ++n) {
      f->down[n][i] = DOWN_IS_WHOLE(n) ? 0x01010101u : 0;
#pragma unroll
      for (uint b = 0; b < 4; ++b)
        if (!DOWN_IS_WHOLE(n)) f->down[n][i] |= (uint)placed->down[32 * n + i / 2 * 16 + b / 2 * 8 + 2 * q + b % 2 + 15 - m] << 8 * b;
    }
  }
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

// What a group reads.
typedef struct {
  global const uchar* plane;
  ulong pitch;
  int width, rows;
  int first;  // the column of the first byte of a row in local memory
  uint beyond;
} read_bytes;

// Copies the bytes of ROWS rows from row `first_row` on to a stage: whole vectors that lie in the row.
INLINED void copy_rows(local uchar* stage, const read_bytes* r, int first_row, uint item) {
#pragma unroll
  for (uint n = 0; n < (ROWS * CHUNKS + GROUP - 1) / GROUP; ++n) {
    const uint i = n * GROUP + item, row = i / CHUNKS, chunk = i - row * CHUNKS;
    const int place = place_in_few(first_row + (int)row, r->rows), col = r->first + (int)(16 * chunk);
    local uchar* to = stage + row * PITCH + 16 * chunk;
    if (i < ROWS * CHUNKS) {
      if (BOUNDARY < 2 && place < 0)
        *(local uint4*)to = (uint4)(r->beyond * 0x01010101u);
      else if (col >= 0 && col + 16 <= r->width)
        COPY_16(to, r->plane + (ulong)(uint)max(place, 0) * r->pitch + col);
    }
  }
}

// Whether a group reads bytes at the ends of rows that are in no whole vector.
static inline bool has_edges(const read_bytes* r) { return r->first < 0 || r->first + 16 * CHUNKS > r->width / 16 * 16; }

// Puts there what the boundary condition has: bytes of the same stage, or others. By all work-items: it ends with a barrier.
GROUP_FUNCTION void make_edges(local uchar* stage, const read_bytes* r, int first_row, uint item) {
  const int whole = r->width / 16 * 16, left = max(0 - r->first, 0), right = max(whole, r->first);
  const int end = min(r->width + REACH, r->first + 16 * CHUNKS);
  const int count = left + max(end - right, 0);
  for (int i = (int)item; i < ROWS * count; i += GROUP) {
    const int row = i / count, n = i - row * count, col = n < left ? r->first + n : right + (n - left);
    const int line = place_in_few(first_row + row, r->rows), place = element_in_few(col, r->width), from = place - r->first;
    uint byte = r->beyond;
    if ((BOUNDARY > 1 || line >= 0) && place >= 0) {
      if (from >= 0 && from < 16 * CHUNKS && place < whole)
        byte = stage[row * PITCH + from];
      else
        byte = r->plane[(ulong)(uint)max(line, 0) * r->pitch + place];
    }
    stage[row * PITCH + (col - r->first)] = (uchar)byte;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Reads the bytes that a work-item has of 8 rows, and of 8 rows below. `from`: the first ones.
INLINED void read_rows(uint2 bytes[2][LOADS], local const uchar* from) {
#pragma unroll
  for (uint h = 0; h < 2; ++h)
#pragma unroll
    for (uint n = 0; n < LOADS; ++n) bytes[h][n] = *(local const uint2*)(from + 8 * h * PITCH + 16 * n);
}

// The sums along the rows of a block, low bytes and high ones: of columns g, and of those 8 later.
INLINED void sum_along(uint sums[4], uint2 ahead[2][LOADS], const uint block, const unit_factors* f SCRATCH_PARAMETER) {
  int row[2][4];
UNROLL_UNITS
  for (uint h = 0; h < 2; ++h) {
    begin_products(row[h], f->along[0], ahead[h][block].s0, ahead[h][block].s1, 0 SCRATCH_ARGUMENT);
UNROLL_UNITS
    for (uint n = 1; n < ALONG; ++n) add_products(row[h], f->along[n], ahead[h][block + 2 * n].s0, ahead[h][block + 2 * n].s1 SCRATCH_ARGUMENT);
  }
#pragma unroll
  for (uint t = 0; t < 2; ++t) {
    const uint a = permuted_bytes((uint)row[0][2 * t], (uint)row[0][2 * t + 1], 0x5140),
               b = permuted_bytes((uint)row[1][2 * t], (uint)row[1][2 * t + 1], 0x5140);
    sums[2 * t] = permuted_bytes(a, b, 0x5410);
    sums[2 * t + 1] = permuted_bytes(a, b, 0x7632);
  }
}

// The sums of the windows of four neighbours in two rows, 8 apart. `kept`: the sums along rows of DOWN steps, of which `first` has the oldest.
INLINED void sum_down(uint sums[2][4], uint kept[DOWN][BLOCKS][4], const uint block, const uint first, const unit_factors* f SCRATCH_PARAMETER) {
UNROLL_UNITS
  for (uint t = 0; t < 2; ++t) {
    int byte[2][4];
UNROLL_UNITS
    for (uint h = 0; h < 2; ++h) {
      begin_products(byte[h], f->down[0], kept[first % DOWN][block][2 * t + h], kept[(first + 1) % DOWN][block][2 * t + h],
                     h == 0 ? START : 0 SCRATCH_ARGUMENT);
UNROLL_UNITS
      for (uint n = 1; n < DOWN / 2; ++n)
        add_products(byte[h], f->down[n], kept[(first + 2 * n) % DOWN][block][2 * t + h],
                     kept[(first + 2 * n + 1) % DOWN][block][2 * t + h] SCRATCH_ARGUMENT);
    }
#pragma unroll
    for (uint i = 0; i < 4; ++i) sums[i / 2][2 * t + i % 2] = (uint)byte[0][i] + ((uint)byte[1][i] << 8);
  }
}

// Four neighbouring results, as they are stored.
#if RESULT_INTEGER
typedef uint four_results;
#if MEAN
// A mean in the low byte of a word, with undefined bits above it: mean_bits() of blur/box_shuffle.cl, of a sum in the last places of 2^23.
static inline uint mean_bits(uint sum) {
  return as_uint(fma(as_float(sum) - 0x1p23f, 1 / (float)(ROW_TAPS * COLUMN_TAPS), 0x1p23f));
}
static inline four_results results_of(const uint sum[4]) {
  return permuted_bytes(permuted_bytes(mean_bits(sum[0]), mean_bits(sum[1]), 0x40),
                        permuted_bytes(mean_bits(sum[2]), mean_bits(sum[3]), 0x40), 0x5410);
}
#else
static inline four_results results_of(const uint sum[4]) {
  return permuted_bytes(permuted_bytes(sum[0], sum[1], 0x62), permuted_bytes(sum[2], sum[3], 0x62), 0x5410);
}
#endif
#else
typedef float4 four_results;
static inline four_results results_of(const uint sum[4]) {
  return convert_float4((uint4)(sum[0], sum[1], sum[2], sum[3])) * 0x1p-16f;
}
static inline RESULT result_at(four_results v, uint c) { return c == 0 ? v.s0 : c == 1 ? v.s1 : c == 2 ? v.s2 : v.s3; }
#endif

// What a group writes.
typedef struct {
  global RESULT* to;  // the first result of the warp in the step's first row
  ulong pitch;
  long first_col, end_col;  // the columns that are written, counted from that result
  int rows;                 // the rows, counted from it
} write_results;

#if RESULT_INTEGER
// Writes the results of a step by way of local memory of the warp's own.
INLINED void store_results(const write_results* w, four_results made[BLOCKS][2], local uchar* own, uint lane) {
#pragma unroll
  for (uint b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (uint h = 0; h < 2; ++h) *(local uint*)(own + (lane / 4 + 8 * h) * OUT_PITCH + 16 * b + lane % 4 * 4) = made[b][h];
  sync_warp();
#pragma unroll
  for (uint n = 0; n < BLOCKS / 2; ++n) {
    const uint i = n * 32 + lane, row = i / BLOCKS, chunk = i % BLOCKS;
    local const uchar* from = own + row * OUT_PITCH + 16 * chunk;
    const long col = 16 * chunk;
    global RESULT* to = w->to + row * w->pitch + col;
    if (VECTOR_OUT && col >= w->first_col && col + 16 <= w->end_col && (int)row < w->rows) {
      *(global uint4*)to = *(local const uint4*)from;
    } else if ((int)row < w->rows) {
#pragma unroll 1
      for (int c = 0; c < 16; ++c)
        if (col + c >= w->first_col && col + c < w->end_col) to[c] = from[c];
    }
  }
  sync_warp();
}
#else
INLINED void store_results(const write_results* w, four_results made[BLOCKS][2], local uchar* own, uint lane) {
  (void)own;
#pragma unroll
  for (uint b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (uint h = 0; h < 2; ++h) {
      const uint row = lane / 4 + 8 * h;
      const long col = 16 * b + lane % 4 * 4;
      global RESULT* to = w->to + row * w->pitch + col;
      if (VECTOR_OUT && col >= w->first_col && col + 4 <= w->end_col && (int)row < w->rows) {
        *(global float4*)to = made[b][h];
      } else if ((int)row < w->rows) {
#pragma unroll
        for (int c = 0; c < 4; ++c)
          if (col + c >= w->first_col && col + c < w->end_col) to[c] = result_at(made[b][h], c);
      }
    }
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void separable_units(SEPARABLE_ARGUMENTS) {
  (void)row_taps, (void)column_taps, (void)row_origin, (void)streaming, (void)scratch;
  local placed_weights placed;
  local uchar stages[STAGES * STAGE_BYTES] __attribute__((aligned(16)));
  local uchar results[GROUP / 32 * ROWS * OUT_PITCH] __attribute__((aligned(16)));
#if EMULATED
  local uint shared[GROUP * 6];
#define SHARED_ARGUMENT , shared
#else
#define SHARED_ARGUMENT
#endif
  const uint item = get_local_id(0), warp = item / 32, lane = item % 32;
  place_weights(&placed, weights, item);
  unit_factors factors;
  find_factors(&factors, &placed, lane);
  local const uchar* from = stages + lane / 4 * PITCH + SIDE - REACH + warp * OWN_COLUMNS + PAIR * (lane % 4);
  local uchar* own = results + warp * ROWS * OUT_PITCH;
  const ulong across = (end_col + STRIP - 1) / STRIP, bands = (end_row - first_row + band - 1) / band;
  for (ulong t = get_group_id(0); t < across * bands * planes; t += get_num_groups(0)) {
    const ulong line = t / across, p = line / bands, top = first_row + (line - p * bands) * band;
    const long first = (long)((t - line * across) * STRIP);  // column
    const int height = (int)min((ulong)band, end_row - top), first_read = (int)top - (int)column_origin;
    const read_bytes read = {in + plane_offset(p, depth, in_offset, in_stride, in_plane), in_pitch, (int)width, (int)rows, (int)first - SIDE,
                             (uint)value_beyond(weights)};
    const long result = first + warp * OWN_COLUMNS;  // the warp's first column
    write_results write = {out + plane_offset(p, depth, out_offset, out_stride, out_plane) + (top * out_pitch + (ulong)result), out_pitch,
                           (long)first_col - result, (long)end_col - result, height};

    const bool edges = has_edges(&read);
    const int steps = DOWN - 1 + (height + ROWS - 1) / ROWS;
#pragma unroll 1
    for (int s = 0; s < STAGES - 1; ++s) {
      if (s < steps) copy_rows(stages + s * STAGE_BYTES, &read, first_read + s * ROWS, item);
      end_copies();
    }
    uint kept[DOWN][BLOCKS][4], stage = 0;
    // Steps, DOWN of them at a time, so that the place of each among those that are kept is known to the compiler.
    for (int turn = 0; turn < steps; turn += DOWN) {
UNROLL_UNITS
      for (uint u = 0; u < DOWN; ++u) {
        const int s = turn + (int)u;
        if (s < steps) {
          WAIT_COPIES(STAGES - 2);
          barrier(CLK_LOCAL_MEM_FENCE);
          if (s + STAGES - 1 < steps)
            copy_rows(stages + (stage == 0 ? STAGES - 1 : stage - 1) * STAGE_BYTES, &read, first_read + (s + STAGES - 1) * ROWS, item);
          end_copies();
          if (edges) make_edges(stages + stage * STAGE_BYTES, &read, first_read + s * ROWS, item);
          uint2 bytes[2][LOADS];
          read_rows(bytes, from + stage * STAGE_BYTES);
          stage = stage == STAGES - 1 ? 0 : stage + 1;
UNROLL_UNITS
          for (uint b = 0; b < BLOCKS; ++b) sum_along(kept[u][b], bytes, b, &factors SHARED_ARGUMENT);
          if (s >= DOWN - 1) {
            four_results made[BLOCKS][2];
UNROLL_UNITS
            for (uint b = 0; b < BLOCKS; ++b) {
              uint sums[2][4];
              sum_down(sums, kept, b, u + 1, &factors SHARED_ARGUMENT);
              made[b][0] = results_of(sums[0]);
              made[b][1] = results_of(sums[1]);
            }
            store_results(&write, made, own, lane);
            write.to += ROWS * out_pitch;
            write.rows -= ROWS;
          }
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // the next strip's copies take the place of bytes that may still be read
  }
}
