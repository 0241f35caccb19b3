// top_k for a CPU: one thread a row, or a stretch of it.
//
// PHASE 0: delegates of a vector's spans (top_k/delegates.cl), a stretch of spans a thread. PHASE 1: a thread has rows, makes their
// delegates itself with OWN_DELEGATES, selects the spans in which the results lie, and the results from these. A span of one
// element is its own delegate. Loops over a span's neighbours are what compilers turn into vectors.
//
// Few results of a row are kept sorted while it is read: of most blocks none is better than the worst of them.
//
// Launch: one dimension, local size 1. PHASE 0: `parts` groups for each row, of `piece` spans each. PHASE 1: any number of groups.
//   images: at `from` the delegates of rows, or of groups (OWN_DELEGATES); at `to` 2 * k or k << SPAN_BITS images of a group,
//   whatever is more. lists: 3 * k places of a group
#define MANY_ROWS 1  // a thread has more than one
#include "top_k/rows.clh"
#include "common/vector_loop.clh"
#include "common/read_ahead.clh"

#ifndef PHASE
#define PHASE 1
#endif
#ifndef OWN_DELEGATES
#define OWN_DELEGATES 1
#endif
#ifndef SPAN_BITS
#define SPAN_BITS 6
#endif
#define SPAN (1u << SPAN_BITS)
#define MOST_DIGITS 2048
#define FEW 32  // results that are sorted by insertion
#define FEW_KEPT 16  // results that are kept while a row is read
#define BLOCK 32     // elements that are compared with the worst of these at once

static inline void make_delegates(global const KEY* keys, uint size, uint begin, uint end, global sortable* delegates) {
  for (uint s = begin; s < end; ++s) {
    global const KEY* span = keys + ((ulong)s << SPAN_BITS);
    sortable best = ALL_BITS;
    if (((ulong)s + 1) << SPAN_BITS <= size) {
      VECTOR_LOOP
      for (uint i = 0; i < SPAN; ++i) best = min(best, order_of(span[i]));
    } else {
      for (uint i = 0; i < size - (s << SPAN_BITS); ++i) best = min(best, order_of(span[i]));
    }
    delegates[s] = best;
  }
}

#if PHASE == 0
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void top_k_cpu(TOP_K_ARGUMENTS) {
  USE_TOP_K_ARGUMENTS;
  const ulong row = get_group_id(0) / parts;
  const uint part = (uint)(get_group_id(0) % parts), spans = (size - 1) / SPAN + 1;
  const ulong begin = (ulong)part * piece, end = min(begin + piece, (ulong)spans);
  if (begin < end)
    make_delegates(in + row_start(row, rows, in_offset, in_pitch, in_stride), size, (uint)begin, (uint)end, images + from + row * padded(spans));
}
#else
// The k results among `count` images: chosen has their numbers in ascending order. Returns the number of the last of them in the
// order of images.
__attribute__((noinline)) uint select_images(global const sortable* from, uint count, uint k, local uint* bins,
                                             global uint* chosen) {
  sortable low = ALL_BITS, high = 0;
  VECTOR_LOOP
  for (uint i = 0; i < count; ++i) {
    low = min(low, from[i]);
    high = max(high, from[i]);
  }
  uint wanted = k;
  const uint digit_bits = count < 512 ? 4 : count < 16384 ? 8 : 11;
  while (low != high) {
    const uint bits = 8 * (uint)sizeof(sortable) - (uint)clz(high - low);
    const uint shift = bits > digit_bits ? bits - digit_bits : 0;
    for (uint d = 0; d < 1u << digit_bits; ++d) bins[d] = 0;
    for (uint i = 0; i < count; ++i) {
      const sortable x = from[i];
      if (x >= low && x <= high) ++bins[(uint)((x - low) >> shift)];
    }
    uint digit = 0;
    while (bins[digit] < wanted) wanted -= bins[digit++];
    low += (sortable)digit << shift;
    high = low + min(high - low, ((sortable)1 << shift) - 1);
  }
  uint taken = 0, last = 0;
  for (uint i = 0; taken < k; ++i) {
    if (from[i] > low || (from[i] == low && wanted == 0)) continue;
    if (from[i] == low) {
      --wanted;
      last = i;
    }
    chosen[taken++] = i;
  }
  return last;
}

// Sorts places by their images, equal ones as they stand; returns those that are sorted, `chosen` or `other`.
static inline global uint* sort_results(global sortable* order, global uint* chosen, uint k, local uint* bins, global uint* other) {
  if (k <= FEW) {
    for (uint i = 1; i < k; ++i) {
      const sortable x = order[i];
      const uint place = chosen[i];
      uint j = i;
      for (; j > 0 && order[j - 1] > x; --j) {
        order[j] = order[j - 1];
        chosen[j] = chosen[j - 1];
      }
      order[j] = x;
      chosen[j] = place;
    }
    return chosen;
  }
  global sortable* other_order = order + k;
  for (uint shift = 0; shift < KEY_BITS; shift += 8) {
    for (uint d = 0; d < 256; ++d) bins[d] = 0;
    for (uint i = 0; i < k; ++i) ++bins[(uint)(order[i] >> shift) & 255];
    uint lower = 0;
    for (uint d = 0; d < 256; ++d) {
      const uint count = bins[d];
      bins[d] = lower;
      lower += count;
    }
    for (uint i = 0; i < k; ++i) {
      const uint to = bins[(uint)(order[i] >> shift) & 255]++;
      other_order[to] = order[i];
      other[to] = chosen[i];
    }
    global sortable* const last_order = order;
    global uint* const last = chosen;
    order = other_order;
    chosen = other;
    other_order = last_order;
    other = last;
  }
  return chosen;
}

// The first k of a row in its order, with their places; equal ones as they stand. Gives up, and returns false, where so many replace others as
// in a row that gets better and better. Not inlined: PoCL copies a kernel's body three times.
__attribute__((noinline)) bool keep_few(global const KEY* keys, uint size, uint k, sortable* order, uint* kept) {
  uint count = 0, left = 8 * k + size / 16;
  for (uint i = 0; i < size; i += BLOCK) {
    sortable x[BLOCK], best = ALL_BITS;
    const uint here = min(size - i, (uint)BLOCK);
    READ_ON(keys + i, BLOCK);
    if (here == BLOCK) {
      VECTOR_LOOP
      for (uint j = 0; j < BLOCK; ++j) best = min(best, x[j] = order_of(keys[i + j]));
    } else {
      for (uint j = 0; j < here; ++j) best = min(best, x[j] = order_of(keys[i + j]));
    }
    if (count == k && best >= order[k - 1]) continue;
    for (uint j = 0; j < here; ++j) {
      if (count == k && x[j] >= order[k - 1]) continue;
      if (left-- == 0) return false;
      uint to = count < k ? count++ : k - 1;
      for (; to > 0 && order[to - 1] > x[j]; --to) order[to] = order[to - 1], kept[to] = kept[to - 1];
      order[to] = x[j], kept[to] = i + j;
    }
  }
  return true;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void top_k_cpu(TOP_K_ARGUMENTS) {
  USE_TOP_K_ARGUMENTS;
  local uint bins[MOST_DIGITS];
  const ulong group = get_group_id(0);
  const uint spans = (size - 1) / SPAN + 1;
  const ulong kept = max((ulong)k << SPAN_BITS, (ulong)k * 2);
  global sortable* candidates = images + to + group * kept;
  global uint *chosen_spans = lists + group * 3 * k, *chosen = chosen_spans + k, *other = chosen + k;
  for (ulong row = group; row < all_rows; row += get_num_groups(0)) {
    global const KEY* keys = in + row_start(row, rows, in_offset, in_pitch, in_stride);
    global sortable* delegates = images + from + (OWN_DELEGATES ? group : row) * padded(spans);
#if OWN_DELEGATES
    sortable order[FEW_KEPT];
    uint kept[FEW_KEPT];
    if (k <= FEW_KEPT && keep_few(keys, size, k, order, kept)) {
#if NTH
      values[row_start(row, rows, values_offset, values_pitch, values_stride)] = keys[kept[k - 1]];
#else
      for (uint q = 0; q < k; ++q) {
        const uint place = kept[q];
#if !SORTED  // those in front of it
        uint rank = 0;
        for (uint j = 0; j < k; ++j) rank += kept[j] < place;
#else
        const uint rank = q;
#endif
        values[row_start(row, rows, values_offset, values_pitch, values_stride) + rank] = keys[place];
        places[row_start(row, rows, places_offset, places_pitch, places_stride) + rank] = place;
      }
#endif
      continue;
    }
    make_delegates(keys, size, 0, spans, delegates);
#endif
#if SPAN_BITS == 0
    const uint last = select_images(delegates, spans, k, bins, chosen);
#else
    select_images(delegates, spans, min(k, spans), bins, chosen_spans);
    uint count = 0;
    for (uint s = 0; s < min(k, spans); ++s) {
      const uint begin = chosen_spans[s] << SPAN_BITS, here = min(SPAN, size - begin);
      for (uint i = 0; i < here; ++i) candidates[count + i] = order_of(keys[begin + i]);
      count += here;
    }
    uint last = select_images(candidates, count, k, bins, chosen);
    last = (chosen_spans[last >> SPAN_BITS] << SPAN_BITS) + (last & (SPAN - 1));
    for (uint q = 0; q < k; ++q)
      chosen[q] = (chosen_spans[chosen[q] >> SPAN_BITS] << SPAN_BITS) + (chosen[q] & (SPAN - 1));
#endif
#if NTH
    values[row_start(row, rows, values_offset, values_pitch, values_stride)] = keys[last];
#else
    global const uint* sorted = chosen;
#if SORTED
    for (uint q = 0; q < k; ++q) candidates[q] = order_of(keys[chosen[q]]);
    sorted = sort_results(candidates, chosen, k, bins, other);
#endif
    global KEY* row_values = values + row_start(row, rows, values_offset, values_pitch, values_stride);
    global PLACE* row_places = places + row_start(row, rows, places_offset, places_pitch, places_stride);
    for (uint q = 0; q < k; ++q) {
      row_values[q] = keys[sorted[q]];
      row_places[q] = sorted[q];
    }
    (void)last, (void)other;
#endif
  }
}
#endif
