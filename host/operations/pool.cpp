// pool and global_pool, described: max_pool2d, avg_pool2d, global_max_pool and global_avg_pool.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"
#include "operations/planes.hpp"
#include "operations/windows.hpp"

#include "formatted.hpp"

#include <smem/pool.hpp>
#include <smem/pool_plan.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace smem::operations {

namespace {

PoolOp op_of(const Words& words) { return words.text("op") == "max" ? PoolOp::max : PoolOp::average; }

std::string planes_text(std::size_t planes) { return planes == 1 ? "" : formatted("{} x ", planes); }

std::string elements_text(Scalar in, Scalar out, std::size_t channels) {
  return formatted("{}{}{}", name_of(in), out == in ? "" : formatted(" to {}", name_of(out)),
                   channels == 1 ? "" : formatted(", {} channels", channels));
}

double tolerance(PoolOp op, Scalar in, Scalar out) {
  if (op == PoolOp::average) return mean_tolerance(in, out);
  return in == out || !is_float(in) ? 0 : 0x1p-23;
}

/// The cells [begin, end) of an axis that a window has, where the axis has them.
struct Span {
  std::size_t begin, end;

  Span(std::size_t result, std::size_t stride, std::size_t window, std::size_t pad, std::size_t extent)
      : begin(result * stride - std::min(result * stride, pad)),
        end(std::min(extent, result * stride + window - std::min(result * stride + window, pad))) {}
};

/// Result `i` of one channel of a plane, from its window.
void pool_window(const PoolProblem& p, std::size_t i, const HostArray& in, std::vector<HostArray>& out) {
  const Pooling& w = p.pooling;
  const std::size_t across = w.across(p.width), down = w.down(p.height);
  const std::size_t channel = i % p.channels, cell = i / p.channels;
  const std::size_t plane = cell / across / down;
  const Span xs(cell % across, w.stride.x, w.window.width, w.padding.left, p.width);
  const Span ys(cell / across % down, w.stride.y, w.window.height, w.padding.top, p.height);
  double sum = 0, most = -std::numeric_limits<double>::infinity();
  std::size_t place = 0;
  for (std::size_t y = ys.begin; y < ys.end; ++y) {
    for (std::size_t x = xs.begin; x < xs.end; ++x) {
      const double value = in.number(((plane * p.height + y) * p.width + x) * p.channels + channel);
      sum += value;
      if (value > most) most = value, place = y * p.width + x;
    }
  }
  const std::size_t count =
      w.count_padding ? w.window.width * w.window.height : (xs.end - xs.begin) * (ys.end - ys.begin);
  const double mean = sum / static_cast<double>(count);
  out[0].set(i, p.op == PoolOp::max ? most : is_float(p.out) ? mean : std::nearbyint(mean));
  if (p.indices) out[1].set(i, static_cast<double>(place));
}

/// What pools of windows and of planes have in common.
template <class Problem>
Problem problem_of(const Words& words, const GridSize& plane) {
  Problem p;
  p.op = op_of(words);
  p.in = words.scalar("type");
  p.out = results_of(words);
  p.width = plane.width, p.height = plane.height;
  p.planes = words.number("batch"), p.channels = words.number("channels");
  return p;
}

Case read_windows(const Words& words) {
  const GridSize plane = plane_of(words);
  auto p = problem_of<PoolProblem>(words, plane);
  const auto [width, height] = pair_of(words, "size");
  const auto stride = words.text("stride") == "size" ? pair_of(words, "size") : pair_of(words, "stride");
  const std::size_t pad = words.number("padding");
  p.pooling = {{width, height}, {stride[0], stride[1]}, {pad, pad, pad, pad}, words.flag("count-padding")};
  p.indices = p.op == PoolOp::max && words.flag("indices");
  const GridSize size{p.pooling.across(p.width), p.pooling.down(p.height)};
  p.in_alignment =
      packed_alignment(detail::size_product(p.height, p.planes), p.width * p.channels * size_of(p.in));
  p.out_alignment =
      packed_alignment(detail::size_product(size.height, p.planes), size.width * p.channels * size_of(p.out));
  Case made = case_of(
      formatted("{} {} x {} / {} of {}{} x {} {}", p.op == PoolOp::max ? "max" : "mean", width, height,
                stride[0], planes_text(p.planes), p.width, p.height, elements_text(p.in, p.out, p.channels)),
      p, plan_pool);
  const std::size_t results = elements_of(size, p.planes, p.channels);
  made.in = {{"in", p.in, elements_of(plane, p.planes, p.channels)}};
  made.out = {{"out", p.out, results}};
  if (p.indices) made.out.push_back({"indices", Scalar::uint32, results});
  made.relative = tolerance(p.op, p.in, p.out);
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const auto grid = [&](const PlacedArray& array, const GridSize& of) {
      return grid_of(array, of, p.planes, p.channels);
    };
    const Grid in = grid(arrays.in[0], plane), out = grid(arrays.out[0], size);
    if (p.op == PoolOp::average) return avg_pool2d(context, in, out, p.pooling, options);
    if (!p.indices) return max_pool2d(context, in, out, p.pooling, options);
    return max_pool2d(context, in, out, grid(arrays.out[1], size), p.pooling, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    for_each_in_parallel(results, [&](std::size_t i) { pool_window(p, i, arrays.in[0], arrays.out); });
  };
  return made;
}

Case read_planes(const Words& words) {
  const GridSize plane = plane_of(words);
  const auto p = problem_of<GlobalPoolProblem>(words, plane);
  const std::size_t cells = elements_of(plane), results = detail::size_product(p.channels, p.planes);
  Case made =
      case_of(formatted("{} of {}{} x {} {}", p.op == PoolOp::max ? "max" : "mean", planes_text(p.planes),
                        p.width, p.height, elements_text(p.in, p.out, p.channels)),
              p, plan_global_pool);
  // So many are 0 that sums of floats are exact in 24 bits.
  const auto rare = static_cast<unsigned>(cells / 65536 + 1);
  made.in = {{"in", p.in, detail::size_product(cells, results), {.rare = rare}}};
  made.out = {{"out", p.out, results}};
  made.relative = tolerance(p.op, p.in, p.out);
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const Grid in = grid_of(arrays.in[0], plane, p.planes, p.channels);
    const Grid out = grid_of(arrays.out[0], {1, 1}, p.planes, p.channels);
    return p.op == PoolOp::max ? global_max_pool(context, in, out, options)
                               : global_avg_pool(context, in, out, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    PoolProblem whole;
    whole.op = p.op, whole.in = p.in, whole.out = p.out;
    whole.width = p.width, whole.height = p.height, whole.planes = p.planes, whole.channels = p.channels;
    whole.pooling = {{p.width, p.height}, {1, 1}};
    for_each_in_parallel(results, [&](std::size_t i) { pool_window(whole, i, arrays.in[0], arrays.out); });
  };
  return made;
}

std::vector<WordRule> with_planes(std::vector<WordRule> rules) {
  const std::vector<WordRule> first{plane_rule("Cells of a plane"),
                                    pixel_rule(),
                                    choice_rule("op", "Which value of each window", {"max", "average"}),
                                    results_rule(),
                                    number_rule("channels", "Interleaved channels of each cell", "1"),
                                    number_rule("batch", "Number of planes", "1")};
  rules.insert(rules.begin(), first.begin(), first.end());
  return rules;
}

}  // namespace

Operation pool_operation() {
  return {
      .name = "pool",
      .summary = "Pooling: the maximum or the mean of each window",
      .steps = {{"windows", "one result after the other"},
                {"vector", "several results of a work-item, rows read in vectors"},
                {"cpu", "one thread a band of rows, vector registers"}},
      .words = with_planes(
          {sizes_rule("size", "Size of the windows: SIZE or WIDTHxHEIGHT", "SIZE or WIDTHxHEIGHT", {1, 2},
                      "2"),
           sizes_rule("stride", "Distance from one window to the next; default: the window's size",
                      "CELLS or ACROSSxDOWN", {1, 2}, "size"),
           or_zero(number_rule("padding", "Padding on all sides", "0")),
           flag_rule("indices", "Also write the places of the maxima"),
           flag_rule("count-padding", "Means count the padding too")}),
      .read = read_windows,
      .samples = {.edges = {"1 uchar --size 1", "37x13 uchar --size 3 --stride 2",
                            "64x40 uchar --op average --batch 3",
                            "131x67 ushort --size 3x2 --op average --padding 1 --channels 3", "256x33 half",
                            "129x64 half --op average --size 3 --stride 2 --padding 1 --count-padding",
                            "130x70 float --size 3 --stride 2 --padding 1",
                            "67x35 float --size 5x7 --stride 3x1 --padding 2 --indices --channels 2",
                            "100x100 uchar --op average --size 2 --out float32",
                            "66x31 double --op average --size 4 --stride 2"},
                  .small = {"200x200 float", "2048x2048 float", "2048x2048 float --size 3 --stride 2",
                            "2048x2048 uchar --op average", "112x112 float --size 3 --stride 2 --batch 324"},
                  .usual = {"4096x4096 float", "4096x4096 half", "4096x4096 uchar",
                            "4096x4096 float --size 3 --stride 2", "4096x4096 float --op average",
                            "4096x4096 uchar --op average", "112x112 float --size 3 --stride 2 --batch 1296"},
                  .large = {goal("8192x8192 float", 0.90), "8192x8192 half", "8192x8192 uchar",
                            "8192x8192 float --size 3 --stride 2", "8192x8192 float --op average",
                            "8192x8192 uchar --op average",
                            "112x112 float --size 3 --stride 2 --batch 5329"}},
      .programs = {{"4096x4096", {"windows", "vector"}},
                   {"4096x4096 half --size 3 --stride 2 --padding 1", {"vector"}},
                   {"4096x4096 uint8 --op average", {"vector"}},
                   {"4096x4096 half --size 3 --stride 2 --padding 1", {"windows"}},
                   {"4096x4096 uint16 --op average --size 5 --stride 1 --padding 2", {"windows"}},
                   {"4096x4096 uint8 --op average --size 9 --channels 3", {"windows"}},
                   {"4096x4096 double --op average --size 3 --stride 1 --padding 1", {"windows"}},
                   {"4096x4096 uint8 --channels 3 --indices", {"windows"}}},
  };
}

Operation global_pool_operation() {
  return {
      .name = "global_pool",
      .summary = "Global pooling: the maximum or the mean of each plane",
      .steps = {{"parts", "each group reduces a plane, or a part of it; a second launch combines parts"}},
      .words = with_planes({}),
      .read = read_planes,
      .samples = {.edges = {"1 uchar", "37x13 uchar --op average --batch 5",
                            "131x67 ushort --channels 3 --batch 2", "300x301 half --op average",
                            "500x311 float --op average --channels 2",
                            "100x100 uchar --op average --out float32", "66x31 double --op average"},
                  .small = {"56x56 float --op average --batch 16", "2048x2048 float"},
                  .usual = {"56x56 float --op average --batch 2048", "4096x4096 float",
                            "4096x4096 uchar --op average"},
                  .large = {"56x56 float --op average --batch 16384", "16384x16384 float",
                            "16384x16384 uchar --op average"}},
      .programs = {{"4096x4096 uint8 --op average"}, {"7x7 half --op average --batch 4096"}},
  };
}

}  // namespace smem::operations
