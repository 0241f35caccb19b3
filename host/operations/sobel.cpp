// sobel, described.
#include "operations/operation.hpp"
#include "operations/windows.hpp"

#include <smem/blur.hpp>

namespace smem::operations {

namespace {

Case read(const Words& words) {
  const GridSize size = grid_size(words);
  const Scalar type = words.scalar("type");
  const std::size_t channels = words.number("channels"), batch = words.number("batch");
  const std::size_t edge = words.number("window");
  WindowProblem problem{blurred_grids(words), WindowOp::gradient};
  problem.grids.in_alignment = problem.grids.out_alignment = 64;  // its vectors lie anywhere
  problem.grids.row_taps = problem.grids.column_taps = edge;
  const SeparableProblem grids = problem.grids;
  Case made = case_of(formatted("{}, gradient of {} x {}", text_of(size, type, batch, channels), edge, edge),
                      problem, plan_window);
  // Of a root, which no half-way case of integers is.
  if (is_float(type))
    made.relative = type == Scalar::float64 ? 0x1p-40 : type == Scalar::float32 ? 0x1p-20 : 0x1p-10;
  made.in = {{"in", type, grids.elements()}};
  made.out = {{"out", type, grids.elements()}};
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    return sobel(context, grid_of(arrays.in[0], size, batch, channels),
                 grid_of(arrays.out[0], size, batch, channels), {Gradient::magnitude, edge},
                 {.boundary = grids.boundary}, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    Windows windows = planes_of(grids);
    windows.taps = square_taps(edge);
    const std::vector<double> slope =
        edge == 3 ? std::vector<double>{-1, 0, 1} : std::vector<double>{-1, -2, 0, 2, 1};
    const std::vector<double> smooth =
        edge == 3 ? std::vector<double>{1, 2, 1} : std::vector<double>{1, 4, 6, 4, 1};
    for_each_window(windows, numbers_of(arrays.in[0]),
                    [&](std::size_t result, const std::vector<double>& elements) {
                      double across = 0, down = 0;
                      for (std::size_t i = 0; i < elements.size(); ++i) {
                        across += smooth[i / edge] * slope[i % edge] * elements[i];
                        down += slope[i / edge] * smooth[i % edge] * elements[i];
                      }
                      store(arrays.out[0], result, std::hypot(across, down));
                    });
  };
  return made;
}

}  // namespace

Operation sobel_operation() {
  return {
      .name = "sobel",
      .summary = "Magnitudes of gradients, by Sobel's weights of 3 x 3 or 5 x 5 cells",
      .steps = {{"registers", "a few windows of a work-item in registers"},
                {"cpu", "one thread a band of rows, a window in each lane of its vectors"}},
      .words = {grid_rule(), pixel_rule(), grids_rule(), edge_rule(), channels_rule(),
                boundary_rule("mirror")},
      .read = read,
      .samples = {{Scale::edges, "1x1 float"},
                  {Scale::edges, "131x37 float --window 5"},
                  {Scale::edges, "67x20 uchar --channels 3 --batch 2 --boundary clamp"},
                  {Scale::edges, "33x9x2 half --boundary zero"},
                  {Scale::small, "200x200 float"},
                  {Scale::small, "512x512 uchar"},
                  {Scale::usual, "4096x4096 float"},
                  {Scale::usual, "4096x4096 uchar"},
                  {Scale::large, "8192x8192 float"},
                  {Scale::large, "8192x8192 uchar"}},
      .programs = {{"8192x8192", {""}}},
  };
}

}  // namespace smem::operations
