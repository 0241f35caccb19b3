// Histogram of more entries than fit local memory: frequent entries are counted in local memory, the others in global memory.
//
// Local memory is a direct-mapped cache of SLOTS entries. The first entry that hits a slot owns it until the end of the part: in
// skewed data, a frequent entry comes early. All other entries are counted in global memory, where they are spread over many
// words and have little contention. Runs of equal entries are counted in registers first.
//
// `out` is zero before the launch. Launch: one dimension, GROUP work-items a group; group g has jobs g, g + groups, ...; a job is
// one of `parts` of a matrix. Local memory: 2 * SLOTS words.
#include "histogram/bin.clh"
#include "histogram/output.clh"
#include "common/work_group.clh"

#ifndef SLOTS
#define SLOTS 2048  // a power of two
#endif

#define COUNTER local uint *owners, local uint *slots, global uint *counts, ulong base
#define COUNTER_ARGUMENTS owners, slots, counts, base
GROUP_FUNCTION void count_entry(COUNTER, uint entry, uint n) {
  const uint slot = entry % SLOTS;
  uint owner = *(volatile local uint*)(owners + slot);  // loads of one word are not serialised as atomics are
  if (owner == NO_BIN) owner = atomic_cmpxchg(owners + slot, NO_BIN, entry);
  if (owner == NO_BIN || owner == entry) {
    atomic_add(slots + slot, n);
  } else {
    add_count(counts, base + entry, n);
  }
}
#include "histogram/walk.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void histogram_cached(HISTOGRAM_ARGUMENTS) {
  local uint owners[SLOTS], slots[SLOTS];
  const uint item = get_local_id(0);
  const bin_rule rule = make_rule(edges, edges_offset, low_bits, high_bits, scale_bits, shift, bins, below, above);
  const ulong entries = (ulong)bins * CHANNELS;
  for (ulong job = get_group_id(0); job < batch * parts; job += get_num_groups(0)) {
    const ulong matrix = job / parts, base = out_offset + matrix * entries;
    for (uint i = item; i < SLOTS; i += GROUP) owners[i] = NO_BIN, slots[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    walk(owners, slots, out, base, in, in_offset + matrix * stride, pitch, rows, cols, job % parts, parts, rule);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < SLOTS; i += GROUP)
      if (slots[i] != 0) add_count(out, base + owners[i], slots[i]);
    barrier(CLK_LOCAL_MEM_FENCE);  // the slots are used again
  }
}
