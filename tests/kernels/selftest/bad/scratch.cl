kernel void f(global int* a, int k)
{
    int p[64];
    const uint g = (uint)get_global_id(0);
    for (int i = 0; i < 64; ++i) p[i] = a[g + i * k];
    for (int i = 0; i < 64; ++i) p[a[g + i] & 63] += i;
    a[g] = p[a[g + 1] & 63] + p[k & 63];
}
