// sobel, described.
#include "operations/operation.hpp"
#include "operations/windows.hpp"

#include <smem/blur.hpp>

namespace smem::operations {

namespace {

double magnitude_of(const std::vector<double>& window, std::size_t edge) {
  const std::vector<double> slope =
      edge == 3 ? std::vector<double>{-1, 0, 1} : std::vector<double>{-1, -2, 0, 2, 1};
  const std::vector<double> smooth =
      edge == 3 ? std::vector<double>{1, 2, 1} : std::vector<double>{1, 4, 6, 4, 1};
  double across = 0, down = 0;
  for (std::size_t i = 0; i < window.size(); ++i) {
    across += smooth[i / edge] * slope[i % edge] * window[i];
    down += slope[i / edge] * smooth[i % edge] * window[i];
  }
  return std::hypot(across, down);
}

cl::Event magnitude(const Context& context, const ConstGrid& in, const Grid& out, std::size_t edge,
                    const Edges& edges, const CallOptions& options) {
  return sobel(context, in, out, {Gradient::magnitude, edge}, edges, options);
}

Case read_sobel(const Words& words) {
  Case made = window_case(words, {WindowOp::gradient, "gradient", magnitude_of, magnitude});
  // Of a root, which no half-way case of integers is.
  const Scalar type = made.in[0].type;
  if (is_float(type))
    made.relative = type == Scalar::float64 ? 0x1p-40 : type == Scalar::float32 ? 0x1p-20 : 0x1p-10;
  return made;
}

}  // namespace

Operation sobel_operation() {
  return {
      .name = "sobel",
      .summary = "Sobel filters: the magnitude of the gradient, 3 x 3 or 5 x 5 cells",
      .steps = {{"registers", "several windows a work-item, in registers"},
                {"columns", "columns sorted once: medians only"},
                {"tiles", "what 2 x 2 windows have in common sorted once: medians only"},
                {"march", "rows weighted once, down bands of rows"},
                {"cpu", "one thread a band of rows, one window in each vector lane"}},
      .words = window_rules(),
      .read = read_sobel,
      .samples = {.edges = {"1x1 float", "131x37 float --window 5",
                            "67x20 uchar --channels 3 --batch 2 --boundary clamp",
                            "33x9x2 half --boundary zero"},
                  .small = {"200x200 float", "512x512 uchar"},
                  .usual = {"4096x4096 float", "4096x4096 uchar"},
                  .large = {"8192x8192 float", "8192x8192 uchar"},
                  .weak_usual = {"4096x4096 uchar"}},
      .programs = {{"8192x8192", {""}},
                   {"8192x8192 uint16", {"", "registers"}},
                   {"8192x8192 --window 5", {"march"}},
                   {"8192x8192 uint8 --channels 3 --window 5", {"march"}},
                   {"8192x8192 half", {"march"}}},
  };
}

}  // namespace smem::operations
