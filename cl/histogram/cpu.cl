// Histogram for a CPU: every thread has private tables.
//
// A work-group is one work-item, which is one thread. Neighbouring elements are counted in different ones of TABLES tables, because
// an increment of a word waits for the last store to it. Entries are computed BLOCK elements ahead, in loops that compilers
// vectorise, and read two at a time. Elements without a bin are counted in a last entry that is not read. A second launch adds the tables
// (histogram/finish.cl).
//
// Launch: one dimension, local size 1; group g has jobs g, g + groups, ...; job m * parts + p is part p of matrix m. `out`
// has for each job TABLES tables of table_words(bins * CHANNELS) words.
#include "histogram/bin.clh"
#include "histogram/thread_tables.clh"
#include "common/vector_loop.clh"
#include "common/read_ahead.clh"

#ifndef TABLES
#define TABLES 4  // of a thread
#endif
#ifndef ELEMENT_BYTES
#define ELEMENT_BYTES 4
#endif
#define BLOCK (64 / CHANNELS * CHANNELS)  // elements

#if ELEMENT_HALF || RULE == RULE_EDGES
DEFINE_LOAD_RUN(load_values, private, VALUE)
#endif

#if RULE == RULE_EDGES
// The bins of a block. Its binary searches go on together, each with as many bins left, so that no load waits for that of another element.
static inline void search_edges(uint bin[BLOCK], const VALUE x[BLOCK], bin_rule rule) {
  VECTOR_LOOP
  for (uint k = 0; k < BLOCK; ++k) bin[k] = 0;
  for (uint left = rule.bins; left > 1;) {
    const uint half_of = left / 2;
    VECTOR_LOOP
    for (uint k = 0; k < BLOCK; ++k) bin[k] += load_value(rule.edges, bin[k] + half_of) <= x[k] ? half_of : 0;
    left -= half_of;
  }
  const VALUE low = load_value(rule.edges, 0), high = load_value(rule.edges, rule.bins);
  VECTOR_LOOP
  for (uint k = 0; k < BLOCK; ++k) {
    uint b = x[k] < low ? rule.below : bin[k];
    b = x[k] >= high ? rule.above : b;
    bin[k] = x[k] != x[k] ? NO_BIN : b;
  }
}
#endif

// Counts elements [begin, end) of a row; `begin` is of channel 0. Not inlined: PoCL copies a kernel's body three times.
__attribute__((noinline)) void count_run(global const ELEMENT* restrict row, ulong begin, ulong end, global uint* restrict tables,
                                         bin_rule rule) {
  const uint entries = rule.bins * CHANNELS;
  const ulong size = table_words(entries);
  ulong i = begin;
#if RULE == RULE_WHOLE && ELEMENT_BYTES == 1 && CHANNELS == 1 && TABLES == 4
  // Bytes are loaded one at a time: to extract them from words takes longer. Signed ones become unsigned, in order.
  global const uchar* restrict bytes = (global const uchar*)row;
  global uint* restrict table1 = tables + size;
  global uint* restrict table2 = table1 + size;
  global uint* restrict table3 = table2 + size;
#define FLIP (UNSIGNED_VALUE ? 0 : 128)
  for (; i + 4 <= end; i += 4) {
    ++tables[bytes[i] ^ FLIP];
    ++table1[bytes[i + 1] ^ FLIP];
    ++table2[bytes[i + 2] ^ FLIP];
    ++table3[bytes[i + 3] ^ FLIP];
  }
#else
  union {
    uint each[BLOCK];
    ulong pair[BLOCK / 2];
  } entry;
  for (; i + BLOCK <= end; i += BLOCK) {
    READ_ON(row + i, BLOCK);
#if ELEMENT_HALF || RULE == RULE_EDGES
    VALUE x[BLOCK];
    load_values(x, row, i, BLOCK);
#endif
#if RULE == RULE_EDGES
    uint bins[BLOCK];
    search_edges(bins, x, rule);
#endif
    VECTOR_LOOP
    for (uint k = 0; k < BLOCK; ++k) {
#if RULE == RULE_EDGES
      const uint bin = bins[k];
#elif ELEMENT_HALF
      const uint bin = bin_of(x[k], rule);
#else
      const uint bin = bin_of(load_value(row, i + k), rule);
#endif
      entry.each[k] = bin == NO_BIN ? entries : k % CHANNELS * rule.bins + bin;
    }
#if BLOCK % 2 == 0
#pragma unroll 4
    for (uint k = 0; k < BLOCK / 2; ++k) {
      const ulong pair = entry.pair[k];
      ++tables[2 * k % TABLES * size + (uint)pair];
      ++tables[(2 * k + 1) % TABLES * size + (pair >> 32)];
    }
#else
#pragma unroll 8
    for (uint k = 0; k < BLOCK; ++k) ++tables[k % TABLES * size + entry.each[k]];
#endif
  }
#endif
  for (; i < end; ++i) {
    const uint bin = bin_of(load_value(row, i), rule);
    ++tables[bin == NO_BIN ? entries : (i - begin) % CHANNELS * rule.bins + bin];
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void histogram_cpu(global const ELEMENT* restrict in, ulong in_offset, ulong pitch, ulong stride, ulong rows, ulong cols,
                   ulong batch, ulong parts, BIN_ARGUMENTS, global uint* restrict out, ulong out_offset) {
  const bin_rule rule = make_rule(edges, edges_offset, low_bits, high_bits, scale_bits, shift, bins, below, above);
  const ulong size = table_words((ulong)bins * CHANNELS);
  const ulong count = rows * cols;
  const ulong piece = (count / BLOCK + parts) / parts * BLOCK;  // pixels are whole
  for (ulong job = get_group_id(0); job < batch * parts; job += get_num_groups(0)) {
    global uint* tables = out + out_offset + job * TABLES * size;
    for (ulong i = 0; i < TABLES * size; ++i) tables[i] = 0;
    const ulong matrix = job / parts, end = min((job % parts + 1) * piece, count);
    for (ulong i = job % parts * piece; i < end;) {
      const ulong row = i / cols, col = i % cols;
      const ulong many = min(end - i, cols - col);
      count_run(in + in_offset + matrix * stride + row * pitch, col, col + many, tables, rule);
      i += many;
    }
  }
}
