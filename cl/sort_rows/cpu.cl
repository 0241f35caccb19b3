// Sorts of rows for a CPU: one thread a row. Short rows by insertion, others by a radix sort as in sort/cpu.cl, which leaves out
// passes in which all keys of the row have the same digit.
//
// Launch: one dimension, local size 1, any number of groups.
//   spare, spare_values: `size` keys and values of each group; of places a second time as many keys after those of all groups.
//   Of segments as many as the vectors have; of places `out` is temporary memory
#define MANY_ROWS 1  // a thread has more than one
#include "sort/keys.clh"
#include "sort_rows/rows.clh"

#ifndef SHORT
#define SHORT 0  // 1: rows have at most LONGEST keys
#endif
#define LONGEST 64
#ifndef PASSES
#define PASSES 4  // at most
#endif
#ifndef LONGER_THAN
#define LONGER_THAN 0  // not 0: keys of the longest segments that sort_rows/cpu_lanes.cl has sorted
#endif
#define HAS_SHORT ((SEGMENTS && LONGER_THAN == 0) || SHORT)
#define HAS_LONG (SEGMENTS || !SHORT)
#include "sort/digits.clh"
#include "sort/one_by_one.clh"
#include "sort/routes.clh"

#if HAS_SHORT
INLINED void insert_row(global const KEY* keys, global KEY* to, global const VALUE* from_values, global VALUE* to_values, uint count,
                        local sortable* images, local uchar* places, local KEY* moved, local VALUE* moved_values, uint begin_bit,
                        uint end_bit) {
  for (uint i = 0; i < count; ++i) {
    const sortable x = image_of(keys[i], begin_bit, end_bit);
    uint j = i;
    for (; j > 0 && images[j - 1] > x; --j) {
      images[j] = images[j - 1];
      places[j] = places[j - 1];
    }
    images[j] = x;
    places[j] = (uchar)i;
  }
#if VALUES != 2
  for (uint i = 0; i < count; ++i) moved[i] = keys[i];
  for (uint i = 0; i < count; ++i) to[i] = moved[places[i]];
#endif
#if VALUES == 2
  for (uint i = 0; i < count; ++i) to_values[i] = places[i];
#elif VALUES
  for (uint i = 0; i < count * VALUE_PARTS; ++i) moved_values[i] = from_values[i];
  for (uint i = 0; i < count; ++i)
    for (uint k = 0; k < VALUE_PARTS; ++k) to_values[i * VALUE_PARTS + k] = moved_values[(uint)places[i] * VALUE_PARTS + k];
#endif
  (void)to, (void)moved, (void)from_values, (void)to_values, (void)moved_values;
}
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void sort_rows_cpu(SORT_ROWS_ARGUMENTS) {
  USE_SORT_ROWS_ARGUMENTS;
#if HAS_SHORT
  local sortable images[LONGEST];
  local uchar places[LONGEST];
  local KEY moved[LONGEST];
  local VALUE moved_values[VALUES == 1 ? LONGEST * VALUE_PARTS : 1];
#endif
#if HAS_LONG
  local uint counts[PASSES * RADIX];
  local ulong next[RADIX];
  uint routes[PASSES];
#endif
  const ulong group = get_group_id(0), groups = get_num_groups(0);
#if SEGMENTS
  // Neighbouring segments, so that groups share few lines of the cache.
  const ulong share = (all_rows + groups - 1) / groups, last = ARE_BAD ? 0 : min((group + 1) * share, all_rows);
  for (ulong row = group * share; row < last; ++row) {
    const ulong here = BEGIN_OF(row), count = LENGTH_OF(row);
    if (count <= LONGER_THAN) continue;
    global KEY *other = spare + here, *spare_result = out + out_offset + here;
#else
  for (ulong row = group; row < all_rows; row += groups) {
    const ulong here = row, count = size;
    global KEY *other = spare + group * size, *spare_result = spare + (groups + group) * size;
#endif
    global const KEY* keys = KEYS_OF(here);
#if VALUES == 2
    global KEY* result = spare_result;  // argsort returns no keys
#else
    global KEY* result = OUT_OF(here);
    (void)spare_result;
#endif
#if VALUES
    global const VALUE* all_values = VALUES_OF(here);
    global VALUE* results = OUT_VALUES_OF(here);
    global VALUE* other_values = spare_values + (other - spare) * VALUE_PARTS;
#else
    global const VALUE* all_values = values;
    global VALUE *results = spare_values, *other_values = spare_values;
#endif
#if HAS_SHORT
    if (count <= LONGEST) {
      insert_row(keys, result, all_values, results, (uint)count, images, places, moved, moved_values, begin_bit, end_bit);
      continue;
    }
#endif
#if HAS_LONG
    count_all_digits(counts, keys, count, begin_bit, end_bit, digit_bits);
    for (uint p = 0; p < passes; ++p) {
      routes[p] = 1;
      for (uint d = 0; d < RADIX; ++d)
        if (counts[p * RADIX + d] == count) routes[p] = 0;
    }
    make_routes(routes, passes, IN_PLACE_ROWS);
    for (uint p = 0; p < passes; ++p) {
      const uint way = routes[p], source = way & 3, shift = shift_of(begin_bit, digit_bits, p);
      if (!(way & IS_ACTIVE)) continue;
      ulong lower = 0;
      for (uint d = 0; d < RADIX; ++d) {
        next[d] = lower;
        lower += counts[p * RADIX + d];
      }
      move_keys(source == FROM_IN ? keys : source == FROM_OUT ? (global const KEY*)result : other,
                (way & TO_SPARE) ? other : result,
                source == FROM_IN ? all_values : source == FROM_OUT ? (global const VALUE*)results : other_values,
                (way & TO_SPARE) ? other_values : results, 0, count, next, shift, mask_of(shift, end_bit, digit_bits), way);
    }
#endif
  }
}
