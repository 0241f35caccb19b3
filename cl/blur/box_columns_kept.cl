// The second launch of a box blur in two passes, as box_columns.cl, where the rows of a box find room in local memory.
//
// A chunk is the CHUNK rows that enter boxes in a step, of which a work-item has ROWS. Local memory keeps, of each row, the sum from it to the
// end of its chunk. A box is then the sum that is kept of its first row, whole chunks, and a prefix sum of the chunk that enters: each row is
// added up once for both its ends, and nothing is subtracted. Of its rows a work-item publishes their sum alone, with one barrier a step.
//
// Launch: as box_columns.cl. Local memory: KEPT_ROWS + ROWS sums for each column, and 2 for each work-item.
#include "blur/box_columns.clh"

#define KEPT_ROWS (CHUNK * (BETWEEN + 2))  // in local memory, until they leave the boxes
#include "common/group_size.clh"
// Rows of a step whose boxes begin in the chunk before the BETWEEN last ones, which these boxes have as a whole.
#define EARLY (COLUMN_TAPS % CHUNK)
#define KEPT (KEPT_ROWS * LANES)
#define KEPT_SUMS (KEPT + ROWS * LANES)  // boxes may begin up to ROWS - 1 rows before the end of the ring: the next rows follow it
#define NEXT_CHUNK(at) ((at) + CHUNK * LANES < KEPT ? (at) + CHUNK * LANES : (at) + CHUNK * LANES - KEPT)

// The last chunks' sums, the oldest first.
typedef struct {
  SUM sums[BETWEEN];
} whole_chunks;

// From each of a work-item's rows to its last one.
static inline void find_suffixes(SUM suffix[ROWS], const SUM enter[ROWS]) {
  suffix[ROWS - 1] = enter[ROWS - 1];
#pragma unroll
  for (int k = ROWS - 2; k >= 0; --k) suffix[k] = suffix[k + 1] + enter[k];
}

// The sums of the chunk's rows before a work-item's own and after them. `sums`: of the work-items of its column.
static inline void find_beside(SUM* before, SUM* after, local const SUM* sums, uint part) {
  *before = *after = 0;
#pragma unroll 4
  for (uint n = 0; n < part; ++n) *before += sums[n * LANES];
#pragma unroll 4
  for (uint n = part + 1; n < PARTS; ++n) *after += sums[n * LANES];
}

// Keeps a work-item's rows at place `put` of its column.
static inline void keep_suffixes(local SUM* column, uint put, const SUM suffix[ROWS], SUM after) {
  local SUM* keep = column + put;
#pragma unroll
  for (uint k = 0; k < ROWS; ++k) keep[k * LANES] = suffix[k] + after;
  if (EARLY % ROWS != 0 && put == 0) {
#pragma unroll
    for (uint k = 0; k < ROWS; ++k) keep[KEPT + k * LANES] = suffix[k] + after;
  }
}

// Turns the sums that are kept of the rows where boxes begin into those of the boxes.
static inline void add_to_boxes(SUM boxes[ROWS], const whole_chunks* whole, SUM before, const SUM enter[ROWS], uint part) {
#pragma unroll
  for (uint n = 1; n < BETWEEN; ++n) before += whole->sums[n];
  if (part < EARLY / ROWS) before += whole->sums[0];
  if (EARLY % ROWS != 0 && part == EARLY / ROWS) {
#pragma unroll
    for (uint k = 0; k < EARLY % ROWS; ++k) boxes[k] += whole->sums[0];
  }
#pragma unroll
  for (uint k = 0; k < ROWS; ++k) {
    boxes[k] += before;
    before += enter[k];
  }
}

static inline void add_chunk(whole_chunks* whole, SUM sum) {
#pragma unroll
  for (uint n = 0; n + 1 < BETWEEN; ++n) whole->sums[n] = whole->sums[n + 1];
  whole->sums[BETWEEN - 1] = sum;
}

kernel GROUP_SIZE
void box_columns_kept(SEPARABLE_ARGUMENTS) {
  (void)in, (void)in_offset, (void)in_pitch, (void)in_plane, (void)in_stride, (void)row_origin, (void)column_taps, (void)streaming;
  local SUM coming[2][PARTS][LANES];  // the sums of work-items' rows, of one step and of the next
  local SUM kept[KEPT_SUMS];
  const uint lane = get_local_id(0) % LANES, part = get_local_id(0) / LANES;
  local SUM* own = kept + lane;
  const uint area = row_taps * COLUMN_TAPS;
  const VALUE inverse = (VALUE)1 / (VALUE)area;
  const word_divisor divisor = divisor_of_area(area);
  const ulong across = (end_col + LANES - 1) / LANES, down = (end_row - first_row + band - 1) / band;
  column_sums x = {0, (uint)sums_pitch(width), (int)rows, (SUM)value_beyond(weights) * (SUM)row_taps};
  uint turn = 0;
  for (ulong t = get_group_id(0); t < across * down * planes; t += get_num_groups(0)) {
    const ulong p = t / (across * down), strip = (t - p * (across * down)) % across;
    const ulong top = first_row + (t - p * (across * down)) / across * band, col = strip * LANES + lane;
    const int height = (int)min((ulong)band, end_row - top);
    x.from = (global const SUM*)scratch + p * rows * x.pitch + min(col, end_col - 1);
    global RESULT* to = out + plane_offset(p, depth, out_offset, out_stride, out_plane) + (top + part * ROWS) * out_pitch + col;
    const bool is_column = col >= first_col && col < end_col;

    // All chunks of the first step's boxes come first.
    const int warm = -(int)((BETWEEN + 1) * CHUNK);
    const int behind = (int)top - (int)column_origin + (int)(COLUMN_TAPS + part * ROWS);
    SUM enter[ROWS];
    whole_chunks whole = {{0}};
    load_sums(enter, x, behind + warm);
    // Places of the rows that come, and of those where boxes begin.
    uint put = part * (ROWS * LANES), get = put + (CHUNK - EARLY) * LANES;
#pragma unroll 1
    for (int y = warm; y < height; y += CHUNK) {
      SUM suffix[ROWS], next[ROWS], before, after;
      find_suffixes(suffix, enter);
      coming[turn][part][lane] = suffix[0];
      if (y + CHUNK < height) load_sums(next, x, behind + (y + CHUNK));
      barrier(CLK_LOCAL_MEM_FENCE);
      find_beside(&before, &after, &coming[turn][0][lane], part);
      turn ^= 1;
      keep_suffixes(own, put, suffix, after);
      put = NEXT_CHUNK(put);
      if (y >= 0) {
        SUM boxes[ROWS];
#pragma unroll
        for (uint k = 0; k < ROWS; ++k) boxes[k] = own[get + k * LANES];
        get = NEXT_CHUNK(get);
        add_to_boxes(boxes, &whole, before, enter, part);
        store_boxes(to, out_pitch, boxes, is_column ? height - y - (int)(part * ROWS) : 0, divisor, inverse);
        to += CHUNK * out_pitch;
      }
      add_chunk(&whole, before + (suffix[0] + after));
#pragma unroll
      for (uint k = 0; k < ROWS; ++k) enter[k] = next[k];
    }
  }
}
