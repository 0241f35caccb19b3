kernel void f(global int* a) { a[0] = undeclared; }
