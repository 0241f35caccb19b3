// Stencil in registers: a work-item computes PACK neighbouring elements of ROWS rows. It loads the rows of the input that these
// need from top to bottom, each once, as vectors, STEPS rows at a time so that the loads overlap. A row is added to the sums of
// all results whose windows contain it, and dropped. Partial sums continue with the next STEPS rows. A row's halo, to the
// left and right of the vector, comes from the cache, into which neighbouring work-items have just loaded it.
//
// There is no local memory and no barrier: with 3 x 3 cells a result takes (ROWS + 2) / ROWS vectors and as many halos, fewer
// accesses than writing the same block to a tile in local memory and reading it from there.
//
// Launch: GROUP_X x GROUP_Y work-items a group; PACK elements along x and ROWS rows along y for each; planes of all grids along
// z. At least one group more along x: these compute the elements at both ends of the rows, whose windows reach beyond the row, one
// at a time. Grid-stride loops over y and z.
//
// With strides and dilations, the rows that a work-item loads are DILATION_Y apart, and its rows of results are CLASSES apart, so that each
// loaded row serves as many results as it can: a window begins ROW_STEP loaded rows after the one above. TURNS is 1 then. Of a row, a work-item
// loads STRIDE_X vectors and both halos; cells between those that have weights are not added.
#ifndef PACK
#define PACK 4  // elements of a vector: 1, 2, 4, 8, 16; at most 16 bytes
#endif
#define FIXED  // compiled for one shape and boundary
#include "stencil/cells.clh"

#ifndef STEPS
#define STEPS 8  // rows of the input that are loaded at once
#endif
#ifndef TURNS
#define TURNS 1  // batches of STEPS rows; 1 for expressions
#endif
#ifndef GROUP_X
#define GROUP_X 32
#endif
#ifndef GROUP_Y
#define GROUP_Y 8
#endif
#ifndef WINDOW_X
#define WINDOW_X 3  // size_x, and so on
#endif
#ifndef WINDOW_Y
#define WINDOW_Y 1
#endif
#ifndef BEFORE_X
#define BEFORE_X (WINDOW_X / 2)  // cells of the window before the result's own: -first_x
#endif
#ifndef BEFORE_Y
#define BEFORE_Y (WINDOW_Y / 2)
#endif
#ifndef HALO
#define HALO 1  // elements of the halo that are loaded at once: a power of two, at most PACK
#endif

#ifndef STRIDE_X
#define STRIDE_X 1  // of windows; where it is more, PACK is a multiple of CHANNELS
#endif
#ifndef STRIDE_Y
#define STRIDE_Y 1
#endif
#ifndef DILATION_X
#define DILATION_X 1
#endif
#ifndef DILATION_Y
#define DILATION_Y 1
#endif
#ifndef ROW_STEP
#define ROW_STEP 1  // STRIDE_Y by the greatest common divisor of both
#endif
#ifndef CLASSES
#define CLASSES 1  // DILATION_Y by it
#endif

#define ROWS ((STEPS * TURNS - WINDOW_Y) / ROW_STEP + 1)  // of results of a work-item
// Sums at a time: sum o is complete with row o of those that are loaded at once, and begins WINDOW_Y - 1 rows before.
#define SUMS (TURNS == 1 ? STEPS : STEPS + WINDOW_Y - 1)
#define LEFT (BEFORE_X > 0 ? BEFORE_X * CHANNELS : 0)
#define AFTER_X ((WINDOW_X - 1) * DILATION_X - BEFORE_X - (STRIDE_X - 1))  // cells after the middle of a row
#define RIGHT (AFTER_X > 0 ? AFTER_X * CHANNELS : 0)
#define LEFT_PARTS ((LEFT + HALO - 1) / HALO)
#define RIGHT_PARTS ((RIGHT + HALO - 1) / HALO)
#define MIDDLE (PACK * STRIDE_X)  // elements between both halos
#define SPAN (LEFT_PARTS * HALO + MIDDLE + RIGHT_PARTS * HALO)  // elements of a row that are loaded
#define BESIDE_WORDS(n) (HALO % (n) == 0)
#define WEIGHTS (SHAPE == STAR ? WINDOW_X + WINDOW_Y - 1 : WINDOW_X * WINDOW_Y)
#ifndef BYTE_SUMS
#define BYTE_SUMS 0  // 1: of bytes in words, by weights as stencil/byte_sums.clh has them
#endif
#include "stencil/row.clh"

#if HALO == EACH_STORED
typedef STORED halo_vector;
#elif HALO == 2 * EACH_STORED
typedef JOIN(STORED, 2) halo_vector;
#elif HALO == 4 * EACH_STORED
typedef JOIN(STORED, 4) halo_vector;
#elif HALO == 8 * EACH_STORED
typedef JOIN(STORED, 8) halo_vector;
#else
typedef JOIN(STORED, 16) halo_vector;
#endif
typedef union {
  halo_vector all;
  STORED each[HALO / EACH_STORED];
} halo_pack;

// Parts of both sides of a row's halo; one more than are used, since an array must have a size. No struct holds them together
// with the middle: rusticl copies structs with padding at their end wrongly.
#define LEFT_ARRAY (LEFT_PARTS + 1)
#define RIGHT_ARRAY (RIGHT_PARTS + 1)

static inline halo_vector load_halo(global const ELEMENT* p) {
#if HALO == 1
  return *(global const STORED*)p;
#elif ALIGNED
  return *(global const halo_vector*)p;
#else
  return JOIN(vload, HALO)(0, (global const STORED*)p);
#endif
}

// Loads a row whose cells all exist; `element`: the first of the middle.
static inline void load_row(halo_pack left[LEFT_ARRAY], middle_pack middle[STRIDE_X], halo_pack right[RIGHT_ARRAY],
                            global const ELEMENT* element) {
UNROLLED
  for (int i = 0; i < LEFT_PARTS; ++i) left[i].all = load_halo(element - (LEFT_PARTS - i) * HALO);
UNROLLED
  for (int i = 0; i < STRIDE_X; ++i) middle[i].all = load_middle(element + i * PACK);
UNROLLED
  for (int i = 0; i < RIGHT_PARTS; ++i) right[i].all = load_halo(element + MIDDLE + i * HALO);
}

// A row beyond an edge, where all cells have one value.
static inline void fill_row(halo_pack left[LEFT_ARRAY], middle_pack middle[STRIDE_X], halo_pack right[RIGHT_ARRAY], VALUE beyond) {
  const STORED stored = stored_of(beyond);
UNROLLED
  for (int i = 0; i < LEFT_PARTS * HALO; ++i) left[i / HALO].each[i % HALO / EACH_STORED] = stored;
UNROLLED
  for (int i = 0; i < MIDDLE; ++i) middle[i / PACK].each[i % PACK / EACH_STORED] = stored;
UNROLLED
  for (int i = 0; i < RIGHT_PARTS * HALO; ++i) right[i / HALO].each[i % HALO / EACH_STORED] = stored;
}

// Whether sum o begins in the turn before.
INLINED int begins_before(int o) { return o < WINDOW_Y - 1; }
// Whether a sum that does not is one of a result, and the rows of the output from that of sum 0 to its own.
INLINED int is_result(int o) { return ROW_STEP == 1 || (o - (WINDOW_Y - 1)) % ROW_STEP == 0; }
INLINED int row_of_sum(int o) {
  return ROW_STEP * CLASSES == 1 ? o : (o - (WINDOW_Y - 1)) / ROW_STEP * CLASSES + WINDOW_Y - 1;
}
// Elements from the first one of the middle to that which the window of result i begins at, with no cells before it.
INLINED int place_of_result(int i) { return STRIDE_X == 1 ? i : i / CHANNELS * STRIDE_X * CHANNELS + i % CHANNELS; }

// Whether cell i of row j of the window has a weight, and its index. Constants of unrolled loops.
#if SHAPE == STAR
INLINED int has_weight(int i, int j) { return i == BEFORE_X || j == BEFORE_Y; }
INLINED int weight_place(int i, int j) { return j < BEFORE_Y ? j : j == BEFORE_Y ? j + i : j + WINDOW_X - 1; }
#else
INLINED int has_weight(int i UNUSED, int j UNUSED) { return 1; }
INLINED int weight_place(int i, int j) { return j * WINDOW_X + i; }
#endif

#if BYTE_SUMS
#include "stencil/byte_sums.clh"
#else
typedef VALUE row_sum;
typedef VALUE row_cell;
#define ROW_CELLS SPAN
#define SUM_START 0
typedef WEIGHT_SPACE const VALUE* row_weights;
static inline row_weights find_weights(WEIGHT_SPACE const VALUE* weights) { return weights; }
static inline VALUE result_of_sum(row_sum sum, row_weights weights UNUSED) { return scaled_sum(sum); }

// Converts a row from the format of memory.
static inline void convert_row(VALUE cells[SPAN], const halo_pack left[LEFT_ARRAY], const middle_pack middle[STRIDE_X],
                               const halo_pack right[RIGHT_ARRAY]) {
UNROLLED
  for (int i = 0; i < LEFT_PARTS * HALO; ++i) cells[i] = number_at(left[i / HALO].each, i % HALO);
UNROLLED
  for (int i = 0; i < MIDDLE; ++i) cells[LEFT_PARTS * HALO + i] = number_at(middle[i / PACK].each, i % PACK);
UNROLLED
  for (int i = 0; i < RIGHT_PARTS * HALO; ++i)
    cells[LEFT_PARTS * HALO + MIDDLE + i] = number_at(right[i / HALO].each, i % HALO);
}

#if SHAPE != CUSTOM
// Adds row s of the loaded rows to all sums whose windows contain it.
INLINED void add_row(row_sum sums[SUMS][PACK], const row_cell cells[SPAN], int s, row_weights weights) {
UNROLLED
  for (int j = 0; j < WINDOW_Y; ++j) {
    const int o = s + WINDOW_Y - 1 - j;  // the sum in whose window this is row j
    if (o >= SUMS || (TURNS == 1 && begins_before(o)) || !is_result(o)) continue;
UNROLLED
    for (int c = 0; c < WINDOW_X; ++c) {
      if (!has_weight(c, j)) continue;
      const VALUE weight = scaled_weight(weights[1 + weight_place(c, j)]);
UNROLLED
      for (int i = 0; i < PACK; ++i)
        sums[o][i] = fma(weight, cells[LEFT_PARTS * HALO + place_of_result(i) + (c * DILATION_X - BEFORE_X) * CHANNELS], sums[o][i]);
    }
  }
}
#endif
#endif

#if SHAPE == CUSTOM
static inline VALUE read_cell(global const ELEMENT* in, ulong pitch, ulong plane, long x, long y, long z, long width,
                              long height, long depth, uint channel, VALUE beyond) {
  const long at_x = place_by(BOUNDARY, x, width), at_y = place_by(BOUNDARY, y, height), at_z = place_by(BOUNDARY, z, depth);
  if ((at_x | at_y | at_z) < 0) return beyond;
  return load_value(in, (ulong)at_z * plane + (ulong)at_y * pitch + (ulong)at_x * CHANNELS + channel);
}
#endif

// The result for one channel of cell (x, y, z); cells of its window may lie beyond the edges.
static inline VALUE edge_result(global const ELEMENT* in, ulong pitch, ulong plane, long x, long y, long z, long width,
                                long height, long depth UNUSED, uint channel, WEIGHT_SPACE const VALUE* weights) {
#if SHAPE == CUSTOM
// AT(dx, dy, dz) of the caller's expression.
#define NEIGHBOUR(dx, dy, dz) \
  read_cell(in, pitch, plane, x + (dx), y + (dy), z + (dz), width, height, depth, channel, weights[0])
  return EXPRESSION;
#undef NEIGHBOUR
#else
  long at_x[WINDOW_X];  // elements from the row's first one, or -1
UNROLLED
  for (int i = 0; i < WINDOW_X; ++i) {
    at_x[i] = place_by(BOUNDARY, x * STRIDE_X + i * DILATION_X - BEFORE_X, width);
    if (at_x[i] >= 0) at_x[i] = at_x[i] * CHANNELS + channel;
  }
  VALUE sum = 0;
  // The loads of small windows overlap.
#if WINDOW_X * WINDOW_Y <= 25 && !ROLLED
#pragma unroll
#else
#pragma unroll 1
#endif
  for (int j = 0; j < WINDOW_Y; ++j) {
    const long at_y = place_by(BOUNDARY, y * STRIDE_Y + j * DILATION_Y - BEFORE_Y, height);
    global const ELEMENT* line = in + (ulong)z * plane + (ulong)max(at_y, 0L) * pitch;
UNROLLED
    for (int i = 0; i < WINDOW_X; ++i) {
      if (!has_weight(i, j)) continue;
      const VALUE cell = (at_x[i] | at_y) < 0 ? weights[0] : load_value(line, (ulong)at_x[i]);
      sum = fma(weights[1 + weight_place(i, j)], cell, sum);
    }
  }
  return sum;
#endif
}

// Writes the elements of `rows` rows from `first` on that lie before element `begin` or from `end` on. Of these, counted row by
// row, a work-item writes number n, n + step, n + 2 * step, ...
INLINED void write_ends(uint n, uint step, global RESULT* to, ulong to_pitch, ulong first, ulong rows, ulong begin, ulong end,
                        ulong elements, global const ELEMENT* in, ulong pitch, ulong plane, ulong z, ulong width, ulong height,
                        ulong depth, WEIGHT_SPACE const VALUE* weights) {
  const uint across = (uint)(begin + (elements - end)), count = across * (uint)rows;
#pragma unroll 1
  for (; n < count; n += step) {
    const uint row = n / across, col = n - row * across;
    const ulong element = col < begin ? col : end + (col - begin), x = element / CHANNELS, y = first + row;
    if (!is_written(BOUNDARY, x, -BEFORE_X, WINDOW_X, width)) continue;
    if (!is_written(BOUNDARY, y, -BEFORE_Y, WINDOW_Y, height)) continue;
    const VALUE result = edge_result(in, pitch, plane, (long)x, (long)y, (long)z, (long)width, (long)height, (long)depth,
                                     (uint)(element - x * CHANNELS), weights);
    store_cell(to + y * to_pitch, element, result);
  }
}

#if SHAPE == CUSTOM
// The results in whose windows row o is the last one.
INLINED void evaluate(VALUE results[PACK], VALUE cells[STEPS][SPAN], int o) {
// AT(dx, dy, dz) of the caller's expression.
#define NEIGHBOUR(dx, dy, dz) cells[o + (dy) - RADIUS_Y][LEFT_PARTS * HALO + i + (dx) * CHANNELS]
UNROLLED
  for (int i = 0; i < PACK; ++i) results[i] = EXPRESSION;
#undef NEIGHBOUR
}
#endif

INLINED void store_results(global RESULT* to, const row_sum sums[PACK], row_weights weights) {
  VALUE results[PACK];
UNROLLED
  for (int i = 0; i < PACK; ++i) results[i] = result_of_sum(sums[i], weights);
  store_pack(to, results);
}

kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
void stencil_rows(STENCIL_ARGUMENTS) {
  const ulong elements = out_width * CHANNELS, in_elements = width * CHANNELS;
  // The vectors whose halos all lie in their row begin at `begin` to `end` - PACK.
  const ulong begin = min((ulong)((LEFT_PARTS * HALO + MIDDLE - 1) / MIDDLE * PACK), elements);
  const ulong room = in_elements > RIGHT_PARTS * HALO ? in_elements - RIGHT_PARTS * HALO : 0;
  const ulong end = max(begin, min(room / STRIDE_X, elements) / PACK * PACK);
  const ulong e = get_global_id(0) * PACK;
  // The groups after those of the vectors write the ends of the rows.
  const ulong vector_groups = (elements + GROUP_X * PACK - 1) / (GROUP_X * PACK);
  const bool is_at_ends = get_group_id(0) >= vector_groups;
  const row_weights taps = find_weights(weights);
  // Rows of results of all work-items of a column, with those of the last ones beyond the output.
  const ulong all_rows = CLASSES == 1 ? out_height : out_height + CLASSES * ROWS - 1;
  for (ulong p = get_group_id(2); p < out_depth * batch; p += get_num_groups(2)) {
    const ulong grid = grid_of(p, out_depth, batch), z = p - grid * out_depth;
    if (!is_written(BOUNDARY, z, first_z, size_z, depth)) continue;
    global const ELEMENT* from = in + in_offset + grid * in_stride;
    global RESULT* plane_to = out + out_offset + grid * out_stride + z * out_plane;
    for (ulong first = get_group_id(1) * (GROUP_Y * ROWS); first < all_rows; first += get_num_groups(1) * (GROUP_Y * ROWS)) {
      if (is_at_ends) {
        if (CLASSES > 1 && first >= out_height) break;
        const uint group = (uint)(get_group_id(0) - vector_groups), groups = (uint)(get_num_groups(0) - vector_groups);
        const uint item = group * (GROUP_X * GROUP_Y) + get_local_id(1) * GROUP_X + get_local_id(0);
        write_ends(item, groups * (GROUP_X * GROUP_Y), plane_to, out_pitch, first,
                   min((ulong)(GROUP_Y * ROWS), out_height - first), begin, end, elements, from, in_pitch, in_plane, z, width,
                   height, depth, weights);
        continue;
      }
      ulong y = first + get_local_id(1) * ROWS;
      if (CLASSES > 1) y -= y % (CLASSES * ROWS) - (uint)(y % (CLASSES * ROWS)) / ROWS;
      if (e < begin || e >= end || y >= out_height) continue;

      global const ELEMENT* plane = from + z * in_plane + e * STRIDE_X;
      row_sum sums[SUMS][PACK];
UNROLLED
      for (int o = 0; o < SUMS; ++o)
UNROLLED
        for (int i = 0; i < PACK; ++i) sums[o][i] = SUM_START;
      long top = (long)y * STRIDE_Y - BEFORE_Y;  // the first row of the input that is loaded next
      global RESULT* to = plane_to + e + ((long)y - (WINDOW_Y - 1)) * (long)out_pitch;  // the destination of sum 0, if it is a result
      long missing = (long)((out_height - y + CLASSES - 1) / CLASSES * ROW_STEP) + WINDOW_Y - 1;  // sums of results from there on

#pragma unroll 1
      for (int turn = 0; turn < TURNS && missing > 0; ++turn) {
        // All rows are loaded before any is used, so that the loads overlap.
        halo_pack left[STEPS][LEFT_ARRAY], right[STEPS][RIGHT_ARRAY];
        middle_pack middle[STEPS][STRIDE_X];
        if (top >= 0 && top + (STEPS - 1L) * DILATION_Y + 1 <= (long)height) {
          global const ELEMENT* highest = plane + (ulong)top * in_pitch;
UNROLLED
          for (int s = 0; s < STEPS; ++s) load_row(left[s], middle[s], right[s], highest + (ulong)s * (DILATION_Y * in_pitch));
        } else {
UNROLLED
          for (int s = 0; s < STEPS; ++s) {
            const long at_y = place_by(BOUNDARY, top + (long)s * DILATION_Y, (long)height);
            load_row(left[s], middle[s], right[s], plane + (ulong)max(at_y, 0L) * in_pitch);
            if (at_y < 0) fill_row(left[s], middle[s], right[s], weights[0]);
          }
        }

        const bool all_exist = missing >= STEPS;
#if SHAPE == CUSTOM
        VALUE cells[STEPS][SPAN];
UNROLLED
        for (int s = 0; s < STEPS; ++s) convert_row(cells[s], left[s], middle[s], right[s]);
#endif
UNROLLED
        for (int s = 0; s < STEPS; ++s) {  // row s completes sum s
#if SHAPE == CUSTOM
          if (!begins_before(s)) evaluate(sums[s], cells, s);
#else
          row_cell cells[ROW_CELLS];
          convert_row(cells, left[s], middle[s], right[s]);
          add_row(sums, cells, s, taps);
#endif
          if ((begins_before(s) && turn == 0) || !is_result(s)) continue;
          if ((all_exist || s < missing) && is_written(BOUNDARY, out_height - missing + s, -BEFORE_Y, WINDOW_Y, height))
            store_results(to + row_of_sum(s) * out_pitch, sums[s], taps);
        }
#if TURNS > 1
        top += STEPS;
        missing -= STEPS;
        to += STEPS * out_pitch;
UNROLLED
        for (int o = 0; o < SUMS; ++o)
UNROLLED
          for (int i = 0; i < PACK; ++i) sums[o][i] = begins_before(o) ? sums[min(o + STEPS, SUMS - 1)][i] : SUM_START;
#endif
      }
    }
  }
}
