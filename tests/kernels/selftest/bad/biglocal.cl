__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void f(global int* a) { local int t[N]; for (uint i = get_local_id(0); i < N; i += 256) t[i] = a[i];
  barrier(CLK_LOCAL_MEM_FENCE); for (uint i = get_local_id(0); i < N; i += 256) a[i] = t[N - 1 - i]; }
