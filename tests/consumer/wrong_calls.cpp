// Calls that do not compile, one a line. tests/consumer/wrong_calls.cmake counts the compiler's errors of
// each.
#include <smem/smem.hpp>

using ConstVector = smem::VectorView<const float>;
using ConstMatrix = smem::MatrixView<const float>;
using ConstGrid = smem::GridView<const float>;
using ConstHeads = smem::HeadsView<const float>;

void wrong(const smem::Context& c, const smem::Array<float>& in, const smem::Array<float>& out,
           const ConstHeads& q) {
  // An output of const elements, of a function and of two overloads.
  smem::inclusive_scan(c, in, ConstVector(out.buffer(), 6));
  smem::transpose(c, in.matrix(2, 3), ConstMatrix(out.buffer(), 3, 2));
  smem::max_pool2d(c, in.grid({4, 4}), ConstGrid(out.buffer(), {2, 2}));
  smem::sort(c, in, ConstVector(out.buffer(), 6));
  smem::softmax(c, in.matrix(2, 3), ConstMatrix(out.buffer(), 2, 3));
  smem::attention(c, q, q, q, q);
  smem::sort_rows(c, in.matrix(2, 3), ConstMatrix(out.buffer(), 2, 3));
  smem::gather(c, in, in, ConstVector(out.buffer(), 6));
  smem::merge(c, in, in, ConstVector(out.buffer(), 6));
  // Another kind of view.
  smem::transpose(c, in.grid({2, 3}), out.matrix(3, 2));
  smem::gemm(c, in, in, out.matrix(3, 2));
  smem::sum(c, in.matrix(2, 3));
  smem::softmax(c, in, out);
  smem::attention(c, in.matrix(2, 3), q, q, out);
  smem::append_to_cache(c, in, in, out, out, {});
  smem::gather_rows(c, in, in, out.matrix(2, 3));
  smem::sort_columns(c, in, out);
  // Outputs that are missing.
  smem::top_k(c, in, out);
  smem::layer_norm(c, in.matrix(2, 3));
  smem::sort_segments(c, in, in);
  smem::merge_pairs(c, in, in, out);
  smem::lower_bound(c, in, in);
  // A number where a Count or options are wanted.
  smem::Array<float>(c, 1000);
  smem::transpose(c, in.matrix(2, 3), out.matrix(3, 2), 7);
  smem::sort(c, in, out, true);
  smem::sort_by(c, in, out, "a < b");
  smem::scatter(c, in, in, out, true);
  smem::top_k(c, in, out, out, 5);
  smem::rotary(c, in.matrix(2, 3), out.matrix(2, 3), 10000.0);
}
