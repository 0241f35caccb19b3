// Rows by their places, of one or two bytes' alignment: out[i] = in[places[i]], or with SCATTER out[places[i]] = in[i].
//
// A row is moved in words of its target, which are cut out of two neighbouring words of its source; only the parts beside whole words, at
// a row's ends, are stored one at a time. A team of TEAM work-items has a row, and ROWS rows under way at once. Places outside are left out.
//
// Launch: one dimension, GROUP work-items a group, a group for each GROUP / TEAM * ROWS rows.
#include "common/attributes.clh"

#ifndef PART
#define PART uchar  // or ushort: by which rows are aligned
#endif
#ifndef PLACE
#define PLACE uint  // uint or ulong
#endif
#ifndef SCATTER
#define SCATTER 0
#endif
#ifndef GROUP
#define GROUP 256
#endif
#ifndef TEAM
#define TEAM 8  // a power of two
#endif
#ifndef ROWS
#define ROWS 4
#endif

#define PARTS ((int)(4 / sizeof(PART)))  // of a word
#define PART_BITS (8 * sizeof(PART))

// Word `w` of memory from `parts` on, of which [low, high) is there. Others are not read.
static inline uint load_word(global const PART* parts, long w, long low, long high) {
  if (w * PARTS >= low && (w + 1) * PARTS <= high) return ((global const uint*)parts)[w];
  uint value = 0;
  for (int k = 0; k < PARTS; ++k)
    if (w * PARTS + k >= low && w * PARTS + k < high) value |= (uint)parts[w * PARTS + k] << (PART_BITS * k);
  return value;
}

// Offsets, pitches and `width` are counted in parts. `limit`: rows that places can name.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gather_words(global const PART* in, ulong in_offset, ulong in_pitch, global const PLACE* places, ulong places_offset, global PART* out,
                  ulong out_offset, ulong out_pitch, ulong count, ulong limit, ulong width, ulong piece UNUSED) {
  // From here on both are counted from a whole word's address.
  const uint in_before = (uint)((size_t)in / sizeof(PART) % PARTS), out_before = (uint)((size_t)out / sizeof(PART) % PARTS);
  in -= in_before;
  out -= out_before;
  const ulong in_first = in_offset + in_before, out_first = out_offset + out_before;
  const long low = (long)in_first, high = (long)(in_first + ((SCATTER ? count : limit) - 1) * in_pitch + width);
  const uint item = get_local_id(0), lane = item & (TEAM - 1);
  const ulong first = get_group_id(0) * (ulong)(GROUP / TEAM * ROWS) + item / TEAM;
  ulong from[ROWS], to[ROWS];
  int is_there[ROWS];
#pragma unroll
  for (uint u = 0; u < ROWS; ++u) {
    const ulong row = first + u * (GROUP / TEAM), place = row < count ? places[places_offset + row] : limit;
    is_there[u] = place < limit;
    from[u] = in_first + (SCATTER ? row : place) * in_pitch;
    to[u] = out_first + (SCATTER ? place : row) * out_pitch;
  }
  const long end = (long)width;
  for (long k = lane * PARTS; k < end + PARTS - 1; k += TEAM * PARTS) {
    uint words[ROWS];
#pragma unroll
    for (uint u = 0; u < ROWS; ++u) {
      const long c = k - (long)(to[u] % PARTS), at = (long)from[u] + c, w = (at + PARTS) / PARTS - 1;  // rounded down
      const int after = (int)(at - w * PARTS);                                                      // parts of the low word that are not the row's
      if (!is_there[u] || c >= end) continue;
      const uint a = c + PARTS > after ? load_word(in, w, low, high) : 0;
      const uint b = after != 0 && c + PARTS - after < end ? load_word(in, w + 1, low, high) : 0;
      words[u] = (uint)((((ulong)b << 32) | a) >> (PART_BITS * after));
    }
#pragma unroll
    for (uint u = 0; u < ROWS; ++u) {
      const long c = k - (long)(to[u] % PARTS);
      if (!is_there[u] || c >= end) continue;
      global PART* place = out + ((long)to[u] + c);
      if (c >= 0 && c + PARTS <= end) {
        *(global uint*)place = words[u];
      } else {
#pragma unroll
        for (int p = 0; p < PARTS; ++p)
          if (c + p >= 0 && c + p < end) place[p] = (PART)(words[u] >> (PART_BITS * p));
      }
    }
  }
}
