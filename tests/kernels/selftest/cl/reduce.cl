// Two kernels in one file: sums of groups, dynamic and static local memory.
#ifndef WG
#define WG 256 // work-items a group: 64, 128, 256
#endif
__attribute__((reqd_work_group_size(WG, 1, 1)))
kernel void reduce_static(global const float* in, global float* out, ulong n)
{
    local float part[WG];
    const uint l = (uint)get_local_id(0);
    float s = 0.0f;
    for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) s += in[i];
    part[l] = s;
    for (uint h = WG / 2; h > 0; h /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < h) part[l] += part[l + h];
    }
    if (l == 0) out[get_group_id(0)] = part[0];
}
kernel void reduce_dynamic(global const float* in, global float* out, ulong n, local float* part)
{
    const uint l = (uint)get_local_id(0);
    float s = 0.0f;
    for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) s += in[i];
    part[l] = s;
    for (uint h = (uint)get_local_size(0) / 2; h > 0; h /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < h) part[l] += part[l + h];
    }
    if (l == 0) out[get_group_id(0)] = part[0];
}
