// Matrix product of few rows or columns for a CPU, C = alpha op(A) op(B) + beta C, of which the other factor lies along k. Each result is a
// dot product. A line of the other factor is read once, where it lies: gemm/cpu.cl would transpose it, for few uses.
//
// A work-group is one work-item, which is one thread. Local memory holds DEPTH k of the few lines, and the sums.
//
// Launch: local size 1; groups (x, 1, z): share x of the long lines, LONG at most, and share z of the batch.
#include "common/loose.clh"
#include "common/work_group.clh"
#include "gemm/operation.clh"

#ifndef LANES
#define LANES 8  // values of a vector register: 2, 4, 8, 16
#endif
#ifndef FEW_OF_A
#define FEW_OF_A 1  // 1: the few lines are rows of A, and the others columns of B; 0: the reverse
#endif
#ifndef FEW
#define FEW 4  // of these lines: 1 to 4
#endif
#ifndef DEPTH
#define DEPTH 2048  // k in local memory, a multiple of LANES
#endif
#ifndef LONG
#define LONG 512  // long lines of a group, at most
#endif
#define AT_ONCE 4  // long lines that are read at once
#define UNROLLED _Pragma("unroll")
#define ROLLED _Pragma("nounroll")

#if ELEMENT_TYPE == TYPE_DOUBLE
#define VALUE double
#define ELEMENT double
#else
#define VALUE float
#define ELEMENT float
#endif
typedef JOIN(VALUE, LANES) vector;
typedef struct __attribute__((packed)) { vector v; } loose_vector;
#include "gemm/quads.clh"

static inline value sum_of(vector v) {
#if LANES == 16
  const JOIN(VALUE, 8) x = v.lo + v.hi;
#elif LANES == 8
  const vector x = v;
#endif
#if LANES >= 8
  const JOIN(VALUE, 4) y = x.lo + x.hi;
#elif LANES == 4
  const vector y = v;
#endif
#if LANES >= 4
  const JOIN(VALUE, 2) z = y.lo + y.hi;
  return z.x + z.y;
#else
  return v.x + v.y;
#endif
}

// Adds the products of `k` of AT_ONCE lines with FEW others to `sums`, a row of FEW for each line; the first ones begin them.
GROUP_FUNCTION void multiply_lines(local value* sums, global const element* const lines[AT_ONCE], local const value* few, uint k, uint count,
                                   const bool is_first) {
  vector acc[AT_ONCE][FEW];
  UNROLLED
  for (uint i = 0; i < AT_ONCE; ++i)
    UNROLLED
    for (uint s = 0; s < FEW; ++s) acc[i][s] = 0;
  const uint whole = k / LANES * LANES;
  ROLLED
  for (uint p = 0; p < whole; p += LANES) {
    vector left[FEW];
    UNROLLED
    for (uint s = 0; s < FEW; ++s) left[s] = ((local const loose_vector*)(few + s * DEPTH + p))->v;
    UNROLLED
    for (uint i = 0; i < AT_ONCE; ++i) {
      const vector right = LOADED(LANES, lines[i] + p);
      UNROLLED
      for (uint s = 0; s < FEW; ++s) acc[i][s] = fma(left[s], right, acc[i][s]);
    }
  }
  UNROLLED
  for (uint i = 0; i < AT_ONCE; ++i) {
    if (i < count)
      UNROLLED
      for (uint s = 0; s < FEW; ++s) {
        value sum = sum_of(acc[i][s]);
        ROLLED
        for (uint p = whole; p < k; ++p) sum = fma(few[s * DEPTH + p], load_element(lines[i] + p), sum);
        local value* const to = sums + i * FEW + s;
        *to = is_first ? sum : *to + sum;
      }
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void gemm_dots(GEMM_ARGUMENTS) {
  const gemm_arguments g = GEMM_ALL_ARGUMENTS;
  local value few[FEW * DEPTH] __attribute__((aligned(64)));
  local value sums[LONG * FEW] __attribute__((aligned(64)));
  const ulong all = FEW_OF_A ? g.n : g.m, share = (all + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong begin = get_group_id(0) * share, products = (g.batch + get_num_groups(2) - 1) / get_num_groups(2);
  if (begin >= all) return;  // no barrier follows
  const uint count = (uint)min(share, all - begin);
  const ulong pitch = FEW_OF_A ? g.b_pitch : g.a_pitch;
  const ulong few_pitch = FEW_OF_A ? (A_ALONG_K ? g.a_pitch : 1) : B_ALONG_K ? g.b_pitch : 1;
  const ulong few_step = FEW_OF_A ? (A_ALONG_K ? 1 : g.a_pitch) : B_ALONG_K ? 1 : g.b_pitch;
  for (ulong number = get_group_id(2) * products; number < min((get_group_id(2) + 1) * products, g.batch); ++number) {
    const product q = product_of(&g, number);
    if (q.m == 0) continue;
    global const element *const of_few = FEW_OF_A ? q.a : q.b, *const from = (FEW_OF_A ? q.b : q.a) + begin * pitch;
    for (ulong first = 0; first < q.k; first += DEPTH) {
      const uint k = (uint)min((ulong)DEPTH, q.k - first);
      ROLLED
      for (uint s = 0; s < FEW; ++s)
        for (uint p = 0; p < k; ++p) few[s * DEPTH + p] = load_element(of_few + s * few_pitch + (first + p) * few_step);
      for (uint line = 0; line < count; line += AT_ONCE) {
        global const element* lines[AT_ONCE];
        UNROLLED
        for (uint i = 0; i < AT_ONCE; ++i) lines[i] = from + min(line + i, count - 1) * pitch + first;
        multiply_lines(sums + line * FEW, lines, few, k, count - line, first == 0);
      }
    }
    const destination d = destination_of(&g, number);
    for (uint line = 0; line < count; ++line)
      for (uint s = 0; s < FEW; ++s)
        write_sum(&d, FEW_OF_A ? s : begin + line, FEW_OF_A ? begin + line : s, sums[line * FEW + s]);
  }
}
