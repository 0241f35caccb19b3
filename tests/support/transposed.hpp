/// A transpose that is right.
#pragma once

#include <smem/smem.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test {

/// Whether a call with these options transposes a matrix of words.
inline bool transposes(const smem::Context& context, std::size_t rows, std::size_t cols,
                       const smem::CallOptions& options) {
  std::vector<std::uint32_t> input(rows * cols);
  for (std::size_t i = 0; i < input.size(); ++i)
    input[i] = static_cast<std::uint32_t>(i);
  const smem::Array<std::uint32_t> in(context, input);
  smem::Array<std::uint32_t> out(context, std::vector<std::uint32_t>(input.size(), ~0U));
  smem::transpose(context, in.matrix(rows, cols), out.matrix(cols, rows), options);
  const std::vector<std::uint32_t> got = out.to_host();
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t col = 0; col < cols; ++col)
      if (got[col * rows + row] != input[row * cols + col]) return false;
  return true;
}

}  // namespace test
