// Histogram for a CPU, second launch: adds the tables of each matrix.
//
// Launch: one dimension, local size 1; group g has a range of neighbouring results. Result m * entries + e is the sum of entry
// e of the `tables` tables of matrix m.
#include "histogram/thread_tables.clh"

#ifndef RESULT
#define RESULT uint  // uint or ulong
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void histogram_finish(global const uint* restrict partials, ulong entries, ulong tables, ulong batch,
                      global RESULT* restrict out, ulong out_offset) {
  const ulong results = entries * batch;
  const ulong share = (results + get_num_groups(0) - 1) / get_num_groups(0);
  const ulong first = get_group_id(0) * share, last = min(first + share, results);
  for (ulong r = first; r < last; ++r) {
    const ulong matrix = r / entries, entry = r % entries;
    RESULT sum = 0;
    for (ulong t = 0; t < tables; ++t) sum += partials[(matrix * tables + t) * table_words(entries) + entry];
    out[out_offset + r] = sum;
  }
}
