// Stencil for CPUs: a thread computes bands of rows, in strips whose ring buffer fits its cache.
//
// A work-group is one work-item, which is one thread. Each row of the input is converted once, with its halo, into a line of a
// ring buffer of the last lines; a row of results is a sum over the ring, in vectors, without branches for edges or types.
// Window, stride and dilation are arguments, so one program serves all of them.
//
// Launch: one dimension, local size 1; group g computes jobs g, g + groups, ...; a job is `strip` cells of `band` rows of
// a plane.
// Local memory: MEMORY values: for each plane of the window a ring of (size_y - 1) * dilation_y + 2 lines, each of the
// elements that a strip's windows cover, rounded up to whole blocks.
#include "stencil/cells.clh"

#ifndef MEMORY
#define MEMORY 65536  // values
#endif
#ifndef LANES
#define LANES 16  // values of a vector: 2, 4, 8, 16
#endif
#ifndef STREAMING
#define STREAMING 0  // 1: blocks of results begin cache lines, and are stored past the cache
#endif
#include "common/lanes.clh"
#if USE_DOUBLE
#define ROUNDER 0x1.8p52
#else
#define ROUNDER 0x1.8p23f
#endif

#if RESULT_HIGH
typedef JOIN(int, LANES) int_lanes;
#endif

// A block of sums.
typedef union {
  lanes v[4];
  VALUE each[BLOCK];
} block_sums;

static inline results results_of(lanes v) {
#if RESULT_HIGH
  // Comparisons, and not fmin and fmax, which PoCL 3.1 calls for each lane.
  v = v > (lanes)0 ? v : (lanes)0;
  v = v < (lanes)RESULT_HIGH ? v : (lanes)RESULT_HIGH;
  // The unit in the last place of the addend is 1, so the addition rounds to even.
  return CONVERT(results, JOIN(as_int, LANES)(v + (lanes)ROUNDER) - 0x4b400000);
#elif RESULT_HALF
  return bits_of_halves(v);
#else
  return CONVERT(results, v);
#endif
}

// Stores the results of elements [x, x + BLOCK) that lie in [begin, end).
static inline void store_sums(global RESULT* to, const block_sums* sums, long x, long begin, long end) {
  if (x >= begin && x + BLOCK <= end) {
    const block_results r = {results_of(sums->v[0]), results_of(sums->v[1]), results_of(sums->v[2]), results_of(sums->v[3])};
#if STREAMING
    stream_block(to + x, r);
#else
    store_block(to + x, r);
#endif
  } else {
    for (long i = max(begin - x, 0L); i < min((long)BLOCK, end - x); ++i) store_cell(to, (ulong)(x + i), sums->each[i]);
  }
}

// line[i] = the element at index from + i of the row, for i < count, with the halo by the boundary condition. Not inlined: PoCL
// copies a kernel's body three times.
__attribute__((noinline)) void fill_line(local VALUE* line, global const ELEMENT* row, long from, long count, long width,
                                         VALUE beyond, uint is_inside, uint boundary) {
  if (!is_inside) {
    PLAIN_LOOP for (long i = 0; i < count; ++i) line[i] = beyond;
    return;
  }
  const long inside = clamp(0 - from, 0L, count), end = clamp(width * CHANNELS - from, inside, count);
  PLAIN_LOOP for (long i = 0; i < inside; ++i) {
    const long place = element_by(EDGE, from + i, width);
    line[i] = place < 0 ? beyond : load_value(row, (ulong)place);
  }
  long i = inside;
  PLAIN_LOOP for (; i + LANES <= end; i += LANES) store_loose(line + i, LOAD_ELEMENTS(row + from + i));
  PLAIN_LOOP for (; i < end; ++i) line[i] = load_value(row, (ulong)(from + i));
  PLAIN_LOOP for (; i < count; ++i) {
    const long place = element_by(EDGE, from + i, width);
    line[i] = place < 0 ? beyond : load_value(row, (ulong)place);
  }
}

// to[x] = the sum at element x, for x in [begin, end). `first`: the line of the window's first row in the ring of each plane.
__attribute__((noinline)) void sum_row(global RESULT* to, local const VALUE* lines, long begin, long end, uint line,
                                       uint ring, uint first, long first_x, long first_y, long first_z, uint size_x,
                                       uint size_y, uint size_z, uint stride_x, uint dilation_x, uint dilation_y,
                                       WEIGHT_SPACE const VALUE* weights, uint star) {
#if SHAPE == CUSTOM
  // A pointer for each row of the window; the compiler vectorises the loop.
  local const VALUE* window[2 * RADIUS_Z + 1][2 * RADIUS_Y + 1];
  for (int k = 0; k <= 2 * RADIUS_Z; ++k)
    for (int j = 0; j <= 2 * RADIUS_Y; ++j) {
      const uint slot = first + j < ring ? first + j : first + j - ring;
      window[k][j] = lines + (k * ring + slot) * line;
    }
  for (long block = 0; block < end; block += BLOCK) {
    block_sums sums;
#define NEIGHBOUR(dx, dy, dz) window[(dz) + RADIUS_Z][(dy) + RADIUS_Y][block + n + ((dx) + RADIUS_X) * CHANNELS]
    for (uint n = 0; n < BLOCK; ++n) sums.each[n] = EXPRESSION;
    store_sums(to, &sums, block, begin, end);
  }
#else
  const window_shape shape = shape_of(IS_STAR, first_x, first_y, first_z, size_x, size_y);
  if (stride_x != 1) {  // one result at a time: windows of neighbours do not begin at neighbouring elements
    for (long x = begin; x < end; ++x) {
      const long cell = x / CHANNELS;
      local const VALUE* from = lines + cell * stride_x * CHANNELS + (x - cell * CHANNELS);
      VALUE sum = 0;
      uint n = 1;
      for (uint k = 0; k < size_z; ++k)
        for (uint j = begin_y(shape, k); j < end_y(shape, k); ++j) {
          const uint slot = first + j * dilation_y < ring ? first + j * dilation_y : first + j * dilation_y - ring;
          for (uint i = begin_x(shape, k, j); i < end_x(shape, k, j); ++i)
            sum = fma(weights[n++], from[(k * ring + slot) * line + i * dilation_x * CHANNELS], sum);
        }
      store_cell(to, (ulong)x, sum);
    }
    return;
  }
  const uint apart = dilation_x * CHANNELS;
  PLAIN_LOOP for (long x = 0; x < end; x += BLOCK) {
    lanes a = 0, b = 0, c = 0, d = 0;
    uint n = 1;
    PLAIN_LOOP for (uint k = 0; k < size_z; ++k) {
      const uint last = end_y(shape, k);
      PLAIN_LOOP for (uint j = begin_y(shape, k); j < last; ++j) {
        const uint slot = first + j * dilation_y < ring ? first + j * dilation_y : first + j * dilation_y - ring;
        const uint begin_i = begin_x(shape, k, j), end_i = end_x(shape, k, j);
        local const VALUE* from = lines + (k * ring + slot) * line + x + begin_i * apart;
        PLAIN_LOOP for (uint i = begin_i; i < end_i; ++i, from += apart) {
          const lanes w = (lanes)weights[n++];
          a += w * LOOSE(from);
          b += w * LOOSE(from + LANES);
          c += w * LOOSE(from + 2 * LANES);
          d += w * LOOSE(from + 3 * LANES);
        }
      }
    }
    const block_sums sums = {{a, b, c, d}};
    store_sums(to, &sums, x, begin, end);
  }
#endif
}

#if SHAPE != CUSTOM
// Two rows of results, of a box without stride, and without dilation along y: each load of a line is used for both. The loop is
// bound by its loads, most of which cross a cache line.
__attribute__((noinline)) void sum_two_rows(global RESULT* to, ulong pitch, local const VALUE* lines, long begin, long end,
                                            uint line, uint ring, uint first, uint size_x, uint size_y, uint size_z,
                                            uint apart, WEIGHT_SPACE const VALUE* weights) {
  PLAIN_LOOP for (long x = 0; x < end; x += BLOCK) {
    lanes a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    PLAIN_LOOP for (uint k = 0; k < size_z; ++k) {
      // Line j is row j of the upper window and row j - 1 of the lower one.
      PLAIN_LOOP for (uint j = 0; j <= size_y; ++j) {
        const uint slot = first + j < ring ? first + j : first + j - ring;
        local const VALUE* from = lines + (k * ring + slot) * line + x;
        WEIGHT_SPACE const VALUE* upper = weights + 1 + (k * size_y + j) * size_x;
        if (j == 0) {
          PLAIN_LOOP for (uint i = 0; i < size_x; ++i, from += apart) {
            const lanes w = (lanes)upper[i];
            a += w * LOOSE(from), b += w * LOOSE(from + LANES);
            c += w * LOOSE(from + 2 * LANES), d += w * LOOSE(from + 3 * LANES);
          }
          continue;
        }
        WEIGHT_SPACE const VALUE* lower = upper - size_x;
        if (j == size_y) {
          PLAIN_LOOP for (uint i = 0; i < size_x; ++i, from += apart) {
            const lanes w = (lanes)lower[i];
            e += w * LOOSE(from), f += w * LOOSE(from + LANES);
            g += w * LOOSE(from + 2 * LANES), h += w * LOOSE(from + 3 * LANES);
          }
          continue;
        }
        PLAIN_LOOP for (uint i = 0; i < size_x; ++i, from += apart) {
          const lanes w = (lanes)upper[i], v = (lanes)lower[i];
          const lanes p = LOOSE(from), q = LOOSE(from + LANES), r = LOOSE(from + 2 * LANES), s = LOOSE(from + 3 * LANES);
          a += w * p, e += v * p, b += w * q, f += v * q;
          c += w * r, g += v * r, d += w * s, h += v * s;
        }
      }
    }
    const block_sums above = {{a, b, c, d}}, below = {{e, f, g, h}};
    store_sums(to, &above, x, begin, end);
    store_sums(to + pitch, &below, x, begin, end);
  }
}
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void stencil_cpu(STENCIL_ARGUMENTS) {
  local VALUE lines[MEMORY];
  const uint ring = (size_y - 1) * dilation_y + 2;
  const uint reach = (size_x - 1) * dilation_x;  // cells of a row of the window beyond the first
  const uint most = ((min((ulong)strip, out_width) - 1) * stride_x + reach + 1) * CHANNELS;
  const uint line = (most + 2 * BLOCK - 1) / BLOCK * BLOCK;  // a block may begin at the last result
  const ulong strips = (out_width + strip - 1) / strip, bands = (out_height + band - 1) / band;
  for (ulong job = get_group_id(0); job < strips * bands * out_depth * batch; job += get_num_groups(0)) {
    const ulong bands_before = job / strips, plane = bands_before / bands, grid = grid_of(plane, out_depth, batch);
    const ulong left = (job - bands_before * strips) * strip, top = (bands_before - plane * bands) * band;
    const ulong z = plane - grid * out_depth;
    if (!is_written(EDGE, z, first_z, size_z, depth)) continue;
    const ulong cells = min((ulong)strip, out_width - left), rows = min((ulong)band, out_height - top);
    const uint count = ((cells - 1) * stride_x + reach + 1) * CHANNELS;
    const long from_x = ((long)(left * stride_x) + first_x) * CHANNELS;
    long begin = 0, end = (long)cells * CHANNELS;  // the results that are written
    if (EDGE == LEAVE) {
      begin = max(-first_x - (long)left, 0L) * CHANNELS;
      end = min(end, ((long)width - (long)size_x + 1 - first_x - (long)left) * CHANNELS);
    }
    global RESULT* to = out + out_offset + grid * out_stride + z * out_plane + left * CHANNELS;
    long filled = 0;  // input rows that were loaded, from the first that the band's windows cover
    for (ulong r = 0; r < rows;) {
      const bool is_first = is_written(EDGE, top + r, first_y, size_y, height);
      const bool two = SHAPE != CUSTOM && !IS_STAR && stride_x * stride_y * dilation_y == 1 && r + 1 < rows && is_first &&
                       is_written(EDGE, top + r + 1, first_y, size_y, height);
      const long lowest = (long)(r * stride_y), wanted = lowest + ring - (two ? 0 : 1);
      filled = max(filled, lowest);  // strides may skip rows
      for (; filled < wanted; ++filled) {
        const long at_y = place_by(EDGE, (long)(top * stride_y) + first_y + filled, (long)height);
        for (uint k = 0; k < size_z; ++k) {
          const long at_z = place_by(EDGE, (long)z + first_z + k, (long)depth);
          const uint is_inside = (at_y | at_z) >= 0;
          global const ELEMENT* row = in + in_offset + grid * in_stride +
                                      (is_inside ? (ulong)at_z * in_plane + (ulong)at_y * in_pitch : 0);
          fill_line(lines + (k * ring + (uint)(filled % ring)) * line, row, from_x, count, (long)width, BEYOND, is_inside, boundary);
        }
      }
      global RESULT* row = to + (top + r) * out_pitch;
      const uint first = (uint)(lowest % ring);
      if (!is_first || begin >= end) {
        ++r;
#if SHAPE != CUSTOM
      } else if (two) {
        sum_two_rows(row, out_pitch, lines, begin, end, line, ring, first, size_x, size_y, size_z, dilation_x * CHANNELS, weights);
        r += 2;
#endif
      } else {
        sum_row(row, lines, begin, end, line, ring, first, first_x, first_y, first_z, size_x, size_y, size_z, stride_x,
                dilation_x, dilation_y, weights, star);
        ++r;
      }
    }
  }
}
