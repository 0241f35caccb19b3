// Separable filter by matrix units. Of bytes: exact sums, where all weights are whole 256ths of at most 255 that add up to 1, or, with MEAN, the
// means of boxes. Of halves and integers of 16 bits: any weights.
//
// A group has a strip of columns, of which a warp computes 16 BLOCKS, and goes down a band, 16 rows a step. Both directions are products by a
// band of weights. Along rows, a block of 16 columns of sums is a matrix of weights, of 16 x 32 bytes ALONG, times the elements of 8 rows that
// its windows cover. Down columns, 16 rows of results are 16 x 16 DOWN weights times the sums of so many rows: of this step, and of DOWN - 1
// before, which stay in registers.
//
// The order of k and of the rows of a matrix is free as long as both factors have the same. It is chosen so that a work-item reads 8
// neighbouring bytes of a row, has the sums in the places where the second product needs them, and has 4 neighbouring results of a row:
// the matrices are exchanged between work-items by nothing but the units.
//
// The elements come through local memory, by asynchronous copies of 16 bytes, STAGES - 1 steps ahead of time. Those beyond the ends of rows are
// put there a step ahead. Results of one byte go through local memory of the warp's own, so that 16 bytes are written at once.
//
// Rows begin at multiples of 16 bytes. Windows reach at most REACH elements to either side, and have at most 16 DOWN - 15 rows. With MEAN 255
// times a window's elements is less than 2^23. Launch: one dimension, GROUP work-items a group, whole warps of 32, a group for each strip of
// `band` rows: counts of several strips would take registers. EMULATED: in plain OpenCL C.
#ifndef ELEMENT
#define ELEMENT uchar
#endif
#ifndef RESULT
#define RESULT uchar
#define RESULT_INTEGER 1
#endif
#ifndef ELEMENT_BYTES
#define ELEMENT_BYTES 1  // 2: of half, or of ushort
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
#define DOWN 2  // steps whose sums along rows are in a sum down columns; of bytes even
#endif
#include "common/group_size.clh"
#define OWN_COLUMNS (16 * BLOCKS)  // of a warp
#define STRIP (GROUP / 32 * OWN_COLUMNS)
#define COPIERS GROUP
#define KEEPS_MOVES (ELEMENT_BYTES > 1 && DOWN <= 2)  // else they have no registers
#define ROWS 16                    // of a step
#define K (32 / ELEMENT_BYTES)     // elements of a row in a product
#define REACH ((K * ALONG - 16) / 2)  // elements that are read before a block, and after it
#define LOADS (BLOCKS + (K * ALONG - 16) / 16)     // of a row, of 8 bytes; block b has loads b, b + K / 16, ...
#define FIRST_TAP (REACH - ROW_ORIGIN * CHANNELS)  // where the window of a block's first result begins in what is read
// Rows in local memory: whole vectors, so that the places of 8 rows of 32 bytes are in different banks.
#define VECTOR (16 / ELEMENT_BYTES)
#define SIDE ((REACH + VECTOR - 1) / VECTOR * VECTOR)  // elements before those of the strip, and after them
#define PITCH ((16 * CHUNKS + (96 - 16 * CHUNKS % 64) % 64) / ELEMENT_BYTES)
#define STAGE_ELEMENTS (ROWS * PITCH)
#define OUT_PITCH (OWN_COLUMNS + 16)  // the same of 8 rows of 16 bytes of results
#define STAGED_RESULTS (RESULT_INTEGER && ELEMENT_BYTES == 1)

// What a work-item holds: words of factors, and sums. Of lane l, with g = l / 4 and q = l % 4, and E elements a word: words 0 and 2 of the first
// factor have k E q to E q + E - 1, and those 4 E later, of row g, words 1 and 3 the same of row g + 8; words of the second factor have these k
// of column g; sums are those of row g, columns 2 q and 2 q + 1, and of row g + 8.
#if EMULATED
#define UNROLL_UNITS _Pragma("unroll 1")  // code with many barriers takes compilers long
#define WAIT_COPIES(groups)
static inline void end_copies(void) {}
#define sync_warp() barrier(CLK_LOCAL_MEM_FENCE)
#define SCRATCH_PARAMETER , local uint* scratch
#define SCRATCH_ARGUMENT , scratch
#else
#include "nvidia/copy_async.clh"
#define UNROLL_UNITS _Pragma("unroll")
#define SCRATCH_PARAMETER
#define SCRATCH_ARGUMENT
#endif

// Elements in the format of memory.
#if ELEMENT_HALF
typedef ushort stored;
#else
typedef ELEMENT stored;
#endif

// The column of a block that is row m of the first product: work-item q then has columns 4 q to 4 q + 3 of the second one.
static inline uint column_of(uint m) { return m % 8 / 2 * 4 + m / 8 * 2 + m % 2; }

#include "common/unit_rows.clh"

// Reads the elements that a work-item has of 8 rows, and of 8 rows below. `from`: the first ones.
INLINED void read_stage(uint2 elements[2][LOADS], local const stored* from) {
#pragma unroll
  for (uint h = 0; h < 2; ++h)
#pragma unroll
    for (uint n = 0; n < LOADS; ++n) elements[h][n] = *(local const uint2*)(from + 8 * h * PITCH + 16 * n);
}

#if ELEMENT_BYTES == 1
#include "separable/unit_bytes.clh"
#else
#include "separable/unit_halves.clh"
#endif

// What a warp writes.
typedef struct {
  global one_result* to;  // the first result in the step's first row; without STAGED_RESULTS the work-item's first one
  ulong pitch;
  int first_col, end_col;  // the columns that are written, counted from that result
  int rows;                // the rows, counted from it
  bool whole;              // all of its columns are written, by vectors
} write_results;

#if STAGED_RESULTS
// Writes the results of a step by way of local memory of the warp's own.
INLINED void store_results(const write_results* w, four_results made[BLOCKS][2], local uchar* own, uint lane) {
#pragma unroll
  for (uint b = 0; b < BLOCKS; ++b)
#pragma unroll
    for (uint h = 0; h < 2; ++h) *(local uint*)(own + (lane / 4 + 8 * h) * OUT_PITCH + 16 * b + lane % 4 * 4) = made[b][h];
  sync_warp();
  if (w->whole && w->rows >= ROWS) {
#pragma unroll
    for (uint n = 0; n < BLOCKS / 2; ++n) {
      const uint row = (n * 32 + lane) / BLOCKS, col = lane % BLOCKS * 16;
      *(global uint4*)(w->to + (row * w->pitch + col)) = *(local const uint4*)(own + row * OUT_PITCH + col);
    }
  } else {
#pragma unroll 1
    for (uint i = lane; i < ROWS * OWN_COLUMNS / 4; i += 32) {
      const uint row = i / (OWN_COLUMNS / 4), col = i % (OWN_COLUMNS / 4) * 4;
#pragma unroll
      for (uint c = col; c < col + 4; ++c)
        if ((int)row < w->rows && (int)c >= w->first_col && (int)c < w->end_col) w->to[row * w->pitch + c] = own[row * OUT_PITCH + c];
    }
  }
  sync_warp();
}
#else
INLINED void store_results(const write_results* w, four_results made[BLOCKS][2], local uchar* own, uint lane) {
  (void)own;
  const bool all = w->whole && w->rows >= ROWS;
#pragma unroll
  for (uint h = 0; h < 2; ++h) {
    const uint row = lane / 4 + 8 * h;
    global one_result* to = w->to + 8 * h * w->pitch;
    if (all) {
#pragma unroll
      for (uint b = 0; b < BLOCKS; ++b) *(global four_results*)(to + 16 * b) = made[b][h];
    } else if ((int)row < w->rows) {
#pragma unroll
      for (uint b = 0; b < BLOCKS; ++b)
#pragma unroll
        for (uint c = 0; c < 4; ++c) {
          const int col = (int)(16 * b + lane % 4 * 4 + c);
          if (col >= w->first_col && col < w->end_col) to[16 * b + c] = result_at(made[b][h], c);
        }
    }
  }
}
#endif

#if ELEMENT_HALF
// Writes those results of a step again that are not finite.
INLINED void store_again(const write_results* w, const read_rows* r, constant VALUE* weights, int row, int col, uint lane) {
#pragma unroll 1
  for (uint i = 0; i < BLOCKS * 8; ++i) {
    const uint y = lane / 4 + i / 4 % 2 * 8, x = i / 8 * 16 + lane % 4 * 4 + i % 4;
    global one_result* to = w->to + i / 4 % 2 * 8 * w->pitch + i / 8 * 16 + i % 4;
    if ((int)y < w->rows && (int)x >= w->first_col && (int)x < w->end_col && !is_finite(to))
      store_result((global RESULT*)to, 0, sum_of_window(r, weights, row + (int)y, col + (int)x - ROW_ORIGIN * CHANNELS));
  }
}
#endif

kernel GROUP_SIZE
void separable_units(SEPARABLE_ARGUMENTS) {
  (void)row_taps, (void)column_taps, (void)row_origin, (void)streaming, (void)scratch;
  local placed_weights placed;
  local stored stages[STAGES * STAGE_ELEMENTS] __attribute__((aligned(16)));
#if STAGED_RESULTS
  local uchar results[GROUP / 32 * ROWS * OUT_PITCH] __attribute__((aligned(16)));
#endif
#if EMULATED
  local uint shared[GROUP * 6];
#define SHARED_ARGUMENT , shared
#else
#define SHARED_ARGUMENT
#endif
  const uint item = get_local_id(0), warp = item / 32, lane = item % 32;
  local const stored* from = stages + lane / 4 * PITCH + SIDE - REACH + warp * OWN_COLUMNS + 8 / ELEMENT_BYTES * (lane % 4);
#if STAGED_RESULTS
  local uchar* own = results + warp * ROWS * OUT_PITCH;
#else
  local uchar* own = 0;
#endif
  const ulong across = (end_col + STRIP - 1) / STRIP, bands = (end_row - first_row + band - 1) / band;
  const ulong t = get_group_id(0);
  if (t < across * bands * planes) {
    const ulong line = t / across, p = line / bands, top = first_row + (line - p * bands) * band;
    const long first = (long)((t - line * across) * STRIP);  // column
    const int height = (int)min((ulong)band, end_row - top), first_read = (int)top - (int)column_origin;
    const read_rows read = {(global const stored*)in + plane_offset(p, depth, in_offset, in_stride, in_plane), in_pitch, (int)width, (int)rows,
                            (int)first - SIDE, ELEMENT_BYTES == 1 ? (uint)value_beyond(weights) : 0};
    const long result = first + warp * OWN_COLUMNS;  // the warp's first column
    const ulong own_place = STAGED_RESULTS ? 0 : lane / 4 * out_pitch + lane % 4 * 4;
    write_results write = {(global one_result*)out + plane_offset(p, depth, out_offset, out_stride, out_plane) + (top * out_pitch + (ulong)result) + own_place,
                           out_pitch, (int)clamp((long)first_col - result, 0L, (long)OWN_COLUMNS),
                           (int)clamp((long)end_col - result, 0L, (long)OWN_COLUMNS), height,
                           VECTOR_OUT && (long)first_col <= result && result + OWN_COLUMNS <= (long)end_col};
    copied_vectors copied;
    find_vectors(&copied, &read, item);
    const bool edges = has_edges(&read);
    edge_moves moves;
    find_moves(&moves, &read, item);
    const int steps = DOWN - 1 + (height + ROWS - 1) / ROWS;
#pragma unroll 1
    for (int s = 0; s < STAGES - 1; ++s) {
      if (s < steps) copy_rows(stages + s * STAGE_ELEMENTS, &read, &copied, first_read + s * ROWS, item);
      end_copies();
    }
    // While the first rows come.
    place_weights(&placed, weights, item);
    unit_factors factors;
    find_factors(&factors, &placed, weights, lane);
    if (edges) {
      WAIT_COPIES(STAGES - 2);
      barrier(CLK_LOCAL_MEM_FENCE);
      make_edges(stages, &read, &moves, first_read, item);
    }
    uint kept[DOWN][BLOCKS][KEPT_WORDS], stage = 0;
    // Steps, DOWN of them at a time, so that the place of each among those that are kept is known to the compiler.
    for (int turn = 0; turn < steps; turn += DOWN) {
UNROLL_UNITS
      for (uint u = 0; u < DOWN; ++u) {
        const int s = turn + (int)u;
        if (s < steps) {
          WAIT_COPIES(STAGES - 3);
          barrier(CLK_LOCAL_MEM_FENCE);
          if (s + STAGES - 1 < steps)
            copy_rows(stages + (stage == 0 ? STAGES - 1 : stage - 1) * STAGE_ELEMENTS, &read, &copied, first_read + (s + STAGES - 1) * ROWS, item);
          end_copies();
          if (edges && s + 1 < steps)
            make_edges(stages + (stage == STAGES - 1 ? 0 : stage + 1) * STAGE_ELEMENTS, &read, &moves, first_read + (s + 1) * ROWS, item);
          uint2 elements[2][LOADS];
          read_stage(elements, from + stage * STAGE_ELEMENTS);
          stage = stage == STAGES - 1 ? 0 : stage + 1;
          read_factors factor;
          convert_rows(&factor, elements);
UNROLL_UNITS
          for (uint b = 0; b < BLOCKS; ++b) sum_along(kept[u][b], &factor, b, &factors SHARED_ARGUMENT);
          if (s >= DOWN - 1) {
            four_results made[BLOCKS][2];
            uint check = 0;  // another number if a result is infinite or a NaN
UNROLL_UNITS
            for (uint b = 0; b < BLOCKS; ++b) {
              unit_sum sums[2][4];
              sum_down(sums, kept, b, u + 1, &factors SHARED_ARGUMENT);
              made[b][0] = results_of(sums[0], &factors);
              made[b][1] = results_of(sums[1], &factors);
#if ELEMENT_HALF
              check = checked_halves(checked_halves(check, made[b][0].s0), made[b][0].s1);
              check = checked_halves(checked_halves(check, made[b][1].s0), made[b][1].s1);
#endif
            }
            store_results(&write, made, own, lane);
#if ELEMENT_HALF
            if (check != 0) store_again(&write, &read, weights, first_read + (s - DOWN + 1) * ROWS, (int)result, lane);
#else
            (void)check;
#endif
            write.to += ROWS * out_pitch;
            write.rows -= ROWS;
          }
        }
      }
    }
  }
}
