// separable, described, with Gaussian blurs and unsharp masks.
#include "operations/operation.hpp"
#include "operations/windows.hpp"

#include <smem/blur.hpp>
#include <smem/separable.hpp>
#include <smem/sizes.hpp>

namespace smem::operations {

namespace {

enum class Filter { weights, gaussian, unsharp };

/// What makes results differ: products of weights that are no fractions of a power of two.
void set_tolerance(Filter filter, Scalar type, Case& made) {
  if (filter == Filter::weights || (filter == Filter::gaussian && type == Scalar::uint8)) return;
  made.relative = filter_tolerance(type);
  // A result near the middle of two whole numbers may become either.
  if (!is_float(type)) made.absolute = 1;
  // A difference may be small beside what it is the difference of.
  if (filter == Filter::unsharp)
    made.absolute = type == Scalar::float64 ? 0x1p-30 : is_float(type) ? 0x1p-8 : made.absolute;
}

Case read_separable(const Words& words) {
  const PackedGrids packed = packed_grids(words);
  auto taps = pair_of(words, "window");
  check_weights("separable", "window", {detail::size_sum(taps[0], taps[1])});
  const std::string& kind = words.text("filter");
  const Filter filter = kind == "weights"    ? Filter::weights
                        : kind == "gaussian" ? Filter::gaussian
                                             : Filter::unsharp;
  if (filter == Filter::unsharp) taps[1] = taps[0];
  const SeparableProblem problem = [&] {
    SeparableProblem p = blurred_grids(words);
    p.row_taps = taps[0], p.column_taps = taps[1];
    p.unsharp = filter == Filter::unsharp;
    p.half_up = filter == Filter::gaussian && packed.type == Scalar::uint8;
    p.fixed_point = p.half_up && taps[0] > 1 && taps[1] > 1;  // a single weight is 256
    return p;
  }();
  Case made =
      case_of(formatted("{}, {} of {} x {}", packed.text(), kind, taps[0], taps[1]), problem, plan_separable);
  set_tolerance(filter, packed.type, made);
  std::array<std::vector<double>, 2> weights;
  for (std::size_t d = 0; d < 2; ++d) {
    if (filter == Filter::weights) {
      for (std::size_t i = 0; i < taps[d]; ++i)
        weights.at(d).push_back(8 * weight_of(i + 1));
    } else {
      weights.at(d) =
          gaussian_weights({.size = taps[d]}, filter == Filter::unsharp ? Scalar::float64 : packed.type);
    }
  }
  made.in = {packed.array("in", {.most = filter == Filter::weights ? 15U : 255U})};
  made.out = {packed.array("out")};
  // Not what a first pass leaves for a second one.
  made.bytes = static_cast<double>(made.in[0].bytes() + made.out[0].bytes());
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const Grid in = packed.of(arrays.in[0]), out = packed.of(arrays.out[0]);
    const Edges edges{.boundary = problem.boundary};
    if (filter == Filter::weights)
      return separable(context, in, out, {weights[0], weights[1]}, edges, options);
    const Gaussian window{.size = taps[0], .size_down = taps[1]};
    return filter == Filter::gaussian ? gaussian_blur(context, in, out, window, edges, options)
                                      : unsharp_mask(context, in, out, {.window = window}, edges, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    const std::vector<double> cells = numbers_of(arrays.in[0]);
    for_each_product(planes_of(problem), weights[0], weights[1], cells, [&](std::size_t result, double sum) {
      if (problem.unsharp) sum = 2 * cells[result] - sum;
      store(arrays.out[0], result, problem.half_up ? std::floor(sum + 0.5) : sum);
    });
  };
  return made;
}

}  // namespace

Operation separable_operation() {
  return {
      .name = "separable",
      .summary = "Separable filters: given weights, Gaussian blurs, unsharp masks",
      .steps = {{"naive", "the whole window from global memory"},
                {"two_pass", "along rows, then along columns, through temporary memory"},
                {"tiled", "both passes through tiles in local memory"},
                {"march", "columns in registers, rows in local memory"},
                {"packed", "bytes: dot products of packed numbers, in registers"},
                {"units", "8 and 16 bits: products with bands of weights, by matrix units"},
                {"cpu", "one thread a band of rows, vector registers"}},
      .words = {grid_rule(), pixel_rule(), grids_rule(),
                sizes_rule("window", "Size of the window: one number, or ACROSSxDOWN", "ACROSSxDOWN", {1, 2},
                           "5"),
                choice_rule("filter", "The weights", {"gaussian", "unsharp", "weights"}), channels_rule(),
                boundary_rule("mirror")},
      .read = read_separable,
      // GPUs: what fused passes should leave of the copy bandwidth. CPUs: the time of OpenCV's filters with
      // two threads (floats: Gaussian 5 x 5 15 ms, 15 x 15 45 ms; bytes: at half their speed 7.2 and 22.6 ms)
      // as shares of a memcpy of 24.9 GB/s.
      .samples =
          {.edges = {"1x1 float", "131x37 float --window 7x3 --filter weights --boundary zero",
                     "67x40 uchar --channels 3 --batch 2",
                     "256x33 half --window 5x4 --filter weights --boundary wrap",
                     "65x31x2 ushort --window 15 --filter weights --boundary reflect",
                     "40x37 double --window 3 --boundary clamp", "130x50 float --window 9 --filter unsharp"},
           .small = {"200x200 float --window 15", "2048x2048 float --window 5", "2048x2048 uchar --window 5"},
           .usual = {"2048x2048 float --window 15", goal("4096x4096 float --window 5", 0.36),
                     goal("4096x4096 float --window 15", 0.12), goal("4096x4096 uchar --window 5", 0.19),
                     goal("4096x4096 uchar --window 15", 0.06), "2048x2048 uchar --window 5 --channels 4",
                     "4096x4096 half --window 15", "4096x4096 ushort --window 15",
                     "4096x4096 float --window 9 --filter unsharp",
                     "4096x4096 uchar --window 9 --filter unsharp"},
           .large = {goal("8192x8192 float --window 15", 0.75), "8192x8192 float --window 5",
                     "8192x8192 uchar --window 5", "8192x8192 uchar --window 15",
                     "4096x4096 uchar --window 5 --channels 4", "8192x8192 half --window 15",
                     "8192x8192 ushort --window 15", "8192x8192 float --window 9 --filter unsharp",
                     "8192x8192 uchar --window 9 --filter unsharp"},
           .weak_usual = {"4096x4096 uchar --window 15"},
           .weak = {goal("8192x8192 uchar --window 5", 0.70), goal("8192x8192 uchar --window 15", 0.50),
                    goal("8192x8192 half --window 15", 0.75), goal("8192x8192 ushort --window 15", 0.75)}},
      .programs = {{"4096x4096 --filter weights"},
                   {"4096x4096 uint8 --filter weights", {""}},
                   {"4096x4096 half --filter weights", {""}},
                   {"4096x4096 uint8 --filter gaussian", {"", "packed"}},
                   {"4096x4096 uint8 --filter gaussian --window 15", {"packed", "units"}},
                   {"4096x4096 half --window 15", {"units"}},
                   {"4096x4096 uint16 --window 15", {"units"}},
                   {"4096x4096 uint16 --window 31", {"units"}},
                   {"4096x4096 uint8 --window 63 --channels 3", {"two_pass"}},
                   {"4096x4096 --window 23 --channels 4", {"march"}},
                   {"4096x4096 half --window 31 --channels 3", {"march"}},
                   {"4096x4096 double --filter weights", {""}},
                   {"4096x4096 --filter weights --window 15", {""}},
                   {"4096x4096 --filter unsharp --window 3 --channels 3",
                    {""},
                    formatted("in_alignment=4 out_alignment=4 boundary={}",
                              static_cast<int>(Boundary::constant))}},
  };
}

}  // namespace smem::operations
