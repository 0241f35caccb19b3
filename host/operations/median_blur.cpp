// median_blur, described.
#include "operations/operation.hpp"
#include "operations/windows.hpp"

#include <smem/blur.hpp>

#include <algorithm>

namespace smem::operations {

namespace {

Case read(const Words& words) {
  const GridSize size = grid_size(words);
  const Scalar type = words.scalar("type");
  const std::size_t channels = words.number("channels"), batch = words.number("batch");
  const std::size_t edge = words.number("window");
  WindowProblem problem{blurred_grids(words), WindowOp::median};
  problem.grids.in_alignment = problem.grids.out_alignment = 64;  // its vectors lie anywhere
  problem.grids.row_taps = problem.grids.column_taps = edge;
  const SeparableProblem grids = problem.grids;
  Case made = case_of(formatted("{}, median of {} x {}", text_of(size, type, batch, channels), edge, edge),
                      problem, plan_window);
  made.in = {{"in", type, grids.elements()}};
  made.out = {{"out", type, grids.elements()}};
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    return median_blur(context, grid_of(arrays.in[0], size, batch, channels),
                       grid_of(arrays.out[0], size, batch, channels), edge, {.boundary = grids.boundary},
                       options);
  };
  made.reference = [=](const HostArrays& arrays) {
    Windows windows = planes_of(grids);
    windows.taps = square_taps(edge);
    for_each_window(windows, numbers_of(arrays.in[0]),
                    [&](std::size_t result, const std::vector<double>& elements) {
                      std::vector<double> sorted = elements;
                      const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
                      std::nth_element(sorted.begin(), middle, sorted.end());
                      store(arrays.out[0], result, *middle);
                    });
  };
  return made;
}

}  // namespace

Operation median_blur_operation() {
  return {
      .name = "median_blur",
      .summary = "Medians of windows of 3 x 3 or 5 x 5 cells",
      .steps = {{"registers", "a few windows of a work-item, sorted in registers"},
                {"cpu", "one thread a band of rows, a window in each lane of its vectors"}},
      .words = {grid_rule(), pixel_rule(), grids_rule(), edge_rule(), channels_rule(),
                boundary_rule("mirror")},
      .read = read,
      .samples = {{Scale::edges, "1x1 float"},
                  {Scale::edges, "131x37 float --window 5"},
                  {Scale::edges, "67x20 uchar --channels 3 --batch 2 --boundary clamp"},
                  {Scale::edges, "33x9x2 half --boundary zero"},
                  {Scale::small, "200x200 float"},
                  {Scale::small, "512x512 float --window 5"},
                  {Scale::usual, "4096x4096 float"},
                  {Scale::usual, "4096x4096 float --window 5"},
                  {Scale::usual, "4096x4096 uchar"},
                  {Scale::usual, "4096x4096 uchar --window 5"},
                  {Scale::large, "8192x8192 float"},
                  {Scale::large, "8192x8192 float --window 5"},
                  {Scale::large, "8192x8192 uchar"},
                  {Scale::large, "8192x8192 uchar --window 5"}},
      .programs = {{"8192x8192 uint8 --window 5", {""}}, {"8192x8192", {""}}},
  };
}

}  // namespace smem::operations
