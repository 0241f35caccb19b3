// One step of heat diffusion in two and three dimensions, by columns: a work-item advances PACK neighbouring cells of each of
// DEEP planes. It first loads the DEEP + 2 planes of their columns, all at once, so that the loads overlap, and keeps them in
// registers. Neighbours along x and y are in the cache, because other work-items of the group load them.
//
// Beyond the grid's ends the outermost cell is loaded again, which is the value beyond an insulated wall; only walls with a
// value of their own take comparisons. Neighbours along z come from registers, as in P. Micikevicius, "3D finite difference
// computation on GPUs using CUDA", GPGPU 2009, but in short columns, since a work-item that streams planes waits for each.
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

// The grid's extents, and the first cell of this work-item's columns.
typedef struct {
  int width, height, depth;
  int x, y, z;
  int whole;  // whether the row has all cells of the pack
} column_place;

// From a cell of a grid to its neighbours; 0 where the grid ends.
typedef struct {
  long plane, before, after;
} grid_steps;

static inline grid_steps steps_of(ulong pitch, ulong plane, column_place at) {
  grid_steps steps = {plane, at.y > 0 ? -(long)pitch : 0, at.y + 1 < at.height ? pitch : 0};
  return steps;
}

// Plane k of columns whose first cell is *first; beyond the grid, its outermost plane.
static inline global const ELEMENT* at_plane(global const ELEMENT* first, long plane, column_place at, int k) {
  return first + (clamp(at.z + k, 0, at.depth - 1) - at.z) * plane;
}

// Plane k of the columns after a step. column, k_column: the cells and conductivities of planes -1 to DEEP.
INLINED void advance_plane(cells* result, int k, const stored_cells column[DEEP + 2], const stored_cells k_column[DEEP + 2],
                           global const ELEMENT* in, grid_steps steps, global const ELEMENT* conductivity, grid_steps k_steps,
                           global const ELEMENT* source, long source_plane, column_place at, step_rates rate) {
  // From the first cell to those at both sides of the pack.
  const int to_left = at.x > 0 ? -1 : 0, to_right = min(at.x + PACK, at.width - 1) - at.x;
  const cells here = cells_of(column[k + 1]);
  cells below = cells_of(column[k]), above = cells_of(column[k + 2]), before, after, q;
  global const ELEMENT* row = at_plane(in, steps.plane, at, k);
  REAL left = load_cell(row + to_left), right = load_cell(row + to_right);
  if (DIMS > 2) {
    before.all = load_cells(row + steps.before, at.x, at.width, at.whole).all;
    after.all = load_cells(row + steps.after, at.x, at.width, at.whole).all;
  }
#if WALLS == 1
  if (at.x == 0) left = rate.wall;
  if (at.x + PACK >= at.width) right = rate.wall;
  if (at.z + k == 0) below.all = (pack)rate.wall;
  if (at.z + k + 1 == at.depth) above.all = (pack)rate.wall;
  if (DIMS > 2 && at.y == 0) before.all = (pack)rate.wall;
  if (DIMS > 2 && at.y + 1 == at.height) after.all = (pack)rate.wall;
#endif
#if VARIABLE
  const cells k_here = cells_of(k_column[k + 1]), k_below = cells_of(k_column[k]), k_above = cells_of(k_column[k + 2]);
  cells k_before, k_after;
  row = at_plane(conductivity, k_steps.plane, at, k);
  const REAL k_left = load_cell(row + to_left), k_right = load_cell(row + to_right);
  if (DIMS > 2) {
    k_before.all = load_cells(row + k_steps.before, at.x, at.width, at.whole).all;
    k_after.all = load_cells(row + k_steps.after, at.x, at.width, at.whole).all;
  }
#else
  (void)k_column, (void)conductivity, (void)k_steps;
#endif
  if (SOURCE) q.all = load_cells(at_plane(source, source_plane, at, k), at.x, at.width, at.whole).all;
#pragma unroll
  for (int j = 0; j < PACK; ++j) {
    const int x = at.x + j, previous = max(j - 1, 0), next = min(j + 1, PACK - 1);
    const REAL u = here.each[j], u_left = j > 0 ? here.each[previous] : left;
    REAL u_right = j + 1 < PACK ? here.each[next] : right;
    if (!PACKED && x + 1 == at.width) u_right = beyond_wall(u, rate.wall);
    const REAL u_before = DIMS > 2 ? before.each[j] : u, u_after = DIMS > 2 ? after.each[j] : u;
#if VARIABLE
    const REAL here_k = k_here.each[j];
    REAL sum = diffuse_variable(u, u_left, u_right, u_before, u_after, below.each[j], above.each[j], here_k,
                                j > 0 ? k_here.each[previous] : k_left, j + 1 < PACK ? k_here.each[next] : k_right,
                                DIMS > 2 ? k_before.each[j] : here_k, DIMS > 2 ? k_after.each[j] : here_k, k_below.each[j],
                                k_above.each[j], rate);
#else
    REAL sum = diffuse(u, u_left, u_right, u_before, u_after, below.each[j], above.each[j], rate);
#endif
    if (SOURCE) sum = fma(rate.dt, q.each[j], sum);
    if (is_held_cell(x, at.y, at.z + k, at.width, at.height, at.depth)) sum = u;
    result->each[j] = sum;
  }
}

kernel __attribute__((reqd_work_group_size(LANES * ROWS, 1, 1)))
void heat_vector(HEAT_ARGUMENTS) {
  column_place at = {.width = width, .height = height, .depth = depth};
  const uint across = (at.width + LANES * PACK - 1) / (LANES * PACK), along = (at.height + ROWS - 1) / ROWS,
             down = (at.depth + DEEP - 1) / DEEP;
  uint t = get_group_id(0);
  at.x = (t % across * LANES + get_local_id(0) % LANES) * PACK;
  t /= across;
  at.y = t % along * ROWS + get_local_id(0) / LANES;
  t /= along;
  at.z = t % down * DEEP;
  const ulong b = t / down;
  if (at.x >= at.width || at.y >= at.height) return;  // no barrier follows
  at.whole = PACKED || at.x + PACK <= at.width;

  const step_rates rate = {rate_x, rate_y, rate_z, dt, wall};
  const grid_steps steps = steps_of(in_pitch, in_plane, at), k_steps = steps_of(conductivity_pitch, conductivity_plane, at);
  global const ELEMENT* from = in + in_offset + b * in_stride + at.z * in_plane + at.y * in_pitch + at.x;
  global const ELEMENT* k_from = conductivity + conductivity_offset + b * conductivity_stride + at.z * conductivity_plane +
                                 at.y * conductivity_pitch + at.x;
  global const ELEMENT* q_from = source + source_offset + b * source_stride + at.z * source_plane + at.y * source_pitch + at.x;
  stored_cells column[DEEP + 2], k_column[DEEP + 2];
  // In branches: NVIDIA's compiler moves other loads to where they are used, and then waits for each.
  if (at.z > 0 && at.z + DEEP < at.depth) {
#pragma unroll
    for (int k = 0; k < DEEP + 2; ++k)
      column[k].all = load_stored(from + (k - 1) * steps.plane, at.x, at.width, at.whole).all;
  } else {
#pragma unroll
    for (int k = 0; k < DEEP + 2; ++k)
      column[k].all = load_stored(at_plane(from, steps.plane, at, k - 1), at.x, at.width, at.whole).all;
  }
#if VARIABLE
#pragma unroll
  for (int k = 0; k < DEEP + 2; ++k)
    k_column[k].all = load_stored(at_plane(k_from, k_steps.plane, at, k - 1), at.x, at.width, at.whole).all;
#endif

  global ELEMENT* to = out + out_offset + b * out_stride + at.z * out_plane + at.y * out_pitch + at.x;
#pragma unroll
  for (int k = 0; k < DEEP; ++k) {
    cells result;
    advance_plane(&result, k, column, k_column, from, steps, k_from, k_steps, q_from, source_plane, at, rate);
    if (at.z + k < at.depth) store_cells(to + k * out_plane, at.x, at.width, at.whole, result);
  }
}
