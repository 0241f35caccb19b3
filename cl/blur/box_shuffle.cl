// Mean of a box of bytes in the registers of warps, without barriers and local memory.
//
// A warp has a strip of 512 columns, 16 neighbouring ones a work-item, and goes down a band of rows. A work-item keeps the sums of its columns
// over the rows of a box, two sums of 16 bits in a word: for each row it adds the row that enters the box and subtracts the one that has left
// it. Both are loaded STEP rows ahead of time; the row that leaves mostly comes from the cache.
//
// The sum of the box that begins with a work-item's first column has the totals of as many work-items as it spans, by shuffles, and some columns of
// the next one. From there the sum slides along the row: the column that enters, ROW_TAPS columns on, comes by a shuffle of two, the one that
// leaves is the work-item's own. So a work-item computes the means of the boxes that begin after its columns. Their centers are SHIFT columns to
// the right: shuffles move the bytes there, so that each work-item writes 16 aligned bytes. See also box_march.cl.
//
// All work-items load whole vectors that lie in their rows, so that no branch stands between a load and its use. At the edges a work-item whose
// columns lie beyond their rows takes the sums of the columns that the boundary condition puts there, which others of the warp have, through
// local memory. Where these are others' strips, or have no whole vector, bytes are replaced when they are used.
//
// Rows begin at multiples of 16 bytes, and have 16 or more. A box has at most 257 rows, so that a column's sum has 16 bits. Launch: one dimension,
// GROUP work-items a group, whole warps of 32; warp w computes strips of `band` rows: w, w + warps, ... Without SHUFFLES a group is one warp,
// and shuffles are emulated in local memory.
#ifndef ELEMENT
#define ELEMENT uchar
#endif
#ifndef RESULT
#define RESULT uchar
#define RESULT_INTEGER 1
#endif
#include "common/work_group.clh"
#include "separable/arguments.clh"

#ifndef GROUP
#define GROUP 32
#endif
#ifndef STEP
#define STEP 2  // rows
#endif
#ifndef ROW_TAPS
#define ROW_TAPS 101
#endif
#ifndef SMALL_SUMS
#define SMALL_SUMS 0  // 1: sums of boxes are less than 2^23
#endif
#ifndef VECTOR_OUT
#define VECTOR_OUT 1  // 1: rows of results begin at multiples of 16 bytes
#endif
#ifndef SHUFFLES
#define SHUFFLES 0  // 1: NVIDIA's shuffles
#endif
#ifndef NARROW_SUMS
#define NARROW_SUMS 0  // 1: sums of columns have at most 15 bits
#endif
#define BIAS 0x8000u
#define COLS 16     // columns of a work-item
#define RADIUS (ROW_TAPS / 2)
#define SHIFT (RADIUS + 1)  // columns from the one before a box to its center
#define WORDS (COLS / 2)    // of the sums of a work-item's columns
#define LANES_LEFT ((SHIFT + COLS - 1) / COLS)     // work-items of a warp without results
#define LANES_RIGHT ((RADIUS + COLS - 1) / COLS)
#define STRIP (32 * COLS)
#define RESULTS ((32 - LANES_LEFT - LANES_RIGHT) * COLS)  // columns of a strip with results

#if SHUFFLES
#include "nvidia/bytes.clh"
#include "nvidia/copy_async.clh"
#include "nvidia/dot_products.clh"
#include "nvidia/shuffle.clh"
#else
#define sync_warp() barrier(CLK_LOCAL_MEM_FENCE)
#define WARP 32
static inline uint low_bytes(uint a, uint b, uint c, uint d) { return (a & 255) | (b & 255) << 8 | (c & 255) << 16 | d << 24; }
static inline uint permuted_bytes(uint a, uint b, uint selector) { return selector == 0x5432 ? a >> 16 | b << 16 : a; }
static inline uint add_pair(uint numbers, uint weights, uint sum) {
  return sum + (numbers & 0xffff) * (weights & 255) + (numbers >> 16) * (weights >> 8);
}
#endif

// Words that the work-items of a warp have for each other. By all of them: with SHUFFLES words stay in registers, else share_words() puts them
// into local memory, one row of WARP for each. Its loops are written out: PoCL 3.1 loses private arrays in them.
typedef uint shared_words[WARP];
GROUP_FUNCTION void share_words(local shared_words* shared, uint first, const uint* words, uint count, uint lane) {
#if !SHUFFLES
#pragma unroll
  for (uint n = 0; n < count; ++n) shared[first + n][lane] = words[n];
#endif
  (void)shared, (void)first, (void)words, (void)count, (void)lane;
}
GROUP_FUNCTION void wait_for_words(void) {
#if !SHUFFLES
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
}
// Word n, which is `word` here, of the work-item `by` lanes before, or after; any word where there is none.
GROUP_FUNCTION uint word_before(local const shared_words* shared, uint n, uint word, uint by, uint lane) {
#if SHUFFLES
  (void)shared, (void)n, (void)lane;
  return shuffle_up(word, by);
#else
  (void)word;
  return shared[n][lane >= by ? lane - by : 0];
#endif
}
GROUP_FUNCTION uint word_after(local const shared_words* shared, uint n, uint word, uint by, uint lane) {
#if SHUFFLES
  (void)shared, (void)n, (void)lane;
  return shuffle_down(word, by);
#else
  (void)word;
  return shared[n][min(lane + by, (uint)WARP - 1)];
#endif
}

// Loads the vectors of STEP rows from row `first_row` on; a row beyond the edges is another one of the plane. `from`: in row 0.
INLINED void load_rows(uint4 v[STEP], global const uchar* from, ulong pitch, int first_row, int rows) {
#pragma unroll
  for (uint k = 0; k < STEP; ++k)
    v[k] = *(global const uint4*)(from + (ulong)max(place_in_few(first_row + (int)k, rows), 0) * pitch);
}

// Replaces the vectors of STEP rows by the bytes that the boundary condition puts there, at `places` in a row. All loads are made, wherever
// they are from, since branches would let each wait for the one before.
INLINED void replace_vectors(uint4 v[STEP], const int places[COLS], global const uchar* plane, ulong pitch, int first_row, int rows, uint beyond) {
#pragma unroll
  for (uint k = 0; k < STEP; ++k) {
    global const uchar* from = plane + (ulong)max(place_in_few(first_row + (int)k, rows), 0) * pitch;
    uint word[4];
#pragma unroll
    for (uint n = 0; n < 4; ++n) {
      word[n] = 0;
#pragma unroll
      for (uint b = 0; b < 4; ++b) {
        const int place = places[4 * n + b];
        const uint byte = from[max(place, 0)];
        word[n] |= (BOUNDARY > 1 || place >= 0 ? byte : beyond) << 8 * b;
      }
    }
    v[k] = (uint4)(word[0], word[1], word[2], word[3]);
  }
}

// Replaces the vectors of rows without a place in the plane.
INLINED void replace_rows(uint4 v[STEP], int first_row, int rows, uint beyond) {
#pragma unroll
  for (uint k = 0; k < STEP; ++k)
    if (place_in_few(first_row + (int)k, rows) < 0) v[k] = (uint4)(beyond * 0x01010101u);
}

// The bytes of columns 0, 2 and of columns 1, 3 of four, as two numbers of 16 bits.
INLINED uint4 even_columns(uint4 v) { return v & 0x00ff00ffu; }
#if SHUFFLES
INLINED uint4 odd_columns(uint4 v) {
  return (uint4)(permuted_bytes(v.s0, 0, 0x4341), permuted_bytes(v.s1, 0, 0x4341), permuted_bytes(v.s2, 0, 0x4341),
                 permuted_bytes(v.s3, 0, 0x4341));
}
#else
INLINED uint4 odd_columns(uint4 v) { return v >> 8 & 0x00ff00ffu; }
#endif

// The sums of columns of STEP rows: of a work-item those of even_columns(), then those of odd_columns().
typedef ushort strip_sums[STEP][STRIP];
INLINED int place_of_sum(int col) { return col / COLS * COLS + col % 2 * (COLS / 2) + col % COLS / 4 * 2 + col % 4 / 2; }

// Replaces the sums of work-items at the edges by those of `places` in the strip; below 0: `beyond`. By the whole warp.
GROUP_FUNCTION void replace_sums(uint4 even[STEP], uint4 odd[STEP], bool at_edge, const int places[COLS], uint beyond, local strip_sums* sums,
                                 uint lane) {
#pragma unroll
  for (uint k = 0; k < STEP; ++k) {
    local uint4* own = (local uint4*)((*sums)[k] + lane * COLS);
    own[0] = even[k], own[1] = odd[k];
  }
  sync_warp();
  if (at_edge) {
#pragma unroll
    for (uint k = 0; k < STEP; ++k) {
      uint words[COLS / 2];
#pragma unroll
      for (uint n = 0; n < COLS / 2; ++n) {
        const int low = places[n / 4 + n % 4 * 4], high = places[n / 4 + n % 4 * 4 + 2];
        words[n] = (low < 0 ? beyond : (*sums)[k][low]) | (high < 0 ? beyond : (*sums)[k][high]) << 16;
      }
      even[k] = (uint4)(words[0], words[1], words[2], words[3]);
      odd[k] = (uint4)(words[4], words[5], words[6], words[7]);
    }
  }
  sync_warp();  // the next rows' sums take their place
}

// How sums are divided by the area, an odd number, and rounded to the nearest.
typedef struct {
  uint area, inverse, shift;  // divide_word() of blur/box.clh
  float reciprocal;
} mean_divisor;

// The mean of a sum to which `bias` was added, in the low byte of a word, with undefined bits above it. With SMALL_SUMS by a float: its error is
// at most 255 * 2^-24, and no mean is nearer than 1 / (2 * area) to the middle of two whole numbers, which is more where 255 * area < 2^23.
INLINED uint mean_bits(uint sum, const uint bias, mean_divisor d) {
#if SMALL_SUMS
  return as_uint(fma(as_float(sum + (0x4b000000u - bias)) - 0x1p23f, d.reciprocal, 0x1p23f));
#else
  const uint wanted = sum - bias + d.area / 2, quotient = mul_hi(wanted, d.inverse) >> d.shift;
  return quotient - (quotient * d.area > wanted ? 1u : 0u);
#endif
}

// Word n of a work-item has two of its columns, the one `column_of(n)` and the next but one.
#define column_of(n) ((n) % 4 * 4 + (n) / 4)
#define word_of(column) ((column) / 4 + (column) % 2 * 4)

// The sum of the box that begins with the work-item's first column. `words`: of its columns, which are shared words.
GROUP_FUNCTION uint sum_first_box(const uint words[WORDS], local const shared_words* shared, uint lane) {
  uint part = 0, sum = 0;  // of the columns that the box has of its last work-item; of whole work-items
#pragma unroll
  for (uint n = 0; n < WORDS; ++n) {
    const uint own = SHUFFLES ? words[n] : shared[n][min(lane + ROW_TAPS / COLS, (uint)WARP - 1)];
    const uint column = column_of(n), counted = (column < ROW_TAPS % COLS ? 1 : 0) + (column + 2 < ROW_TAPS % COLS ? 256 : 0);
    if (counted) part = add_pair(own, counted, part);
  }
#if SHUFFLES
  (void)shared, (void)lane;
  uint total = 0;  // of `lanes` work-items from this one on
#pragma unroll
  for (uint n = 0; n < WORDS; ++n) total = add_pair(words[n], 0x0101, total);
  uint before = 0;
#pragma unroll
  for (uint lanes = 1; lanes <= ROW_TAPS / COLS; lanes *= 2) {
    if (ROW_TAPS / COLS & lanes) {
      sum += before == 0 ? total : shuffle_down(total, before);
      before += lanes;
    }
    if (2 * lanes <= ROW_TAPS / COLS) total += shuffle_down(total, lanes);
  }
  return sum + (before == 0 ? part : shuffle_down(part, before));
#else
  for (uint i = 0; i < ROW_TAPS / COLS; ++i)
    for (uint n = 0; n < WORDS; ++n) sum = add_pair(shared[n][min(lane + i, (uint)WARP - 1)], 0x0101, sum);
  return sum + part;
#endif
}

// The means of the boxes that begin after the work-item's columns, four in a word. `words`: of its columns, which are shared words.
GROUP_FUNCTION void find_means(uint means[4], const uint words[WORDS], mean_divisor d, local const shared_words* shared, uint lane) {
  // The columns that enter are those of two work-items, from the ROW_TAPS % COLS-th one of the first on.
  uint far[2 * WORDS];
#pragma unroll
  for (uint n = 0; n < WORDS; ++n) {
    const uint column = column_of(n);
    if (column + 2 >= ROW_TAPS % COLS) far[n] = word_after(shared, n, words[n], ROW_TAPS / COLS, lane);
    if (column < ROW_TAPS % COLS) far[WORDS + n] = word_after(shared, n, words[n], ROW_TAPS / COLS + 1, lane);
  }
  uint enter[WORDS];
#pragma unroll
  for (uint n = 0; n < WORDS; ++n) {
    const uint low = column_of(n) + ROW_TAPS % COLS, high = low + 2;
    const uint first = low / COLS * WORDS + word_of(low % COLS), second = high / COLS * WORDS + word_of(high % COLS);
    enter[n] = low % 4 < 2 ? far[first] : permuted_bytes(far[first], far[second], 0x5432);
  }
  uint sum = sum_first_box(words, shared, lane);
#if NARROW_SUMS
  // What a column changes, and BIAS, so that none is negative.
#pragma unroll
  for (uint n = 0; n < WORDS; ++n) enter[n] += BIAS * 0x10001u - words[n];
#endif
#pragma unroll
  for (uint n = 0; n < 4; ++n) {
    uint mean[4];
#pragma unroll
    for (uint b = 0; b < 4; ++b) {
      const uint word = word_of(4 * n + b), weights = b < 2 ? 1 : 256;
#if NARROW_SUMS
      sum = add_pair(enter[word], weights, sum);
      mean[b] = mean_bits(sum, (4 * n + b + 1) * BIAS, d);
#else
      sum = add_pair(enter[word], weights, sum) - add_pair(words[word], weights, 0);
      mean[b] = mean_bits(sum, 0, d);
#endif
    }
    means[n] = low_bytes(mean[0], mean[1], mean[2], mean[3]);
  }
}

// The means whose boxes have their centers in the work-item's columns. `means`: the work-item's own, which are shared words.
GROUP_FUNCTION void move_means(uint moved[4], const uint means[4], local const shared_words* shared, uint lane) {
  uint r[8];  // of the two work-items that have them
#pragma unroll
  for (uint n = 0; n < 4; ++n) {
    r[4 + n] = SHIFT / COLS > 0 ? word_before(shared, n, means[n], SHIFT / COLS, lane) : means[n];
    r[n] = 4 - n <= (SHIFT % COLS + 3) / 4 ? word_before(shared, n, means[n], SHIFT / COLS + 1, lane) : 0;
  }
#pragma unroll
  for (uint n = 0; n < 4; ++n) {
    const uint word = 4 + n - SHIFT % COLS / 4, bits = SHIFT % 4 * 8;
    moved[n] = bits == 0 ? r[word] : r[word] << bits | r[word - 1] >> (32 - bits) % 32;
  }
}

// Writes the results whose bits are set.
INLINED void store_row(global uchar* to, const uint means[4], uint written) {
  if (VECTOR_OUT && written == 0xffff) {
    *(global uint4*)to = (uint4)(means[0], means[1], means[2], means[3]);
  } else if (written != 0) {
#pragma unroll
    for (uint c = 0; c < COLS; ++c)
      if (written >> c & 1) to[c] = (uchar)(means[c / 4] >> c % 4 * 8);
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void box_shuffle(SEPARABLE_ARGUMENTS) {
  (void)row_origin, (void)streaming, (void)scratch;
#if SHUFFLES
  local shared_words* const shared = 0;
#else
  local shared_words shared[STEP * WORDS];
#endif
  local strip_sums strips[GROUP / WARP] __attribute__((aligned(16)));
  const uint lane = get_local_id(0) % WARP, beyond = (uint)value_beyond(weights);
  mean_divisor divisor;
  divisor.area = row_taps * column_taps;
  divisor.shift = 31 - clz(divisor.area);
  divisor.inverse = (uint)(((1ul << (32 + divisor.shift)) + divisor.area - 1) / divisor.area);
  divisor.reciprocal = 1 / (float)divisor.area;
  const ulong across = (end_col + RESULTS - 1) / RESULTS, bands = (end_row - first_row + band - 1) / band;
  const ulong warp = GROUP == WARP ? get_group_id(0) : get_global_id(0) / WARP;  // of a group of one warp compilers know that it is uniform
  for (ulong t = warp; t < across * bands * planes; t += get_global_size(0) / WARP) {
    const ulong line = t / across, p = line / bands;
    const int strip = (int)((t - line * across) * RESULTS) - LANES_LEFT * COLS, first = strip + (int)lane * COLS;  // first columns
    const ulong top = first_row + (line - p * bands) * band;
    const int height = (int)min((ulong)band, end_row - top), first_read = (int)top - (int)column_origin;
    global const uchar* plane = in + plane_offset(p, depth, in_offset, in_stride, in_plane);
    global uchar* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane) + (top * out_pitch + (ulong)(long)first);

    uint written = 0;  // one bit for each column
    if (lane >= LANES_LEFT && lane < WARP - LANES_RIGHT)
      for (uint c = 0; c < COLS; ++c)
        if (first + (int)c >= (int)first_col && first + (int)c < (int)end_col) written |= 1u << c;
    const int loaded = clamp(first, 0, (int)width / COLS * COLS - COLS);
    const bool at_edge = loaded != first && first < (int)width + RADIUS;  // of others no result has anything
    // Whether sums of the strip are those of all columns beyond the edges, uniform in the warp.
    const bool has_edge = strip < 0 || strip + STRIP > (int)width, by_sums = (BOUNDARY != 5) & (FOLDS == 0) & (width % COLS == 0);
    int places[COLS];
#pragma unroll
    for (uint c = 0; c < COLS; ++c) {
      places[c] = at_edge ? place_in_few(first + (int)c, (int)width) : 0;
      if (by_sums && places[c] >= 0) places[c] = place_of_sum(places[c] - strip);
    }

    // The first box's rows without the last one: twice as many at a time, as nothing else needs registers yet.
    uint4 even = 0, odd = 0, enter[STEP], leave[STEP];
    for (int r = 0; r + 1 < (int)column_taps; r += 2 * STEP) {
      load_rows(enter, plane + loaded, in_pitch, first_read + r, (int)rows);
      load_rows(leave, plane + loaded, in_pitch, first_read + r + STEP, (int)rows);
      if (at_edge && !by_sums) {
        replace_vectors(enter, places, plane, in_pitch, first_read + r, (int)rows, beyond);
        replace_vectors(leave, places, plane, in_pitch, first_read + r + STEP, (int)rows, beyond);
      }
      if (BOUNDARY < 2) {
        replace_rows(enter, first_read + r, (int)rows, beyond);
        replace_rows(leave, first_read + r + STEP, (int)rows, beyond);
      }
#pragma unroll
      for (uint k = 0; k < 2 * STEP; ++k) {
        const uint4 v = k < STEP ? enter[k % STEP] : leave[k % STEP];
        if (r + (int)k + 1 < (int)column_taps) even += even_columns(v), odd += odd_columns(v);
      }
    }
    const int entering = first_read + (int)column_taps - 1;
    load_rows(enter, plane + loaded, in_pitch, entering, (int)rows);
    load_rows(leave, plane + loaded, in_pitch, first_read, (int)rows);
    for (int y = 0; y < height; y += STEP) {
      if (at_edge && !by_sums) {
        replace_vectors(enter, places, plane, in_pitch, entering + y, (int)rows, beyond);
        replace_vectors(leave, places, plane, in_pitch, first_read + y, (int)rows, beyond);
      }
      if (BOUNDARY < 2) {
        replace_rows(enter, entering + y, (int)rows, beyond);
        replace_rows(leave, first_read + y, (int)rows, beyond);
      }
      uint4 evens[STEP], odds[STEP];
#pragma unroll
      for (uint k = 0; k < STEP; ++k) {
        evens[k] = even += even_columns(enter[k]), odds[k] = odd += odd_columns(enter[k]);
        even -= even_columns(leave[k]), odd -= odd_columns(leave[k]);
      }
      if (y + STEP < height) {
        load_rows(enter, plane + loaded, in_pitch, entering + y + STEP, (int)rows);
        load_rows(leave, plane + loaded, in_pitch, first_read + y + STEP, (int)rows);
      }
      if (has_edge && by_sums) replace_sums(evens, odds, at_edge, places, beyond * column_taps, strips + get_local_id(0) / WARP, lane);
      uint words[STEP][WORDS];
#pragma unroll
      for (uint k = 0; k < STEP; ++k) {
        words[k][0] = evens[k].s0, words[k][1] = evens[k].s1, words[k][2] = evens[k].s2, words[k][3] = evens[k].s3;
        words[k][4] = odds[k].s0, words[k][5] = odds[k].s1, words[k][6] = odds[k].s2, words[k][7] = odds[k].s3;
        share_words(shared, k * WORDS, words[k], WORDS, lane);
      }
      wait_for_words();
      uint means[STEP][4];
#pragma unroll
      for (uint k = 0; k < STEP; ++k) find_means(means[k], words[k], divisor, shared + k * WORDS, lane);
      wait_for_words();
#pragma unroll
      for (uint k = 0; k < STEP; ++k) share_words(shared, 4 * k, means[k], 4, lane);
      wait_for_words();
#pragma unroll
      for (uint k = 0; k < STEP; ++k) {
        uint moved[4];
        move_means(moved, means[k], shared + 4 * k, lane);
        if (y + (int)k < height) store_row(to, moved, written);
        to += out_pitch;
      }
      wait_for_words();  // the next rows' words take their place
    }
  }
}
