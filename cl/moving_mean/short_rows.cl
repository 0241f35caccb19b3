// Moving means of rows of which local memory has several, for windows of at least OUT elements. Each row lies between zeros, so that all
// windows are whole. A work-item makes OUT neighbouring windows: it adds up what all of them have once, and to that what the first ones
// have before and the last ones behind. Nothing is subtracted, so rounding errors do not accumulate.
//
// Launch: one dimension, GROUP work-items a group; grid-stride loops over as many rows as GROUP * OUT results are.
// Local memory: TILE sums.
#include "moving_mean/arguments.clh"

#ifndef GROUP
#define GROUP 256  // work-items
#endif
#ifndef LANES
#define LANES 32  // that load a row, and store it: a power of two
#endif
#ifndef TILE
#define TILE 4096
#endif
#define OUT 8
#define LOADS 4  // of a work-item that are under way together
#if USE_DOUBLE
#define VECTOR 2  // of 16 bytes
#else
#define VECTOR 4
#endif
typedef JOIN(SUM, VECTOR) vector;

// The place of element i of the tile: vectors of neighbouring work-items lie in different banks.
static inline uint place_of(uint i) { return i + i / OUT * VECTOR; }

static inline void load_eight(SUM e[OUT], local const SUM* from) {
#pragma unroll
  for (uint v = 0; v < OUT / VECTOR; ++v) {
    union {
      vector all;
      SUM each[VECTOR];
    } u;
    u.all = ((local const vector*)from)[v];
#pragma unroll
    for (uint k = 0; k < VECTOR; ++k) e[v * VECTOR + k] = u.each[k];
  }
}

// The sums of OUT windows, of which the first one begins at `from`.
static inline void add_windows(SUM sums[OUT], local const SUM* from, uint length) {
  SUM head[OUT], e[OUT];
  load_eight(head, from);
  SUM shared = head[OUT - 1];
  for (uint i = OUT; i + OUT <= length; i += OUT) {
    load_eight(e, from + place_of(i));
    shared += ((e[0] + e[1]) + (e[2] + e[3])) + ((e[4] + e[5]) + (e[6] + e[7]));
  }
  local const SUM* rest = from + place_of(length / OUT * OUT);
  for (uint i = 0; i < length % OUT; ++i) shared += rest[i];
  SUM before = 0, behind = 0;
  sums[OUT - 1] = shared;
#pragma unroll
  for (int k = OUT - 2; k >= 0; --k) {
    before += head[k];
    sums[k] = before + shared;
  }
#pragma unroll
  for (uint k = 1; k < OUT; ++k) {
    behind += from[place_of(length + k - 1)];
    sums[k] += behind;
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void moving_mean_short_rows(MOVING_MEAN_ARGUMENTS) {
  (void)scratch;
  local SUM tile[TILE] __attribute__((aligned(16)));
  const uint item = get_local_id(0), lane = item % LANES;
  const uint cols = (uint)width, length = (uint)window, before = length / 2;
  const uint pieces = (cols + OUT - 1) / OUT, many = GROUP / pieces, apart = pieces * OUT + (length + OUT - 1) / OUT * OUT;
  const uint own_row = item / pieces, x0 = (item - own_row * pieces) * OUT, own = own_row * apart + x0;
  const mean_divisor full = divisor_of(length);
  for (uint i = item; i < TILE; i += GROUP) tile[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (ulong top = get_group_id(0) * (ulong)many; top < rows; top += get_num_groups(0) * (ulong)many) {
    const uint here = (uint)min(rows - top, (ulong)many);
    for (uint r = item / LANES; r < here; r += GROUP / LANES) {
      global const ELEMENT* from = in + row_offset(first_row + top + r, height, depth, in_offset, in_pitch, in_plane, in_stride);
      for (uint x = lane; x < cols; x += LANES * LOADS) {
        SUM e[LOADS];
#pragma unroll
        for (uint k = 0; k < LOADS; ++k) e[k] = x + k * LANES < cols ? (SUM)load_value(from, x + k * LANES) : 0;
#pragma unroll
        for (uint k = 0; k < LOADS; ++k)
          if (x + k * LANES < cols) tile[place_of(r * apart + before + x + k * LANES)] = e[k];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    SUM sums[OUT];
    if (own_row < here) add_windows(sums, tile + place_of(own), length);
    barrier(CLK_LOCAL_MEM_FENCE);
    // Through the tile, so that stores are coalesced.
#pragma unroll
    for (uint k = 0; k < OUT; ++k)
      if (own_row < here && x0 + k < cols) tile[place_of(own + before + k)] = sums[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint r = item / LANES; r < here; r += GROUP / LANES) {
      global RESULT* to = out + row_offset(first_row + top + r, height, depth, out_offset, out_pitch, out_plane, out_stride);
      for (uint x = lane; x < cols; x += LANES) {
        const uint inside = min(x + length - before, cols) - (x > before ? x - before : 0);
        store_mean_of(to, x, tile[place_of(r * apart + before + x)], whole || inside == length ? full : divisor_of(inside));
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // before the next rows are stored
  }
}
