kernel void f(global float* a) { a[get_global_id(0)] *= 0.5; }
