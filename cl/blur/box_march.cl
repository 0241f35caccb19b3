// Mean of a box of any size, by a march down the rows whose cost hardly depends on the size.
//
// A work-item owns COLS neighbouring columns of a strip, and their sums over the rows of a box. For each row it adds the row
// that comes into the box and takes away the one that has left it; both are read AHEAD rows ahead of time. The rows between
// are kept in a ring in local memory, or, where that would be too large, the row that leaves is read again, mostly from the
// cache. The group turns STEP rows of such sums at a time into prefix sums along segments of 32 (without NVIDIA's shuffles
// 16) work-items' columns. The sum of a box is the difference of two of them, and the totals of the segments that end
// between: F. C. Crow, "Summed-area tables for texture mapping", SIGGRAPH 1984, kept for STEP rows of a strip at a time.
// Prefixes of short segments also lose less by rounding than those of the whole strip. A work-item with a result that is not
// finite, of which something else in the segment or above in the band may be the cause, makes its results anew in the end.
//
// Launch: one dimension, GROUP work-items a group; group g takes strips of `band` rows: g, g + groups, ...
// Local memory: STEP rows of GROUP * COLS sums: with shuffles two such tiles that take turns, so that STEP rows have one
// barrier, else one and STEP rows of GROUP * CHANNELS totals; with RING so many rows of GROUP * COLS elements.
#include "blur/box.clh"

#ifndef GROUP
#define GROUP 256
#endif
#ifndef COLS
#define COLS 2  // columns of a work-item: 1, 2 or 4, and a multiple of CHANNELS; 3 for 3 channels
#endif
#ifndef STEP
#define STEP 4  // rows between barriers
#endif
#ifndef AHEAD
#define AHEAD 8  // rows that are read ahead of time: a multiple of STEP
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

#if SHUFFLES
#include "nvidia/shuffle.clh"
DEFINE_WARP_MOVES(sum, SUM)
#define SEGMENT 32
#define TILES 2
#else
#define SEGMENT (GROUP < 16 ? GROUP : 16)
#define TILES 1
#endif
#define SEGMENT_COLS (SEGMENT * COLS)
// A work-item's columns in a row of local memory.
#if COLS == 4
#define PUT_COLUMNS(row, v) (((local JOIN(SUM, 4)*)(row))[item] = (JOIN(SUM, 4))((v)[0], (v)[1], (v)[2], (v)[3]))
#define GET_COLUMNS(v, row)                                       \
  {                                                               \
    const JOIN(SUM, 4) got = ((local JOIN(SUM, 4)*)(row))[item]; \
    (v)[0] = got.s0, (v)[1] = got.s1, (v)[2] = got.s2, (v)[3] = got.s3; \
  }
#elif COLS == 3
#define PUT_COLUMNS(row, v) ((row)[item * 3] = (v)[0], (row)[item * 3 + 1] = (v)[1], (row)[item * 3 + 2] = (v)[2])
#define GET_COLUMNS(v, row) ((v)[0] = (row)[item * 3], (v)[1] = (row)[item * 3 + 1], (v)[2] = (row)[item * 3 + 2])
#elif COLS == 2
#define PUT_COLUMNS(row, v) (((local JOIN(SUM, 2)*)(row))[item] = (JOIN(SUM, 2))((v)[0], (v)[1]))
#define GET_COLUMNS(v, row)                                       \
  {                                                               \
    const JOIN(SUM, 2) got = ((local JOIN(SUM, 2)*)(row))[item]; \
    (v)[0] = got.s0, (v)[1] = got.s1;                             \
  }
#else
#define PUT_COLUMNS(row, v) ((row)[item] = (v)[0])
#define GET_COLUMNS(v, row) ((v)[0] = (row)[item])
#endif
#if SMALL
#define PUT_PART(row, p) ((row)[item] = (p))
#define GET_PART(p, row) ((p) = (row)[item])
#else
#define PUT_PART(row, p) PUT_COLUMNS(row, (p).each)
#define GET_PART(p, row) GET_COLUMNS((p).each, row)
#endif

// Kahan's sum: W. Kahan, "Further remarks on reducing truncation errors", CACM 8 (1), 1965. `low` is what the sum lacks. It
// loses something only where a number is larger than the sum before it, and then no more than that number's last place.
#if SUM_INTEGER
#define SLIDE(high, low, v) ((high) += (v))
#else
#define SLIDE(high, low, v)                                          \
  {                                                                  \
    const SUM wanted = (v) + (low), sum_now = (high) + wanted;       \
    (low) = wanted - (sum_now - (high));                             \
    (high) = sum_now;                                                \
  }
#endif

// A work-item's part of a row as it was read: integers in the bytes of one word, which compilers take for vectors of
// bytes else, each of them in a register.
#if SMALL == 1
typedef uint part;
#elif SMALL == 2
typedef ulong part;
#elif ELEMENT_HALF
typedef struct { float each[COLS]; } part;
#else
typedef struct { ELEMENT each[COLS]; } part;
#endif
#if SMALL
#define NUMBER(p, c) ((SUM)((p) >> (8 * SMALL * (c)) & ((1u << 8 * SMALL) - 1)))
#define SET_NUMBER(p, c, value) ((p) |= (part)(value) << (8 * SMALL * (c)))
#define NO_PART 0
#else
#define NUMBER(p, c) ((SUM)(p).each[c])
#define SET_NUMBER(p, c, value) ((p).each[c] = (value))
#define NO_PART {{0}}
#endif

// Neighbours that are all there.
static inline part load_part(global const ELEMENT* from) {
#if VECTOR_IN && SMALL
  return *(global const part*)from;
#else
  part p = NO_PART;
#if VECTOR_IN && COLS > 1
#if ELEMENT_HALF
  const JOIN(float, COLS) v = JOIN(vloada_half, COLS)(0, from);
#else
  const JOIN(ELEMENT, COLS) v = *(global const JOIN(ELEMENT, COLS)*)from;
#endif
  p.each[0] = v.s0, p.each[1] = v.s1;
#if COLS == 4
  p.each[2] = v.s2, p.each[3] = v.s3;
#endif
#else
#pragma unroll
  for (uint c = 0; c < COLS; ++c) SET_NUMBER(p, c, load_value(from, c));
#endif
  return p;
#endif
}

typedef struct {
  long first;        // column
  long place[COLS];  // -1: the value beyond the edges
  bool inside;       // all are
} own_columns;

// Of a row that is there.
static inline part load_edge(global const ELEMENT* line, own_columns own, VALUE beyond) {
  part p = NO_PART;
#pragma unroll
  for (uint c = 0; c < COLS; ++c) {
    if (own.place[c] < 0) {
      SET_NUMBER(p, c, beyond);
    } else {
      SET_NUMBER(p, c, load_value(line, (ulong)own.place[c]));
    }
  }
  return p;
}

// Of any row.
static inline part load_any(global const ELEMENT* from, ulong in_pitch, long row, long rows, own_columns own, VALUE beyond) {
  const long source = place_within(row, rows);
  part p = load_edge(from + (ulong)max(source, 0L) * in_pitch, own, beyond);
  if (source < 0) {
    const part none = NO_PART;
    p = none;
#pragma unroll
    for (uint c = 0; c < COLS; ++c) SET_NUMBER(p, c, beyond);
  }
  return p;
}

// Rows i, i + 1, ... of those that the group reads, of which none lies after `last`, to parts[at], parts[at + 1], ...; where all
// are in the plane, they are at `line`.
#define LOAD_ROWS(parts, at, count, i, last, line)                                                                           \
  if ((i) >= plain_from && (i) + (count) <= plain_end) {                                                                     \
    if (own.inside) {                                                                                                        \
      _Pragma("unroll") for (uint k = 0; k < (count); ++k) parts[(at) + k] = load_part((line) + k * in_pitch + own.first);   \
    } else {                                                                                                                 \
      _Pragma("unroll") for (uint k = 0; k < (count); ++k) parts[(at) + k] = load_edge((line) + k * in_pitch, own, BEYOND);  \
    }                                                                                                                        \
  } else {                                                                                                                   \
    _Pragma("unroll") for (uint k = 0; k < (count); ++k) parts[(at) + k] =                                                   \
        load_any(from, in_pitch, first_read + min((i) + k, (uint)(last)), (long)rows, own, BEYOND);                          \
  }

#if !SUM_INTEGER
// The sum of a row's ROW_TAPS cells from element `first` on.
static inline SUM row_sum(global const ELEMENT* from, ulong in_pitch, long row, long rows, long first, long width, SUM beyond) {
  const long source = place_within(row, rows);
  global const ELEMENT* line = from + (ulong)max(source, 0L) * in_pitch;
  SUM sum = 0;
#pragma unroll 1
  for (uint i = 0; i < ROW_TAPS; ++i) {
    const long place = source < 0 ? -1 : element_within(first + (long)(i * CHANNELS), width);
    sum += place < 0 ? beyond : load_sum(line, (ulong)place);
  }
  return sum;
}

// Makes the results of a column near something that is not finite: a box's rows slide down, but for those whose sums are not
// finite, of which it is remembered how far down they matter. `first`, `first_read`: element and row where the first box begins.
static inline void make_column(global RESULT* to, ulong out_pitch, uint height, global const ELEMENT* from, ulong in_pitch,
                               long first_read, long rows, long first, long width, uint column_taps, SUM beyond, VALUE inverse) {
  SUM high = 0, low = 0;
  uint positive_end = 0, negative_end = 0;  // the row from which on no infinity of that sign, and no NaN, is in the box
#pragma unroll 1
  for (uint r = 0; r < height + column_taps - 1; ++r) {
    SUM sum = row_sum(from, in_pitch, first_read + r, rows, first, width, beyond);
    if (is_spoiled(sum)) {
      if (!(sum < 0)) positive_end = r + column_taps;
      if (!(sum > 0)) negative_end = r + column_taps;
    } else {
      ADD_SUM(high, low, sum);
    }
    if (r + 1 < column_taps) continue;
    const uint oldest = r + 1 - column_taps;
    SUM box = high + low;
    if (r < positive_end || r < negative_end) {
      box = r >= negative_end ? INFINITY : r >= positive_end ? -INFINITY : NAN;
    } else if (is_spoiled(box)) {  // the sum of finite rows overflows, or has done so
      high = low = 0;
#pragma unroll 1
      for (uint n = oldest; n <= r; ++n) {
        sum = row_sum(from, in_pitch, first_read + n, rows, first, width, beyond);
        ADD_SUM(high, low, sum);
      }
      box = total_of(high, low);
    }
    store_pixel(to, (ulong)oldest * out_pitch, (VALUE)box * inverse);
    sum = row_sum(from, in_pitch, first_read + oldest, rows, first, width, beyond);
    if (!is_spoiled(sum)) TAKE_SUM(high, low, sum);
  }
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void box_march(SEPARABLE_ARGUMENTS) {
  (void)streaming, (void)scratch, (void)row_origin;
  local SUM prefix[TILES][STEP][WIDTH] __attribute__((aligned(64)));
#if !SHUFFLES
  local SUM totals[STEP][CHANNELS][GROUP];
#endif
#if RING && SMALL
  local part ring[RING][GROUP];
#elif RING
  local SUM ring[RING][WIDTH] __attribute__((aligned(64)));
#endif
  const uint item = get_local_id(0);
  const uint area = row_taps * column_taps;
  const VALUE inverse = (VALUE)1 / (VALUE)area;
  const uint lane = item % SEGMENT;  // of the segment
  const ulong across = (end_col + RESULTS - 1) / RESULTS, down = (end_row - first_row + band - 1) / band;
  for (ulong t = get_group_id(0); t < across * down * planes; t += get_num_groups(0)) {
    const ulong p = t / (across * down), strip = (t - p * (across * down)) % across;
    const ulong top = first_row + (t - p * (across * down)) / across * band;
    const uint height = (uint)min((ulong)band, end_row - top);
    global const ELEMENT* from = in + PLANE_OFFSET(p, in);
    global RESULT* to = out + PLANE_OFFSET(p, out) + top * out_pitch + strip * RESULTS + item;

    own_columns own;
    own.first = (long)(strip * RESULTS) - LEFT + item * COLS;
    own.inside = own.first >= 0 && own.first + COLS <= (long)width;
#pragma unroll
    for (uint c = 0; c < COLS; ++c)
      own.place[c] = own.first < (long)width + BOX ? element_within(own.first + c, (long)width) : -1;
    // The rows that the group reads, from 0 on; those that are in the plane.
    const long first_read = (long)top - (long)column_origin;
    const uint kept = column_taps - 1, last_read = height + kept - 1;
    const uint plain_from = (uint)clamp(-first_read, 0L, (long)last_read + 1);
    const uint plain_end = (uint)clamp((long)rows - first_read, 0L, (long)last_read + 1 + 2 * AHEAD);
    global const ELEMENT* coming = from + (ulong)first_read * in_pitch;

    // The rows of the first box but its last.
    SUM high[COLS], low[COLS];
#pragma unroll
    for (uint c = 0; c < COLS; ++c) high[c] = low[c] = 0;
    for (uint row = 0; row < kept; row += AHEAD) {
      part come[AHEAD];
      LOAD_ROWS(come, 0, AHEAD, row, kept - 1, coming + (ulong)row * in_pitch)
#pragma unroll
      for (uint k = 0; k < AHEAD; ++k) {
        if (row + k < kept) {
#pragma unroll
          for (uint c = 0; c < COLS; ++c) SLIDE(high[c], low[c], NUMBER(come[k], c));
#if RING
          PUT_PART(ring[row + k], come[k]);
#endif
        }
      }
    }

    // What is read ahead: of row r of the band, the row that comes for its boxes, and the one that leaves after them.
#if !RING
    part leave[AHEAD];
    global const ELEMENT* going = coming;
    LOAD_ROWS(leave, 0, AHEAD, 0, last_read, going)
    going += AHEAD * in_pitch;
#endif
    part enter[AHEAD];
    coming += kept * in_pitch;
    LOAD_ROWS(enter, 0, AHEAD, kept, last_read, coming)
    coming += AHEAD * in_pitch;

    // The work-item's results: the element before each box, the last one like it in its segment, and whether the box ends
    // in the segment after the next BOX / SEGMENT_COLS.
    uint before[COLS], tail[COLS];
    bool farther[COLS], writes[COLS];
#pragma unroll
    for (uint j = 0; j < COLS; ++j) {
      const uint x = item + j * GROUP;
      const ulong col = strip * RESULTS + x;
      writes[j] = x < RESULTS && col >= first_col && col < end_col;
      before[j] = min(x, (uint)RESULTS - 1) + LEFT - SIDE - CHANNELS;
      tail[j] = before[j] / SEGMENT_COLS * SEGMENT_COLS + SEGMENT_COLS - CHANNELS + before[j] % CHANNELS;
      farther[j] = before[j] % SEGMENT_COLS + BOX % SEGMENT_COLS >= SEGMENT_COLS;
    }

#if !SUM_INTEGER
    SUM check = 0;  // NaN as soon as a result is not finite
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
#if RING
          part gone;
          GET_PART(gone, ring[slot]);
          PUT_PART(ring[slot], enter[a]);
          slot = slot + 1 == RING ? 0 : slot + 1;
#else
          const part gone = leave[a];
#endif
#pragma unroll
          for (uint c = 0; c < COLS; ++c) {
            SLIDE(high[c], low[c], NUMBER(enter[a], c));
            ended[k][c] = high[c];
            SLIDE(high[c], low[c], -NUMBER(gone, c));
            if (c >= CHANNELS) ended[k][c] += ended[k][c < CHANNELS ? c : c - CHANNELS];
          }
        }

        // The next rows come.
        const uint next = row + AHEAD;
        if (next < height) {
          LOAD_ROWS(enter, turn * STEP, STEP, next + kept, last_read, coming)
#if !RING
          LOAD_ROWS(leave, turn * STEP, STEP, next, last_read, going)
#endif
        }
        coming += STEP * in_pitch;
#if !RING
        going += STEP * in_pitch;
#endif

        // What stands before the work-item in its segment, and the prefix sums.
        SUM sum[STEP][CHANNELS];
#if SHUFFLES
#pragma unroll
        for (uint k = 0; k < STEP; ++k)
#pragma unroll
          for (uint c = 0; c < CHANNELS; ++c) sum[k][c] = ended[k][COLS - CHANNELS + c];
#pragma unroll
        for (uint by = 1; by < SEGMENT; by *= 2)
#pragma unroll
          for (uint k = 0; k < STEP; ++k)
#pragma unroll
            for (uint c = 0; c < CHANNELS; ++c) {
              const SUM left = sum_from_left(sum[k][c], by);
              if (lane >= by) sum[k][c] += left;
            }
#pragma unroll
        for (uint k = 0; k < STEP; ++k)
#pragma unroll
          for (uint c = 0; c < COLS; ++c) {
            const SUM own_total = ended[k][COLS - CHANNELS + c % CHANNELS];
            ended[k][c] = c >= COLS - CHANNELS ? sum[k][c % CHANNELS] : ended[k][c] + (sum[k][c % CHANNELS] - own_total);
          }
#else
#pragma unroll
        for (uint k = 0; k < STEP; ++k)
#pragma unroll
          for (uint c = 0; c < CHANNELS; ++c) {
            totals[k][c][item] = ended[k][COLS - CHANNELS + c];
            sum[k][c] = 0;
          }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint n = SEGMENT - 1; n > 0; --n) {
          if (lane >= n) {
#pragma unroll
            for (uint k = 0; k < STEP; ++k)
#pragma unroll
              for (uint c = 0; c < CHANNELS; ++c) sum[k][c] += totals[k][c][item - n];
          }
        }
#pragma unroll
        for (uint k = 0; k < STEP; ++k)
#pragma unroll
          for (uint c = 0; c < COLS; ++c) ended[k][c] += sum[k][c % CHANNELS];
#endif
#pragma unroll
        for (uint k = 0; k < STEP; ++k) PUT_COLUMNS(tile[k], ended[k]);
        barrier(CLK_LOCAL_MEM_FENCE);

        // Neighbouring work-items write neighbouring results.
#pragma unroll
        for (uint j = 0; j < COLS; ++j) {
          if (writes[j]) {
            SUM box[STEP];
#pragma unroll
            for (uint k = 0; k < STEP; ++k) box[k] = tile[k][before[j] + BOX] - tile[k][before[j]];
            for (uint n = 0; n < BOX / SEGMENT_COLS; ++n)
#pragma unroll
              for (uint k = 0; k < STEP; ++k) box[k] += tile[k][tail[j] + n * SEGMENT_COLS];
            if (farther[j]) {
#pragma unroll
              for (uint k = 0; k < STEP; ++k) box[k] += tile[k][tail[j] + BOX / SEGMENT_COLS * SEGMENT_COLS];
            }
#pragma unroll
            for (uint k = 0; k < STEP; ++k) {
              if (row + k < height) store_mean(to + k * out_pitch, j * GROUP, box[k], area, inverse);
#if !SUM_INTEGER
              check += box[k] - box[k];  // 0 times it, Mesa's compilers take for 0
#endif
            }
          }
        }
        to += STEP * out_pitch;
      }
    }
#if !SUM_INTEGER
    if (is_spoiled(check)) {
      global RESULT* first_to = out + PLANE_OFFSET(p, out) + top * out_pitch + strip * RESULTS + item;
#pragma unroll 1
      for (uint j = 0; j < COLS; ++j) {
        const long col = (long)(strip * RESULTS + item + j * GROUP);
        if (writes[j])
          make_column(first_to + j * GROUP, out_pitch, height, from, in_pitch, first_read, (long)rows, col - SIDE, (long)width,
                      column_taps, BOX_BEYOND, inverse);
      }
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);  // the next strip's first step uses memory that may still be read
    (void)slot;
  }
}
