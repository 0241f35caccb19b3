// Several steps of heat diffusion in one pass over memory, in two and three dimensions, with one conductivity: 3.5D blocking.
// A. Nguyen, N. Satish, J. Chhugani, C. Kim and P. Dubey, "3.5-D blocking optimization for stencil computations on modern
// CPUs and GPUs", SC 2010.
//
// A work-group streams the planes of a tile of x and y. The steps are the stages of a pipeline: stage s runs one plane behind
// stage s - 1, so that when plane z is loaded, stage 0 computes plane z - 1, stage 1 plane z - 2, and so on, and plane z - STEPS
// is written. Each work-item keeps the last two planes of every stage for its PACK x ROWS_EACH cells in registers. Neighbours
// along x and y exchange their outermost cells through local memory, in two sets used in turn: one barrier a plane is enough.
// The tile has a halo of STEPS cells, which neighbouring groups compute too; each stage invalidates one more cell of it.
//
// Launch: LANES * ROWS work-items a group; a group for each tile and each chunk of planes: chunks first, then the batch, then
// the tiles. Two dimensions have one row: ROWS and ROWS_EACH are 1, and nothing is exchanged along y.
// Local memory: 2 * STEPS times, for each work-item, its first and last row (with three dimensions) and the first and last
// cell of each row.
#include "heat/step.clh"
#include "heat/pack.clh"

#ifndef STEPS
#define STEPS 2  // of a pass
#endif
#ifndef LANES
#define LANES 18  // work-items along x
#endif
#ifndef ROWS
#define ROWS 10  // work-items along y
#endif
#ifndef ROWS_EACH
#define ROWS_EACH 2  // rows of a work-item: 1, 2, 4
#endif
#ifndef PACKED
#define PACKED 0  // 1: a row is a multiple of PACK cells, so that no pack lies half beyond its end
#endif
#define ITEMS (LANES * ROWS)
#define HALO_LANES ((STEPS + PACK - 1) / PACK)  // whole packs, so that reads are aligned
#define HALO_X (HALO_LANES * PACK)
#define HALO_Y (DIMS > 2 ? STEPS : 0)
#define OUT_X ((LANES - 2 * HALO_LANES) * PACK)
#define OUT_Y (ROWS * ROWS_EACH - 2 * HALO_Y)
// Places for edges in local memory, for one stage: one for each work-item, and more at both ends for neighbours that do not
// exist. Nothing that is written depends on the latter.
#define ROW_PLACES (ITEMS + 2 * LANES)
#define CELL_PLACES (ITEMS + 2)

typedef struct {
  uint row, col;
} tile_index;

// Boundary tiles take longest. They are scheduled first, which shortens the tail of the launch.
static inline tile_index tile_in_order(uint t, uint across, uint along) {
  tile_index tile = {t / across, t % across};
  if (across > 2 && along > 2) {
    const uint flat = 2 * across, walls = flat + 2 * (along - 2);
    if (t < flat) {  // the first and the last row of tiles
      tile.row = tile.row * (along - 1);
    } else if (t < walls) {  // both ends of the other rows
      tile.row = 1 + (t - flat) / 2;
      tile.col = (t - flat) % 2 * (across - 1);
    } else {
      tile.row = 1 + (t - walls) / (across - 2);
      tile.col = 1 + (t - walls) % (across - 2);
    }
  }
  return tile;
}

// The extents of the grid and this work-item's cells in it.
typedef struct {
  int width, height, depth;
  int x, y;    // the first cell; halos reach beyond the grid
  int from_x;  // the column of the pack that is loaded for it
  int whole;   // whether the row has all cells of that pack
} work_place;

INLINED void clear_planes(cells planes[2][STEPS][ROWS_EACH]) {
#pragma unroll
  for (int s = 0; s < STEPS; ++s)
#pragma unroll
    for (int r = 0; r < ROWS_EACH; ++r)
#pragma unroll
      for (int j = 0; j < PACK; ++j) planes[0][s][r].each[j] = planes[1][s][r].each[j] = 0;
}

// Publishes the edges of the planes that the stages are about to advance. first_row, last_row, first_cell, last_cell: the
// places of this work-item's edges, for stage 0 and row 0. They are no struct: rusticl loses local pointers in one.
INLINED void publish_edges(local pack* first_row, local pack* last_row, local REAL* first_cell, local REAL* last_cell,
                           cells here[STEPS][ROWS_EACH]) {
#pragma unroll
  for (int s = 0; s < STEPS; ++s) {
    if (DIMS > 2) {
      first_row[s * ROW_PLACES] = here[s][0].all;
      if (ROWS_EACH > 1) last_row[s * ROW_PLACES] = here[s][ROWS_EACH - 1].all;
    }
#pragma unroll
    for (int r = 0; r < ROWS_EACH; ++r) {
      const int place = (s * ROWS_EACH + r) * CELL_PLACES;
      first_cell[place] = here[s][r].each[0];
      if (PACK > 1) last_cell[place] = here[s][r].each[PACK - 1];
    }
  }
}

static inline pack beyond_wall_pack(pack u, REAL wall) {
  (void)wall;
#if WALLS == 1
  u = (pack)wall;
#endif
  return u;
}

// The work of stage s: advances plane z, which is `here`, by a step, from the planes below and above it and the edges of
// neighbours. `source`: the first cell of the grid of sources. `at_wall`, a constant: whether any cell may be at a wall.
INLINED void advance_plane(cells result[ROWS_EACH], const cells below[ROWS_EACH], const cells here[ROWS_EACH],
                           const cells above[ROWS_EACH], local const pack* first_row, local const pack* last_row,
                           local const REAL* first_cell, local const REAL* last_cell, int s, int z, work_place at,
                           step_rates rate, global const ELEMENT* source, ulong source_pitch, ulong source_plane,
                           const int at_wall) {
  cells row_before, row_after;
  if (DIMS > 2) {
    row_before.all = last_row[s * ROW_PLACES - LANES];
    row_after.all = first_row[s * ROW_PLACES + LANES];
  }
#pragma unroll
  for (int r = 0; r < ROWS_EACH; ++r) {
    const int place = (s * ROWS_EACH + r) * CELL_PLACES, y = at.y + r;
    REAL cell_before = last_cell[place - 1], cell_after = first_cell[place + 1];
    if (at_wall && at.x == 0) cell_before = beyond_wall(here[r].each[0], rate.wall);
    if (at_wall && at.x + PACK == at.width) cell_after = beyond_wall(here[r].each[PACK - 1], rate.wall);
    cells q;
    if (SOURCE)
      q.all = load_cells(source + clamp(z, 0, at.depth - 1) * source_plane + clamp(y, 0, at.height - 1) * source_pitch +
                             at.from_x, at.from_x, at.width, at.whole).all;
#pragma unroll
    for (int j = 0; j < PACK; ++j) {
      const int x = at.x + j;
      const REAL u = here[r].each[j];
      REAL left = j > 0 ? here[r].each[max(j - 1, 0)] : cell_before;
      REAL right = j + 1 < PACK ? here[r].each[min(j + 1, PACK - 1)] : cell_after;
      if (!PACKED && at_wall && j + 1 < PACK && x + 1 == at.width) right = beyond_wall(u, rate.wall);
      REAL before = u, after = u;
      if (DIMS > 2) {
        before = r > 0 ? here[max(r - 1, 0)].each[j] : row_before.each[j];
        after = r + 1 < ROWS_EACH ? here[min(r + 1, ROWS_EACH - 1)].each[j] : row_after.each[j];
        if (at_wall && y == 0) before = beyond_wall(u, rate.wall);
        if (at_wall && y + 1 == at.height) after = beyond_wall(u, rate.wall);
      }
      REAL sum = diffuse(u, left, right, before, after, below[r].each[j], above[r].each[j], rate);
      if (SOURCE) sum = fma(rate.dt, q.each[j], sum);
      if (at_wall && is_held_cell(x, y, z, at.width, at.height, at.depth)) sum = u;
      result[r].each[j] = sum;
    }
  }
}

// Runs all stages once: `next`, plane z of the input, becomes plane z - STEPS of the output. below[s] and here[s] are the
// planes that stage s keeps. Its newest plane replaces the oldest, below[s], so the two arrays change roles.
INLINED void run_stages(cells next[ROWS_EACH], cells below[STEPS][ROWS_EACH], cells here[STEPS][ROWS_EACH],
                        local const pack* first_row, local const pack* last_row, local const REAL* first_cell,
                        local const REAL* last_cell, int z, work_place at, step_rates rate, global const ELEMENT* source,
                        ulong source_pitch, ulong source_plane, const int at_wall) {
#pragma unroll
  for (int s = 0; s < STEPS; ++s) {
    const int made = z - 1 - s;
#pragma unroll
    for (int r = 0; r < ROWS_EACH; ++r) {
      if (at_wall && made == 0) below[s][r].all = beyond_wall_pack(here[s][r].all, rate.wall);
      if (at_wall && made + 1 == at.depth) next[r].all = beyond_wall_pack(here[s][r].all, rate.wall);
    }
    cells result[ROWS_EACH];
    advance_plane(result, below[s], here[s], next, first_row, last_row, first_cell, last_cell, s, made, at, rate, source,
                  source_pitch, source_plane, at_wall);
#pragma unroll
    for (int r = 0; r < ROWS_EACH; ++r) {
      // As vectors: NVIDIA's compiler loses copies of unions that are written element by element.
      below[s][r].all = next[r].all;
      next[r].all = result[r].all;
    }
  }
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void heat_march(HEAT_ARGUMENTS) {
#if DIMS > 2
  local pack first_rows[2 * STEPS * ROW_PLACES];
#if ROWS_EACH > 1
  local pack last_rows[2 * STEPS * ROW_PLACES];
#else
  local pack* last_rows = first_rows;
#endif
#else
  local pack *first_rows = 0, *last_rows = 0;
#endif
  local REAL first_cells[2 * STEPS * ROWS_EACH * CELL_PLACES];
#if PACK > 1
  local REAL last_cells[2 * STEPS * ROWS_EACH * CELL_PLACES];
#else
  local REAL* last_cells = first_cells;
#endif
  const int item = get_local_id(0), lane = item % LANES, line = item / LANES;
  const step_rates rate = {rate_x, rate_y, rate_z, dt, wall};

  // The group's tile and chunk of planes.
  work_place at = {.width = width, .height = height, .depth = depth};
  const uint across = (at.width + OUT_X - 1) / OUT_X, along = (at.height + OUT_Y - 1) / OUT_Y,
             chunks = get_num_groups(0) / (across * along * (uint)batch), chunk = (at.depth + chunks - 1) / chunks;
  const uint group = get_group_id(0);
  const int z0 = group % chunks * chunk, z1 = min((uint)at.depth, z0 + chunk);
  const ulong b = group / chunks % (uint)batch;
  const tile_index tile = tile_in_order(group / chunks / (uint)batch, across, along);
  const int tile_x = tile.col * OUT_X, tile_y = tile.row * OUT_Y, end_y = min(tile_y + OUT_Y, at.height);
  at.x = tile_x - HALO_X + lane * PACK;
  at.y = tile_y - HALO_Y + line * ROWS_EACH;
#if PACKED  // beyond the row, the outermost pack is loaded, on which nothing that is written depends
  at.whole = 1;
  at.from_x = clamp(at.x, 0, at.width - PACK);
#else
  at.whole = at.x >= 0 && at.x + PACK <= at.width;
  at.from_x = at.x;
#endif
  const int writes = lane >= HALO_LANES && lane < LANES - HALO_LANES && at.x < at.width;
  const int tile_at_wall = tile_x < HALO_X || tile_x + OUT_X + HALO_X >= at.width ||  // uniform in the group
                           (DIMS > 2 && (tile_y < HALO_Y || tile_y + OUT_Y + HALO_Y >= at.height));

  // This work-item's rows of the plane that is loaded next. Rows beyond the grid are its outermost row.
  const int begin = max(z0 - STEPS, 0);
  global const ELEMENT* coming[ROWS_EACH];
  stored_cells ahead[ROWS_EACH];
#pragma unroll
  for (int r = 0; r < ROWS_EACH; ++r) {
    coming[r] = in + in_offset + b * in_stride + begin * in_plane + clamp(at.y + r, 0, at.height - 1) * in_pitch + at.from_x;
    ahead[r].all = load_stored(coming[r], at.from_x, at.width, at.whole).all;
  }
  global const ELEMENT* sources = source + source_offset + b * source_stride;
  global ELEMENT* to = out + out_offset + b * out_stride + z0 * out_plane + at.y * (long)out_pitch + at.x;

  // Planes that the pipeline has not filled yet are zero; nothing that is written depends on them.
  cells planes[2][STEPS][ROWS_EACH], next[ROWS_EACH];
  clear_planes(planes);
  for (int i = item; i < 2 * STEPS * ROWS_EACH * CELL_PLACES; i += ITEMS) first_cells[i] = last_cells[i] = 0;
  for (int i = item; DIMS > 2 && i < 2 * STEPS * ROW_PLACES; i += ITEMS) first_rows[i] = last_rows[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  for (int pair = begin; pair < z1 + STEPS; pair += 2) {
#pragma unroll
    for (int set = 0; set < 2; ++set) {
      const int z = pair + set;  // of the plane that arrives; behind the last one, a plane that nobody writes
      const int row_place = set * STEPS * ROW_PLACES + LANES + item;
      const int cell_place = set * STEPS * ROWS_EACH * CELL_PLACES + 1 + item;
      local pack *first_row = first_rows + row_place, *last_row = last_rows + row_place;
      local REAL *first_cell = first_cells + cell_place, *last_cell = last_cells + cell_place;
      publish_edges(first_row, last_row, first_cell, last_cell, planes[1 - set]);
      barrier(CLK_LOCAL_MEM_FENCE);

#pragma unroll
      for (int r = 0; r < ROWS_EACH; ++r) {
        next[r].all = cells_of(ahead[r]).all;
        if (z + 1 < at.depth) coming[r] += in_plane;
        ahead[r].all = load_stored(coming[r], at.from_x, at.width, at.whole).all;
      }
      if (tile_at_wall || z <= STEPS || z >= at.depth)
        run_stages(next, planes[set], planes[1 - set], first_row, last_row, first_cell, last_cell, z, at, rate, sources,
                   source_pitch, source_plane, 1);
      else
        run_stages(next, planes[set], planes[1 - set], first_row, last_row, first_cell, last_cell, z, at, rate, sources,
                   source_pitch, source_plane, 0);

      if (z >= z0 + STEPS && z < z1 + STEPS) {
#pragma unroll
        for (int r = 0; r < ROWS_EACH; ++r)
          if (writes && at.y + r >= tile_y && at.y + r < end_y)
            store_cells(to + r * out_pitch, at.x, at.width, at.whole, next[r]);
        to += out_plane;
      }
    }
  }
}
