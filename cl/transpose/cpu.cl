// Transpose for a CPU: out[c][r] = in[r][c].
//
// A work-group is one work-item, which is one thread. The tile in local memory stays in the L2 cache; with it accesses to main
// memory are long and contiguous on both sides, for DRAM pages and the TLB. A thread reads up to TILE_C neighbours of each input
// row, transposes them in registers in blocks of BLOCK x BLOCK elements, and writes whole cache lines by non-temporal stores, so
// that no line of the output is read before it is overwritten. A line rarely begins where a tile does: every output row has a
// window of its own, shifted to the next line boundary, so that each line is written once, by one work-item; for that a tile
// reads up to a line of input rows more than it has.
//
// Launch: one dimension, local size 1; group g transposes the tiles g, g + groups, ...: along a row of tiles first.
// Local memory: TILE_C * (TILE_R + LINE) elements; in place, where TILE_R is TILE_C, twice that.
#include "common/element.clh"
#include "transpose/cache_lines.clh"

#ifndef IN_PLACE
#define IN_PLACE 0  // 1: in and out are the same square matrix
#endif
#ifndef TILE_R
#define TILE_R (256 / ELEMENT_BYTES)  // input rows of a tile: a multiple of LINE
#endif
#ifndef TILE_C
#define TILE_C (IN_PLACE ? TILE_R : 1024)  // input columns of a tile
#endif

#ifndef PREFETCH_AHEAD
#define PREFETCH_AHEAD 1  // 0: no prefetch, for a compiler whose builtin does not run
#endif

#define TILE_PITCH (TILE_R + LINE)  // an odd number of lines: neighbouring rows of the tile use different cache sets

#if ELEMENT_BYTES == 1
typedef uchar16 block_row;
#define BLOCK 16  // edge of a block in registers
#elif ELEMENT_BYTES == 2
typedef ushort8 block_row;
#define BLOCK 8
#elif ELEMENT_BYTES == 4
typedef uint8 block_row;
#define BLOCK 8
#elif ELEMENT_BYTES == 8
typedef ulong4 block_row;
#define BLOCK 4
#else
#define BLOCK 4
#endif

// An unaligned vector, as packed_line.
#if ELEMENT_BYTES < 16
typedef struct __attribute__((packed)) { block_row v; } packed_row;
#endif

// By the compiler's builtin, if it has one.
static inline void prefetch_line(global const element* p) {
  (void)p;
#ifdef __has_builtin
#if __has_builtin(__builtin_prefetch) && PREFETCH_AHEAD
  __builtin_prefetch(p);
#endif
#endif
}

#define UNROLL _Pragma("unroll")

#if ELEMENT_BYTES < 16
// Transposes BLOCK vectors: each of log2(BLOCK) rounds interleaves vector i with vector i + BLOCK / 2.
void transpose_block(block_row b[BLOCK]) {
  block_row t[BLOCK];
  UNROLL for (int round = 1; round < BLOCK; round *= 2) {
    UNROLL for (int i = 0; i < BLOCK / 2; i++) {
      t[2 * i].even = b[i].lo, t[2 * i].odd = b[i + BLOCK / 2].lo;
      t[2 * i + 1].even = b[i].hi, t[2 * i + 1].odd = b[i + BLOCK / 2].hi;
    }
    UNROLL for (int i = 0; i < BLOCK; i++) b[i] = t[i];
  }
}
#endif

// tile[c][r] = from[r][c] for r < height, c < width.
__attribute__((noinline))
void read_tile(local element (*tile)[TILE_PITCH], global const element* from, long pitch, int height, int width) {
  const int whole_rows = height / BLOCK * BLOCK, whole_cols = width / BLOCK * BLOCK;
  PLAIN_LOOP for (int r = 0; r < whole_rows; r += BLOCK) {
    const long ahead = (r + 2 * BLOCK <= height ? BLOCK : 0) * pitch;  // the next BLOCK rows, which are prefetched
    PLAIN_LOOP for (int c = 0; c < whole_cols; c += BLOCK) {
      global const element* s = from + r * pitch + c;
      UNROLL for (int i = 0; i < BLOCK; i++) prefetch_line(s + i * pitch + ahead);
#if ELEMENT_BYTES < 16
      block_row b[BLOCK];
      UNROLL for (int i = 0; i < BLOCK; i++) b[i] = ((global const packed_row*)(s + i * pitch))->v;
      transpose_block(b);
      UNROLL for (int i = 0; i < BLOCK; i++) ((local packed_row*)(tile[c + i] + r))->v = b[i];
#else  // an element is a vector
      UNROLL for (int i = 0; i < BLOCK; i++)
        UNROLL for (int j = 0; j < BLOCK; j++) tile[c + j][r + i] = s[i * pitch + j];
#endif
    }
  }
  PLAIN_LOOP for (int r = 0; r < height; r++)  // rows that do not fill a block
    PLAIN_LOOP for (int c = r < whole_rows ? whole_cols : 0; c < width; c++) tile[c][r] = from[r * pitch + c];
}

// to[c][r] = tile[c][r] for c < width and r in the row's window: from 0 where the matrix begins (`first`), else from the first
// line boundary; up to the first line boundary from TILE_R on, or to `height` where the matrix ends.
__attribute__((noinline))
void write_tile(global element* to, long pitch, local element (*tile)[TILE_PITCH], int height, int width, int first) {
  PLAIN_LOOP for (int c = 0; c < width; c++) {
    local const element* t = tile[c];
    global element* p = to + c * pitch;
    const int skew = (64 - (size_t)p % 64) % 64 / ELEMENT_BYTES;  // elements before the first line boundary
    const int end = min(height, TILE_R + skew);
    int r = first ? 0 : skew;
    PLAIN_LOOP for (; r < min(skew, end); r++) p[r] = t[r];
    PLAIN_LOOP for (; r + LINE <= end; r += LINE) STREAM(((local const packed_line*)(t + r))->v, (global cache_line*)(p + r));
    PLAIN_LOOP for (; r < end; r++) p[r] = t[r];
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void transpose_cpu(global const element* in, ulong in_offset, long in_pitch, ulong in_stride,
                   global element* out, ulong out_offset, long out_pitch, ulong out_stride,
                   ulong rows, ulong cols, ulong batch) {
  const ulong tiles_down = (rows + TILE_R - 1) / TILE_R;
  const ulong tiles_across = (cols + TILE_C - 1) / TILE_C;
  const ulong tiles = tiles_down * tiles_across * batch;
#if IN_PLACE
  local element upper[TILE_C][TILE_PITCH], lower[TILE_C][TILE_PITCH];
#else
  local element tile[TILE_C][TILE_PITCH];
#endif
  for (ulong t = get_group_id(0); t < tiles; t += get_num_groups(0)) {
    const ulong row = t / tiles_across % tiles_down * TILE_R, col = t % tiles_across * TILE_C;
    const ulong b = t / tiles_across / tiles_down;
    const int width = min(cols - col, (ulong)TILE_C);
    global element* to = out + out_offset + b * out_stride + (long)col * out_pitch + row;
#if IN_PLACE
    if (row > col) continue;  // the partner of a tile above the diagonal
    global element* from = out + out_offset + b * out_stride + (long)row * out_pitch + col;
    const int height = min(rows - row, (ulong)TILE_R);
    read_tile(upper, from, out_pitch, height, width);
    if (row < col) {
      read_tile(lower, to, out_pitch, width, height);
      write_tile(from, out_pitch, lower, width, height, 1);
    }
    write_tile(to, out_pitch, upper, height, width, 1);
#else
    const int aligned = ((size_t)to | (size_t)(out_pitch * ELEMENT_BYTES)) % 64 == 0;  // then no window is shifted
    const int height = min(rows - row, (ulong)(aligned ? TILE_R : TILE_R + LINE));
    read_tile(tile, in + in_offset + b * in_stride + (long)row * in_pitch + col, in_pitch, height, width);
    write_tile(to, out_pitch, tile, height, width, row == 0);
#endif
  }
}
