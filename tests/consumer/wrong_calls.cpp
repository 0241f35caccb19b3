// Calls that do not compile, one a line. tests/consumer/wrong_calls.cmake counts what the compiler says of
// each.
#include <smem/smem.hpp>

using ConstVector = smem::VectorView<const float>;
using ConstMatrix = smem::MatrixView<const float>;
using ConstGrid = smem::GridView<const float>;

void wrong(const smem::Context& c, const smem::Array<float>& in, const smem::Array<float>& out) {
  // An output of const elements, of a function and of two overloads.
  smem::inclusive_scan(c, in, ConstVector(out.buffer(), 6));
  smem::transpose(c, in.matrix(2, 3), ConstMatrix(out.buffer(), 3, 2));
  smem::max_pool2d(c, in.grid({4, 4}), ConstGrid(out.buffer(), {2, 2}));
  // Another kind of view.
  smem::transpose(c, in.grid({2, 3}), out.matrix(3, 2));
  smem::gemm(c, in, in, out.matrix(3, 2));
  smem::sum(c, in.matrix(2, 3));
  // A number where a Count or options are wanted.
  smem::Array<float>(c, 1000);
  smem::transpose(c, in.matrix(2, 3), out.matrix(3, 2), 7);
}
