// One step of heat diffusion in two and three dimensions, marching along z: the neighbours along z stay in registers, those
// along x and y are in the cache, because they were read as the next plane a moment before.
//
// A work-item has PACK cells of each of ROWS_EACH rows and goes from plane to plane; the plane after the next is on its way
// meanwhile. P. Micikevicius, "3D finite difference computation on GPUs using CUDA", GPGPU 2009, with the caches of today
// in the place of his tile.
//
// Launch: LANES * ROWS work-items a group; a group for each tile of LANES * PACK x ROWS * ROWS_EACH cells, and for
// each of several chunks of planes, as many as the launch has room for: along x first, then y, then the chunks, then the batch. Two dimensions have one row: ROWS and ROWS_EACH are 1.
// No local memory.
#include "heat/step.clh"
#include "heat/pack.clh"

#ifndef LANES
#define LANES 32  // work-items along x
#endif
#ifndef ROWS
#define ROWS 8  // along y
#endif
#ifndef ROWS_EACH
#define ROWS_EACH 2  // rows of a work-item: 1, 2, 4
#endif
#ifndef PACKED
#define PACKED 0  // 1: a row is a multiple of PACK cells, so that no pack lies half beyond its end
#endif
#define TILE_X (LANES * PACK)
#define TILE_Y (ROWS * ROWS_EACH)
#define EACH_ROW _Pragma("unroll") for (int r = 0; r < ROWS_EACH; ++r)
#define EACH_CELL _Pragma("unroll") for (int j = 0; j < PACK; ++j)

kernel __attribute__((reqd_work_group_size(LANES * ROWS, 1, 1)))
void heat_vector(HEAT_ARGUMENTS) {
  const int w = width, h = height, d = depth;
  const uint across = (w + TILE_X - 1) / TILE_X, along = (h + TILE_Y - 1) / TILE_Y, chunks = get_num_groups(0) / (across * along * (uint)batch),
             chunk = (d + chunks - 1) / chunks;
  uint t = get_group_id(0);
  const uint tile_x = t % across;
  t /= across;
  const uint tile_y = t % along;
  t /= along;
  const int z0 = t % chunks * chunk, z1 = min((uint)d, z0 + chunk);
  const ulong b = t / chunks;
  const int x = tile_x * TILE_X + get_local_id(0) % LANES * PACK, y = tile_y * TILE_Y + get_local_id(0) / LANES * ROWS_EACH;
  NOT_ALL_ARGUMENTS_ARE_USED;
  if (x >= w || y >= h) return;
  const int whole = PACKED || x + PACK <= w;

  // The first cells of this work-item's rows in plane z, of the next planes' rows, and of its neighbours' rows; what would
  // lie below the grid is its last row again. All go along, so that no address is made anew.
  global const REAL* plane = in + in_offset + b * in_stride + z0 * in_plane + x;
  global REAL* to = out + out_offset + b * out_stride + z0 * out_plane + y * out_pitch + x;
  global const REAL *row[ROWS_EACH], *coming[ROWS_EACH];
  EACH_ROW row[r] = plane + min(y + r, h - 1) * in_pitch;
#if DIMS > 2
  global const REAL *row_before = plane + max(y - 1, 0) * in_pitch, *row_after = plane + min(y + ROWS_EACH, h - 1) * in_pitch;
#endif
#define CELLS_AT(p) load_cells(p, x, w, whole)
#if VARIABLE
  global const REAL* k_plane = conductivity + conductivity_offset + b * conductivity_stride + z0 * conductivity_plane + x;
  cells k_below[ROWS_EACH], k_here[ROWS_EACH], k_next[ROWS_EACH];
#define K_ROW(r) (k_plane + min(y + (r), h - 1) * conductivity_pitch)
  EACH_ROW {
    k_here[r] = load_cells(K_ROW(r), x, w, whole);
    k_below[r] = k_here[r];
    if (z0 > 0) k_below[r] = load_cells(K_ROW(r) - conductivity_plane, x, w, whole);
  }
#endif

  cells below[ROWS_EACH], here[ROWS_EACH], next[ROWS_EACH];
  EACH_ROW {
    here[r] = CELLS_AT(row[r]);
    next[r] = here[r];
    if (z0 + 1 < d) next[r] = CELLS_AT(row[r] + in_plane);
    EACH_CELL below[r].each[j] = BEYOND(here[r].each[j]);
    if (z0 > 0) below[r] = CELLS_AT(row[r] - in_plane);
    coming[r] = row[r] + min(d - 1 - z0, 1) * (long)in_plane;
  }

  for (int z = z0; z < z1; ++z) {
    // The plane after the next, and this plane's neighbours.
    cells later[ROWS_EACH];
    REAL left[ROWS_EACH], right[ROWS_EACH];
    EACH_ROW {
      if (z + 2 < d) coming[r] += in_plane;
      later[r] = CELLS_AT(coming[r]);
      left[r] = x > 0 ? row[r][-1] : BEYOND(here[r].each[0]);
      right[r] = x + PACK < w ? row[r][PACK] : BEYOND(here[r].each[PACK - 1]);
    }
#if DIMS > 2
    cells before = CELLS_AT(row_before), after = CELLS_AT(row_after);
    if (y == 0) EACH_CELL before.each[j] = BEYOND(here[0].each[j]);
#endif
    if (z + 1 == d) EACH_ROW EACH_CELL next[r].each[j] = BEYOND(here[r].each[j]);
#if VARIABLE
    EACH_ROW {
      k_next[r] = k_here[r];
      if (z + 1 < d) k_next[r] = load_cells(K_ROW(r) + conductivity_plane, x, w, whole);
    }
#if DIMS > 2
    const cells k_before = load_cells(k_plane + max(y - 1, 0) * conductivity_pitch, x, w, whole);
    const cells k_after = load_cells(K_ROW(ROWS_EACH), x, w, whole);
#endif
#endif

    EACH_ROW {
      cells result;
#if VARIABLE
      const REAL k_left = x > 0 ? K_ROW(r)[-1] : k_here[r].each[0];
      const REAL k_right = x + PACK < w ? K_ROW(r)[PACK] : k_here[r].each[PACK - 1];
#endif
#if SOURCE
      const cells q = load_cells(source + source_offset + b * source_stride + z * source_plane + min(y + r, h - 1) * source_pitch + x,
                                 x, w, whole);
#endif
      EACH_CELL {
        const REAL u = here[r].each[j];
        const REAL u_left = j > 0 ? here[r].each[max(j - 1, 0)] : left[r];
        REAL u_right = j + 1 < PACK ? here[r].each[min(j + 1, PACK - 1)] : right[r];
        if (!PACKED && x + j + 1 == w) u_right = BEYOND(u);
#if DIMS > 2
        const REAL u_before = r > 0 ? here[max(r - 1, 0)].each[j] : before.each[j];
        REAL u_after = r + 1 < ROWS_EACH ? here[min(r + 1, ROWS_EACH - 1)].each[j] : after.each[j];
        if (y + r + 1 == h) u_after = BEYOND(u);
#endif
        REAL sum = u;
#if VARIABLE
        const REAL k = k_here[r].each[j];
        sum = ADD_FLOWS(REAL, sum, rate_x, u, u_left, u_right, k, j > 0 ? k_here[r].each[max(j - 1, 0)] : k_left,
                        j + 1 < PACK ? k_here[r].each[min(j + 1, PACK - 1)] : k_right);
#if DIMS > 2
        sum = ADD_FLOWS(REAL, sum, rate_y, u, u_before, u_after, k,
                        r > 0 ? k_here[max(r - 1, 0)].each[j] : k_before.each[j],
                        r + 1 < ROWS_EACH ? k_here[min(r + 1, ROWS_EACH - 1)].each[j] : k_after.each[j]);
#endif
        sum = ADD_FLOWS(REAL, sum, rate_z, u, below[r].each[j], next[r].each[j], k, k_below[r].each[j], k_next[r].each[j]);
#else
        sum = ADD_SECOND_DIFFERENCE(REAL, sum, rate_x, u, u_left, u_right);
#if DIMS > 2
        sum = ADD_SECOND_DIFFERENCE(REAL, sum, rate_y, u, u_before, u_after);
#endif
        sum = ADD_SECOND_DIFFERENCE(REAL, sum, rate_z, u, below[r].each[j], next[r].each[j]);
#endif
#if SOURCE
        sum = fma(dt, q.each[j], sum);
#endif
#if WALLS == 2
        if (x + j == 0 || x + j + 1 == w || z == 0 || z + 1 == d || (DIMS > 2 && (y + r == 0 || y + r + 1 == h))) sum = u;
#endif
        result.each[j] = sum;
      }
      if (y + r < h) store_cells(to + r * out_pitch, x, w, whole, result);
    }

    EACH_ROW {
      below[r].all = here[r].all;
      here[r].all = next[r].all;
      next[r].all = later[r].all;
#if VARIABLE
      k_below[r].all = k_here[r].all;
      k_here[r].all = k_next[r].all;
#endif
    }
#if VARIABLE
    k_plane += conductivity_plane;
#endif
    EACH_ROW row[r] += in_plane;
#if DIMS > 2
    row_before += in_plane;
    row_after += in_plane;
#endif
    to += out_plane;
  }
}
