// The smallest program: a 2 x 3 matrix, transposed on the best OpenCL device.
#include <smem/smem.hpp>

#include <cstdio>

int main() {
  smem::Context context;  // the best GPU, else a CPU
  smem::Array<float> in(context, {1, 2, 3, 4, 5, 6}), out(context, smem::Count{6});
  smem::transpose(context, in.matrix(2, 3), out.matrix(3, 2));
  for (float x : out.to_host())
    std::printf("%g ", x);
  std::printf("\n");
}
