// Copies filters of grouped convolutions, of which several groups of channels become one: a filter has zeros for the channels of the others.
// Elements are not converted.
//
// Filter k sees channels k / n.filters % (to_channels / channels) * channels on, of to_channels. The copies' channels are interleaved.
//
// Launch: a work-item for each of `count` elements of the copies, of all filters. No local memory.
#include "common/element.clh"

#ifndef FROM_INTERLEAVED
#define FROM_INTERLEAVED 0
#endif
#ifndef GROUP
#define GROUP 256
#endif

// As one argument (conv2d/parameters.clh).
typedef struct {
  ulong from_offset, from_pitch, from_plane, from_stride, to_offset, to_pitch, to_plane, to_stride, count;
  uint taps, filters, channels, to_channels;
} spread_numbers;

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_spread(global const element* from, global element* to, spread_numbers n) {
  const uint taps = n.taps, channels = n.channels, to_channels = n.to_channels;
  const ulong i = get_global_id(0), row = (ulong)taps * to_channels;
  if (i < n.count) {
    const ulong k = i / row;
    const uint at = (uint)(i - k * row), tap = at / to_channels, c = at - tap * to_channels, block = c / channels;
    const uint own = c - block * channels;
    const ulong place = n.from_offset + k * n.from_stride + (FROM_INTERLEAVED ? tap * channels + own : own * taps + tap);
    to[n.to_offset + k * n.to_stride + at] = block == (uint)(k / n.filters % (to_channels / channels)) ? from[place] : (element)0;
  }
}
