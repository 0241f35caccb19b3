// Transpose of small packed matrices: `most` whole ones, at least one, are a group's run of the input and of the output. Both are
// read and written by neighbouring work-items, whatever the number of rows and columns; local memory does the permutation. A
// work-item's words of the output are a fixed number of elements apart, so that their places in the input follow from one another by
// additions.
//
// Launch: one dimension, GROUP work-items a group; a group for each `most` matrices. Local memory: LOCAL_WORDS words.
#ifndef GROUP
#define GROUP 256  // work-items
#endif
#ifndef LOCAL_WORDS
#define LOCAL_WORDS 5000  // words of local memory
#endif
#ifndef UNROLL
#define UNROLL 8  // words in flight of a work-item
#endif
#ifndef PADDED
#define PADDED 1  // 0: of so many columns that neighbouring rows lie in different banks anyway
#endif
#ifndef LINE
#define LINE 128  // bytes of memory that neighbouring work-items should write together
#endif
#ifndef IN_PLACE
#define IN_PLACE 0  // 1: in and out are the same square matrices
#endif
#ifndef TABLE
#define TABLE 0  // elements of a matrix, at most, whose places are in a table; 0: none. For elements of one byte
#endif
#include "common/divisor.clh"
#include "transpose/runs.clh"

#if IN_PLACE
#define RESTRICT
#else
#define RESTRICT restrict
#endif
#define LINE_ELEMENTS (LINE / ELEMENT_BYTES)
#define STEP (GROUP * WORD_ELEMENTS)  // elements from a work-item's word to its next one

// An element of the output: its row and column in the input's matrix, and its place in local memory.
typedef struct {
  uint row, col, at;
} element_place;

static inline element_place place_of(uint e, uint width, divisor by_size, divisor by_rows) {
  const uint first = divided(e, by_size) * by_size.value, rest = e - first;
  element_place p;
  p.col = divided(rest, by_rows);
  p.row = rest - p.col * by_rows.value;
  p.at = first + p.row * width + p.col;
  return p;
}

// The place as many elements later as `by` is behind the first one.
static inline element_place advanced(element_place p, element_place by, uint height, uint width) {
  const uint size = height * width;
  p.at += by.at;
  p.row += by.row;
  if (p.row >= height) {
    p.row -= height;
    p.col += 1;
    p.at += 1 - size;
  }
  p.col += by.col;
  if (p.col >= width) {
    p.col -= width;
    p.at += size - width;
  }
  return p;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_whole(global const element* RESTRICT in, ulong in_offset, long in_pitch, ulong in_stride,
                     global element* RESTRICT out, ulong out_offset, long out_pitch, ulong out_stride,
                     ulong rows, ulong cols, ulong batch, divisor by_size, divisor by_rows, uint most) {
  (void)in_pitch, (void)out_pitch, (void)in_stride, (void)out_stride;
  local word tile[LOCAL_WORDS] __attribute__((aligned(16)));
  const uint item = get_local_id(0), height = (uint)rows, width = (uint)cols, size = height * width;
  const ulong matrix = (ulong)get_group_id(0) * most;
  const uint count = size * (uint)min((ulong)most, batch - matrix);
  const ulong from = in_offset + matrix * size;
  global element* to = out + out_offset + matrix * size;
  load_run(tile, in, from, count);
#if TABLE
  local ushort4 table[TABLE];  // of each element of a matrix: the places of it and of those behind it in the output, in the input
  for (uint i = item; i < size; i += GROUP) {
    table[i] = (ushort4)((ushort)place_of(i, width, by_size, by_rows).at, (ushort)place_of(i + 1, width, by_size, by_rows).at,
                         (ushort)place_of(i + 2, width, by_size, by_rows).at, (ushort)place_of(i + 3, width, by_size, by_rows).at);
  }
#endif
  barrier(CLK_LOCAL_MEM_FENCE | (IN_PLACE ? CLK_GLOBAL_MEM_FENCE : 0));

  local const element* cells = (local const element*)tile;
  const uint before = before_run(in, from);
  const uint lead = (uint)((size_t)to / ELEMENT_BYTES % LINE_ELEMENTS);  // elements of the first line before the run
  int e = (int)(item * WORD_ELEMENTS) - (int)lead;
  if (e < 0) e += STEP;
#if TABLE
  uint first = divided((uint)e, by_size) * size, i = (uint)e - first;  // of the element's matrix, and its number there
  const uint matrices_on = divided(STEP, by_size) * size, on = STEP - matrices_on;
  first += before;
  for (; e + WORD_ELEMENTS <= (int)count; e += STEP) {
    const ushort4 at = table[i];
    *(global word*)(to + e) = (word)cells[padded_element(first + at.x)] | (word)cells[padded_element(first + at.y)] << 8 |
                              (word)cells[padded_element(first + at.z)] << 16 | (word)cells[padded_element(first + at.w)] << 24;
    first += matrices_on;
    i += on;
    if (i >= size) {
      i -= size;
      first += size;
    }
  }
#else
  element_place p = place_of((uint)e, width, by_size, by_rows);
  p.at += before;
  const element_place step = place_of(STEP, width, by_size, by_rows);
  for (; e + WORD_ELEMENTS <= (int)count; e += STEP) {
#if WORD_ELEMENTS > 1
    uint row = p.row, col = p.col, at = p.at;
    word value = 0;
#pragma unroll
    for (uint k = 0; k < WORD_ELEMENTS; ++k) {
      value |= (word)cells[padded_element(at)] << (8 * ELEMENT_BYTES * k);
      row += 1;
      at += width;
      const bool column_ends = row == height;
      row = column_ends ? 0 : row;
      col += column_ends;
      at += column_ends ? 1 - size : 0;
      const bool matrix_ends = col == width;
      col = matrix_ends ? 0 : col;
      at += matrix_ends ? size - width : 0;
    }
    *(global word*)(to + e) = value;
#else
    to[e] = cells[padded(p.at)];
#endif
    p = advanced(p, step, height, width);
  }
#endif
#if WORD_ELEMENTS > 1  // what does not fill words, at both ends
  const uint head = min((WORD_ELEMENTS - lead % WORD_ELEMENTS) % WORD_ELEMENTS, count);
  const uint tail = count - (count - head) % WORD_ELEMENTS;
  if (item < head) to[item] = cells[padded_element(before + place_of(item, width, by_size, by_rows).at)];
  for (uint i = tail + item; i < count; i += GROUP) to[i] = cells[padded_element(before + place_of(i, width, by_size, by_rows).at)];
#endif
}
