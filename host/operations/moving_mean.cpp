// moving_mean, described.
#include "operations/operation.hpp"
#include "operations/planes.hpp"
#include "operations/windows.hpp"

#include "formatted.hpp"

#include <smem/moving_mean.hpp>
#include <smem/moving_mean_plan.hpp>

#include <algorithm>
#include <cmath>

namespace smem::operations {

namespace {

/// Means of the elements [begin, end) of all rows: sums of whole numbers, which doubles hold.
void means(const MovingMeanProblem& p, MeanEnds ends, const HostArray& in, HostArray& out, std::size_t begin,
           std::size_t end) {
  double sum = 0;
  std::size_t first = 0, last = 0;  // of the elements that are summed
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t x = i % p.width, row = i - x;
    if (i == begin || x == 0) sum = 0, first = last = row + x - std::min(x, p.window / 2);
    const std::size_t from = row + x - std::min(x, p.window / 2);
    const std::size_t to = row + std::min(p.width, x + p.window - p.window / 2);
    while (last < to)
      sum += in.number(last++);
    while (first < from)
      sum -= in.number(first++);
    const double mean = sum / static_cast<double>(ends == MeanEnds::zero ? p.window : to - from);
    out.set(i, is_float(p.out) ? mean : std::nearbyint(mean));
  }
}

Case read_moving_mean(const Words& words) {
  const GridSize plane = plane_of(words);
  const std::size_t rows = detail::size_product(plane.height, words.number("batch"));
  const MovingMeanProblem p{words.scalar("type"), results_of(words), plane.width, rows,
                            words.number("window")};
  const std::size_t elements = elements_of({p.width, rows});
  const MeanEnds ends = words.text("ends") == "zero" ? MeanEnds::zero : MeanEnds::shrink;
  Case made =
      case_of(formatted("means of {} of {}{} {}{}{}", p.window, rows == 1 ? "" : formatted("{} x ", rows),
                        p.width, name_of(p.in), p.out == p.in ? "" : formatted(" to {}", name_of(p.out)),
                        ends == MeanEnds::zero ? ", zeros at the ends" : ""),
              p, plan_moving_mean);
  // Sums of floats are exact in 24 bits.
  made.in = {{"in", p.in, elements, {.most = p.window > 65536 ? 15U : 255U}}};
  made.out = {{"out", p.out, elements}};
  made.bytes = static_cast<double>(made.in[0].bytes() + made.out[0].bytes());
  if (p.window > 10000) made.slow = {"naive"};
  made.relative = mean_tolerance(p.in, p.out);
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const GridSize size{p.width, rows};
    return moving_mean(context, grid_of(arrays.in[0], size), grid_of(arrays.out[0], size), p.window, ends,
                       options);
  };
  made.reference = [=](const HostArrays& arrays) {
    in_parallel(elements, [&](std::size_t begin, std::size_t end) {
      means(p, ends, arrays.in[0], arrays.out[0], begin, end);
    });
  };
  return made;
}

}  // namespace

Operation moving_mean_operation() {
  return {
      .name = "moving_mean",
      .summary = "Moving means of rows",
      .steps = {{"naive", "sums each window again"},
                {"tiled", "windows share the sums of chunks of a tile in local memory"},
                {"short_rows", "several rows in local memory, windows share what they have in common"},
                {"blocks", "prefix sums of blocks as long as the window, through temporary memory"},
                {"chunks", "sums of chunks: the input is read twice, whatever the window"},
                {"one_pass",
                 "groups publish the sums of chunks: the input is read once, then from the cache"},
                {"ring", "groups keep a window's elements in local memory: the input is read once"},
                {"cpu", "one thread a strip, two running sums"}},
      .words = {plane_rule("Elements of a row, and rows"), pixel_rule(),
                number_rule("window", "Elements of a window", "101"), results_rule(),
                choice_rule("ends",
                            "Windows that leave the row: the mean of the elements inside, or with zeros",
                            {"shrink", "zero"}),
                number_rule("batch", "Number of planes", "1")},
      .read = read_moving_mean,
      // Windows for each way to sum: in a tile, in several, and in blocks through global memory.
      .samples = {.edges = {"1 uchar --window 1", "37x3 uchar --window 5",
                            "1000x3 ushort --window 8 --out float32", "4099x2 half --window 101 --batch 2",
                            "300 uchar --window 1000 --ends zero", "3001x5 float --window 1000 --ends zero",
                            "20011 float --window 301", "36001 float --window 33000",
                            "257x4 double --window 12", "9001x3 ushort --window 4200",
                            "20001x2 double --window 5000 --ends zero"},
                  .small = {"65536 float", "4194304 float --window 5", "4194304 float",
                            "4194304 float --window 100001", "4194304 float --window 2000001",
                            "4194304 uchar", "1024x1024 float"},
                  .usual = {"16777216 float", "16777216 float --window 5", "16777216 float --window 1001",
                            "16777216 float --window 100001", "16777216 uchar", "16777216 ushort",
                            "16777216 half", "16777216 double", "4096x4096 float"},
                  .large = {"268435456 float", "268435456 float --window 5", "268435456 float --window 1001",
                            "268435456 float --window 100001", "268435456 uchar", "268435456 ushort",
                            "268435456 half", "268435456 double", "4096x4096 float"},
                  .weak = {goal("268435456 float --window 100001", 0.70),
                           goal("268435456 float --window 5001", 0.70)}},
      .programs = {{"1048576", {"naive", "tiled", "blocks"}},
                   {"1048576 --window 100001", {"chunks", "one_pass"}},
                   {"1048576 uint8 --window 100001", {"chunks", "one_pass"}},
                   {"1048576 --window 5001", {"ring"}},
                   {"1048576 double --window 100001", {"chunks"}},
                   {"1048576 --window 2000", {"tiled"}},
                   {"1048576 --window 12", {"tiled"}},
                   {"300x20000 --window 40", {"short_rows"}},
                   {"300x20000 uint16 --window 40", {"short_rows"}},
                   {"300x20000 double --window 40", {"short_rows"}},
                   {"1048576 --window 5", {"tiled"}},
                   {"1048576 uint8", {"tiled"}},
                   {"1048576 half", {"tiled"}},
                   {"1048576 double", {"tiled"}}},
  };
}

}  // namespace smem::operations
