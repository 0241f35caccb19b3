// Several steps of heat diffusion in one pass over memory, for CPUs, in one to three dimensions: 3.5D blocking. A. Nguyen,
// N. Satish, J. Chhugani, C. Kim and P. Dubey, "3.5-D blocking optimization for stencil computations on modern CPUs and GPUs",
// SC 2010.
//
// A work-group is one work-item, which is one thread. It streams the planes of a block of x and y along z. Step s runs one
// plane behind step s - 1, so three planes of every step but the last are needed; they lie in a queue in local memory, which
// stays in the core's cache. So a pass of all steps reads and writes main memory once. Blocks overlap by as many cells as there
// are steps left. With one step, local memory is not used.
//
// Rows are computed in vectors of RUN cells. The last vector of a row ends where the row does, and computes some cells again.
//
// Launch: one dimension, local size 1; group g advances the blocks g, g + groups, ...: along x first, then y, then chunks of
// `chunk` planes, then the batch. Blocks have block_x x block_y cells.
// Local memory: QUEUE cells, at least (steps - 1) * 3 * (block_y + 2 * steps) rows of block_x + 2 * HALO cells, HALO being
// `steps` rounded up to whole vectors; with one or two dimensions a plane has one row.
#include "heat/step.clh"
#include "heat/run.clh"

#ifndef QUEUE
#define QUEUE 64  // cells; 64: there is no queue, and one step
#endif

// Boundaries that a row touches: bits for its neighbours along y and z, and for its ends along x.
#define WALL_BEFORE 1
#define WALL_AFTER 2
#define WALL_BELOW 4
#define WALL_ABOVE 8
#define WALL_LEFT 16
#define WALL_RIGHT 32
#define HELD 64  // the row is at a held boundary, where cells keep their values: at one of HOLDING_WALLS
#define HOLDING_WALLS \
  (WALLS != 2 ? 0 : (DIMS > 1 ? WALL_BELOW | WALL_ABOVE : 0) | (DIMS > 2 ? WALL_BEFORE | WALL_AFTER : 0))

// A row and its neighbours along y and z; the row itself in place of a neighbour beyond a wall.
typedef struct {
  global const global_cell *here, *before, *after, *below, *above;
} global_rows;
typedef struct {
  local const local_cell *here, *before, *after, *below, *above;
} local_rows;

// Macros define these for each address space, `from` and `to`, global or local, and for runs and cells: OpenCL C 1.2 has neither
// generic pointers nor generic functions.

// rows_around_<from>(here, pitch, below, above, walls): the row `here` and its four neighbour rows; those along y are `pitch` cells away.
#define DEFINE_ROWS_AROUND(from)                                                                                        \
  static inline from##_rows rows_around_##from(from const from##_cell* here, long pitch, from const from##_cell* below, \
                                               from const from##_cell* above, int walls) {                              \
    from##_rows rows = {here, walls & WALL_BEFORE ? here : here - pitch, walls & WALL_AFTER ? here : here + pitch,      \
                        walls & WALL_BELOW ? here : below, walls & WALL_ABOVE ? here : above};                          \
    return rows;                                                                                                        \
  }

// advance_<from>_<kind>: the run or cell, of type V, at place i of a row after a step. A row beyond a wall is the row itself,
// which is right unless the wall has a fixed value.
#define DEFINE_ADVANCE(V, kind, from)                                                                                   \
  INLINED void advance_##from##_##kind(V* result, int i, int at_left, int at_right, int walls, from##_rows rows,        \
                                       global_rows k, global const ELEMENT* q, step_rates rate) {                       \
    const V u = load_##from##_##kind(rows.here + i);                                                                    \
    const V left = at_left ? shift_up_##kind(u, beyond_wall(first_of_##kind(u), rate.wall))                             \
                           : load_##from##_##kind(rows.here + i - 1);                                                   \
    const V right = at_right ? shift_down_##kind(u, beyond_wall(last_of_##kind(u), rate.wall))                          \
                             : load_##from##_##kind(rows.here + i + 1);                                                 \
    const int fixed = WALLS == 1 ? walls : 0;                                                                           \
    const V before = fixed & WALL_BEFORE ? (V)(rate.wall) : load_##from##_##kind(rows.before + i);                      \
    const V after = fixed & WALL_AFTER ? (V)(rate.wall) : load_##from##_##kind(rows.after + i);                         \
    const V below = fixed & WALL_BELOW ? (V)(rate.wall) : load_##from##_##kind(rows.below + i);                         \
    const V above = fixed & WALL_ABOVE ? (V)(rate.wall) : load_##from##_##kind(rows.above + i);                         \
    if (VARIABLE) {                                                                                                     \
      const V k_here = load_global_##kind(k.here + i);                                                                  \
      const V k_left = at_left ? shift_up_##kind(k_here, first_of_##kind(k_here))                                       \
                               : load_global_##kind(k.here + i - 1);                                                    \
      const V k_right = at_right ? shift_down_##kind(k_here, last_of_##kind(k_here))                                    \
                                 : load_global_##kind(k.here + i + 1);                                                  \
      *result = diffuse_variable_##kind(u, left, right, before, after, below, above, k_here, k_left, k_right,           \
                                        load_global_##kind(k.before + i), load_global_##kind(k.after + i),              \
                                        load_global_##kind(k.below + i), load_global_##kind(k.above + i), rate);        \
    } else {                                                                                                            \
      *result = diffuse_##kind(u, left, right, before, after, below, above, rate);                                      \
    }                                                                                                                   \
    if (SOURCE) *result = fma((V)(rate.dt), load_global_##kind(q + i), *result);                                        \
    if (WALLS == 2) hold_ends_##kind(result, u, at_left, at_right);                                                     \
  }

static inline void hold_ends_run(run* v, run u, int at_left, int at_right) {
  if (at_left) v->s0 = u.s0;
  if (at_right) set_last_of_run(v, last_of_run(u));
}
static inline void hold_ends_cell(REAL* v, REAL u, int at_left, int at_right) {
  if (at_left || at_right) *v = u;
}

// advance_row_<from>_<to>: cells 0 to n - 1 of row o, after a step of those of rows.here. k: the rows of conductivities; q: of
// sources. Not inlined: PoCL copies a kernel's body three times.
#define DEFINE_ADVANCE_ROW(from, to)                                                                                    \
  __attribute__((noinline)) void advance_row_##from##_##to(to to##_cell* restrict o, const from##_rows* around, int n,  \
                                                           int walls, const global_rows* k_around,                      \
                                                           global const ELEMENT* q, const step_rates* rates) {          \
    const from##_rows rows = *around;                                                                                   \
    const global_rows k = *k_around;                                                                                    \
    const step_rates rate = *rates;                                                                                     \
    const int left = walls & WALL_LEFT, right = walls & WALL_RIGHT;                                                     \
    run v;                                                                                                              \
    if (walls & HELD) {                                                                                                 \
      for (int i = 0; i < n; ++i) store_##to##_cell(o + i, load_##from##_cell(rows.here + i));                          \
      return;                                                                                                           \
    }                                                                                                                   \
    if (n < RUN) {                                                                                                      \
      for (int i = 0; i < n; ++i) {                                                                                     \
        REAL cell;                                                                                                      \
        advance_##from##_cell(&cell, i, i == 0 && left, i == n - 1 && right, walls, rows, k, q, rate);                  \
        store_##to##_cell(o + i, cell);                                                                                 \
      }                                                                                                                 \
      return;                                                                                                           \
    }                                                                                                                   \
    advance_##from##_run(&v, 0, left, n == RUN && right, walls, rows, k, q, rate);                                      \
    store_##to##_end(o, v);                                                                                             \
    for (int i = first_inner_##to(o); i < n - RUN; i += RUN) {                                                          \
      prefetch_##from(rows.above + i);                                                                                  \
      advance_##from##_run(&v, i, 0, 0, walls, rows, k, q, rate);                                                       \
      store_##to##_inner(o + i, v);                                                                                     \
    }                                                                                                                   \
    if (n > RUN) {                                                                                                      \
      advance_##from##_run(&v, n - RUN, 0, right, walls, rows, k, q, rate);                                             \
      store_##to##_end(o + n - RUN, v);                                                                                 \
    }                                                                                                                   \
  }

DEFINE_ROWS_AROUND(global)
DEFINE_ADVANCE(run, run, global)
DEFINE_ADVANCE(REAL, cell, global)
DEFINE_ADVANCE_ROW(global, global)
#if QUEUE > 64
DEFINE_ROWS_AROUND(local)
DEFINE_ADVANCE(run, run, local)
DEFINE_ADVANCE(REAL, cell, local)
DEFINE_ADVANCE_ROW(global, local)
DEFINE_ADVANCE_ROW(local, local)
DEFINE_ADVANCE_ROW(local, global)
#endif

// Grids of one matrix of the batch: the first cell, and cells from row to row and plane to plane.
typedef struct {
  global const ELEMENT* first;
  long pitch, plane;
} input_grid;
typedef struct {
  global ELEMENT* first;
  long pitch, plane;
} output_grid;

static inline global const ELEMENT* row_of(input_grid grid, long x, long y, long z) {
  return grid.first + z * grid.plane + y * grid.pitch + x;
}
static inline global_rows rows_of(input_grid grid, long x, long y, long z, int walls) {
  global const ELEMENT* row = row_of(grid, x, y, z);
  return rows_around_global(row, grid.pitch, row - grid.plane, row + grid.plane, walls);
}

// The queue: for each step but the last, three planes in a ring. Rows of the planes are aligned to vectors.
typedef struct {
  local REAL* first;  // the cell of the block's first one, in plane 0 of step 1
  long pitch, plane;
} plane_queue;

// A block: its first cell, and one behind its last.
typedef struct {
  long x0, y0, z0, x1, y1, z1;
} block_place;

#if QUEUE > 64
// Cell (x, y, z) of the block after a step.
static inline local REAL* queued(plane_queue queue, block_place block, long step, long x, long y, long z) {
  return queue.first + ((step - 1) * 3 + z % 3) * queue.plane + (y - block.y0) * queue.pitch + x - block.x0;
}
#endif

// Plane z of a block after step `step` of `last`.
INLINED void advance_plane(long z, long step, long last, block_place block, plane_queue queue, long width, long height,
                           long depth, input_grid in, output_grid out, input_grid conductivity, input_grid source,
                           const step_rates* rates) {
  // The remaining steps need a halo of the block, smaller with each step.
  const long left = last - step, left_y = DIMS > 2 ? left : 0;
  const long begin_x = max(block.x0 - left, 0L), end_x = min(block.x1 + left, width);
  const long begin_y = max(block.y0 - left_y, 0L), end_y = min(block.y1 + left_y, height);
  const int n = end_x - begin_x;
  const int walls_xz = (begin_x == 0 ? WALL_LEFT : 0) | (end_x == width ? WALL_RIGHT : 0) | (z == 0 ? WALL_BELOW : 0) |
                       (z + 1 == depth ? WALL_ABOVE : 0);
  (void)queue;
  for (long y = begin_y; y < end_y; ++y) {
    int walls = walls_xz | (y == 0 ? WALL_BEFORE : 0) | (y + 1 == height ? WALL_AFTER : 0);
    if (walls & HOLDING_WALLS) walls |= HELD;
    global ELEMENT* to = out.first + z * out.plane + y * out.pitch + begin_x;
    global const ELEMENT* q = SOURCE ? row_of(source, begin_x, y, z) : 0;
    global_rows k;
    if (VARIABLE) k = rows_of(conductivity, begin_x, y, z, walls);
#if QUEUE > 64
    if (step > 1) {
      const local_rows rows = rows_around_local(queued(queue, block, step - 1, begin_x, y, z), queue.pitch,
                                                queued(queue, block, step - 1, begin_x, y, z + 2),
                                                queued(queue, block, step - 1, begin_x, y, z + 1), walls);
      if (step < last)
        advance_row_local_local(queued(queue, block, step, begin_x, y, z), &rows, n, walls, &k, q, rates);
      else
        advance_row_local_global(to, &rows, n, walls, &k, q, rates);
      continue;
    }
#endif
    const global_rows rows = rows_of(in, begin_x, y, z, walls);
#if QUEUE > 64
    if (last > 1) {
      advance_row_global_local(queued(queue, block, step, begin_x, y, z), &rows, n, walls, &k, q, rates);
      continue;
    }
#endif
    advance_row_global_global(to, &rows, n, walls, &k, q, rates);
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void heat_cpu(HEAT_ARGUMENTS, uint steps, ulong block_x, ulong block_y, ulong chunk) {
  const ulong across = (width + block_x - 1) / block_x, along = (height + block_y - 1) / block_y,
              chunks = (depth + chunk - 1) / chunk;
  const long last = (long)steps;
  const step_rates rates = {rate_x, rate_y, rate_z, dt, wall};
  plane_queue queue = {0, 0, 0};
#if QUEUE > 64
  local REAL cells[QUEUE] __attribute__((aligned(64)));
  const long halo = (last + RUN - 1) / RUN * RUN, halo_y = DIMS > 2 ? last : 0;
  queue.pitch = ((long)min(block_x, width) + RUN - 1) / RUN * RUN + 2 * halo;
  queue.plane = queue.pitch * ((long)min(block_y, height) + 2 * halo_y);
  queue.first = cells + halo_y * queue.pitch + halo;
#endif

  for (ulong t = get_group_id(0); t < across * along * chunks * batch; t += get_num_groups(0)) {
    const ulong b = t / across / along / chunks;
    block_place block = {t % across * block_x, t / across % along * block_y, t / across / along % chunks * chunk, 0, 0, 0};
    block.x1 = min(width, block.x0 + block_x);
    block.y1 = min(height, block.y0 + block_y);
    block.z1 = min(depth, block.z0 + chunk);
    const input_grid from = {in + in_offset + b * in_stride, in_pitch, in_plane};
    const output_grid to = {out + out_offset + b * out_stride, out_pitch, out_plane};
    const input_grid k = {conductivity + conductivity_offset + b * conductivity_stride, conductivity_pitch, conductivity_plane};
    const input_grid q = {source + source_offset + b * source_stride, source_pitch, source_plane};

    for (long plane = max(block.z0 - last + 1, 0L); plane < block.z1 + last - 1; ++plane) {
      for (long step = 1; step <= last; ++step) {
        const long left_z = DIMS > 1 ? last - step : 0, z = plane - (step - 1);
        if (z >= max(block.z0 - left_z, 0L) && z < min(block.z1 + left_z, (long)depth))
          advance_plane(z, step, last, block, queue, width, height, depth, from, to, k, q, &rates);
      }
    }
  }
}
