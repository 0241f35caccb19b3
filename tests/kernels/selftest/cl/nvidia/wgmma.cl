kernel void fence(global float* x)
{
    float a = x[get_global_id(0)];
    __asm__ volatile("//@wgmma.fence.sync.aligned;" ::: "memory");
    __asm__ volatile("//@wgmma.commit_group.sync.aligned;" ::: "memory");
    __asm__ volatile("//@setmaxnreg.inc.sync.aligned.u32 160;" ::: "memory");
    x[get_global_id(0)] = a + 1.0f;
}
kernel void mma(global float* x, global uint* y)
{
    float4 d = vload4(get_global_id(0), x);
    uint a = y[0];
    __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%4,%4,%4},{%4,%4},{%0,%1,%2,%3};"
        : "+f"(d.x), "+f"(d.y), "+f"(d.z), "+f"(d.w) : "r"(a));
    vstore4(d, get_global_id(0), x);
}
