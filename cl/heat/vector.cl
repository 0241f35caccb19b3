// One step of heat diffusion in two and three dimensions, by columns: a work-item makes PACK neighbouring cells of each of
// DEEP planes. It reads the DEEP + 2 planes that these look at first, all at once, so that they are under way together, and
// keeps them in registers. Neighbours along x and y are in the cache, because other work-items of the group read them.
//
// Beyond the grid's ends the outermost cell is read again, which is what stands behind a wall that no heat passes; only
// walls with a value of their own are looked for. With the neighbours along z from registers this is the plan of
// P. Micikevicius, "3D finite difference computation on GPUs using CUDA", GPGPU 2009, in short columns instead of a march:
// a march waits for each plane in turn.
//
// Launch: LANES * ROWS work-items a group; a group for each LANES * PACK x ROWS x DEEP cells: along x first, then y, then z,
// then the batch. Two dimensions have one row: ROWS is 1.
// No local memory.
#include "heat/step.clh"
#include "heat/pack.clh"

#ifndef LANES
#define LANES 32  // work-items along x
#endif
#ifndef ROWS
#define ROWS 8  // along y
#endif
#ifndef DEEP
#define DEEP 8  // planes
#endif
#ifndef PACKED
#define PACKED 0  // 1: a row is a multiple of PACK cells, so that no pack lies half beyond its end
#endif
#define EACH_PLANE(k, count) _Pragma("unroll") for (int k = 0; k < (count); ++k)
#define EACH_CELL _Pragma("unroll") for (int j = 0; j < PACK; ++j)

kernel __attribute__((reqd_work_group_size(LANES * ROWS, 1, 1)))
void heat_vector(HEAT_ARGUMENTS) {
  const int w = width, h = height, d = depth;
  const uint across = (w + LANES * PACK - 1) / (LANES * PACK), along = (h + ROWS - 1) / ROWS, down = (d + DEEP - 1) / DEEP;
  uint t = get_group_id(0);
  const int x = (t % across * LANES + get_local_id(0) % LANES) * PACK;
  t /= across;
  const int y = t % along * ROWS + get_local_id(0) / LANES;
  t /= along;
  const int z = t % down * DEEP;
  const ulong b = t / down;
  NOT_ALL_ARGUMENTS_ARE_USED;
  if (x >= w || y >= h) return;  // no barrier follows
  const int whole = PACKED || x + PACK <= w;

  // From a work-item's cells to those beside them.
  const int to_left = x > 0 ? -1 : 0, to_right = min(x + PACK, w - 1) - x;
#define FIRST_CELL(grid) (grid + grid##_offset + b * grid##_stride + z * grid##_plane + y * grid##_pitch + x)
#define AT_PLANE(grid, k) (first_##grid + (clamp(z + (k), 0, d - 1) - z) * (long)grid##_plane)
#define CELLS_AT(p) load_cells(p, x, w, whole)
#define STORED_AT(p) load_stored(p, x, w, whole)
  global const ELEMENT* first_in = FIRST_CELL(in);
  stored_cells column[DEEP + 2];
  // In branches: NVIDIA's compiler moves loads that are not to where they are used, and then waits for each.
  if (z > 0 && z + DEEP < d) {
    EACH_PLANE(k, DEEP + 2) column[k] = STORED_AT(first_in + (k - 1) * (long)in_plane);
  } else {
    EACH_PLANE(k, DEEP + 2) column[k] = STORED_AT(AT_PLANE(in, k - 1));
  }
#if VARIABLE
  global const ELEMENT* first_conductivity = FIRST_CELL(conductivity);
  stored_cells k_column[DEEP + 2];
  EACH_PLANE(k, DEEP + 2) k_column[k] = STORED_AT(AT_PLANE(conductivity, k - 1));
#endif
#if SOURCE
  global const ELEMENT* first_source = FIRST_CELL(source);
#endif
#if DIMS > 2
  const long to_before = y > 0 ? -(long)in_pitch : 0, to_after = y + 1 < h ? in_pitch : 0;
#if VARIABLE
  const long k_before_here = y > 0 ? -(long)conductivity_pitch : 0, k_after_here = y + 1 < h ? conductivity_pitch : 0;
#endif
#endif

  global ELEMENT* to = FIRST_CELL(out);
  EACH_PLANE(k, DEEP) {
    cells below = cells_of(column[k]), above = cells_of(column[k + 2]), result;
    const cells here = cells_of(column[k + 1]);
    global const ELEMENT* row = AT_PLANE(in, k);
    REAL left = load_cell(row + to_left), right = load_cell(row + to_right);
#if DIMS > 2
    cells before = CELLS_AT(row + to_before), after = CELLS_AT(row + to_after);
#endif
#if WALLS == 1
    if (x == 0) left = wall;
    if (x + PACK >= w) right = wall;
    if (z + k == 0) below.all = (pack)wall;
    if (z + k + 1 == d) above.all = (pack)wall;
#if DIMS > 2
    if (y == 0) before.all = (pack)wall;
    if (y + 1 == h) after.all = (pack)wall;
#endif
#endif
#if VARIABLE
    global const ELEMENT* k_row = AT_PLANE(conductivity, k);
    const cells k_below = cells_of(k_column[k]), k_cells = cells_of(k_column[k + 1]), k_above = cells_of(k_column[k + 2]);
    const REAL k_left = load_cell(k_row + to_left), k_right = load_cell(k_row + to_right);
#if DIMS > 2
    const cells k_before = CELLS_AT(k_row + k_before_here), k_after = CELLS_AT(k_row + k_after_here);
#endif
#endif
#if SOURCE
    const cells q = CELLS_AT(AT_PLANE(source, k));
#endif
    EACH_CELL {
      const REAL u = here.each[j];
      const REAL u_left = j > 0 ? here.each[max(j - 1, 0)] : left;
      REAL u_right = j + 1 < PACK ? here.each[min(j + 1, PACK - 1)] : right;
      if (!PACKED && x + j + 1 == w) u_right = BEYOND(u);
      REAL sum = u;
#if VARIABLE
      const REAL k_here = k_cells.each[j];
      sum = ADD_FLOWS(REAL, sum, rate_x, u, u_left, u_right, k_here, j > 0 ? k_cells.each[max(j - 1, 0)] : k_left,
                      j + 1 < PACK ? k_cells.each[min(j + 1, PACK - 1)] : k_right);
#if DIMS > 2
      sum = ADD_FLOWS(REAL, sum, rate_y, u, before.each[j], after.each[j], k_here, k_before.each[j], k_after.each[j]);
#endif
      sum = ADD_FLOWS(REAL, sum, rate_z, u, below.each[j], above.each[j], k_here, k_below.each[j], k_above.each[j]);
#else
      sum = ADD_SECOND_DIFFERENCE(REAL, sum, rate_x, u, u_left, u_right);
#if DIMS > 2
      sum = ADD_SECOND_DIFFERENCE(REAL, sum, rate_y, u, before.each[j], after.each[j]);
#endif
      sum = ADD_SECOND_DIFFERENCE(REAL, sum, rate_z, u, below.each[j], above.each[j]);
#endif
#if SOURCE
      sum = fma(dt, q.each[j], sum);
#endif
#if WALLS == 2
      if (x + j == 0 || x + j + 1 == w || z + k == 0 || z + k + 1 == d || (DIMS > 2 && (y == 0 || y + 1 == h))) sum = u;
#endif
      result.each[j] = sum;
    }
    if (z + k < d) store_cells(to + k * out_plane, x, w, whole, result);
  }
}
