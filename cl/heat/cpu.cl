// Steps of heat diffusion for a CPU, in one to three dimensions.
//
// A work-group is one work-item, which is one thread. It has a block of x and y and goes along z; step s runs one plane
// behind step s - 1, so that of every step but the last three planes are needed, which lie in local memory: the core's own
// cache. So main memory is read and written once for all steps of a pass. The blocks overlap by as many cells as there are
// steps left. A. Nguyen, N. Satish, J. Chhugani, C. Kim and P. Dubey, "3.5-D blocking optimization for stencil computations
// on modern CPUs and GPUs", SC 2010. With one step, local memory is not used.
//
// Rows are made in vectors of RUN cells. The last vector of a row ends where the row does, and makes some cells again.
//
// Launch: one dimension, local size 1; group g makes the blocks g, g + groups, ...: along x first, then y, then the pieces
// of `chunk` planes, then the batch. Blocks have block_x x block_y cells.
// Local memory: QUEUE cells, at least (steps - 1) * 3 * (block_y + 2 * steps) rows of block_x + 2 * HALO cells, HALO being
// `steps` rounded up to whole vectors; with one or two dimensions a plane has one row.
#include "common/stream.clh"
#include "heat/step.clh"

#ifndef QUEUE
#define QUEUE 64  // cells
#endif
#ifndef STREAMING
#define STREAMING 0  // 1: results are stored past the cache, which holds less than all of them
#endif

#ifndef PREFETCH_AHEAD
#define PREFETCH_AHEAD 2048  // bytes of the plane above; 0: none, for a compiler whose builtin does not run
#endif

#if ELEMENT_HALF
#define ELEMENT_BYTES 2
#else
#define ELEMENT_BYTES sizeof(ELEMENT)
#endif

// The stream of planes crosses a page every few rows, where processors stop to fetch ahead by themselves: without, one step
// of 256^3 floats on two Zen 4 cores took 1.15 times as long. A builtin of the compiler, where there is one.
#ifdef __has_builtin
#if __has_builtin(__builtin_prefetch) && PREFETCH_AHEAD && DIMS > 1
#define FETCH_AHEAD(p) __builtin_prefetch((p) + PREFETCH_AHEAD / ELEMENT_BYTES)
#endif
#endif
#ifndef FETCH_AHEAD
#define FETCH_AHEAD(p) (void)0
#endif
#define IS_CACHED(p) (void)0

#if USE_DOUBLE
#define RUN 8
typedef double8 run;
#define BEHIND(v, x) (run)(x, v.s0123, v.s45, v.s6)  // v, one place later, with x in front
#define AHEAD(v, x) (run)(v.s1234, v.s56, v.s7, x)
#define LAST(v) v.s7
#else
#define RUN 16
typedef float16 run;
#define BEHIND(v, x) (run)(x, v.s01234567, v.s89ab, v.scd, v.se)
#define AHEAD(v, x) (run)(v.s12345678, v.s9abc, v.sde, v.sf, x)
#define LAST(v) v.sf
#endif
// A run at the alignment of a cell. vload says the same, but PoCL makes 128-bit pieces of it.
typedef struct __attribute__((packed)) { run v; } loose_run;
#define RUN_AT(space, p) (((space loose_run*)(p))->v)
// Cells as they lie in global and in local memory, where there are numbers.
#define global_cell ELEMENT
#define local_cell REAL
#define LOAD_RUN(space, p) space##_run(p)
#define LOAD_CELL(space, p) space##_value(p)
#define local_run(p) RUN_AT(local const, p)
#define local_value(p) (*(p))
#define global_value(p) load_cell(p)
#if ELEMENT_HALF
typedef ushort16 stored_run;
typedef struct __attribute__((packed)) { stored_run v; } loose_stored_run;
#define global_run(p) vload_half16(0, p)
static inline stored_run stored_of(run v) {
  stored_run bits;
  vstore_half16_rte(v, 0, (half*)&bits);
  return bits;
}
#else
typedef run stored_run;
typedef loose_run loose_stored_run;
#define global_run(p) RUN_AT(global const, p)
#define stored_of(v) (v)
#endif
#define PUT_RUN(space, value, p) PUT_##space##_run(value, p)
#define PUT_local_run(value, p) (RUN_AT(local, p) = (value))
#define PUT_global_run(value, p) (((global loose_stored_run*)(p))->v = stored_of(value))
#define PUT_CELL(space, value, p) PUT_##space##_cell(value, p)
#define PUT_local_cell(value, p) (*(p) = (value))
#define PUT_global_cell(value, p) store_cell(p, value)

// What lies beyond the walls of y and z, as bits; and those of x, at the ends of a row.
#define WALL_BEFORE 1
#define WALL_AFTER 2
#define WALL_BELOW 4
#define WALL_ABOVE 8
#define WALL_LEFT 16
#define WALL_RIGHT 32

// The neighbour along y or z. Where there is none, its row is the cell's own, so it has only to be replaced where that is
// not what stands beyond the wall.
#if WALLS == 1
#define NEIGHBOUR(V, LOAD, space, row, bit) (walls & bit ? (V)(wall) : LOAD(space, (row) + i))
#else
#define NEIGHBOUR(V, LOAD, space, row, bit) LOAD(space, (row) + i)
#endif

#if VARIABLE
#define K_PARAMETERS , global const ELEMENT *k, global const ELEMENT *k_before, global const ELEMENT *k_after, \
                       global const ELEMENT *k_below, global const ELEMENT *k_above
#define ADD_Y(V, LOAD, space)                                                                                             \
  ADD_FLOWS(V, sum, rate_y, u, NEIGHBOUR(V, LOAD, space, before, WALL_BEFORE), NEIGHBOUR(V, LOAD, space, after, WALL_AFTER), \
            k_here, LOAD(global, k_before + i), LOAD(global, k_after + i))
#define ADD_Z(V, LOAD, space)                                                                                             \
  ADD_FLOWS(V, sum, rate_z, u, NEIGHBOUR(V, LOAD, space, below, WALL_BELOW), NEIGHBOUR(V, LOAD, space, above, WALL_ABOVE), \
            k_here, LOAD(global, k_below + i), LOAD(global, k_above + i))
#else
#define K_PARAMETERS
#define ADD_Y(V, LOAD, space)                                                                           \
  ADD_SECOND_DIFFERENCE(V, sum, rate_y, u, NEIGHBOUR(V, LOAD, space, before, WALL_BEFORE),              \
                        NEIGHBOUR(V, LOAD, space, after, WALL_AFTER))
#define ADD_Z(V, LOAD, space)                                                                           \
  ADD_SECOND_DIFFERENCE(V, sum, rate_z, u, NEIGHBOUR(V, LOAD, space, below, WALL_BELOW),                \
                        NEIGHBOUR(V, LOAD, space, above, WALL_ABOVE))
#endif
#if DIMS < 3
#undef ADD_Y
#define ADD_Y(V, LOAD, space) sum
#endif
#if DIMS < 2
#undef ADD_Z
#define ADD_Z(V, LOAD, space) sum
#endif

// `sum` becomes the cell or run `u` at i after a step; u_left, u_right and their conductivities are there.
#if VARIABLE
#define ADD_X(V) ADD_FLOWS(V, u, rate_x, u, u_left, u_right, k_here, k_left, k_right)
#else
#define ADD_X(V) ADD_SECOND_DIFFERENCE(V, u, rate_x, u, u_left, u_right)
#endif
#if SOURCE
#define ADD_SOURCE(V, LOAD) sum = fma((V)(dt), LOAD(global, q + i), sum)
#else
#define ADD_SOURCE(V, LOAD) (void)0
#endif
#define MAKE(V, LOAD, space)      \
  V sum = ADD_X(V);               \
  sum = ADD_Y(V, LOAD, space);    \
  sum = ADD_Z(V, LOAD, space);    \
  ADD_SOURCE(V, LOAD)

// The run at i, which may begin or end at a wall of x.
#define MAKE_RUN(space, at_left, at_right)                                                                        \
  const run u = LOAD_RUN(space, c + i);                                                                           \
  const run u_left = (at_left) ? BEHIND(u, BEYOND(u.s0)) : LOAD_RUN(space, c + i - 1);                            \
  const run u_right = (at_right) ? AHEAD(u, BEYOND(LAST(u))) : LOAD_RUN(space, c + i + 1);                        \
  K_OF_RUN(at_left, at_right)                                                                                     \
  MAKE(run, LOAD_RUN, space)
#if VARIABLE
#define K_OF_RUN(at_left, at_right)                                                              \
  const run k_here = LOAD_RUN(global, k + i);                                                    \
  const run k_left = (at_left) ? BEHIND(k_here, k_here.s0) : LOAD_RUN(global, k + i - 1);        \
  const run k_right = (at_right) ? AHEAD(k_here, LAST(k_here)) : LOAD_RUN(global, k + i + 1);
#define K_OF_CELL(at_left, at_right) \
  const REAL k_here = load_cell(k + i), k_left = (at_left) ? k_here : load_cell(k + i - 1),                           \
             k_right = (at_right) ? k_here : load_cell(k + i + 1);
#else
#define K_OF_RUN(at_left, at_right)
#define K_OF_CELL(at_left, at_right)
#endif
#if WALLS == 2
#define HOLD_ENDS(at_left, at_right)   \
  if (at_left) sum.s0 = u.s0;          \
  if (at_right) LAST(sum) = LAST(u)
#define HOLD_CELL(at_left, at_right) if ((at_left) || (at_right)) sum = u
#else
#define HOLD_ENDS(at_left, at_right) (void)0
#define HOLD_CELL(at_left, at_right) (void)0
#endif

// Cells 0 .. n-1 of a row after a step: c is the row, before and after its neighbours along y, below and above along z.
// Not inlined: PoCL copies a kernel's body three times.
#define DEFINE_MAKE_ROW(name, from, to, STORE_RUN, aligned, FETCH)                                                     \
  __attribute__((noinline)) void name(from const from##_cell* c, from const from##_cell* before,                  \
                                      from const from##_cell* after, from const from##_cell* below,               \
                                      from const from##_cell* above, to to##_cell* restrict o,                    \
                                      int n, int walls, REAL rate_x, REAL rate_y, REAL rate_z, REAL dt, REAL wall, \
                                      global const ELEMENT* q K_PARAMETERS) {                                     \
    (void)before, (void)after, (void)below, (void)above, (void)rate_y, (void)rate_z, (void)dt, (void)wall, (void)q; \
    int i = 0;                                                                                                    \
    if (n >= RUN) {                                                                                               \
      {                                                                                                           \
        const int left = walls & WALL_LEFT, right = n == RUN && (walls & WALL_RIGHT);                             \
        MAKE_RUN(from, left, right);                                                                              \
        HOLD_ENDS(left, right);                                                                                   \
        PUT_RUN(to, sum, o);                                                                                      \
      }                                                                                                           \
      i = aligned ? RUN - (int)((size_t)o % sizeof(stored_run) / ELEMENT_BYTES) : RUN;                            \
      for (; i < n - RUN; i += RUN) {                                                                             \
        FETCH(above + i);                                                                                         \
        MAKE_RUN(from, 0, 0);                                                                                     \
        STORE_RUN(sum, o + i);                                                                                    \
      }                                                                                                           \
      if (n > RUN) {                                                                                              \
        i = n - RUN;                                                                                              \
        const int right = walls & WALL_RIGHT;                                                                     \
        MAKE_RUN(from, 0, right);                                                                                 \
        HOLD_ENDS(0, right);                                                                                      \
        PUT_RUN(to, sum, o + i);                                                                                  \
      }                                                                                                           \
      return;                                                                                                     \
    }                                                                                                             \
    for (; i < n; ++i) {                                                                                          \
      const int left = i == 0 && (walls & WALL_LEFT), right = i == n - 1 && (walls & WALL_RIGHT);                 \
      const REAL u = LOAD_CELL(from, c + i), u_left = left ? BEYOND(u) : LOAD_CELL(from, c + i - 1),              \
                 u_right = right ? BEYOND(u) : LOAD_CELL(from, c + i + 1);                                        \
      K_OF_CELL(left, right)                                                                                      \
      MAKE(REAL, LOAD_CELL, from);                                                                                \
      HOLD_CELL(left, right);                                                                                     \
      PUT_CELL(to, sum, o + i);                                                                                   \
    }                                                                                                             \
  }

#define STORE_PLAIN(value, p) PUT_RUN(local, value, p)
#if STREAMING
#define STORE_OUT(value, p) STREAM(stored_of(value), (global stored_run*)(p))
#else
#define STORE_OUT(value, p) PUT_RUN(global, value, p)
#endif
DEFINE_MAKE_ROW(make_row, global, global, STORE_OUT, STREAMING, FETCH_AHEAD)
#if QUEUE > 64
DEFINE_MAKE_ROW(make_first_row, global, local, STORE_PLAIN, 0, FETCH_AHEAD)
DEFINE_MAKE_ROW(make_middle_row, local, local, STORE_PLAIN, 0, IS_CACHED)
DEFINE_MAKE_ROW(make_last_row, local, global, STORE_OUT, STREAMING, IS_CACHED)
#endif

// The neighbouring row, or where there is a wall the row itself.
#define BESIDE(row, bit, distance) (walls & (bit) ? (row) : (row) + (distance))
#if VARIABLE
#define K_VALUES , k, BESIDE(k, WALL_BEFORE, -(long)conductivity_pitch), BESIDE(k, WALL_AFTER, conductivity_pitch), \
                 BESIDE(k, WALL_BELOW, -(long)conductivity_plane), BESIDE(k, WALL_ABOVE, conductivity_plane)
#else
#define K_VALUES
#endif
#define CALL(name, row, row_before, row_after, row_below, row_above, to)                                         \
  name(row, BESIDE(row, WALL_BEFORE, row_before), BESIDE(row, WALL_AFTER, row_after),                            \
       walls & WALL_BELOW ? (row) : (row_below), walls & WALL_ABOVE ? (row) : (row_above), to, n, walls, rate_x, \
       rate_y, rate_z, dt, wall, q K_VALUES)
#define COPY(from, row, space, to) for (int i = 0; i < n; ++i) PUT_CELL(space, LOAD_CELL(from, (row) + i), (to) + i)

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void heat_cpu(HEAT_ARGUMENTS, uint steps, ulong block_x, ulong block_y, ulong chunk) {
#if QUEUE > 64
  local REAL queue[QUEUE] __attribute__((aligned(64)));
#endif
  const ulong across = (width + block_x - 1) / block_x, along = (height + block_y - 1) / block_y,
              chunks = (depth + chunk - 1) / chunk;
  const long last = (long)steps;
  NOT_ALL_ARGUMENTS_ARE_USED;
#if QUEUE > 64
  // Rows of the queue: x0 is at a vector's begin.
  const long halo = (last + RUN - 1) / RUN * RUN, halo_y = DIMS > 2 ? last : 0;
  const long queue_pitch = ((long)min(block_x, width) + RUN - 1) / RUN * RUN + 2 * halo;
  const long queue_plane = queue_pitch * ((long)min(block_y, height) + 2 * halo_y);
#endif

  for (ulong t = get_group_id(0); t < across * along * chunks * batch; t += get_num_groups(0)) {
    const long x0 = t % across * block_x, y0 = t / across % along * block_y, z0 = t / across / along % chunks * chunk;
    const long x1 = min(width, x0 + block_x), y1 = min(height, y0 + block_y), z1 = min(depth, z0 + chunk);
    const ulong b = t / across / along / chunks;

    for (long plane = max(z0 - last + 1, 0L); plane < z1 + last - 1; ++plane) {
      for (long step = 1; step <= last; ++step) {
        // What this step makes: less with each, but for walls.
        const long left = last - step, z = plane - (step - 1);
        const long left_z = DIMS > 1 ? left : 0, left_y = DIMS > 2 ? left : 0;
        if (z < max(z0 - left_z, 0L) || z >= min(z1 + left_z, (long)depth)) continue;
        const long begin_x = max(x0 - left, 0L), end_x = min(x1 + left, (long)width);
        const long begin_y = max(y0 - left_y, 0L), end_y = min(y1 + left_y, (long)height);
        const int n = end_x - begin_x;
        const int walls_xz = (begin_x == 0 ? WALL_LEFT : 0) | (end_x == (long)width ? WALL_RIGHT : 0) |
                             (z == 0 ? WALL_BELOW : 0) | (z + 1 == (long)depth ? WALL_ABOVE : 0);
        for (long y = begin_y; y < end_y; ++y) {
          const int walls = walls_xz | (y == 0 ? WALL_BEFORE : 0) | (y + 1 == (long)height ? WALL_AFTER : 0);
          global const ELEMENT* row = in + in_offset + b * in_stride + z * in_plane + y * in_pitch + begin_x;
          global ELEMENT* to = out + out_offset + b * out_stride + z * out_plane + y * out_pitch + begin_x;
          global const ELEMENT* k = conductivity + conductivity_offset + b * conductivity_stride + z * conductivity_plane +
                                 y * conductivity_pitch + begin_x;
          global const ELEMENT* q = source + source_offset + b * source_stride + z * source_plane + y * source_pitch + begin_x;
          (void)k;
#if WALLS == 2
          const int held = (DIMS > 1 && (walls & (WALL_BELOW | WALL_ABOVE))) || (DIMS > 2 && (walls & (WALL_BEFORE | WALL_AFTER)));
#else
          const int held = 0;
#endif
#if QUEUE > 64
          // Rows of the queue: of the step before, and of this one.
          const long in_queue = (y - y0 + halo_y) * queue_pitch + begin_x - x0 + halo;
          local const REAL* queued = queue + ((step - 2) * 3 + z % 3) * queue_plane + in_queue;
          local const REAL* queued_below = queue + ((step - 2) * 3 + (z + 2) % 3) * queue_plane + in_queue;
          local const REAL* queued_above = queue + ((step - 2) * 3 + (z + 1) % 3) * queue_plane + in_queue;
          local REAL* to_queue = queue + ((step - 1) * 3 + z % 3) * queue_plane + in_queue;
          if (step > 1 && step < last) {
            if (held) {
              COPY(local, queued, local, to_queue);
            } else {
              CALL(make_middle_row, queued, -queue_pitch, queue_pitch, queued_below, queued_above, to_queue);
            }
          } else if (step > 1) {
            if (held) {
              COPY(local, queued, global, to);
            } else {
              CALL(make_last_row, queued, -queue_pitch, queue_pitch, queued_below, queued_above, to);
            }
          } else if (last > 1) {
            if (held) {
              COPY(global, row, local, to_queue);
            } else {
              CALL(make_first_row, row, -(long)in_pitch, in_pitch, row - in_plane, row + in_plane, to_queue);
            }
          } else
#endif
          {
            if (held) {
              COPY(global, row, global, to);
            } else {
              CALL(make_row, row, -(long)in_pitch, in_pitch, row - in_plane, row + in_plane, to);
            }
          }
        }
      }
    }
  }
}
