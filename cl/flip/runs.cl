// Copy of a matrix of short rows that run backwards, or follow each other backwards: rows that are shorter than a few packs of 16 bytes.
//
// Where rows have no gaps between them, a group's rows are one run of the input and one of the output. The input's is read in aligned
// packs to local memory. A work-item gathers words of the output there, and each word is written whole, whatever rows it has elements of.
// Rows with gaps are moved element by element.
//
// Launch: one dimension; a group has `rows_a_group` rows, CHUNK elements at most.
#include "common/word.clh"
#include "common/divisor.clh"

#ifndef GROUP
#define GROUP 256  // work-items
#endif
#ifndef CHUNK
#define CHUNK (16384 / ELEMENT_BYTES)  // elements: a multiple of a pack
#endif
#ifndef AHEAD
#define AHEAD 4  // loads in flight of a work-item
#endif
#ifndef REVERSE
#define REVERSE 1  // 1: each row is written backwards
#endif
#ifndef LINE
#define LINE 128  // bytes of memory that neighbouring work-items should write together
#endif
#define PACK (16 / ELEMENT_BYTES)  // elements
#define LINE_ELEMENTS (LINE / ELEMENT_BYTES)

// Rows are numbered through all matrices.
// The element at which a row begins. `by_rows`: the rows of a matrix.
static inline ulong row_at(uint row, divisor by_rows, ulong offset, long pitch, ulong stride) {
  const uint matrix = divided(row, by_rows);
  return offset + matrix * stride + (ulong)((long)(row - matrix * by_rows.value) * pitch);
}

// Whether each row begins where the one before it ends.
static inline bool is_flat(long pitch, ulong stride, ulong rows, ulong cols, ulong batch) {
  return pitch == (long)cols && (batch == 1 || stride == rows * cols);
}

// Loads a run of elements, of which `phase` others lie before the first in its aligned pack, to the same place of packs in local memory.
static inline void load_run(local uint4* tile, global const element* in, uint phase, uint count) {
  const uint first = phase > 0, end = (phase + count) / PACK;  // packs that lie in the run
  local element* cells = (local element*)tile;
  global const uint4* packs = (global const uint4*)(in - phase);
  for (uint k = first + get_local_id(0); k < end; k += GROUP * AHEAD) {
    uint4 v[AHEAD];
#pragma unroll
    for (uint n = 0; n < AHEAD; ++n) v[n] = packs[min(k + n * GROUP, end - 1)];
#pragma unroll
    for (uint n = 0; n < AHEAD; ++n)
      if (k + n * GROUP < end) tile[k + n * GROUP] = v[n];
  }
  const uint before = first * PACK - min(phase, first * PACK), after = max(end * PACK, phase) - phase;
  for (uint k = get_local_id(0); k < min(before, count); k += GROUP) cells[phase + k] = in[k];
  for (uint k = max(after, before) + get_local_id(0); k < count; k += GROUP) cells[phase + k] = in[k];
}

#if WORD_ELEMENTS > 1
// The elements of a word from place `at` on, in the order of the output.
static inline word gathered(local const element* cells, int at) {
  const uint first = (uint)(REVERSE ? at - (WORD_ELEMENTS - 1) : at);
  local const word* words = (local const word*)cells + first / WORD_ELEMENTS;
  const word v = (word)((((ulong)words[1] << 32) | words[0]) >> (first % WORD_ELEMENTS * (8 * ELEMENT_BYTES)));
#if !REVERSE
  return v;
#elif WORD_ELEMENTS == 4
  return bitselect(rotate(v, 24u), rotate(v, 8u), 0x00ff00ffu);
#else
  return rotate(v, 16u);
#endif
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void flip_runs(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
               global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
               ulong rows, ulong cols, ulong batch, divisor by_cols, divisor by_rows, uint rows_a_group) {
  local uint4 tile[CHUNK / PACK + 4];  // a run begins anywhere in its second pack: words are cut out of those before it, too
  local element* cells = (local element*)tile;
  const uint item = get_local_id(0), width = (uint)cols, all_rows = (uint)(rows * batch);
  const uint first = get_group_id(0) * rows_a_group, here = min(rows_a_group, all_rows - first), count = here * width;
  const bool backwards = batch == 1 && in_pitch == -(long)cols;
  uint phase = PACK;
  if (backwards || is_flat(in_pitch, in_stride, rows, cols, batch)) {  // uniform in the group
    global const element* run = in + row_at(backwards ? first + here - 1 : first, by_rows, in_offset, in_pitch, in_stride);
    const uint before = (uint)((size_t)run / ELEMENT_BYTES % PACK);
    load_run(tile + 1, run, before, count);
    phase += before;
  } else {
    for (uint k = item; k < count; k += GROUP) {
      const uint row = divided(k, by_cols);
      cells[PACK + k] = in[row_at(first + row, by_rows, in_offset, in_pitch, in_stride) + (k - row * width)];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  // Element j of row r of the output is at first_cell + r * down + j * across.
  const int down = backwards ? -(int)width : (int)width, across = REVERSE ? -1 : 1;
  const int first_cell = (int)phase + (backwards ? (int)((here - 1) * width) : 0) + (REVERSE ? (int)width - 1 : 0);
  const int to_next_row = down - across * (int)(width - 1);
  if (!is_flat(out_pitch, out_stride, rows, cols, batch)) {
    for (uint k = item; k < count; k += GROUP) {
      const uint row = divided(k, by_cols), col = k - row * width;
      out[row_at(first + row, by_rows, out_offset, out_pitch, out_stride) + col] = cells[first_cell + (int)row * down + (int)col * across];
    }
    return;  // uniform in the group
  }
  global element* to = out + row_at(first, by_rows, out_offset, out_pitch, out_stride);
  const uint lead = (uint)((size_t)to / ELEMENT_BYTES % LINE_ELEMENTS), words = (lead + count + WORD_ELEMENTS - 1) / WORD_ELEMENTS;
  for (uint w = item; w < words; w += GROUP) {
    const int begin = (int)(w * WORD_ELEMENTS) - (int)lead;
    uint k = (uint)max(begin, 0);
    const uint end = (uint)clamp(begin + WORD_ELEMENTS, 0, (int)count);
    const uint row = divided(k, by_cols);
    uint col = k - row * width;
    int at = first_cell + (int)row * down + (int)col * across;
#if WORD_ELEMENTS > 1
    if (end < k + WORD_ELEMENTS) {
      for (; k < end; ++k) {
        to[k] = cells[at];
        ++col;
        at += col == width ? to_next_row : across;
        col = col == width ? 0 : col;
      }
      continue;
    }
    word value = 0;
    if (width >= WORD_ELEMENTS) value = gathered(cells, at);  // uniform in the launch
    if (width < WORD_ELEMENTS) {
#pragma unroll
      for (uint n = 0; n < WORD_ELEMENTS; ++n) {
        value |= (word)cells[at] << (8 * ELEMENT_BYTES * n);
        ++col;
        at += col == width ? to_next_row : across;
        col = col == width ? 0 : col;
      }
    } else if (col + WORD_ELEMENTS > width) {
      const uint of_first = width - col, mask = (1u << (8 * ELEMENT_BYTES * of_first)) - 1;
      const int next = at + (int)(of_first - 1) * across + to_next_row;  // the next row's first element
      value = bitselect(gathered(cells, next - (int)of_first * across), value, mask);
    }
    *(global word*)(to + k) = value;
#else
    (void)to_next_row;
    if (end > k) to[k] = cells[at];
#endif
  }
}
