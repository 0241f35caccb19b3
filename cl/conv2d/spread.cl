// Copies filters of grouped convolutions, of which several groups of channels become one: a filter has zeros for the channels of the others.
// Elements are not converted.
//
// Filter k sees channels k / filters % (to_channels / channels) * channels on, of to_channels. The copies' channels are interleaved.
//
// Launch: a work-item for each of `count` elements of the copies, of all filters. No local memory.
#include "common/element.clh"

#ifndef FROM_INTERLEAVED
#define FROM_INTERLEAVED 0
#endif
#ifndef GROUP
#define GROUP 256
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void conv2d_spread(global const element* from, ulong from_offset, ulong from_pitch, ulong from_plane, ulong from_stride,
                   global element* to, ulong to_offset, ulong to_pitch, ulong to_plane, ulong to_stride, uint taps, uint filters,
                   uint channels, uint to_channels, ulong count) {
  (void)from_pitch, (void)from_plane, (void)to_pitch, (void)to_plane;  // known from the layout
  const ulong i = get_global_id(0), row = (ulong)taps * to_channels;
  if (i < count) {
    const ulong k = i / row;
    const uint at = (uint)(i - k * row), tap = at / to_channels, c = at - tap * to_channels, block = c / channels;
    const uint own = c - block * channels;
    const ulong place = from_offset + k * from_stride + (FROM_INTERLEAVED ? tap * channels + own : own * taps + tap);
    to[to_offset + k * to_stride + at] = block == (uint)(k / filters % (to_channels / channels)) ? from[place] : (element)0;
  }
}
