// GEMM by Hopper's matrix units: C = alpha A B + beta C of half or bfloat16 with sums in float; and where both factors lie
// along k, of int8 with sums in int, and of float, of which TF32's bits are read. For sm_90a: see nvidia/wgmma.clh for how
// that passes NVIDIA's OpenCL compiler.
//
// PRODUCERS warpgroups fill tiles in local memory, up to STAGES steps of 128 bytes of k ahead; CONSUMERS warpgroups multiply
// them, each 64 rows by TILE_N columns, with accumulators in registers. They meet at two barriers a stage: `full`, at which
// the producers arrive when a stage is filled, and `empty`, at which the consumers' warps arrive when they have multiplied
// it. No work-item waits for another of its kind. Groups stay: each takes tiles of C until none is left, and its producers go
// on to the next tile while its consumers still store the last.
//
// Tiles lie as nvidia/wgmma.clh says, whichever dimension is contiguous in memory: wgmma takes 16-bit operands either way, so
// nothing is turned. LOOSE 0: all rows of A and B begin at multiples of 16 bytes, and cp.async copies pieces of 16 bytes to
// their places. 1: they begin anywhere; nvidia/loose.clh. What lies outside of the matrices is filled with zeros.
//
// Launch: GROUP work-items; as many groups as multiprocessors, or tiles if they are fewer. Local memory:
// STAGES * (TILE_M + TILE_N) * 128 bytes, the barriers, and with LOOSE
// (TILE_M + TILE_N) * 144; with C_VECTOR 1 or EPILOGUE,
// CONSUMERS * 10240. After: Shah et al., "FlashAttention-3" (producers and
// consumers); Thakkar et al., CUTLASS, "Efficient GEMM in CUDA: Hopper warp specialization".
#ifndef ELEMENT_TYPE
#define ELEMENT_TYPE 2  // half; gemm/numbers.clh has the others
#endif
#ifndef CONSUMERS
#define CONSUMERS 2  // warpgroups that multiply: 1, 2, 3
#endif
#ifndef PRODUCERS
#define PRODUCERS 1  // warpgroups that fill: 1, 2
#endif
#ifndef TILE_N
#define TILE_N 256  // 64, 128, 256; 192 if B lies along k
#endif
#ifndef MMA_N
#define MMA_N TILE_N  // columns of an instruction: TILE_N, or a part of it. 256 needs GROUP of at most 384
#endif
#ifndef STAGES
#define STAGES 4  // 2 to 8, as local memory allows
#endif
#ifndef LAG
#define LAG 1  // steps that a producer goes on before it waits for its copies: 0 to STAGES - 2
#endif
#ifndef PRODUCER_REGISTERS
#define PRODUCER_REGISTERS 0  // 0: as the compiler gives; else a multiple of 8
#endif
#ifndef CONSUMER_REGISTERS
#define CONSUMER_REGISTERS 0
#endif
#ifndef LOOSE
#define LOOSE 0  // 1: not all rows of A and B begin at a multiple of 16 bytes
#endif
#ifndef C_VECTOR
#define C_VECTOR 1  // elements of a store: 2 if all rows of C begin at a multiple of two elements' bytes, else 1
#endif
#ifndef BAND
#define BAND 12  // tiles down that groups take before they go on to the right: for the sake of the L2 cache
#endif

#define TILE_M (64 * CONSUMERS)
#define GROUP (128 * (PRODUCERS + CONSUMERS))
#define FILLERS (128 * PRODUCERS)
#define A_BYTES (TILE_M * 128)
#define B_BYTES (TILE_N * 128)
#define STAGE_BYTES (A_BYTES + B_BYTES)
// Results go through local memory where rows of C begin anywhere, and where there is an epilogue (nvidia/gemm_rows.clh).
#define THROUGH_LOCAL (C_VECTOR == 1 || EPILOGUE)
#define OUT_ROW 40  // floats of a row of 32 results on their way out: so 4 rows of pairs meet 32 banks

#define JOIN_WORDS(a, b) a##b
#define JOIN(a, b) JOIN_WORDS(a, b)
#define WGMMA JOIN(WGMMA_, MMA_N)

#include "common/work_group.clh"
#include "gemm/operation.clh"
#if ELEMENT_TYPE == TYPE_INT8
#define ELEMENT_BYTES 1
#elif ELEMENT_TYPE == TYPE_FLOAT
#define ELEMENT_BYTES 4
#else
#define ELEMENT_BYTES 2
#endif
#define TILE_K (128 / ELEMENT_BYTES)
#define A_MAJOR (!A_ALONG_K)  // the major of the tiles: nvidia/wgmma.clh
#define B_MAJOR (!B_ALONG_K)
#if A_ALONG_K
#define A_MAJOR_TEXT "0"
#else
#define A_MAJOR_TEXT "1"
#endif
#if B_ALONG_K
#define B_MAJOR_TEXT "0"
#else
#define B_MAJOR_TEXT "1"
#endif
#if ELEMENT_BYTES != 2 && (A_MAJOR || B_MAJOR || LOOSE)
#error elements of other than 2 bytes lie along k, in rows that begin at multiples of 16 bytes
#endif
#if TILE_N == 192 && B_MAJOR
#error a TILE_N of 192 needs a B along k
#endif
#define PIECE (16 / ELEMENT_BYTES)  // elements of 16 bytes
#include "nvidia/copy_async.clh"
#include "nvidia/loose.clh"
#include "nvidia/mbarrier.clh"
#include "nvidia/gemm_band.clh"
#include "nvidia/gemm_pair.clh"
#include "nvidia/gemm_rows.clh"
#include "nvidia/wgmma.clh"

// One operand as a producer sees it. A line is what is contiguous in memory; a row of a tile in local memory holds 64 of one.
typedef struct {
  global const element* from;  // the step's first element
  global const element* end;   // of the matrix
  uint along;                  // elements of a line from there on that lie in the matrix
  uint lines;                  // lines
} operand;

// Fills a tile of `WIDTH` m or n and TILE_K k. Pieces of 16 bytes are dealt out so that a warp reads whole lines; `first` and
// `next` are of the filler's own pieces: element along the line, line, and lines from one piece to the next.
//
// MAJOR 0: lines are m or n, 8 pieces of each; row `line` of the tile. MAJOR 1: lines are k, WIDTH / 8 pieces of each; blocks
// of 64 m or n, row `line` of each.
#define PIECES_ACROSS(WIDTH, MAJOR) (MAJOR ? (WIDTH) / 8 : 8)
#define FILL_ROUNDS(WIDTH) ((WIDTH) * 8 / FILLERS)
#define ACROSS_OF(WIDTH, MAJOR) \
  (MAJOR ? ((WIDTH) / 8 < 32 ? (WIDTH) / 8 : 32) : 8)  // pieces of a line that a warp has at once
#define A_ACROSS ACROSS_OF(TILE_M, A_MAJOR)
#define B_ACROSS ACROSS_OF(TILE_N, B_MAJOR)
#define A_ROUNDS FILL_ROUNDS(TILE_M)
#define B_ROUNDS FILL_ROUNDS(TILE_N)
#define FILL_LINES(WIDTH, MAJOR) (FILLERS / PIECES_ACROSS(WIDTH, MAJOR))
#define FILL_PIECE(WIDTH, MAJOR) (filler % PIECES_ACROSS(WIDTH, MAJOR))
#define FILL_LINE(WIDTH, MAJOR, round) (filler / PIECES_ACROSS(WIDTH, MAJOR) + (round) * FILL_LINES(WIDTH, MAJOR))
#define FILL_PLACE(WIDTH, MAJOR, line) \
  ((MAJOR ? FILL_PIECE(WIDTH, MAJOR) / 8 * 8192 : 0) + (line) * 128 + ((FILL_PIECE(WIDTH, MAJOR) % 8 ^ (line) % 8) * 16))

// By cp.async.
#define FILL_COPY(to, x, pitch, WIDTH, MAJOR, WHOLE)                                                             \
  {                                                                                                              \
    const uint along = FILL_PIECE(WIDTH, MAJOR) * PIECE;                                                         \
    global const element* at = x.from + (long)FILL_LINE(WIDTH, MAJOR, 0) * pitch + along;                        \
    _Pragma("unroll") for (uint i = 0; i < FILL_ROUNDS(WIDTH); ++i) {                                            \
      const uint line = FILL_LINE(WIDTH, MAJOR, i);                                                              \
      if (WHOLE) {                                                                                               \
        copy_whole_16(to + FILL_PLACE(WIDTH, MAJOR, line), at);                                                  \
      } else {                                                                                                   \
        const uint inside = line < x.lines && along < x.along ? min((x.along - along) * ELEMENT_BYTES, 16u) : 0; \
        copy_16(to + FILL_PLACE(WIDTH, MAJOR, line), inside ? at : x.from, inside);                              \
      }                                                                                                          \
      at += FILL_LINES(WIDTH, MAJOR) * pitch;                                                                    \
      KEEP_SUM(at);                                                                                              \
    }                                                                                                            \
  }
// Keeps a sum of addresses a sum: else the compiler would hold every address of a step in registers of its own.
#define KEEP_SUM(at) __asm__ volatile("" : "+l"(at))

// The operands of tile t at its first step.
#define FIND_TILE                                                                     \
  const tile_place place = place_in_bands(t, tiles_down, tiles_across);               \
  const product q = GEMM_PRODUCT(place.number);                                       \
  const ulong row = (ulong)place.down * TILE_M, col = (ulong)place.across * TILE_N;   \
  height = row < q.m ? (uint)min(q.m - row, (ulong)(2 * TILE_M)) : 0;                 \
  width = col < q.n ? (uint)min(q.n - col, (ulong)(2 * TILE_N)) : 0;                  \
  of_a.end = q.a + (A_MAJOR ? (q.k - 1) * a_pitch + q.m : (q.m - 1) * a_pitch + q.k); \
  of_b.end = q.b + (B_MAJOR ? (q.k - 1) * b_pitch + q.n : (q.n - 1) * b_pitch + q.k); \
  of_a.from = q.a + (A_MAJOR ? row : row * a_pitch);                                  \
  of_b.from = q.b + (B_MAJOR ? col : col * b_pitch);

// What of a step, `left` k before the end, lies in the matrices.
#define FIND_STEP                                                                 \
  {                                                                               \
    const uint depth = (uint)min(left, (ulong)(2 * TILE_K));                      \
    of_a.along = A_MAJOR ? height : depth, of_a.lines = A_MAJOR ? depth : height; \
    of_b.along = B_MAJOR ? width : depth, of_b.lines = B_MAJOR ? depth : width;   \
  }

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_wgmma(GEMM_ARGUMENTS) {
  local uchar tiles[STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
#if LOOSE
  local uchar raws[(TILE_M + TILE_N) * 144] __attribute__((aligned(128)));
#endif
#if THROUGH_LOCAL
  local value rows[CONSUMERS * 4 * 16 * OUT_ROW] __attribute__((aligned(16)));
#endif
  local ulong barriers[2 * STAGES];
  const uint item = get_local_id(0);
  const uint stages = local_address(tiles), full = local_address(barriers), empty = full + STAGES * 8;
  if (item == 0) {
    for (uint s = 0; s < STAGES; ++s)
      init_mbarrier(full + s * 8, FILLERS), init_mbarrier(empty + s * 8, 4 * CONSUMERS);
    fence_mbarriers();
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint tiles_down = (uint)((m + TILE_M - 1) / TILE_M), tiles_across = (uint)((n + TILE_N - 1) / TILE_N);
  const uint all_tiles = tiles_down * tiles_across * (uint)batch * (PARTS ? parts : 1);
  uint stage = 0, parity = 0;

  if (item < FILLERS) {
#if PRODUCER_REGISTERS
    FEWER_REGISTERS(PRODUCER_REGISTERS);
#endif
    const uint filler = item;
#if LOOSE
    // The copies are a step ahead of the shifts.
    const uint lane = item % 32, warp = item / 32, a_lane = lane % A_ACROSS, b_lane = lane % B_ACROSS;
    const uint ring = local_address(raws) + warp * (LOOSE_ROUND_BYTES * (A_ROUNDS + B_ROUNDS));
    const uint in_a = lane / A_ACROSS * ((A_ACROSS + 1) * 16) + a_lane * 16,
               in_b = lane / B_ACROSS * ((B_ACROSS + 1) * 16) + b_lane * 16;
    loose_operand x, y;  // of A and B
    x.line = warp + lane / A_ACROSS * 8, x.along = a_lane * 8;
    y.line = warp + lane / B_ACROSS * 8, y.along = b_lane * 8;
    const uint to_a = (A_MAJOR ? a_lane / 8 * 8192 : 0) + x.line * 128,
               to_b = A_BYTES + (B_MAJOR ? b_lane / 8 * 8192 : 0) + y.line * 128;
    const ulong a_bytes = a_pitch * 2, b_bytes = b_pitch * 2;
    uint t = get_group_id(0) - get_num_groups(0), height = 0, width = 0;
    ulong left = 0;  // k from the step on that is copied
    operand of_a, of_b;
    for (uint class = 0; class < CLASSES; ++class) {
      x.at[class] = x.after[class] = y.at[class] = y.after[class] = 0;
      x.shift[class] = y.shift[class] = 0;
    }
    of_a.from = a, of_b.from = b;
    of_a.along = of_a.lines = of_b.along = of_b.lines = 0;
    x.end = y.end = 0;
    int is_filled;
    do {
      loose_operand was_x = x, was_y = y;
      const int was_deep = left >= TILE_K;
      was_x.ends = of_a.along, was_x.lines = of_a.lines;
      was_y.ends = of_b.along, was_y.lines = of_b.lines;
      is_filled = left > 0;
      left -= min(left, (ulong)TILE_K);
#pragma unroll
      for (uint class = 0; class < CLASSES; ++class) {
        x.at[class] += A_MAJOR ? TILE_K * a_bytes : TILE_K * 2;
        y.at[class] += B_MAJOR ? TILE_K * b_bytes : TILE_K * 2;
        x.after[class] += A_MAJOR ? TILE_K * a_bytes : TILE_K * 2;
        y.after[class] += B_MAJOR ? TILE_K * b_bytes : TILE_K * 2;
      }
      of_a.from += A_MAJOR ? TILE_K * a_pitch : TILE_K;
      of_b.from += B_MAJOR ? TILE_K * b_pitch : TILE_K;
      while (left == 0 && (int)(all_tiles - t) > (int)get_num_groups(0)) {  // on to the next tile
        t += get_num_groups(0);
        FIND_TILE
        left = q.k;
        x.end = (ulong)of_a.end, y.end = (ulong)of_b.end;
#pragma unroll
        for (uint class = 0; class < CLASSES; ++class) {
          const ulong a_at = (ulong)(of_a.from + x.along) + (x.line + class * 4) * a_bytes;
          const ulong b_at = (ulong)(of_b.from + y.along) + (y.line + class * 4) * b_bytes;
          x.at[class] = a_at & ~15ul, x.shift[class] = (uint)a_at % 16;
          y.at[class] = b_at & ~15ul, y.shift[class] = (uint)b_at % 16;
          x.after[class] = ((ulong)of_a.from + (warp + class * 4 + lane * 8) * a_bytes & ~15ul) + A_ACROSS * 16;
          y.after[class] = ((ulong)of_b.from + (warp + class * 4 + lane * 8) * b_bytes & ~15ul) + B_ACROSS * 16;
        }
      }
      FIND_STEP
      const int deep = left >= TILE_K;
      const int whole_a =
          deep && of_a.from + (A_MAJOR ? (TILE_K - 1) * a_pitch + TILE_M : (TILE_M - 1) * a_pitch + TILE_K) + 16 <= of_a.end;
      const int whole_b =
          deep && of_b.from + (B_MAJOR ? (TILE_K - 1) * b_pitch + TILE_N : (TILE_N - 1) * b_pitch + TILE_K) + 16 <= of_b.end;
      x.lines = of_a.lines, y.lines = of_b.lines;
      const uint to = stages + stage * STAGE_BYTES;
      if (is_filled) wait_phase(empty + stage * 8, parity ^ 1);
#pragma unroll
      for (uint i = 0; i < A_ROUNDS + B_ROUNDS; i += LOOSE_BATCH) {
        const int is_a = i < A_ROUNDS;
        const uint each = (is_a ? A_ROUNDS : B_ROUNDS) / CLASSES, class = (is_a ? i : i - A_ROUNDS) / each,
                   first = (is_a ? i : i - A_ROUNDS) % each;
        const uint raw = ring + i * LOOSE_ROUND_BYTES;
        if (is_filled) {
          WAIT_COPIES((A_ROUNDS + B_ROUNDS) / LOOSE_BATCH - 1);
          sync_warp();
          // Lines of a class have the same remainder by 8, and so the same swizzle.
          const uint swizzled = ((is_a ? a_lane : b_lane) % 8 ^ (warp + class * 4)) * 16;
          const uint apart = 1024 * (32 / (is_a ? A_ACROSS : B_ACROSS));
          shift_loose(to + (is_a ? to_a : to_b) + class * 512 + first * apart + swizzled, apart, raw + (is_a ? in_a : in_b),
                      is_a ? &was_x : &was_y, class, first, is_a ? A_ACROSS : B_ACROSS, was_deep);
          sync_warp();
        }
        if (left > 0)
          copy_loose(raw, is_a ? &x : &y, class, first, is_a ? A_ACROSS : B_ACROSS, is_a ? a_bytes : b_bytes,
                     is_a ? whole_a : whole_b, lane);
        end_copies();
      }
      if (is_filled) {
        fence_async();
        arrive(full + stage * 8);
        if (++stage == STAGES) stage = 0, parity ^= 1;
      }
    } while (left > 0);
#else
    uint untold = 0, told = 0;  // stages that are filled but not known to be, and the first of them
    for (uint t = get_group_id(0); t < all_tiles; t += get_num_groups(0)) {
      operand of_a, of_b;
      uint height, width;
      FIND_TILE
      for (ulong left = q.k; left > 0; left -= min(left, (ulong)TILE_K)) {
        FIND_STEP
        const int whole = height >= TILE_M && width >= TILE_N && left >= TILE_K;
        const uint to = stages + stage * STAGE_BYTES;
        wait_phase(empty + stage * 8, parity ^ 1);
        if (whole) {
          FILL_COPY(to, of_a, a_pitch, TILE_M, A_MAJOR, 1)
          FILL_COPY((to + A_BYTES), of_b, b_pitch, TILE_N, B_MAJOR, 1)
        } else {
          FILL_COPY(to, of_a, a_pitch, TILE_M, A_MAJOR, 0)
          FILL_COPY((to + A_BYTES), of_b, b_pitch, TILE_N, B_MAJOR, 0)
        }
        end_copies();
        of_a.from += A_MAJOR ? TILE_K * a_pitch : TILE_K;
        of_b.from += B_MAJOR ? TILE_K * b_pitch : TILE_K;
        if (untold == LAG) {
          WAIT_COPIES(LAG);
          fence_async();
          arrive(full + told * 8);
          told = told + 1 == STAGES ? 0 : told + 1;
        } else {
          ++untold;
        }
        if (++stage == STAGES) stage = 0, parity ^= 1;
      }
    }
    WAIT_COPIES(0);
    fence_async();
    for (uint s = 0; s < untold; ++s) {
      arrive(full + told * 8);
      told = told + 1 == STAGES ? 0 : told + 1;
    }
#endif
  } else {
#if CONSUMER_REGISTERS
    MORE_REGISTERS(CONSUMER_REGISTERS);
#endif
    const uint consumer = (item - FILLERS) / 128, lane = item % 32, warp = item / 32 % 4;
    for (uint t = get_group_id(0); t < all_tiles; t += get_num_groups(0)) {
      const tile_place place = place_in_bands(t, tiles_down, tiles_across);
      const product q = GEMM_PRODUCT(place.number);
      const uint steps = (uint)((q.k + TILE_K - 1) / TILE_K);
      value sum[TILE_N / MMA_N][MMA_N / 2];
#pragma unroll
      for (uint i = 0; i < TILE_N / 2; ++i)
        sum[i / (MMA_N / 2)][i % (MMA_N / 2)] = 0;
      uint last = 0;
      for (uint step = 0; step < steps; ++step) {
        // Of A: 64 rows, or a block of 64 m, 8192 bytes either way. Of B: blocks of 64 n.
        const uint at = stages + stage * STAGE_BYTES;
        const ulong of_a = tile_descriptor(at + consumer * 8192, 8192, 1024),
                    of_b = tile_descriptor(at + A_BYTES, 8192, 1024);
        wait_phase(full + stage * 8, parity);
        begin_wgmma();
#pragma unroll
        for (uint x = 0; x < 4; ++x)  // 32 bytes of every row, or 16 rows
#pragma unroll
          for (uint y = 0; y < TILE_N / MMA_N; ++y)
            WGMMA(sum[y], of_a + x * (A_MAJOR ? 2048 / 16 : 32 / 16),
                  of_b + (x * (B_MAJOR ? 2048 / 16 : 32 / 16) + y * (MMA_N * 8)), A_MAJOR_TEXT, B_MAJOR_TEXT);
        end_wgmma();
        WAIT_WGMMA(1);
        if (step > 0 && lane == 0) arrive(empty + last * 8);  // the step before is done
        last = stage;
        if (++stage == STAGES) stage = 0, parity ^= 1;
      }
      WAIT_WGMMA(0);
      if (steps > 0 && lane == 0) arrive(empty + last * 8);

      const destination d = GEMM_DESTINATION(place.number);
      const ulong row = (ulong)place.down * TILE_M + consumer * 64 + warp * 16, col = (ulong)place.across * TILE_N;
#if !THROUGH_LOCAL
#pragma unroll
      for (uint h = 0; h < 2; ++h)
        if (row + lane / 4 + h * 8 < q.m)
#pragma unroll
          for (uint j = 0; j < TILE_N / 8; ++j)
            write_pair(&d, row + lane / 4 + h * 8, col + lane % 4 * 2 + j * 8, q.n,
                       sum[j * 8 / MMA_N][j * 4 % (MMA_N / 2) + h * 2], sum[j * 8 / MMA_N][j * 4 % (MMA_N / 2) + h * 2 + 1]);
#else
      // By way of local memory, 32 columns at once, so that a warp writes 32 neighbours of a row.
      local value* const mine = rows + (consumer * 4 + warp) * (16 * OUT_ROW);
#pragma unroll
      for (uint x = 0; x < TILE_N; x += 32) {
#pragma unroll
        for (uint j = x / 8; j < x / 8 + 4; ++j)
#pragma unroll
          for (uint h = 0; h < 2; ++h)
            *(local value2*)(mine + (lane / 4 + h * 8) * OUT_ROW + (j * 8 - x) + lane % 4 * 2) =
                (value2)(sum[j * 8 / MMA_N][j * 4 % (MMA_N / 2) + h * 2],
                             sum[j * 8 / MMA_N][j * 4 % (MMA_N / 2) + h * 2 + 1]);
#if EPILOGUE
        write_rows(&d, mine, OUT_ROW, 16, 32, row, 1, q.m, col + x, q.n, lane);
#else
        sync_warp();
        if (col + x + lane < q.n)
#pragma unroll
          for (uint r = 0; r < 16; ++r)
            if (row + r < q.m) write_sum(&d, row + r, col + x + lane, mine[r * OUT_ROW + lane]);
        sync_warp();
#endif
      }
#endif
    }
  }
}
