// out = transpose of in, through one padded local tile. Launch: 256 work-items, groups over tiles.
#include "common/tile.clh"
#ifndef T
#define T uint // element type
#endif
__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void transpose(global const T* in, ulong in_offset, long in_pitch, ulong in_stride,
                      global T* out, ulong out_offset, long out_pitch, ulong out_stride,
                      ulong rows, ulong cols, uint tiles_r, uint tiles_c, uint tiles)
{
    local T tile[EDGE * (EDGE + PAD)];
    const uint l = (uint)get_local_id(0);
    const uint c = l % EDGE;
    for (uint t = (uint)get_group_id(0); t < tiles; t += (uint)get_num_groups(0)) {
        const ulong b = t / (tiles_r * tiles_c);
        const ulong r0 = (ulong)(t / tiles_c % tiles_r) * EDGE;
        const ulong c0 = (ulong)(t % tiles_c) * EDGE;
        for (uint r = l / EDGE; r < EDGE; r += 256 / EDGE)
            if (r0 + r < rows && c0 + c < cols)
                tile[TILE_AT(r, c)] = in[(long)(in_offset + b * in_stride) + (long)(r0 + r) * in_pitch + (long)(c0 + c)];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint r = l / EDGE; r < EDGE; r += 256 / EDGE)
            if (c0 + r < cols && r0 + c < rows)
                out[(long)(out_offset + b * out_stride) + (long)(c0 + r) * out_pitch + (long)(r0 + c)] = tile[TILE_AT(c, r)];
#ifndef FORGET_BARRIER
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
}
