// Histogram in privatised tables in local memory, by atomic additions there.
//
// COPIES tables are interleaved: copy c of entry e is word e * COPIES + c, and work-item i counts in copy i % COPIES. With as many
// copies as banks, each work-item of a warp has a bank of its own: for any data, there is neither a bank conflict nor contention.
// With fewer copies, runs of equal entries are counted in registers first (MERGE). If the entries do not fit a table, the matrix
// is read in several passes, RANGE entries each. At the end every work-group adds its counts to those in global memory.
//
// V. Podlozhnyuk, "Histogram calculation in CUDA", NVIDIA, 2007, for private tables of parts of a work-group; J. Gomez-Luna et
// al., "An optimized approach to histogram computation on GPU", Machine Vision and Applications 24, 2013, for copies and their
// layout.
//
// `out` is zero before the launch. Launch: one dimension, GROUP work-items a group; group g has jobs g, g + groups, ...; a job is
// one pass over one of `parts` of a matrix. Local memory: TABLE words.
#include "histogram/bin.clh"
#include "histogram/output.clh"
#include "common/work_group.clh"

#ifndef TABLE
#define TABLE 8192  // words: a multiple of COPIES
#endif
#ifndef COPIES
#define COPIES 32  // of the table: a power of two
#endif
#ifndef PASSES
#define PASSES 0  // 1: the entries do not fit one table
#endif
#define RANGE (TABLE / COPIES)

#define COUNTER local uint *table, uint first_entry
#define COUNTER_ARGUMENTS table, first_entry
GROUP_FUNCTION void count_entry(COUNTER, uint entry, uint n) {
#if PASSES
  entry -= first_entry;
  if (entry >= RANGE) return;
#else
  (void)first_entry;
#endif
  atomic_add(table + (entry * COPIES + get_local_id(0) % COPIES), n);
}
#include "histogram/walk.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void histogram_tables(HISTOGRAM_ARGUMENTS) {
  local uint table[TABLE];
  const uint item = get_local_id(0);
  const bin_rule rule = make_rule(edges, edges_offset, low_bits, high_bits, scale_bits, shift, bins, below, above);
  const uint entries = bins * CHANNELS;
  const ulong passes = PASSES ? (entries + RANGE - 1) / RANGE : 1;
  for (ulong job = get_group_id(0); job < batch * passes * parts; job += get_num_groups(0)) {
    // The passes over a part are neighbouring jobs, so that it is read from the cache.
    const uint pass = (uint)(job % passes);
    const ulong part = job / passes % parts, matrix = job / passes / parts;
    const uint first_entry = pass * RANGE;
    const uint used = min(entries - first_entry, (uint)RANGE);

    for (uint i = item; i < used * COPIES; i += GROUP) table[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    walk(table, first_entry, in, in_offset + matrix * stride, pitch, rows, cols, part, parts, rule);
    barrier(CLK_LOCAL_MEM_FENCE);

    // Neighbouring work-items have neighbouring entries, and begin with different copies, in different banks.
    for (uint i = item; i < used; i += GROUP) {
      uint sum = 0;
      for (uint c = 0; c < COPIES; ++c) sum += table[i * COPIES + (c + item) % COPIES];
      if (sum != 0) add_count(out, out_offset + matrix * entries + first_entry + i, sum);
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // before the table is overwritten
  }
}
