// median_blur, described.
#include "operations/operation.hpp"
#include "operations/windows.hpp"

#include <smem/blur.hpp>

#include <algorithm>

namespace smem::operations {

namespace {

double median_of(const std::vector<double>& window, std::size_t /*edge*/) {
  std::vector<double> sorted = window;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

Case read_median_blur(const Words& words) {
  return window_case(words, {WindowOp::median, "median", median_of, median_blur});
}

}  // namespace

Operation median_blur_operation() {
  return {
      .name = "median_blur",
      .summary = "Median filters: windows of 3 x 3 or 5 x 5 cells",
      .steps = {{"registers", "several windows a work-item, sorted in registers"},
                {"columns", "of 5 x 5: columns sorted once for all windows that have them"},
                {"tiles", "what 2 x 2 windows have in common sorted once, down bands of rows"},
                {"march", "rows weighted once: gradients only"},
                {"cpu", "one thread a band of rows, one window in each vector lane"}},
      .words = window_rules(),
      .read = read_median_blur,
      .samples = {.edges = {"1x1 float", "131x37 float --window 5",
                            "67x20 uchar --channels 3 --batch 2 --boundary clamp",
                            "33x9x2 half --boundary zero"},
                  .small = {"200x200 float", "512x512 float --window 5"},
                  .usual = {"4096x4096 float", "4096x4096 float --window 5", "4096x4096 uchar",
                            "4096x4096 uchar --window 5"},
                  .large = {"8192x8192 float", "8192x8192 float --window 5", "8192x8192 uchar",
                            "8192x8192 uchar --window 5"},
                  .weak_usual = {"4096x4096 uchar", "4096x4096 uchar --window 5"},
                  .weak = {goal("8192x8192 float --window 5", 0.35),
                           goal("8192x8192 uchar --window 5", 0.35)}},
      .programs = {{"8192x8192 uint8 --window 5", {"", "columns", "tiles"}},
                   {"8192x8192 half --window 5", {"columns", "tiles"}},
                   {"8192x8192 --window 5", {"columns", "tiles"}},
                   {"8192x8192 uint8", {"", "tiles"}},
                   {"8192x8192 uint16", {"tiles"}},
                   {"8192x8192", {"", "registers"}},
                   {"8192x8192 float64", {""}}},
  };
}

}  // namespace smem::operations
