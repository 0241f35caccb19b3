// A program that uses smem as anyone's would: it transposes a small matrix on the chosen device and checks
// every element.
#include <smem/smem.hpp>

#include <cstddef>
#include <cstdio>
#include <numeric>
#include <vector>

int main() {
  try {
    constexpr std::size_t rows = 37;
    constexpr std::size_t cols = 53;
    std::vector<float> host(rows * cols);
    std::iota(host.begin(), host.end(), 0.0F);

    const smem::Context context;
    const smem::Array<float> in(context, host);
    const smem::Array<float> out(context, smem::Count{rows * cols});
    smem::transpose(context, in.matrix(rows, cols), out.matrix(cols, rows));
    const std::vector<float> result = out.to_host();

    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t col = 0; col < cols; ++col) {
        if (result[col * rows + row] != host[row * cols + col]) {
          std::printf("wrong at row %zu, column %zu of the input\n", row, col);
          return 1;
        }
      }
    }
    std::printf("smem %s transposed %zu x %zu on %s\n", SMEM_VERSION, rows, cols,
                context.device().name.c_str());
    return 0;
  } catch (const smem::Error& error) {  // thrown inside the library, caught here
    std::printf("%s\n", error.what());
    return 2;
  }
}
