// Histogram by atomic additions in global memory: the first step of the ladder. Additions to a frequent bin are serialised.
//
// `out` is zero before the launch. Launch: one dimension, GROUP work-items a group; group g has jobs g, g + groups, ...; a job is
// one of `parts` of a matrix. No local memory.
#include "histogram/bin.clh"
#include "histogram/output.clh"
#include "common/work_group.clh"

#define COUNTER global uint *counts, ulong base
#define COUNTER_ARGUMENTS counts, base
GROUP_FUNCTION void count_entry(COUNTER, uint entry, uint n) { add_count(counts, base + entry, n); }
#include "histogram/walk.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void histogram_global(HISTOGRAM_ARGUMENTS) {
  const bin_rule rule = make_rule(edges, edges_offset, low_bits, high_bits, scale_bits, shift, bins, below, above);
  const ulong entries = (ulong)bins * CHANNELS;
  for (ulong job = get_group_id(0); job < batch * parts; job += get_num_groups(0)) {
    const ulong matrix = job / parts;
    walk(out, out_offset + matrix * entries, in, in_offset + matrix * stride, pitch, rows, cols, job % parts, parts, rule);
  }
}
