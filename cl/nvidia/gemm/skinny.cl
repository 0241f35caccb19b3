// GEMM of a thin and a wide factor, of half or bfloat16, by the matrix units of sm_80 and later: A has at most 16 rows, or B at most 16
// columns. C = alpha A B + beta C. The wide factor is as many bytes as there are two operations for each result's row: the kernel reads
// it once, at the speed of memory.
//
// It goes from memory to registers, in pieces of 16 bytes, and is multiplied there: no tile in local memory. A group computes 16 rows
// by 64 columns; its warps take every WARPS-th step of 64 k, and add their sums in local memory. Which k, and which columns, the slots
// of an instruction stand for is free, as long as both operands agree:
//   wide factor across k: a lane has 8 columns of 4 k. Column g of instruction j is column 8 g + j, and slots 2 t, 2 t + 1, 2 t + 8,
//   2 t + 9 are k 4 t to 4 t + 3. Two words of two k are exchanged by halves.
//   along k: a lane has 8 k of a column, 4 for each of two instructions. Column g of instruction j is column 8 j + g.
//
// Launch: GROUP work-items a group, one group for each 64 columns of each product, or of each split. Local memory: WARPS * 16 *
// OUT_ROW * 4 bytes, and a word with PARTS.
#ifndef WARPS
#define WARPS 8  // of a group: 2, 4, 8
#endif
#ifndef WIDE_IS_B
#define WIDE_IS_B 1  // 0: B is thin, and C is computed transposed
#endif
#ifndef THIN_VECTOR
#define THIN_VECTOR 1  // elements of a load along k: 4 if the thin factor's rows begin at multiples of 8 bytes, else 1
#endif
#define GROUP (32 * WARPS)
#define COLUMNS 64
#define STEP 64
#define OUT_ROW (COLUMNS + 4)

#define STORES_PARTS 0
#include "common/work_group.clh"
#include "gemm/operation.clh"
#if PARTS
#include "nvidia/gemm_join.clh"
#endif
#include "nvidia/mma.clh"

#define WIDE_ALONG_K (WIDE_IS_B ? B_ALONG_K : A_ALONG_K)
#define THIN_ALONG_K (WIDE_IS_B ? A_ALONG_K : B_ALONG_K)

// A factor from its first k on.
typedef struct {
  global const element* from;
  ulong pitch;
  ulong k;       // that there are
  ulong inside;  // rows or columns that there are
} factor;

// Two elements as a word.
static inline uint word_of(uint low, uint high) { return low | high << 16; }

// Four k from k on of row `row` of the thin factor; zeros outside of it.
static inline uint2 load_thin(const factor* x, ulong row, ulong k) {
  if (row >= x->inside || k >= x->k) return 0;
#if THIN_ALONG_K && THIN_VECTOR == 4
  if (k + 4 <= x->k) return *(global const uint2*)(x->from + row * x->pitch + k);
#endif
  uint e[4];
#pragma unroll
  for (uint i = 0; i < 4; ++i)
    e[i] = k + i < x->k ? x->from[THIN_ALONG_K ? row * x->pitch + k + i : (k + i) * x->pitch + row] : 0;
  return (uint2)(word_of(e[0], e[1]), word_of(e[2], e[3]));
}

// Eight elements of a line of the wide factor, from `at` on, of which `count` are there; zeros for others.
static inline uint4 load_piece(global const element* at, ulong count) {
  if (count >= 8) return *(global const uint4*)at;
  uint e[8];
#pragma unroll
  for (uint i = 0; i < 8; ++i) e[i] = i < count ? at[i] : 0;
  return (uint4)(word_of(e[0], e[1]), word_of(e[2], e[3]), word_of(e[4], e[5]), word_of(e[6], e[7]));
}
// The wide factor is read once: its lines are not kept in the first cache, and the second one fetches twice as many bytes.
static inline uint4 load_streamed(global const element* at) {
#if EMULATED
  return *(global const uint4*)at;
#else
  uint4 x;
  __asm__ volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                   : "l"(at));
  return x;
#endif
}
static inline ulong left_of(ulong all, ulong from) { return from < all ? all - from : 0; }

// The first k of four that lane % 4 has of sub-step s.
static inline uint first_k(uint s, uint lane) {
  return WIDE_ALONG_K ? s / 2 * 32 + lane % 4 * 8 + s % 2 * 4 : s * 16 + lane % 4 * 4;
}

// Adds the products of a step of 64 k.
GROUP_FUNCTION void add_step(value sum[8][4], const factor* thin, const factor* wide, ulong k, uint lane MMA_SCRATCH_PARAMETER) {
  uint4 raw[16];
#if !WIDE_ALONG_K
  uint2 uppers[4], lowers[4];  // before the wide factor; along k they take registers that its loads need
#pragma unroll
  for (uint s = 0; s < 4; ++s) {
    uppers[s] = load_thin(thin, lane / 4, k + first_k(s, lane));
    lowers[s] = load_thin(thin, lane / 4 + 8, k + first_k(s, lane));
  }
#endif
  const int whole = k + STEP <= wide->k && COLUMNS <= wide->inside;  // uniform in the warp
#pragma unroll
  for (uint i = 0; i < 16; ++i) {
    const ulong column = WIDE_ALONG_K ? i / 2 * 8 + lane / 4 : lane / 4 * 8;
    const ulong at = WIDE_ALONG_K ? k + i % 2 * 32 + lane % 4 * 8 : k + i / 4 * 16 + lane % 4 * 4 + i % 4;
    global const element* from = wide->from + (WIDE_ALONG_K ? column * wide->pitch + at : at * wide->pitch + column);
    if (whole)
      raw[i] = load_streamed(from);
    else if (WIDE_ALONG_K)
      raw[i] = load_piece(from, column < wide->inside ? left_of(wide->k, at) : 0);
    else
      raw[i] = load_piece(from, at < wide->k ? left_of(wide->inside, column) : 0);
  }
  UNROLL_UNITS
  for (uint s = 0; s < 4; ++s) {
#if WIDE_ALONG_K
    const ulong at = k + first_k(s, lane);
    const uint2 upper = load_thin(thin, lane / 4, at), lower = load_thin(thin, lane / 4 + 8, at);
#else
    const uint2 upper = uppers[s], lower = lowers[s];
#endif
    const uint left[4] = {upper.x, lower.x, upper.y, lower.y};
    UNROLL_UNITS
    for (uint j = 0; j < 8; ++j) {
      uint right[2];
      if (WIDE_ALONG_K) {
        const uint4 x = raw[j * 2 + s / 2];
        right[0] = s % 2 ? x.z : x.x;
        right[1] = s % 2 ? x.w : x.y;
      } else {
#pragma unroll
        for (uint h = 0; h < 2; ++h) {
          const uint4 x = raw[s * 4 + h * 2], y = raw[s * 4 + h * 2 + 1];
          const uint low = j / 2 == 0 ? x.x : j / 2 == 1 ? x.y : j / 2 == 2 ? x.z : x.w;
          const uint high = j / 2 == 0 ? y.x : j / 2 == 1 ? y.y : j / 2 == 2 ? y.z : y.w;
          right[h] = j % 2 ? low >> 16 | (high & 0xffff0000u) : (low & 0xffffu) | high << 16;
        }
      }
      MULTIPLY_ADD(sum[j], left, right);
    }
  }
}

// The column of the group that element i of lane l's sums by instruction j is.
static inline uint column_of(uint lane, uint j, uint i) {
  return WIDE_ALONG_K ? j * 8 + lane % 4 * 2 + i : (lane % 4 * 2 + i) * 8 + j;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_skinny(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local value sums[WARPS * 16 * OUT_ROW] __attribute__((aligned(16)));
  MMA_SCRATCH
#if PARTS
  local uint is_last;
#endif
  const uint item = get_local_id(0), lane = item % 32, warp = item / 32;
  const uint each = (uint)(((WIDE_IS_B ? g.n : g.m) + COLUMNS - 1) / COLUMNS);
  const uint number = (uint)get_group_id(0) / each, tile = (uint)get_group_id(0) % each;
  const product q = product_of(&g, number);
  const ulong col = (ulong)tile * COLUMNS;
  factor thin, wide;
  thin.k = wide.k = q.k;
  thin.from = WIDE_IS_B ? q.a : q.b;
  wide.from = WIDE_IS_B ? q.b : q.a;
  thin.pitch = WIDE_IS_B ? g.a_pitch : g.b_pitch;
  wide.pitch = WIDE_IS_B ? g.b_pitch : g.a_pitch;
  thin.inside = WIDE_IS_B ? q.m : q.n;
  wide.inside = left_of(WIDE_IS_B ? q.n : q.m, col);
  wide.from += WIDE_ALONG_K ? col * wide.pitch : col;

  value sum[8][4];
#pragma unroll
  for (uint j = 0; j < 32; ++j) sum[j / 4][j % 4] = 0;
  // All warps take as many turns; what is beyond the last k are zeros.
#pragma unroll 1
  for (ulong k = 0; k < q.k; k += WARPS * STEP)
    add_step(sum, &thin, &wide, k + warp * STEP, lane MMA_SCRATCH_ARGUMENT);

#pragma unroll
  for (uint j = 0; j < 8; ++j)
#pragma unroll
    for (uint i = 0; i < 4; ++i)
      sums[(warp * 16 + lane / 4 + i / 2 * 8) * OUT_ROW + column_of(lane, j, i % 2)] = sum[j][i];
  barrier(CLK_LOCAL_MEM_FENCE);
  // A work-item adds the sums of all warps for some results: four neighbours at a time.
  value mine[1024 / GROUP];
#pragma unroll
  for (uint i = 0; i < 1024 / GROUP; ++i) {
    const uint place = i / 4 * (4 * GROUP) + item * 4 + i % 4;
    mine[i] = 0;
    for (uint w = 0; w < WARPS; ++w) mine[i] += sums[(w * 16 + place / COLUMNS) * OUT_ROW + place % COLUMNS];
  }
#if PARTS
  const tile_parts all = parts_of_group(&g, number, each, 1024);
  if (!join_parts(mine, 1024 / GROUP, partials, all, counters + number / g.parts * each + tile, GROUP, item, 0, &is_last)) return;
#endif
  const destination d = destination_of(&g, number);
#pragma unroll
  for (uint i = 0; i < 1024 / GROUP; ++i) {
    const uint place = i / 4 * (4 * GROUP) + item * 4 + i % 4;
    const ulong row = place / COLUMNS, column = place % COLUMNS;
    if (row < thin.inside && column < wide.inside)
      write_sum(&d, WIDE_IS_B ? row : col + column, WIDE_IS_B ? col + column : row, mine[i]);
  }
}
