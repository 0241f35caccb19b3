// Stencil in registers: a work-item makes PACK neighbouring elements of ROWS rows. It reads the rows of the input that they
// need from top to bottom, each once, as vectors, STEPS of them at a time so that they are under way together; a row goes
// into the sums of all results that look at it and is forgotten. Sums that have begun but not ended go on with the next
// STEPS rows. What a row's vector needs to its left and right comes from the cache, into which neighbours have just brought it.
//
// No local memory and no barrier: per result, 3 x 3 cells take (ROWS + 2) / ROWS vectors and as many halos, which is less
// than what the same block would read of a tile in local memory and write to it.
//
// Launch: GROUP_X x GROUP_Y work-items a group; PACK elements along x and ROWS rows along y for each, and at least one group
// more along x: these make the elements at both ends of the rows, whose neighbours leave them, one by one; planes of all grids
// along z. What lies beyond the launch's last two dimensions is done in loops. Stride and dilation are 1.
#ifndef PACK
#define PACK 4  // elements of a vector: 1, 2, 4, 8, 16; at most 16 bytes
#endif
#define FIXED  // shape and boundary
#include "stencil/cells.clh"

#ifndef STEPS
#define STEPS 8  // rows of the input that are read at once
#endif
#ifndef TURNS
#define TURNS 1  // how often; 1 for expressions
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
#define HALO 1  // elements that are read at once beside a vector: a power of two, at most PACK
#endif

#define ROWS (STEPS * TURNS - (WINDOW_Y - 1))  // of results of a work-item
// Sums under way: result o of them ends with row o of those that are read at once, and begins WINDOW_Y - 1 rows before.
#define SUMS (TURNS == 1 ? STEPS : STEPS + WINDOW_Y - 1)
#define BEGINS_BEFORE(o) ((o) < WINDOW_Y - 1)
#define LEFT (BEFORE_X > 0 ? BEFORE_X * CHANNELS : 0)
#define RIGHT (WINDOW_X - 1 - BEFORE_X > 0 ? (WINDOW_X - 1 - BEFORE_X) * CHANNELS : 0)
#define LEFT_PARTS ((LEFT + HALO - 1) / HALO)
#define RIGHT_PARTS ((RIGHT + HALO - 1) / HALO)
#define SPAN (LEFT_PARTS * HALO + PACK + RIGHT_PARTS * HALO)  // elements of a row that are read
#define BESIDE_WORDS(n) (HALO % (n) == 0)
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

// Halves of the halo of a row, one part more than there are, since arrays have a size. No struct holds them with the middle:
// rusticl copies those with padding at their end wrongly.
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

// A row all of whose cells are there; `element`: the first of the middle.
static inline void load_row(halo_pack left[LEFT_ARRAY], middle_pack* middle, halo_pack right[RIGHT_ARRAY],
                            global const ELEMENT* element) {
UNROLLED
  for (int i = 0; i < LEFT_PARTS; ++i) left[i].all = load_halo(element - (LEFT_PARTS - i) * HALO);
  middle->all = load_middle(element);
UNROLLED
  for (int i = 0; i < RIGHT_PARTS; ++i) right[i].all = load_halo(element + PACK + i * HALO);
}

// A row beyond an edge where a value stands.
static inline void fill_row(halo_pack left[LEFT_ARRAY], middle_pack* middle, halo_pack right[RIGHT_ARRAY], VALUE beyond) {
  const STORED stored = stored_of(beyond);
UNROLLED
  for (int i = 0; i < LEFT_PARTS * HALO; ++i) left[i / HALO].each[i % HALO / EACH_STORED] = stored;
UNROLLED
  for (int i = 0; i < PACK; ++i) middle->each[i / EACH_STORED] = stored;
UNROLLED
  for (int i = 0; i < RIGHT_PARTS * HALO; ++i) right[i / HALO].each[i % HALO / EACH_STORED] = stored;
}

// As numbers.
static inline void convert_row(VALUE cells[SPAN], const halo_pack left[LEFT_ARRAY], const middle_pack* middle,
                               const halo_pack right[RIGHT_ARRAY]) {
UNROLLED
  for (int i = 0; i < LEFT_PARTS * HALO; ++i) cells[i] = number_at(left[i / HALO].each, i % HALO);
UNROLLED
  for (int i = 0; i < PACK; ++i) cells[LEFT_PARTS * HALO + i] = number_at(middle->each, i);
UNROLLED
  for (int i = 0; i < RIGHT_PARTS * HALO; ++i)
    cells[LEFT_PARTS * HALO + PACK + i] = number_at(right[i / HALO].each, i % HALO);
}

// The weight of a cell of the window, by its place among them.
#if SHAPE == STAR
#define HAS_WEIGHT(i, j) ((i) == BEFORE_X || (j) == BEFORE_Y)
#define WEIGHT_PLACE(i, j) ((j) < BEFORE_Y ? (j) : (j) == BEFORE_Y ? (j) + (i) : (j) + WINDOW_X - 1)
#else
#define HAS_WEIGHT(i, j) 1
#define WEIGHT_PLACE(i, j) ((j) * WINDOW_X + (i))
#endif

#if SHAPE == CUSTOM
// An element whose row of neighbours leaves the grid: one cell after the other.
static inline VALUE read_cell(global const ELEMENT* in, ulong pitch, ulong plane, long x, long y, long z, long width,
                              long height, long depth, uint channel, VALUE beyond) {
  const long at_x = place_by(EDGE, x, width), at_y = place_by(EDGE, y, height), at_z = place_by(EDGE, z, depth);
  if ((at_x | at_y | at_z) < 0) return beyond;
  return load_value(in, (ulong)at_z * plane + (ulong)at_y * pitch + (ulong)at_x * CHANNELS + channel);
}
#define READ_CELL(x, y, z) \
  read_cell(from, in_pitch, in_plane, x, y, z, (long)width, (long)height, (long)depth, channel, BEYOND)
#endif

kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
void stencil_rows(STENCIL_ARGUMENTS) {
  (void)stride_x, (void)stride_y, (void)dilation_x, (void)dilation_y, (void)boundary, (void)star;
  (void)strip, (void)band, (void)march;
  const ulong elements = out_width * CHANNELS, in_elements = width * CHANNELS;
  // The vectors whose neighbours all lie in their row begin at `begin` to `end` - PACK.
  const ulong begin = min((ulong)((LEFT_PARTS * HALO + PACK - 1) / PACK * PACK), elements);
  const ulong room = in_elements > RIGHT_PARTS * HALO ? in_elements - RIGHT_PARTS * HALO : 0;
  const ulong end = max(begin, min(room, elements) / PACK * PACK);
  const ulong e = get_global_id(0) * PACK;
  // Groups behind those of the vectors make what lies beside these.
  const ulong vector_groups = (out_width * CHANNELS + GROUP_X * PACK - 1) / (GROUP_X * PACK);
  const bool is_edge = get_group_id(0) >= vector_groups;
  for (ulong p = get_group_id(2); p < out_depth * batch; p += get_num_groups(2)) {
    const ulong grid = GRID_OF(p), z = p - grid * out_depth;
    if (!IS_WRITTEN(z, z, depth)) continue;
    global const ELEMENT* from = in + in_offset + grid * in_stride;
    global RESULT* plane_to = out + out_offset + grid * out_stride + z * out_plane;
    for (ulong first = get_group_id(1) * (GROUP_Y * ROWS); first < out_height; first += get_num_groups(1) * (GROUP_Y * ROWS)) {
      if (is_edge) {
        const uint across = (uint)(begin + (elements - end)), many = across * (uint)min((ulong)(GROUP_Y * ROWS), out_height - first);
#pragma unroll 1
        for (uint n = (uint)(get_group_id(0) - vector_groups) * (GROUP_X * GROUP_Y) + get_local_id(1) * GROUP_X + get_local_id(0);
             n < many; n += (uint)(get_num_groups(0) - vector_groups) * (GROUP_X * GROUP_Y)) {
          const uint row = n / across, col = n - row * across;
          const ulong element = col < begin ? col : end + (col - begin), x = element / CHANNELS, y = first + row;
          const uint channel = (uint)(element - x * CHANNELS);
          if (!IS_WRITTEN(x, x, width)) continue;
          if (!IS_WRITTEN(y, y, height)) continue;
#if SHAPE == CUSTOM
#define NEIGHBOUR(dx, dy, dz) READ_CELL((long)x + (dx), (long)y + (dy), (long)z + (dz))
          const VALUE sum = EXPRESSION;
#undef NEIGHBOUR
#else
          long at_x[WINDOW_X];  // elements from the row's first one, or -1
UNROLLED
          for (int i = 0; i < WINDOW_X; ++i) {
            at_x[i] = place_by(EDGE, (long)x + i - BEFORE_X, (long)width);
            if (at_x[i] >= 0) at_x[i] = at_x[i] * CHANNELS + channel;
          }
          VALUE sum = 0;
          // Small windows are read at once.
#if WINDOW_X * WINDOW_Y <= 25 && !ROLLED
#pragma unroll
#else
#pragma unroll 1
#endif
          for (int j = 0; j < WINDOW_Y; ++j) {
            const long at_y = place_by(EDGE, (long)y + j - BEFORE_Y, (long)height);
            global const ELEMENT* line = from + z * in_plane + (ulong)max(at_y, 0L) * in_pitch;
UNROLLED
            for (int i = 0; i < WINDOW_X; ++i) {
              if (!HAS_WEIGHT(i, j)) continue;
              const VALUE cell = (at_x[i] | at_y) < 0 ? BEYOND : load_value(line, (ulong)at_x[i]);
              sum = fma(weights[1 + WEIGHT_PLACE(i, j)], cell, sum);
            }
          }
#endif
          store_cell(plane_to + y * out_pitch, element, sum);
        }
        continue;
      }
      const ulong y = first + get_local_id(1) * ROWS;
      if (e < begin || e >= end || y >= out_height) continue;

      global const ELEMENT* plane = from + z * in_plane + e;
      VALUE sums[SUMS][PACK];
UNROLLED
      for (int o = 0; o < SUMS; ++o)
UNROLLED
        for (int i = 0; i < PACK; ++i) sums[o][i] = 0;
      long top = (long)y - BEFORE_Y;  // the first row of the input that is read next
      global RESULT* to = plane_to + e + ((long)y - (WINDOW_Y - 1)) * (long)out_pitch;  // where the first sum goes, if it is there
      long missing = (long)(out_height - y) + WINDOW_Y - 1;  // rows of results from there on

#pragma unroll 1
      for (int turn = 0; turn < TURNS && missing > 0; ++turn) {
        // Read all rows first, so that they are under way together.
        halo_pack left[STEPS][LEFT_ARRAY], right[STEPS][RIGHT_ARRAY];
        middle_pack middle[STEPS];
#define ROW(s) left[s], &middle[s], right[s]
        if (top >= 0 && top + STEPS <= (long)height) {
          global const ELEMENT* highest = plane + (ulong)top * in_pitch;
UNROLLED
          for (int s = 0; s < STEPS; ++s) load_row(ROW(s), highest + (ulong)s * in_pitch);
        } else {
UNROLLED
          for (int s = 0; s < STEPS; ++s) {
            const long at_y = place_by(EDGE, top + s, (long)height);
            load_row(ROW(s), plane + (ulong)max(at_y, 0L) * in_pitch);
            if (at_y < 0) fill_row(ROW(s), BEYOND);
          }
        }

        const bool all_there = missing >= STEPS;
// Writes the result of sum o, if it is there.
#define STORE_SUM(o)                                                                                      \
  if ((all_there || (o) < missing) && (!BEGINS_BEFORE(o) || turn > 0) && IS_WRITTEN(out_height - missing + (o), y, height)) { \
    UNROLLED for (int i = 0; i < PACK; ++i) sums[o][i] = AS_RESULT(sums[o][i]);                           \
    store_pack(to + (o) * out_pitch, sums[o]);                                                            \
  }
#if SHAPE == CUSTOM
        VALUE cells[STEPS][SPAN];
UNROLLED
        for (int s = 0; s < STEPS; ++s) convert_row(cells[s], ROW(s));
#define NEIGHBOUR(dx, dy, dz) cells[o + (dy) - RADIUS_Y][LEFT_PARTS * HALO + i + (dx) * CHANNELS]
UNROLLED
        for (int o = WINDOW_Y - 1; o < STEPS; ++o) {
UNROLLED
          for (int i = 0; i < PACK; ++i) sums[o][i] = EXPRESSION;
          STORE_SUM(o)
        }
#else
UNROLLED
        for (int s = 0; s < STEPS; ++s) {
          VALUE cells[SPAN];
          convert_row(cells, ROW(s));
UNROLLED
          for (int j = 0; j < WINDOW_Y; ++j) {
            const int o = s + WINDOW_Y - 1 - j;  // the sum in whose window this row is row j
            if (o >= SUMS || (TURNS == 1 && BEGINS_BEFORE(o))) continue;
UNROLLED
            for (int c = 0; c < WINDOW_X; ++c) {
              if (!HAS_WEIGHT(c, j)) continue;
              const VALUE weight = AS_WEIGHT(weights[1 + WEIGHT_PLACE(c, j)]);
UNROLLED
              for (int i = 0; i < PACK; ++i)
                sums[o][i] = fma(weight, cells[LEFT_PARTS * HALO + i + (c - BEFORE_X) * CHANNELS], sums[o][i]);
            }
          }
          if (TURNS == 1 && BEGINS_BEFORE(s)) continue;
          STORE_SUM(s)
        }
#if TURNS > 1
        top += STEPS;
        missing -= STEPS;
        to += STEPS * out_pitch;
UNROLLED
        for (int o = 0; o < SUMS; ++o)
UNROLLED
          for (int i = 0; i < PACK; ++i) sums[o][i] = BEGINS_BEFORE(o) ? sums[min(o + STEPS, SUMS - 1)][i] : 0;
#endif
#endif
      }
    }
  }
}
