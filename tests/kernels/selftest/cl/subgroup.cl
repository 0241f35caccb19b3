// -cl-std=CL3.0 (sub-groups)
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
kernel void sg(global const float* in, global float* out)
{
    const float s = sub_group_reduce_add(in[get_global_id(0)]);
    if (get_sub_group_local_id() == 0) out[get_group_id(0) * get_num_sub_groups() + get_sub_group_id()] = s;
}
