// Copies images from a grid of planes or of interleaved channels to another one, with zeros for channels that a group lacks.
// Elements are not converted.
//
// Channel g * to_channels + c of an image is channel g * channels + c, or 0 where c is at least `channels`.
//
// Launch: GROUP work-items; a group for each CELLS cells of CHANNELS channels of an image, cells innermost. READ and WRITE are
// vector widths: more than 1 only of planes whose rows have no gaps, or of channels, where all begin at multiples of them.
// Local memory: CHANNELS * PITCH elements; none where both are interleaved.
#include "common/element.clh"

#ifndef CELLS
#define CELLS 64  // of an image: a power of two
#endif
#ifndef CHANNELS
#define CHANNELS 64  // a power of two
#endif
#ifndef FROM_INTERLEAVED
#define FROM_INTERLEAVED 0
#endif
#ifndef TO_INTERLEAVED
#define TO_INTERLEAVED 1
#endif
#ifndef READ
#define READ 1  // elements: 1, 2, 4, 8, 16
#endif
#ifndef WRITE
#define WRITE 1
#endif
#ifndef WHOLE
// 1: a tile has all cells of its planes, an odd number, so that columns meet other banks in local memory as the planes lie. Where they have no
// gaps, they are copied in vectors of 16 bytes, whatever vectors their cells allow. Groups lack no channels.
#define WHOLE 0
#endif
#ifndef GROUP
#define GROUP 256
#endif
#define PITCH (CELLS + 2)  // of a channel in local memory: columns meet other banks
#define OF_16 (16 / ELEMENT_BYTES)
#if WHOLE
#define IN_TILE(channel, cell) ((channel) * cells + (cell))
#else
#define IN_TILE(channel, cell) ((channel) * PITCH + (cell))
#endif

#define JOIN_WORDS(a, b) a##b
#define JOIN(a, b) JOIN_WORDS(a, b)
#if ELEMENT_BYTES == 1
#define VECTOR(width) JOIN(uchar, width)
#elif ELEMENT_BYTES == 2
#define VECTOR(width) JOIN(ushort, width)
#elif ELEMENT_BYTES == 4
#define VECTOR(width) JOIN(uint, width)
#else
#define VECTOR(width) JOIN(ulong, width)
#endif
#if READ == 1
typedef element read_vector;
#else
typedef VECTOR(READ) read_vector;
#endif
#if WRITE == 1
typedef element write_vector;
#else
typedef VECTOR(WRITE) write_vector;
#endif
typedef union {
  read_vector all;
  element each[READ];
} read_pack;
typedef union {
  write_vector all;
  element each[WRITE];
} write_pack;

// Where cell i of an image is.
static inline ulong place_of(uint i, uint width, ulong pitch, ulong cell) {
  if (pitch == width * cell) return i * cell;  // a division for each element takes longer than its copy
  const uint y = i / width;
  return y * pitch + (i - y * width) * cell;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_pack(global const element* from, ulong from_offset, ulong from_pitch, ulong from_plane, ulong from_stride,
                 global element* to, ulong to_offset, ulong to_pitch, ulong to_plane, ulong to_stride, uint width, uint height,
                 uint groups, uint channels, uint to_channels) {
  const uint item = get_local_id(0), cells = width * height, all = groups * to_channels;
  const uint blocks = (cells + CELLS - 1) / CELLS, channel_blocks = (all + CHANNELS - 1) / CHANNELS;
  const uint number = get_group_id(0), line = number / blocks, image = line / channel_blocks;
  const uint first_cell = (number - line * blocks) * CELLS, first_channel = (line - image * channel_blocks) * CHANNELS;
  const uint cells_here = min(cells - first_cell, (uint)CELLS);
  from += from_offset + image * from_stride;
  to += to_offset + image * to_stride;

#if FROM_INTERLEAVED && TO_INTERLEAVED
  // A vector of a cell's channels by each work-item, whose neighbours have the next.
  for (uint i = item; i < CELLS * CHANNELS / WRITE; i += GROUP) {
    const uint channel = first_channel + i % (CHANNELS / WRITE) * WRITE, cell = i / (CHANNELS / WRITE);
    if (cell < cells_here && channel < all) {
      const uint group = groups == 1 ? 0 : channel / to_channels, c = channel - group * to_channels;  // of the vector's first: all have one group
      global const element* source = from + place_of(first_cell + cell, width, from_pitch, groups * channels) + group * channels + c;
      write_pack x;
#pragma unroll
      for (uint e = 0; e < WRITE; ++e) {
        x.each[e] = 0;
        if (c + e < channels) x.each[e] = source[e];
      }
      *(global write_vector*)(to + place_of(first_cell + cell, width, to_pitch, all) + channel) = x.all;
    }
  }
#else
  local element tile[CHANNELS * PITCH] __attribute__((aligned(16)));
  const uint channels_here = min(all - first_channel, (uint)CHANNELS);
  uint begin = item;  // of what is read cell by cell
#if WHOLE
  global const element* const planes = from + (ulong)first_channel * from_plane;
  if (from_plane == cells && (height == 1 || from_pitch == width) && (ulong)planes % 16 == 0) {
    const uint count = channels_here * cells;
    for (uint i = item; i < count / OF_16; i += GROUP) ((local uint4*)tile)[i] = ((global const uint4*)planes)[i];
    for (uint i = count / OF_16 * OF_16 + item; i < count; i += GROUP) tile[i] = planes[i];
    begin = CELLS * CHANNELS / READ;
  }
#endif
#pragma unroll 8  // loads in flight
  for (uint i = begin; i < CELLS * CHANNELS / READ; i += GROUP) {
#if FROM_INTERLEAVED
    const uint channel = i % (CHANNELS / READ) * READ, cell = i / (CHANNELS / READ);
#else
    const uint cell = i % (CELLS / READ) * READ, channel = i / (CELLS / READ);
#endif
    read_pack x;
#pragma unroll
    for (uint e = 0; e < READ; ++e) x.each[e] = 0;
    if (cell < cells_here && channel < channels_here) {
      const uint number_of = first_channel + channel, group = groups == 1 ? 0 : number_of / to_channels, c = number_of - group * to_channels;
      const ulong at = place_of(first_cell + cell, width, from_pitch, FROM_INTERLEAVED ? groups * channels : 1) +
                       (ulong)(group * channels + c) * from_plane;
      if (c < channels) x.all = *(global const read_vector*)(from + at);
    }
#if WHOLE
    if (cell >= cells || channel >= channels_here) continue;
#endif
#pragma unroll
    for (uint e = 0; e < READ; ++e) tile[IN_TILE(channel + (FROM_INTERLEAVED ? e : 0), cell + (FROM_INTERLEAVED ? 0 : e))] = x.each[e];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = item; i < CELLS * CHANNELS / WRITE; i += GROUP) {
#if TO_INTERLEAVED
    const uint channel = i % (CHANNELS / WRITE) * WRITE, cell = i / (CHANNELS / WRITE);
#else
    const uint cell = i % (CELLS / WRITE) * WRITE, channel = i / (CELLS / WRITE);
#endif
    if (cell < cells_here && channel < channels_here) {
      write_pack x;
#pragma unroll
      for (uint e = 0; e < WRITE; ++e)
        x.each[e] = tile[IN_TILE(channel + (TO_INTERLEAVED ? e : 0), cell + (TO_INTERLEAVED ? 0 : e))];
      const ulong at = place_of(first_cell + cell, width, to_pitch, TO_INTERLEAVED ? all : 1) +
                       (ulong)(first_channel + channel) * to_plane;
      *(global write_vector*)(to + at) = x.all;
    }
  }
#endif
}
