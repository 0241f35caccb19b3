#pragma OPENCL EXTENSION cl_intel_subgroups : enable
kernel void block(global const uint* in, global uint* out)
{
    const uint v = intel_sub_group_block_read(in + get_group_id(0) * get_local_size(0));
    out[get_global_id(0)] = intel_sub_group_shuffle(v, get_sub_group_local_id() ^ 1);
}
