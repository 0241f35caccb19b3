float nowhere(float);
kernel void f(global float* a) { a[0] = nowhere(a[1]); }
