// Stencil of volumes in registers: a work-item computes PACK neighbouring elements of ROWS rows in each of DEEP planes. It
// loads the windows of all these results plane by plane, all before any is used so that the loads overlap, each row as a vector
// with its halo. A row is added to the sums of all results whose windows contain it, and dropped. Neighbouring work-items load the
// same rows, so they are in the cache.
//
// There is no local memory and no barrier. Of a star only cells with weights are loaded: halos of vectors, and the rows around
// them, in the plane of the result alone. Per vector of results a star of 3 x 3 x 3 cells takes (DEEP + 2) / DEEP + 2 vectors
// with ROWS = 1, a box 3 (DEEP + 2) / DEEP. Neighbours along z come from registers, as in P. Micikevicius, "3D finite
// difference computation on GPUs using CUDA", GPGPU-2, 2009, but in short columns, since a work-item that streams planes waits
// for each.
//
// Elements of the halo are loaded one at a time, each from the index by the boundary condition, which is the same in every row: so the
// ends of rows need no other code, and a row of whole vectors has no branch for them.
//
// Launch: GROUP_X x GROUP_Y work-items a group; PACK elements along x, ROWS rows along y for each; along z the chunks of DEEP
// planes of all grids. Stride and dilation are 1, the window lies around its result, and sides have less than 2^30 elements.
#ifndef PACK
#define PACK 4  // elements of a vector: 1, 2, 4, 8, 16; at most 16 bytes
#endif
#define FIXED  // shape and boundary
#include "stencil/cells.clh"
#include "stencil/row.clh"

#ifndef STEPS
#define STEPS 6  // planes of the input that are read
#endif
#ifndef ROWS
#define ROWS 1  // of results of a work-item, in each plane
#endif
#ifndef GROUP_X
#define GROUP_X 32
#endif
#ifndef GROUP_Y
#define GROUP_Y 4
#endif
#ifndef WINDOW_X
#define WINDOW_X 3  // size_x, and so on
#endif
#ifndef WINDOW_Y
#define WINDOW_Y 3
#endif
#ifndef WINDOW_Z
#define WINDOW_Z 3
#endif
#ifndef PACKED
#define PACKED 0  // 1: a row is a multiple of PACK elements, so that no vector lies half beyond its end
#endif

#define BEFORE_X (WINDOW_X / 2)  // cells of the window before the result's own
#define BEFORE_Y (WINDOW_Y / 2)
#define BEFORE_Z (WINDOW_Z / 2)
#define DEEP (STEPS - (WINDOW_Z - 1))  // planes of results of a work-item
#define LINES (ROWS + WINDOW_Y - 1)    // rows of a plane that are read

#define AROUND (BEFORE_X * CHANNELS)  // elements on each side of a vector
#define BESIDE (2 * AROUND)
#define SPAN (BESIDE + PACK)  // elements of a row that are read
// The offset from a vector's first element of element i of its halo, unless the row ends before.
INLINED int beside_place(int i) { return i < AROUND ? i - AROUND : PACK + i - AROUND; }

// The index of the weight of cell i of row j of plane k of the window. Constants of unrolled loops.
#if SHAPE == STAR
INLINED int weight_place(int i, int j, int k) {
  if (k < BEFORE_Z) return k;
  if (k > BEFORE_Z) return k + WINDOW_Y - 1 + WINDOW_X - 1;
  return k + (j < BEFORE_Y ? j : j > BEFORE_Y ? j + WINDOW_X - 1 : j + i);
}
#else
INLINED int weight_place(int i, int j, int k) { return (k * WINDOW_Y + j) * WINDOW_X + i; }
#endif
// Whether row r of plane s, or its halo, is loaded: of a star rows around those of the results, and halos, only in planes of results.
INLINED int is_own_row(int r) { return r >= BEFORE_Y && r < BEFORE_Y + ROWS; }
INLINED int is_own_plane(int s) { return s >= BEFORE_Z && s < BEFORE_Z + DEEP; }
INLINED int is_read(int s, int r) { return SHAPE != STAR || is_own_row(r) || is_own_plane(s); }
INLINED int is_read_beside(int s, int r) { return SHAPE != STAR || (is_own_row(r) && is_own_plane(s)); }

// A single element in the format of memory; its number, and that of the value beyond the edges.
#if ELEMENT_HALF
typedef ushort single;
#else
typedef ELEMENT single;
#endif
static inline VALUE number_of(single element) {
#if AS_DENORMALS
  return as_float((uint)element);
#elif HALF_WORDS
  return half_of(element, 0);
#elif ELEMENT_HALF
  return vload_half(0, (const half*)&element);
#else
  return (VALUE)element;
#endif
}

// The index of element i of a row, which may lie outside, by the boundary condition; -1: the value beyond the edges.
static inline int element_in_few(int i, int elements) {
#if CHANNELS == 1
  return place_in_few(i, elements);
#else
  const int cell = i >= 0 ? i / CHANNELS : -((CHANNELS - 1 - i) / CHANNELS);
  const int place = place_in_few(cell, elements / CHANNELS);
  return place < 0 ? -1 : place * CHANNELS + (i - cell * CHANNELS);
#endif
}

// A vector whose last elements lie beyond the row's end; `e`: its first one.
static inline middle_vector load_part(global const ELEMENT* vector, int e, int elements, VALUE beyond) {
  global const single* first = (global const single*)vector;
  middle_pack loaded;
UNROLLED
  for (int i = 0; i < PACK; i += EACH_STORED) {
    single each[EACH_STORED];
UNROLLED
    for (int k = 0; k < EACH_STORED; ++k) {
      const int at = element_in_few(e + i + k, elements);
      each[k] = at < 0 ? (single)stored_of(beyond) : first[at - e];
    }
#if EACH_STORED == 4
    loaded.each[i / 4] = (uint)each[0] | (uint)each[1] << 8 | (uint)each[2] << 16 | (uint)each[3] << 24;
#elif EACH_STORED == 2
    loaded.each[i / 2] = (uint)each[0] | (uint)each[1] << 16;
#else
    loaded.each[i] = each[0];
#endif
  }
  return loaded.all;
}

// A vector of the value beyond the edges.
static inline middle_vector filled_with(VALUE beyond) {
  middle_pack filled;
UNROLLED
  for (int i = 0; i < PACK / EACH_STORED; ++i) filled.each[i] = stored_of(beyond);
  return filled.all;
}

INLINED void load_beside(single beside[BESIDE + 1], global const ELEMENT* vector, const int beside_at[BESIDE + 1]) {
UNROLLED
  for (int i = 0; i < BESIDE; ++i) beside[i] = ((global const single*)vector)[beside_at[i]];
}

// A row as numbers. `e`: the vector's first element; `room`: elements from there to the row's end.
INLINED void convert_row(VALUE cells[SPAN], const middle_pack* middle, const single beside[BESIDE + 1], int e, int room,
                               VALUE beyond) {
UNROLLED
  for (int i = 0; i < PACK; ++i) cells[AROUND + i] = number_at(middle->each, i);
UNROLLED
  for (int i = 0; i < BESIDE; ++i) {
    const int place = beside_place(i);
    cells[AROUND + place] =
        EDGE < 2 && (e + place < 0 || place >= room) ? number_of((single)stored_of(beyond)) : number_of(beside[i]);
  }
}

// Stores elements [from, to) of a vector of PACK results.
INLINED void store_part(global RESULT* p, const VALUE v[PACK], int from, int to) {
  if (from <= 0 && to >= PACK) {
    store_pack(p, v);
  } else {
UNROLLED
    for (int i = 0; i < PACK; ++i)
      if (i >= from && i < to) store_cell(p, i, v[i]);
  }
}

// Whether the window of a result at an index lies inside the grid; with "leave" no other result is written.
INLINED int is_within(int at, int before, int extent) {
  return EDGE != LEAVE || (at >= before && at + before < extent);
}

// Writes the results of plane z and rows from y on, the vector of row y to `to`.
INLINED void store_sums(const bool is_inside, const VALUE sums[ROWS][PACK], global RESULT* to, ulong out_pitch, int e, int y,
                        int z, int elements, int rows, int planes) {
  const int room = elements - e;
  const int written_from = EDGE == LEAVE ? AROUND - e : 0, written_to = EDGE == LEAVE ? room - AROUND : room;
UNROLLED
  for (int q = 0; q < ROWS; ++q) {
    VALUE results[PACK];
UNROLLED
    for (int i = 0; i < PACK; ++i) results[i] = scaled_sum(sums[q][i]);
    global RESULT* vector = to + (ulong)q * out_pitch;
    if (is_inside)
      store_pack(vector, results);
    else if (z < planes && y + q < rows && is_within(z, BEFORE_Z, planes) && is_within(y + q, BEFORE_Y, rows))
      store_part(vector, results, written_from, written_to);
  }
}

// Loads all rows of the windows of the results of row y of plane z. `from`: the vector's first element in row 0 of plane 0.
INLINED void load_windows(middle_pack middle[STEPS][LINES], single beside[STEPS][LINES][BESIDE + 1], const bool is_inside,
                          global const ELEMENT* from, ulong in_pitch, ulong in_plane, int e, int y, int z, int elements,
                          int rows, int planes, const int beside_at[BESIDE + 1], WEIGHT_SPACE const VALUE* weights) {
  const int room = elements - e, top = z - BEFORE_Z;
  global const ELEMENT* corner = from + top * (long)in_plane + (y - BEFORE_Y) * (long)in_pitch;  // if it lies in the grid
UNROLLED
  for (int s = 0; s < STEPS; ++s) {
UNROLLED
    for (int r = 0; r < LINES; ++r) {
      if (!is_read(s, r)) continue;
      const int at_z = is_inside ? 0 : place_in_few(top + s, planes);
      const int at_y = is_inside ? 0 : place_in_few(y - BEFORE_Y + r, rows);
      global const ELEMENT* vector = is_inside ? corner + (ulong)s * in_plane + (ulong)r * in_pitch
                                               : from + (ulong)max(at_z, 0) * in_plane + (ulong)max(at_y, 0) * in_pitch;
      middle[s][r].all = is_inside || PACKED || room >= PACK ? load_middle(vector) : load_part(vector, e, elements, weights[0]);
      if (is_read_beside(s, r)) load_beside(beside[s][r], vector, beside_at);
      if (EDGE < 2 && (at_z | at_y) < 0) {
        middle[s][r].all = filled_with(weights[0]);
UNROLLED
        for (int i = 0; i < BESIDE; ++i) beside[s][r][i] = (single)stored_of(weights[0]);
      }
    }
  }
}

// Adds the products of row r of plane s to the sums of all results whose windows contain it.
#if SHAPE == STAR
// The row's loops name only cells with weights: compilers unroll inner loops first, and took seconds to find them among all of a window.
INLINED void add_column(VALUE sums[PACK], const VALUE cells[SPAN], VALUE weight) {
UNROLLED
  for (int i = 0; i < PACK; ++i) sums[i] = fma(weight, cells[AROUND + i], sums[i]);
}
INLINED void add_row(VALUE sums[DEEP][ROWS][PACK], const VALUE cells[SPAN], int s, int r, WEIGHT_SPACE const VALUE* weights) {
  if (is_own_row(r)) {
UNROLLED
    for (int k = 0; k < WINDOW_Z; ++k) {
      const int o = s - k;  // of its results this plane is plane k of their windows
      if (k != BEFORE_Z && o >= 0 && o < DEEP)
        add_column(sums[o][r - BEFORE_Y], cells, scaled_weight(weights[1 + weight_place(BEFORE_X, BEFORE_Y, k)]));
    }
  }
  if (!is_own_plane(s)) return;
UNROLLED
  for (int q = 0; q < ROWS; ++q) {
    const int j = r - q;  // and this row is row j
    if (j < 0 || j >= WINDOW_Y) continue;
    VALUE* sum = sums[s - BEFORE_Z][q];
    if (j != BEFORE_Y) {
      add_column(sum, cells, scaled_weight(weights[1 + weight_place(BEFORE_X, j, BEFORE_Z)]));
      continue;
    }
UNROLLED
    for (int c = 0; c < WINDOW_X; ++c) {
      const VALUE weight = scaled_weight(weights[1 + weight_place(c, BEFORE_Y, BEFORE_Z)]);
UNROLLED
      for (int i = 0; i < PACK; ++i) sum[i] = fma(weight, cells[AROUND + i + (c - BEFORE_X) * CHANNELS], sum[i]);
    }
  }
}
#elif SHAPE != CUSTOM
INLINED void add_row(VALUE sums[DEEP][ROWS][PACK], const VALUE cells[SPAN], int s, int r, WEIGHT_SPACE const VALUE* weights) {
UNROLLED
  for (int k = 0; k < WINDOW_Z; ++k) {
    const int o = s - k;  // of its results this plane is plane k of their windows
    if (o < 0 || o >= DEEP) continue;
UNROLLED
    for (int q = 0; q < ROWS; ++q) {
      const int j = r - q;  // and this row is row j
      if (j < 0 || j >= WINDOW_Y) continue;
UNROLLED
      for (int c = 0; c < WINDOW_X; ++c) {
        const VALUE weight = scaled_weight(weights[1 + weight_place(c, j, k)]);
UNROLLED
        for (int i = 0; i < PACK; ++i)
          sums[o][q][i] = fma(weight, cells[AROUND + i + (c - BEFORE_X) * CHANNELS], sums[o][q][i]);
      }
    }
  }
}
#endif

// Computes the results of DEEP planes from plane z on and of ROWS rows from row y on. `is_inside`, a constant: all loads
// and stores are inside of the grids; so no branch there keeps loads from being issued early. `from`, `to`: the vector's first element in
// row 0 of plane 0 of both grids.
INLINED void compute_planes(const bool is_inside, global const ELEMENT* from, ulong in_pitch, ulong in_plane, global RESULT* to,
                         ulong out_pitch, ulong out_plane, int e, int y, int z, int elements, int rows, int planes,
                         const int beside_at[BESIDE + 1], WEIGHT_SPACE const VALUE* weights) {
  const int room = elements - e;
  middle_pack middle[STEPS][LINES];
  single beside[STEPS][LINES][BESIDE + 1];
  load_windows(middle, beside, is_inside, from, in_pitch, in_plane, e, y, z, elements, rows, planes, beside_at, weights);

  VALUE sums[DEEP][ROWS][PACK];
  global RESULT* first_to = to + (ulong)z * out_plane + (ulong)y * out_pitch;
#if SHAPE == CUSTOM
  VALUE cells[STEPS][LINES][SPAN];
UNROLLED
  for (int s = 0; s < STEPS; ++s)
UNROLLED
    for (int r = 0; r < LINES; ++r) convert_row(cells[s][r], &middle[s][r], beside[s][r], e, room, weights[0]);
#define NEIGHBOUR(dx, dy, dz) cells[o + (dz) + RADIUS_Z][q + (dy) + RADIUS_Y][AROUND + i + (dx) * CHANNELS]
UNROLLED
  for (int o = 0; o < DEEP; ++o) {
UNROLLED
    for (int q = 0; q < ROWS; ++q)
UNROLLED
      for (int i = 0; i < PACK; ++i) sums[o][q][i] = EXPRESSION;
    store_sums(is_inside, sums[o], first_to + (ulong)o * out_plane, out_pitch, e, y, z + o, elements, rows, planes);
  }
#else
UNROLLED
  for (int o = 0; o < DEEP; ++o)
UNROLLED
    for (int q = 0; q < ROWS; ++q)
UNROLLED
      for (int i = 0; i < PACK; ++i) sums[o][q][i] = 0;
UNROLLED
  for (int s = 0; s < STEPS; ++s) {
UNROLLED
    for (int r = 0; r < LINES; ++r) {
      if (!is_read(s, r)) continue;
      VALUE cells[SPAN];
      convert_row(cells, &middle[s][r], beside[s][r], e, room, weights[0]);
      add_row(sums, cells, s, r, weights);
    }
    const int o = s - (WINDOW_Z - 1);  // the plane of results that is complete
    if (o >= 0)
      store_sums(is_inside, sums[o], first_to + (ulong)o * out_plane, out_pitch, e, y, z + o, elements, rows, planes);
  }
#endif
}

kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1)))
void stencil_planes(STENCIL_ARGUMENTS) {
  const int elements = (int)(width * CHANNELS), rows = (int)height, planes = (int)depth;
  const int e = (int)get_global_id(0) * PACK, room = elements - e;
  const int y = (int)get_global_id(1) * ROWS;
  const uint pieces = (uint)(planes + DEEP - 1) / DEEP, piece = (uint)get_group_id(2), number = batch == 1 ? 0 : piece / pieces;
  const ulong grid = number;
  const int z = (int)(piece - number * pieces) * DEEP;
  if (room <= 0 || y >= rows) return;  // no barrier follows

  int beside_at[BESIDE + 1];
UNROLLED
  for (int i = 0; i < BESIDE; ++i) beside_at[i] = max(element_in_few(e + beside_place(i), elements), 0) - e;
  global const ELEMENT* from = in + in_offset + grid * in_stride + e;
  global RESULT* to = out + out_offset + grid * out_stride + e;
  // Whether all rows lie in the grid, and the vector in its row; with "leave", whether all its results are written.
  const bool is_whole = EDGE == LEAVE ? e >= AROUND && room >= PACK + AROUND : PACKED || room >= PACK;
  const bool has_rows = is_whole && y >= BEFORE_Y && y - BEFORE_Y + LINES <= rows;
  const bool has_planes = z >= BEFORE_Z && z - BEFORE_Z + STEPS <= planes;

  if (has_rows && has_planes)
    compute_planes(true, from, in_pitch, in_plane, to, out_pitch, out_plane, e, y, z, elements, rows, planes, beside_at,
                   weights);
  else
    compute_planes(false, from, in_pitch, in_plane, to, out_pitch, out_plane, e, y, z, elements, rows, planes, beside_at,
                   weights);
}
