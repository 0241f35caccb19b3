// Several steps of heat diffusion in one pass over memory, in two and three dimensions, one conductivity.
//
// A work-group has a tile of x and y and goes along z. Step s runs one plane behind step s - 1: when plane z of the input
// arrives, step 1 makes plane z - 1, step 2 plane z - 2, and so on, and plane z - STEPS is written. Each step is a stage
// of a pipeline, of which every work-item keeps the last planes of its PACK x ROWS_EACH cells in registers; what neighbours
// along x and y need passes through local memory, one barrier a plane, since the stages' planes lie in two sets. The tile
// has a halo, which each step makes one cell smaller: neighbouring groups compute it too. A. Nguyen, N. Satish, J. Chhugani,
// C. Kim and P. Dubey, "3.5-D blocking optimization for stencil computations on modern CPUs and GPUs", SC 2010.
//
// Launch: LANES * ROWS work-items a group; a group for each tile and each of several chunks of planes, as many as the
// launch has room for: the chunks first, then the batch, then the tiles. Those at walls, which take longer, begin first, so that
// no unit is left with one when others have ended. Two dimensions have one row: ROWS and ROWS_EACH are 1, and there is no
// exchange along y.
// Local memory: 2 * STEPS times, for each work-item, its first and last row of cells (with three dimensions) and the first
// and last cell of each row.
#include "heat/step.clh"
#include "heat/pack.clh"

#ifndef STEPS
#define STEPS 2  // of a pass
#endif
#ifndef LANES
#define LANES 18  // work-items along x
#endif
#ifndef ROWS
#define ROWS 10  // along y
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
// Where a work-item's rows and cells of a stage lie; at both ends of the work-items there is room for neighbours that are
// not there, whose values nothing that is written depends on.
#define ROW_PLACES (ITEMS + 2 * LANES)
#define CELL_PLACES (ITEMS + 2)
#define ROW_AT(s) ((set * STEPS + (s)) * ROW_PLACES + LANES + item)
#define CELL_AT(s, r) (((set * STEPS + (s)) * ROWS_EACH + (r)) * CELL_PLACES + 1 + item)
// Planes z - 1 and z of what a stage reads: where the older one was comes the next, so that they change places from plane to
// plane and none is copied.
#define below planes[set]
#define here planes[1 - set]
#define EACH_STAGE _Pragma("unroll") for (int s = 0; s < STEPS; ++s)
#define EACH_ROW _Pragma("unroll") for (int r = 0; r < ROWS_EACH; ++r)
#define EACH_CELL _Pragma("unroll") for (int j = 0; j < PACK; ++j)

// All stages of one plane, from what came to what goes, in `next`. AT_WALL: whether any cell of the tile may be at a wall;
// most tiles and planes know that none is.
#define MAKE_STAGES(AT_WALL)                                                                                           \
  EACH_STAGE {                                                                                                         \
    const int made = z - 1 - s; /* the plane that this stage makes */                                                  \
    if (AT_WALL && made == 0) EACH_ROW below[s][r].all = BEYOND_PACK(here[s][r].all);                                  \
    if (AT_WALL && made + 1 == d) EACH_ROW next[r].all = BEYOND_PACK(here[s][r].all);                                  \
    cells result[ROWS_EACH];                                                                                           \
    EXCHANGE_Y;                                                                                                        \
    EACH_ROW {                                                                                                         \
      REAL left = last_cells[CELL_AT(s, r) - 1];                                                                       \
      REAL right = first_cells[CELL_AT(s, r) + 1];                                                                     \
      if (AT_WALL) {                                                                                                   \
        if (x == 0) left = BEYOND(here[s][r].each[0]);                                                                 \
        if (x + PACK == w) right = BEYOND(here[s][r].each[PACK - 1]);                                                  \
      }                                                                                                                \
      LOAD_SOURCE;                                                                                                     \
      EACH_CELL {                                                                                                      \
        const REAL u = here[s][r].each[j];                                                                             \
        REAL u_left = j > 0 ? here[s][r].each[max(j - 1, 0)] : left;                                                   \
        REAL u_right = j + 1 < PACK ? here[s][r].each[min(j + 1, PACK - 1)] : right;                                   \
        if (AT_WALL && !PACKED && j + 1 < PACK && x + j + 1 == w) u_right = BEYOND(u);                                 \
        REAL sum = ADD_SECOND_DIFFERENCE(REAL, u, rate_x, u, u_left, u_right);                                         \
        ADD_Y(AT_WALL);                                                                                                \
        sum = ADD_SECOND_DIFFERENCE(REAL, sum, rate_z, u, below[s][r].each[j], next[r].each[j]);                       \
        ADD_SOURCE;                                                                                                    \
        if (AT_WALL && HELD) sum = u;                                                                                 \
        result[r].each[j] = sum;                                                                                       \
      }                                                                                                                \
    }                                                                                                                  \
    EACH_ROW {                                                                                                         \
      /* As vectors: NVIDIA's compiler loses copies of unions that are written element by element. */                  \
      below[s][r].all = next[r].all;                                                                                   \
      next[r].all = result[r].all;                                                                                     \
    }                                                                                                                  \
  }

#if WALLS == 1
#define BEYOND_PACK(u) ((pack)(wall))
#else
#define BEYOND_PACK(u) (u)
#endif

#if DIMS > 2
#define EXCHANGE_Y                                                                        \
  cells before, after;                                                                    \
  before.all = last_rows[ROW_AT(s) - LANES];                                              \
  after.all = first_rows[ROW_AT(s) + LANES]
#define ADD_Y(AT_WALL)                                                                               \
  REAL u_before = r > 0 ? here[s][max(r - 1, 0)].each[j] : before.each[j];                           \
  REAL u_after = r + 1 < ROWS_EACH ? here[s][min(r + 1, ROWS_EACH - 1)].each[j] : after.each[j];     \
  if (AT_WALL) {                                                                                     \
    if (y + r == 0) u_before = BEYOND(u);                                                            \
    if (y + r + 1 == h) u_after = BEYOND(u);                                                         \
  }                                                                                                  \
  sum = ADD_SECOND_DIFFERENCE(REAL, sum, rate_y, u, u_before, u_after)
#define AT_WALL_Y (y + r == 0 || y + r + 1 == h)
#else
#define EXCHANGE_Y (void)0
#define ADD_Y(AT_WALL) (void)0
#define AT_WALL_Y 0
#endif

#if WALLS == 2
#define HELD (x + j == 0 || x + j + 1 == w || made == 0 || made + 1 == d || AT_WALL_Y)
#else
#define HELD 0
#endif

#if SOURCE
#define LOAD_SOURCE                                                                                                       \
  const cells q = load_cells(sources + clamp(made, 0, d - 1) * source_plane + clamp(y + r, 0, h - 1) * source_pitch + from_x, \
                             from_x, w, whole)
#define ADD_SOURCE sum = fma(dt, q.each[j], sum)
#else
#define LOAD_SOURCE (void)0
#define ADD_SOURCE (void)0
#endif

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void heat_march(HEAT_ARGUMENTS) {
#if DIMS > 2
  local pack first_rows[2 * STEPS * ROW_PLACES];
#if ROWS_EACH > 1
  local pack last_rows[2 * STEPS * ROW_PLACES];
#else
#define last_rows first_rows
#endif
#endif
  local REAL first_cells[2 * STEPS * ROWS_EACH * CELL_PLACES];
#if PACK > 1
  local REAL last_cells[2 * STEPS * ROWS_EACH * CELL_PLACES];
#else
#define last_cells first_cells
#endif
  const int w = width, h = height, d = depth;
  const uint across = (w + OUT_X - 1) / OUT_X, along = (h + OUT_Y - 1) / OUT_Y, chunks = get_num_groups(0) / (across * along * (uint)batch),
             chunk = (d + chunks - 1) / chunks;
  uint t = get_group_id(0);
  const int z0 = t % chunks * chunk, z1 = min((uint)d, z0 + chunk);
  t /= chunks;
  const ulong b = t % (uint)batch;
  t /= (uint)batch;
  uint col = t % across, row = t / across;
  if (across > 2 && along > 2) {
    const uint flat = 2 * across, walls = flat + 2 * (along - 2);
    if (t < flat) {  // the first and the last row of tiles
      row = row * (along - 1);
    } else if (t < walls) {  // both ends of the other rows
      row = 1 + (t - flat) / 2;
      col = (t - flat) % 2 * (across - 1);
    } else {
      row = 1 + (t - walls) / (across - 2);
      col = 1 + (t - walls) % (across - 2);
    }
  }
  const int tile_x = col * OUT_X, tile_y = row * OUT_Y;
  const int item = get_local_id(0), lane = item % LANES, line = item / LANES;
  const int x = tile_x - HALO_X + lane * PACK, y = tile_y - HALO_Y + line * ROWS_EACH;
#if PACKED  // what lies beyond the row is another pack, which nothing that is written depends on
  const int whole = 1, from_x = clamp(x, 0, w - PACK);
#else
  const int whole = x >= 0 && x + PACK <= w, from_x = x;
#endif
  const int writes = lane >= HALO_LANES && lane < LANES - HALO_LANES && x < w, end_y = min(tile_y + OUT_Y, h);
  NOT_ALL_ARGUMENTS_ARE_USED;
  // Whether the tile touches a wall of x or y: the same for the whole group.
  const int at_wall = tile_x < HALO_X || tile_x + OUT_X + HALO_X >= w || (DIMS > 2 && (tile_y < HALO_Y || tile_y + OUT_Y + HALO_Y >= h));

#if SOURCE
  global const ELEMENT* sources = source + source_offset + b * source_stride;
#endif

  // Planes that the pipeline has not filled yet are zero; nothing that is written depends on them.
  cells planes[2][STEPS][ROWS_EACH], next[ROWS_EACH];
  stored_cells ahead[ROWS_EACH];
  EACH_STAGE EACH_ROW EACH_CELL planes[0][s][r].each[j] = planes[1][s][r].each[j] = 0;
  const int begin = max(z0 - STEPS, 0);

  // This work-item's rows of the plane that comes next, and the first one of what is written; what would lie beyond the
  // grid is its outermost row again.
  global const ELEMENT* coming[ROWS_EACH];
  EACH_ROW coming[r] = in + in_offset + b * in_stride + begin * in_plane + clamp(y + r, 0, h - 1) * in_pitch + from_x;
  global ELEMENT* to = out + out_offset + b * out_stride + z0 * out_plane + y * (long)out_pitch + x;
  EACH_ROW ahead[r].all = load_stored(coming[r], from_x, w, whole).all;

  for (int i = item; i < 2 * STEPS * ROWS_EACH * CELL_PLACES; i += ITEMS) {
    first_cells[i] = 0;
    last_cells[i] = 0;
  }
#if DIMS > 2
  for (int i = item; i < 2 * STEPS * ROW_PLACES; i += ITEMS) {
    first_rows[i] = 0;
    last_rows[i] = 0;
  }
#endif
  barrier(CLK_LOCAL_MEM_FENCE);

  for (int pair = begin; pair < z1 + STEPS; pair += 2) {
#pragma unroll
    for (int set = 0; set < 2; ++set) {
      const int z = pair + set;  // the plane that comes; behind the last one, another that nobody writes

      // What neighbours need of the planes in the middle of the stages.
      EACH_STAGE {
#if DIMS > 2
        first_rows[ROW_AT(s)] = here[s][0].all;
#if ROWS_EACH > 1
        last_rows[ROW_AT(s)] = here[s][ROWS_EACH - 1].all;
#endif
#endif
        EACH_ROW {
          first_cells[CELL_AT(s, r)] = here[s][r].each[0];
#if PACK > 1
          last_cells[CELL_AT(s, r)] = here[s][r].each[PACK - 1];
#endif
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);

      // The plane that has come, and the next one on its way.
      EACH_ROW {
        next[r].all = cells_of(ahead[r]).all;
        if (z + 1 < d) coming[r] += in_plane;
        ahead[r].all = load_stored(coming[r], from_x, w, whole).all;
      }
      if (at_wall || z <= STEPS || z >= d) {
        MAKE_STAGES(1)
      } else {
        MAKE_STAGES(0)
      }

      // Of the tile, what the halo has left.
      if (z >= z0 + STEPS && z < z1 + STEPS) {
        if (writes) {
          EACH_ROW
            if (y + r >= tile_y && y + r < end_y) store_cells(to + r * out_pitch, x, w, whole, next[r]);
        }
        to += out_plane;
      }
    }
  }
}
