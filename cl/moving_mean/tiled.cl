// Moving means of a tile of a row in local memory, at a cost that hardly depends on the window.
//
// A work-item has a chunk of ITEMS neighbouring elements in registers, and computes its prefix sums and its suffix sums. A window is
// the end of one chunk, whole chunks, and the begin of another: M. van Herk, "A fast algorithm
// for local minimum and maximum filters on rectangular and octagonal kernels", Pattern Recognition Letters 13, 1992, uses
// blocks as long as the window instead of chunks. Sums of whole chunks are combined from sums of 1, 2, 4... chunks, by doubling:
// W. D. Hillis and G. L. Steele, "Data parallel algorithms", CACM 29, 1986. SHORT: windows are summed element by element.
// Nothing is subtracted, so rounding errors do not accumulate.
//
// Launch: two dimensions: tiles, rows; grid-stride loops over both. A tile of TILE elements has TILE - window + 1 results,
// rounded down to a multiple of ALIGN.
// Local memory: TILE sums, one more for every BANKS of them, and 4 * GROUP. SHORT: TILE + ITEMS sums.
#include "common/work_group.clh"
#include "moving_mean/arguments.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef ITEMS
#define ITEMS 16  // elements of a chunk: a power of two, or odd
#endif
#ifndef SHORT
#define SHORT 0  // 1: windows are at most ITEMS elements; 0: longer than ITEMS, and at most TILE / 2
#endif
#ifndef BANKS
#define BANKS 32  // of local memory: a multiple of ITEMS
#endif
#define ALIGN 32  // results: tiles begin at cache lines
#define TILE (GROUP * ITEMS)

#define PADDED (!SHORT && ITEMS % 2 == 0)
#define PLACES (SHORT ? TILE + ITEMS : PADDED ? TILE + TILE / BANKS : TILE)

// The place of element i of the tile. Neighbouring work-items access different banks both at neighbouring elements and at
// the same element of their chunks, which odd ones do by themselves.
static inline uint place_of(uint i) { return PADDED ? i + i / BANKS : i; }

// Element `item` of the k-th GROUP elements. `across` is element `item` of the tile, from which the distance is a constant.
static inline local SUM* element_across(local SUM* tile, local SUM* across, uint item, int k) {
  const bool is_regular = !PADDED | (GROUP % BANKS == 0);  // places of a work-item are equally far apart
  return is_regular ? across + k * (int)place_of(GROUP) : tile + place_of(item + k * GROUP);
}

#if !SHORT
typedef JOIN(SUM, 2) pair;
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void moving_mean_tiled(MOVING_MEAN_ARGUMENTS) {
  (void)scratch;
  local SUM tile[PLACES];
#if !SHORT
  local pair sums[2 * GROUP];
#endif
  const uint item = get_local_id(0), length = (uint)window, before = length / 2, most = TILE - length + 1;
  const uint results = most < ALIGN ? most : most / ALIGN * ALIGN;
  local SUM *across = tile + place_of(item), *own = tile + place_of(item * ITEMS);
  (void)across, (void)own;
  for (ulong r = get_group_id(1); r < rows; r += get_num_groups(1)) {
    global const ELEMENT* from = in + row_offset(first_row + r, height, depth, in_offset, in_pitch, in_plane, in_stride);
    global RESULT* to = out + row_offset(first_row + r, height, depth, out_offset, out_pitch, out_plane, out_stride);
    for (ulong first = get_group_id(0) * (ulong)results; first < width; first += get_num_groups(0) * (ulong)results) {
      // The tile's elements begin `before` the first result; [begin, end) of them are in the row.
      const uint begin = first < before ? before - (uint)first : 0;
      const uint end = (uint)min((ulong)TILE, width - first + before);
      const bool whole_tile = begin == 0 && end == TILE;
      const int low = (int)begin - (int)item, high = (int)end - (int)item;  // relative to this work-item
      global const ELEMENT* source = from + ((long)first - (long)before + (long)item);
      SUM values[ITEMS];
      if (whole_tile) {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) values[k] = (SUM)load_value(source, k * GROUP);
      } else {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
          values[k] = k * GROUP >= low && k * GROUP < high ? (SUM)load_value(source, k * GROUP) : 0;
      }
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) *element_across(tile, across, item, k) = values[k];

#if SHORT
      for (uint i = item; i < ITEMS; i += GROUP) tile[TILE + i] = 0;  // read by windows without a result
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint n = 1; n < length; ++n) {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) values[k] += (across + n)[k * GROUP];
      }
#else
      barrier(CLK_LOCAL_MEM_FENCE);

      // Prefix sums of the chunk in the tile, suffix sums in registers.
      SUM sum = 0;
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) {
        values[k] = own[k];
        sum = k == 0 ? values[k] : sum + values[k];
        own[k] = sum;
      }
#pragma unroll
      for (int k = ITEMS - 1; k > 0; --k) values[k - 1] += values[k];

      // A window ends `chunks` chunks and `rest` elements after its begin, and contains `inner` whole chunks, or one more. After step
      // k element i of `sums` has the sum of the 2^k chunks after chunk i, and the sum of the first (inner mod 2^k) of them; two
      // arrays alternate. Sums that wrap around the end belong to no result.
      const uint chunks = (length - 1) / ITEMS, rest = (length - 1) % ITEMS, inner = chunks - 1;
      uint now = 0;
      sums[(item - 1) & (GROUP - 1)] = (pair)(sum, 0);
      barrier(CLK_LOCAL_MEM_FENCE);
      pair mine = sums[item];
      for (uint apart = 1; apart <= inner; apart *= 2) {
        const pair other = sums[now + ((item + apart) & (GROUP - 1))];
        if (inner & apart) mine.y = mine.x + other.y;
        mine.x += other.x;
        now ^= GROUP;
        sums[now + item] = mine;
        barrier(CLK_LOCAL_MEM_FENCE);
      }

      // The windows that begin in this chunk end in one chunk or in the next one.
      const uint ending = (item + chunks) & (GROUP - 1), following = (item + chunks + 1) & (GROUP - 1);
      local const SUM *here = tile + place_of(ending * ITEMS) + rest, *there = tile + place_of(following * ITEMS) + rest - ITEMS;
      const SUM longer = mine.y + tile[place_of(ending * ITEMS) + ITEMS - 1];
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) {
        if (k + rest < ITEMS) values[k] += mine.y + here[k];
        else values[k] += longer + there[k];
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      // Through the tile, so that stores are coalesced.
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) own[k] = values[k];
      barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) values[k] = *element_across(tile, across, item, k);
#endif

      const int count = (int)min((ulong)results, width - first) - (int)item;
      global RESULT* target = to + first + item;
      const mean_divisor divisor = divisor_of(length);
      if (whole_tile) {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
          if (k * GROUP < count) store_mean_of(target, k * GROUP, values[k], divisor);
      } else {
        const int last = high - (int)length;  // whose window lies in the row
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
          if (k * GROUP < count) {
            if (whole || (k * GROUP >= low && k * GROUP <= last)) {
              store_mean_of(target, k * GROUP, values[k], divisor);
            } else {
              const int there = min(k * GROUP + (int)length, high) - max(k * GROUP, low);
              store_mean_of(target, k * GROUP, values[k], divisor_of((ulong)there));
            }
          }
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // before the next tile is stored
    }
  }
}
