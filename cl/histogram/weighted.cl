// Weighted histogram: the sum of the weights of each bin's elements, in fixed point (histogram/weighted.clh).
//
// SUMS is the place of the sums. 0: global memory, by atomic additions. 1: a table in local memory, by atomic additions; at the end
// each work-group adds its table to global memory. 2: a private table for each part in global memory, for CPUs, whose work-groups
// are one work-item.
//
// Launch: one dimension, GROUP work-items a group; group g has jobs g, g + groups, ...; a job is one of `parts` of a matrix: every
// parts-th GROUP elements of it, or with SUMS 2 a chunk. `sums` and `marks` are zero before the launch; entry e of matrix m is
// words 2 (m * bins + e) and the one after (of part p with SUMS 2: m * parts + p instead of m). Local memory: SUMS 1, two words
// for each of TABLE entries.
#include "histogram/bin.clh"
#include "histogram/weighted.clh"

#ifndef GROUP
#define GROUP 256  // work-items
#endif
#ifndef SUMS
#define SUMS 1  // see above
#endif
#ifndef LOADS
#define LOADS 4  // of a work-item that are under way at once
#endif
#ifndef TABLE
#define TABLE 1024  // entries: at least as many as there are bins
#endif

DEFINE_ADD_WIDE(add_global, global)
DEFINE_ADD_WIDE(add_local, local)

#if SUMS == 2
#define BLOCK 64  // elements that are read at once
DEFINE_LOAD_RUN(load_values, private, VALUE)
#if WEIGHT_HALF
DEFINE_LOAD_HALVES(load_weights, private, float)
#else
static inline void load_weights(weight_value* w, global const WEIGHT* p, const uint count) {
  for (uint k = 0; k < count; ++k) w[k] = (weight_value)p[k];
}
#endif
#endif

// A weight as it is summed. `mark` is set where it is not finite.
static inline ulong sum_of_weight(weight_value w, int scale, global uint* mark) {
#if WEIGHT_FLOATING
  if (exponent_of(w) < NOT_FINITE) return fixed_point(w, scale);
  atomic_or(mark, 1u);
  return 0;
#else
  (void)scale, (void)mark;
  return (ulong)w;
#endif
}

#if SUMS == 2
#if WEIGHT_FLOATING && defined(cl_khr_fp64)
#define IN_DOUBLE 1
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#include "common/convert.clh"
// As fixed_point() makes them. Products by powers of two are exact in double, but for those that round to 0: in two steps, since 2^scale may
// overflow. ldexp() and rint() are scalar in PoCL 3.1, so numbers below 2^52 are rounded by an addition; others are integers already.
static inline void to_fixed(ulong* sum, const weight_value* w, int scale) {
  const double first = as_double((ulong)(1023 + scale / 2) << 52), second = as_double((ulong)(1023 + scale - scale / 2) << 52);
  for (uint k = 0; k < BLOCK; k += 8) {
    const double8 v = CONVERT(double8, vload8(0, w + k)) * first * second, size = fabs(v);
    const long8 whole = CONVERT(long8, size < 0x1p52 ? size + 0x1p52 - 0x1p52 : size);
    vstore8(as_ulong8(v < 0 ? -whole : whole), 0, sum + k);
  }
}
#else
#define IN_DOUBLE 0
#endif

// Adds weights to their bins, one by one.
static inline void add_weights(global ulong* restrict table, const VALUE* x, const weight_value* w, uint count, bin_rule rule, int scale,
                               global uint* marks) {
  for (uint k = 0; k < count; ++k) {
    const uint bin = bin_of(x[k], rule);
    if (bin != NO_BIN) table[bin] += sum_of_weight(w[k], scale, marks + bin);
  }
}

// The same of BLOCK weights in vectors, but for the additions to the table.
static inline void add_block(global ulong* restrict table, const VALUE* x, const weight_value* w, bin_rule rule, int scale, global uint* marks) {
  uint entry[BLOCK];
  ulong sum[BLOCK];
#if WEIGHT_FLOATING
  uint most = 0;
  for (uint k = 0; k < BLOCK; ++k) most = max(most, exponent_of(w[k]));
  if (most == NOT_FINITE) {
    add_weights(table, x, w, BLOCK, rule, scale, marks);
    return;
  }
#if IN_DOUBLE
  to_fixed(sum, w, scale);
#else
  for (uint k = 0; k < BLOCK; ++k) sum[k] = fixed_point(w[k], scale);
#endif
#else
  (void)scale, (void)marks;
  for (uint k = 0; k < BLOCK; ++k) sum[k] = (ulong)w[k];
#endif
  for (uint k = 0; k < BLOCK; ++k) {
    const uint bin = bin_of(x[k], rule);
    entry[k] = bin == NO_BIN ? 0 : bin;
    sum[k] = bin == NO_BIN ? 0 : sum[k];
  }
  for (uint k = 0; k < BLOCK; ++k) table[entry[k]] += sum[k];
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void histogram_weighted(global const ELEMENT* restrict in, ulong in_offset, ulong in_pitch, ulong in_stride,
                        global const WEIGHT* restrict weights, ulong weights_offset, ulong weights_pitch, ulong weights_stride,
                        ulong rows, ulong cols, ulong batch, ulong parts, BIN_ARGUMENTS, global const uint* greatest, uint room,
                        global uint* marks, global uint* sums) {
#if SUMS == 1
  local uint low_words[TABLE], high_words[TABLE];
#endif
  const uint item = get_local_id(0);
  const bin_rule rule = make_rule(edges, edges_offset, low_bits, high_bits, scale_bits, shift, bins, below, above);
#if WEIGHT_FLOATING
  const int scale = scale_for(*greatest, room);
#else
  const int scale = 0;
  (void)greatest, (void)room;
#endif
  for (ulong job = get_group_id(0); job < batch * parts; job += get_num_groups(0)) {
    const ulong matrix = job / parts, part = job % parts, count = rows * cols;
#if SUMS == 2
    const ulong piece = (count + parts - 1) / parts, end = min((part + 1) * piece, count);
    global const ELEMENT* from = in + in_offset + matrix * in_stride;
    global const WEIGHT* from_weights = weights + weights_offset + matrix * weights_stride;
    global ulong* table = (global ulong*)sums + job * bins;
    for (ulong i = part * piece; i < end;) {
      const ulong row = i / cols, col = i - row * cols;
      const uint here = (uint)min(min(end - i, cols - col), (ulong)BLOCK);
      VALUE x[BLOCK];
      weight_value w[BLOCK];
      load_values(x, from, row * in_pitch + col, here);
      load_weights(w, from_weights + row * weights_pitch + col, here);
      if (here == BLOCK) {
        add_block(table, x, w, rule, scale, marks + matrix * bins);
      } else {
        add_weights(table, x, w, here, rule, scale, marks + matrix * bins);
      }
      i += here;
    }
    (void)item;
#else
    const ulong first = part * GROUP + item, end = count, step = parts * GROUP;
    global uint* table = sums + 2 * matrix * bins;
#if SUMS == 1
    for (uint e = item; e < bins; e += GROUP) low_words[e] = high_words[e] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    // Element i is column `col` of row `row`, without a division for each element.
    const ulong step_rows = step / cols, step_cols = step - step_rows * cols;
    ulong row = first / cols, col = first - row * cols;
    global const ELEMENT* from = in + in_offset + matrix * in_stride;
    const ulong from_weights = weights_offset + matrix * weights_stride;
    for (ulong i = first; i < end; i += LOADS * step) {
      VALUE x[LOADS];
      weight_value w[LOADS];
#pragma unroll
      for (uint u = 0; u < LOADS; ++u) {
        const bool is_there = u == 0 || i + u * step < end;
        x[u] = is_there ? load_value(from, row * in_pitch + col) : 0;
        w[u] = is_there ? load_weight(weights, from_weights + row * weights_pitch + col) : 0;
        row += step_rows;
        col += step_cols;
        if (col >= cols) col -= cols, ++row;
      }
#pragma unroll
      for (uint u = 0; u < LOADS; ++u) {
        const uint bin = u == 0 || i + u * step < end ? bin_of(x[u], rule) : NO_BIN;
        if (bin == NO_BIN) continue;
        const ulong v = sum_of_weight(w[u], scale, marks + matrix * bins + bin);
#if SUMS == 0
        add_global(table + 2 * bin, table + 2 * bin + 1, v);
#else
        add_local(low_words + bin, high_words + bin, v);
#endif
      }
    }
#endif
#if SUMS == 1
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint e = item; e < bins; e += GROUP) {
      const ulong v = (ulong)high_words[e] << 32 | low_words[e];
      if (v != 0) add_global(table + 2 * e, table + 2 * e + 1, v);
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // before the table is overwritten
#endif
  }
#if !WEIGHT_FLOATING
  (void)marks;
#endif
}
