// box_blur, described.
#include "operations/operation.hpp"
#include "operations/windows.hpp"

#include <smem/blur.hpp>

namespace smem::operations {

namespace {

Case read_box_blur(const Words& words) {
  const PackedGrids packed = packed_grids(words);
  const auto radius = pair_of(words, "radius");
  const BoxProblem problem = BoxProblem::of(blurred_grids(words), {radius[0], radius[1]});
  const SeparableProblem grids = problem.grids;
  Case made = case_of(formatted("{}, box of {} x {}", packed.text(), grids.row_taps, grids.column_taps),
                      problem, plan_box);
  // The mean is a quotient, or a sum of parts. Of integers it is rounded correctly.
  if (is_float(packed.type)) made.relative = filter_tolerance(packed.type);
  made.in = {packed.array("in")};
  made.out = {packed.array("out")};
  // Not what a first pass leaves for a second one.
  made.bytes = static_cast<double>(made.in[0].bytes() + made.out[0].bytes());
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    return box_blur(context, packed.of(arrays.in[0]), packed.of(arrays.out[0]),
                    BoxRadius{radius[0], radius[1]}, {.boundary = grids.boundary}, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    const std::vector<double> row(grids.row_taps, 1), column(grids.column_taps, 1);
    const auto area = static_cast<double>(grids.row_taps * grids.column_taps);
    for_each_product(planes_of(grids), row, column, numbers_of(arrays.in[0]),
                     [&](std::size_t result, double sum) { store(arrays.out[0], result, sum / area); });
  };
  return made;
}

}  // namespace

Operation box_blur_operation() {
  return {
      .name = "box_blur",
      .summary = "Box blurs: the mean of each box of cells",
      .steps = {{"separable", "sums each box again, as a separable filter of equal weights"},
                {"two_pass", "sliding sums along rows, then down columns, through temporary memory"},
                {"march", "column sums slide down and are added along rows in local memory"},
                {"shuffle", "bytes: column sums are added along rows in a warp's registers"},
                {"units", "bytes: products with bands of ones, by matrix units"},
                {"cpu", "one thread a band of rows; its sums stay in the cache"}},
      .words = {grid_rule(), pixel_rule(), grids_rule(),
                or_zero(sizes_rule("radius", "Radius of the box: one number, or ACROSSxDOWN", "ACROSSxDOWN",
                                   {1, 2}, "1")),
                channels_rule(), boundary_rule("mirror")},
      .read = read_box_blur,
      // CPUs: the time of OpenCV's box 3 x 3 with two threads, 29 ms of floats, 23.7 ms of bytes at half its
      // speed, as shares of a memcpy of 24.9 GB/s.
      .samples = {.edges = {"1x1 float", "131x67 float --radius 3x1",
                            "101x37 uchar --channels 3 --batch 2 --radius 9 --boundary clamp",
                            "150x61 ushort --radius 20x2 --boundary reflect",
                            "64x70x2 half --radius 12x8 --boundary zero",
                            "65x33 double --radius 2x10 --boundary wrap", "4100x2 float --radius 2100x0"},
                  .small = {"200x200 float --radius 15", "512x512 float", "512x512 float --radius 50"},
                  .usual = {"4096x4096 float --radius 15", goal("4096x4096 float", 0.19),
                            goal("4096x4096 uchar", 0.057), "4096x4096 float --radius 50",
                            "4096x4096 float --radius 200", "4096x4096 uchar --radius 50",
                            "4096x4096 ushort --radius 50"},
                  .large = {goal("8192x8192 float --radius 50", 0.5), "8192x8192 float", "8192x8192 uchar",
                            "8192x8192 float --radius 15", "8192x8192 float --radius 200",
                            "8192x8192 uchar --radius 50", "8192x8192 ushort --radius 50"},
                  .weak_usual = {"4096x4096 uchar --radius 50"},
                  .weak = {goal("8192x8192 float --radius 200", 0.60),
                           goal("8192x8192 uchar --radius 50", 0.40)}},
      .programs = {{"8192x8192 --radius 50", {"two_pass", "march", "cpu"}},
                   {"8192x8192 --radius 200", {"two_pass"}},
                   {"4096x4096 uint16 --radius 200 --channels 3", {"two_pass"}},
                   {"8192x8192 uint8 --radius 50", {"march", "shuffle", "units"}},
                   {"4096x4096 uint8 --radius 2 --channels 4", {"units"}},
                   {"8192x8192 uint8 --radius 50 --channels 3", {"march"}},
                   // The mean of bytes as a float, on grids smaller than their windows.
                   {"3x3 uint8 --radius 7", {""}, "out=float32 in_alignment=64 out_alignment=64"}},
  };
}

}  // namespace smem::operations
