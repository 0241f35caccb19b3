// Mean of a box of any size by plane streaming down the rows, at a cost that hardly depends on the size.
//
// A work-item owns COLS neighbouring columns of a strip, and their sums over the rows of a box. For each row it adds the row that enters the
// box and subtracts the one that has left it; both are prefetched AHEAD rows ahead. The rows between are kept in a ring in local memory,
// or, where that would be too large, the row that leaves is read again, mostly from the cache.
//
// The group turns STEP rows of such sums at a time into prefix sums along segments of 32 (without NVIDIA's shuffles 16) work-items' columns.
// The sum of a box is the difference of two of them, and the totals of the segments that end between: F. C. Crow, "Summed-area tables for
// texture mapping", SIGGRAPH 1984, kept for STEP rows of a strip at a time. Prefixes of short segments also lose less by rounding than those
// of the whole strip. If a work-item has a result that is not finite, which other elements of the segment or above in the band may have caused,
// it computes its results again at the end.
//
// Launch: one dimension, GROUP work-items a group; group g computes strips of `band` rows: g, g + groups, ...
// Local memory: STEP rows of GROUP * COLS sums: with shuffles two such tiles that take turns, so that STEP rows have one
// barrier, else one and STEP rows of GROUP * CHANNELS totals; with RING so many rows of GROUP * COLS elements.
#include "common/work_group.clh"
#include "blur/box.clh"

#ifndef GROUP
#define GROUP 256
#endif
#ifndef COLS
#define COLS 2  // items per work-item: columns, 1, 2 or 4, and a multiple of CHANNELS; 3 for 3 channels
#endif
#ifndef STEP
#define STEP 4  // rows between barriers
#endif
#ifndef AHEAD
#define AHEAD 8  // rows that are prefetched: a multiple of STEP
#endif
#ifndef ROW_TAPS
#define ROW_TAPS 101  // cells of a box, along rows
#endif
#ifndef RING
#define RING 0  // rows of the ring: column_taps - 1, or 0: none
#endif
#ifndef VECTOR_IN
#define VECTOR_IN 1  // 1: rows begin at multiples of COLS elements; COLS is not 3, and with SMALL 4
#endif
#ifndef SMALL
#define SMALL 0  // bytes of an integer element, 1 or 2; 0: floats
#endif
#ifndef SHUFFLES
#define SHUFFLES 0  // 1: NVIDIA's shuffles; GROUP is a multiple of 32
#endif
#define WIDTH (GROUP * COLS)                              // columns of a strip
#define BOX (ROW_TAPS * CHANNELS)
#define SIDE (ROW_TAPS / 2 * CHANNELS)                    // columns of a box before its result, and after it
#define LEFT ((SIDE + CHANNELS + COLS - 1) / COLS * COLS)  // columns before the first result: one cell more than a box has
#define HALO ((LEFT + SIDE + COLS - 1) / COLS * COLS)
#define RESULTS (WIDTH - HALO)                            // columns of a strip with results
#define TURNS (AHEAD / STEP)

#define TILES (SHUFFLES ? 2 : 1)
#include "blur/segments.clh"

// Adds to a running sum by Kahan's method: W. Kahan, "Further remarks on reducing truncation errors", CACM 8 (1), 1965. `low` is the
// compensation. It loses something only where a number is larger than the sum before it, and then no more than that number's last
// place.
static inline void slide(SUM* high, SUM* low, SUM v) {
#if SUM_INTEGER
  (void)low;
  *high += v;
#else
  const SUM wanted = v + *low, sum = *high + wanted;
  *low = wanted - (sum - *high);
  *high = sum;
#endif
}

#include "blur/march_rows.clh"

#if !SUM_INTEGER
// The sum of ROW_TAPS cells, from element `first` on, of row i of those that the group reads.
static inline SUM row_sum(read_rows x, uint i, long first, long width) {
  const long source = place_within(x.first + i, x.rows);
  global const ELEMENT* line = x.from + (ulong)max(source, 0L) * x.in_pitch;
  SUM sum = 0;
#pragma unroll 1
  for (uint n = 0; n < ROW_TAPS; ++n) {
    const long place = source < 0 ? -1 : element_within(first + (long)(n * CHANNELS), width);
    sum += place < 0 ? (SUM)x.beyond : load_sum(line, (ulong)place);
  }
  return sum;
}

// Computes the results of a column with elements that are not finite: a running sum of rows, without the rows whose sums are not finite,
// for which it keeps the row where they leave the box. `first`: the element where the boxes begin.
static inline void make_column(global RESULT* to, ulong out_pitch, uint height, read_rows read, long first, long width, uint column_taps,
                               VALUE inverse) {
  SUM high = 0, low = 0;
  uint positive_end = 0, negative_end = 0;  // the row from which on no infinity of that sign, and no NaN, is in the box
#pragma unroll 1
  for (uint r = 0; r < height + column_taps - 1; ++r) {
    SUM sum = row_sum(read, r, first, width);
    if (is_spoiled(sum)) {
      if (!(sum < 0)) positive_end = r + column_taps;
      if (!(sum > 0)) negative_end = r + column_taps;
    } else {
      add_sum(&high, &low, sum);
    }
    if (r + 1 < column_taps) continue;
    const uint oldest = r + 1 - column_taps;
    SUM box = high + low;
    if (r < positive_end || r < negative_end) {
      box = r >= negative_end ? INFINITY : r >= positive_end ? -INFINITY : NAN;
    } else if (is_spoiled(box)) {  // the sum of finite rows overflows, or has done so
      high = low = 0;
#pragma unroll 1
      for (uint n = oldest; n <= r; ++n) add_sum(&high, &low, row_sum(read, n, first, width));
      box = total_of(high, low);
    }
    store_pixel(to, (ulong)oldest * out_pitch, (VALUE)box * inverse);
    sum = row_sum(read, oldest, first, width);
    if (!is_spoiled(sum)) add_sum(&high, &low, -sum);
  }
}

// Computes all written results of a work-item this way. The first of them are at `to`, in column `col`.
static inline void make_columns(global RESULT* to, ulong out_pitch, uint height, read_rows read, long col, uint written, long width,
                                uint column_taps, VALUE inverse) {
#pragma unroll 1
  for (uint j = 0; j < COLS; ++j)
    if (written >> j & 1)
      make_column(to + j * GROUP, out_pitch, height, read, col + j * GROUP - SIDE, width, column_taps, inverse);
}
#endif

// The sums of the STEP boxes of a result.
GROUP_FUNCTION void sum_boxes(SUM box[STEP], local SUM (*tile)[WIDTH], result_place r) {
#pragma unroll
  for (uint k = 0; k < STEP; ++k) box[k] = tile[k][r.before + BOX] - tile[k][r.before];
  for (uint n = 0; n < BOX / SEGMENT_COLS; ++n)
#pragma unroll
    for (uint k = 0; k < STEP; ++k) box[k] += tile[k][r.tail + n * SEGMENT_COLS];
  if (r.farther) {
#pragma unroll
    for (uint k = 0; k < STEP; ++k) box[k] += tile[k][r.tail + BOX / SEGMENT_COLS * SEGMENT_COLS];
  }
}

// Moves the sums of the columns down by a row and returns their inclusive scan over the work-item's columns.
static inline void slide_down(SUM ended[COLS], SUM high[COLS], SUM low[COLS], const part* enter, const part* leave) {
#pragma unroll
  for (uint c = 0; c < COLS; ++c) {
    slide(&high[c], &low[c], number_of(enter, c));
    ended[c] = high[c];
    slide(&high[c], &low[c], -number_of(leave, c));
    if (c >= CHANNELS) ended[c] += ended[c < CHANNELS ? c : c - CHANNELS];
  }
}

// Sums the `kept` rows of the first box without its last one, which begin at `line`, and stores them to the ring.
GROUP_FUNCTION void sum_first_rows(SUM high[COLS], SUM low[COLS], uint kept, global const ELEMENT* line, own_columns own, read_rows read,
                                   local ring_row* ring, uint item) {
#pragma unroll
  for (uint c = 0; c < COLS; ++c) high[c] = low[c] = 0;
  for (uint row = 0; row < kept; row += AHEAD) {
    part enter[AHEAD];
#pragma unroll
    for (uint k = 0; k < AHEAD; k += STEP) load_rows(enter + k, row + k, kept - 1, line + (ulong)(row + k) * read.in_pitch, own, read);
#pragma unroll
    for (uint k = 0; k < AHEAD; ++k) {
      if (row + k < kept) {
#pragma unroll
        for (uint c = 0; c < COLS; ++c) slide(&high[c], &low[c], number_of(&enter[k], c));
        if (RING) put_part(ring + row + k, item, &enter[k]);
      }
    }
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void box_march(SEPARABLE_ARGUMENTS) {
  (void)streaming, (void)scratch, (void)row_origin;
  local SUM prefix[TILES][STEP][WIDTH] __attribute__((aligned(64)));
#if !SHUFFLES
  local item_totals totals[STEP];
#endif
#if RING
  local ring_row ring[RING];
#else
  local ring_row* const ring = 0;
#endif
  const uint item = get_local_id(0);
  const uint area = row_taps * column_taps;
  const VALUE inverse = (VALUE)1 / (VALUE)area;
  const word_divisor divisor = divisor_of_area(area);
  const uint lane = item % SEGMENT;  // of the segment
  const ulong across = (end_col + RESULTS - 1) / RESULTS, down = (end_row - first_row + band - 1) / band;
  for (ulong t = get_group_id(0); t < across * down * planes; t += get_num_groups(0)) {
    const ulong p = t / (across * down), strip = (t - p * (across * down)) % across;
    const ulong top = first_row + (t - p * (across * down)) / across * band;
    const uint height = (uint)min((ulong)band, end_row - top);
    global const ELEMENT* from = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    global RESULT* const first_to = out + plane_offset(p, depth, out_offset, out_stride, out_plane) + top * out_pitch + strip * RESULTS + item;
    global RESULT* to = first_to;

    const own_columns own = find_columns((long)(strip * RESULTS) - LEFT + item * COLS, (long)width);
    const uint kept = column_taps - 1, last_read = height + kept - 1;
    const long first_read = (long)top - (long)column_origin;
    const read_rows read = find_rows(from, in_pitch, first_read, last_read + 1, (long)rows, value_beyond(weights));
    global const ELEMENT* coming = from + (ulong)first_read * in_pitch;

    SUM high[COLS], low[COLS];
    sum_first_rows(high, low, kept, coming, own, read, ring, item);

    // The prefetched rows: for row r of the band, the row that enters its boxes, and the one that leaves after them.
    part leave[AHEAD], enter[AHEAD];
    global const ELEMENT* going = coming;
    coming += kept * in_pitch;
#pragma unroll
    for (uint k = 0; k < AHEAD; k += STEP) {
      if (!RING) load_rows(leave + k, k, last_read, going + k * in_pitch, own, read);
      load_rows(enter + k, kept + k, last_read, coming + k * in_pitch, own, read);
    }
    coming += AHEAD * in_pitch;
    going += AHEAD * in_pitch;

    result_place results[COLS];
    uint written = 0;  // one bit for each result that is written
#pragma unroll
    for (uint j = 0; j < COLS; ++j) {
      const uint x = item + j * GROUP;
      const ulong col = strip * RESULTS + x;
      results[j] = find_result(x);
      if (x < RESULTS && col >= first_col && col < end_col) written |= 1u << j;
    }

#if !SUM_INTEGER
    SUM check = 0;  // NaN if a result is not finite
#endif
    uint slot = 0;  // of the ring
    for (uint first = 0; first < height; first += AHEAD) {
#pragma unroll
      for (uint turn = 0; turn < TURNS; ++turn) {
        const uint row = first + turn * STEP;
        local SUM(*const tile)[WIDTH] = prefix[TILES == 1 ? 0 : TURNS % 2 == 0 ? turn % 2 : row / STEP % 2];
        // Down the columns, and along the work-item's own.
        SUM ended[STEP][COLS];
#pragma unroll
        for (uint k = 0; k < STEP; ++k) {
          const uint a = turn * STEP + k;
          if (RING) {
            get_part(&leave[a], ring + slot, item);
            put_part(ring + slot, item, &enter[a]);
            slot = slot + 1 == RING ? 0 : slot + 1;
          }
          slide_down(ended[k], high, low, &enter[a], &leave[a]);
        }

        // Prefetches the next rows.
        const uint next = row + AHEAD;
        if (next < height) {
          load_rows(enter + turn * STEP, next + kept, last_read, coming, own, read);
          if (!RING) load_rows(leave + turn * STEP, next, last_read, going, own, read);
        }
        coming += STEP * in_pitch;
        going += STEP * in_pitch;

#if SHUFFLES
        scan_segments(ended, lane);
#else
        scan_segments(ended, lane, totals, item);
#endif
#pragma unroll
        for (uint k = 0; k < STEP; ++k) put_columns(tile[k], item, ended[k]);
        barrier(CLK_LOCAL_MEM_FENCE);

#pragma unroll
        for (uint j = 0; j < COLS; ++j) {
          if (written >> j & 1) {
            SUM box[STEP];
            sum_boxes(box, tile, results[j]);
#pragma unroll
            for (uint k = 0; k < STEP; ++k) {
              if (row + k < height) store_mean_by(to + k * out_pitch, j * GROUP, box[k], divisor, inverse);
#if !SUM_INTEGER
              check += box[k] - box[k];  // Mesa's compilers simplify 0 times it to 0
#endif
            }
          }
        }
        to += STEP * out_pitch;
      }
    }
#if !SUM_INTEGER
    if (is_spoiled(check))
      make_columns(first_to, out_pitch, height, read, (long)(strip * RESULTS + item), written, (long)width, column_taps, inverse);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);  // the next strip's first step uses memory that may still be read
  }
}
