// The problems that smem tune measures.
#include "cli/tune_case.hpp"

#include "cli/arguments.hpp"
#include "cli/gemm_case.hpp"
#include "cli/stencil_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace smem::cli {

namespace {

/// What sizes are chosen for.
enum class Scale { small, cpu, gpu };

std::size_t sized(Scale scale, std::size_t small, std::size_t cpu, std::size_t gpu) {
  return scale == Scale::small ? small : scale == Scale::cpu ? cpu : gpu;
}

/// A case whose plan and class follow from its problem.
template <class Problem, class MakePlan>
TuneCase case_of(std::string label, const Problem& problem, std::vector<std::string_view> variants,
                 const MakePlan& make_plan) {
  TuneCase made;
  made.problems = tuning_class(problem);
  made.operation = made.problems.operation;
  made.label = std::move(label);
  made.variants = std::move(variants);
  made.plan = [problem, make_plan](const Device& device, const PlanOverrides& overrides) {
    return make_plan(device, problem, overrides);
  };
  return made;
}

/// Elements of 1, 2, 4 or 8 bytes that are moved, with all their values.
TuneData moved(std::size_t element_bytes, std::size_t elements) {
  const Scalar type = element_bytes == 1   ? Scalar::uint8
                      : element_bytes == 2 ? Scalar::uint16
                      : element_bytes == 4 ? Scalar::uint32
                                           : Scalar::uint64;
  return {type, elements, element_bytes == 1 ? 255U : element_bytes == 2 ? 65535U : 0xfffffffU};
}

/// Numbers of which 2^22 are 1 at most, so that float32 has every sum.
TuneData summed(Scalar type, std::size_t elements) {
  const auto rare = static_cast<unsigned>(std::max<std::size_t>(elements >> 21, 1));
  return {type, elements, 1, rare};
}

std::vector<TuneCase> transposes(Scale scale) {
  const std::size_t edge = sized(scale, 512, 4096, 16384);
  std::vector<TuneCase> cases;
  for (const auto& shape : {std::array{std::size_t{4}, edge, edge},
                            {1, edge, edge},
                            {8, edge, edge / 2},
                            {4, edge - 3, edge + 5}}) {
    const std::size_t bytes = shape[0], rows = shape[1], cols = shape[2];
    const TransposeProblem problem = packed_problem(bytes, {rows, cols});
    cases.push_back(case_of(fmt::format("{} x {}, {} B", rows, cols, bytes), problem, transpose_variants(),
                            [](const auto&... all) { return plan_transpose(all...); }));
    cases.back().in = cases.back().out = moved(bytes, rows * cols);
    cases.back().call = [=](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
      return transpose(context, Matrix(pair.in(), bytes, rows, cols), Matrix(pair.out(), bytes, cols, rows),
                       o);
    };
  }
  return cases;
}

std::vector<TuneCase> flips(Scale scale) {
  const std::size_t edge = sized(scale, 512, 4096, 16384);
  std::vector<TuneCase> cases;
  for (const Flip direction : {Flip::horizontal, Flip::vertical}) {
    const bool horizontal = direction == Flip::horizontal;
    cases.push_back(
        case_of(fmt::format("{} x {}, 4 B, {}", edge, edge, horizontal ? "horizontal" : "vertical"),
                FlipProblem{4, edge, edge, 1, horizontal}, flip_variants(),
                [](const auto&... all) { return plan_flip(all...); }));
    cases.back().in = cases.back().out = moved(4, edge * edge);
    cases.back().call = [=](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
      return flip(context, Matrix(pair.in(), 4, edge, edge), Matrix(pair.out(), 4, edge, edge), direction, o);
    };
  }
  return cases;
}

TuneCase reduction(ReduceShape shape, std::size_t rows, std::size_t cols) {
  const char* const names[] = {"sum", "sums of rows", "sums of columns"};
  ReduceProblem problem;
  problem.shape = shape;
  problem.rows = rows;
  problem.cols = cols;
  TuneCase made = case_of(
      shape == ReduceShape::vector
          ? fmt::format("sum of {} float32", cols)
          : fmt::format("{} of {} x {} float32", names[shape == ReduceShape::rows ? 1 : 2], rows, cols),
      problem, reduce_variants(), [](const auto&... all) { return plan_reduce(all...); });
  made.in = summed(Scalar::float32, rows * cols);
  made.out = {Scalar::float32, problem.results()};
  made.call = [=](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
    const Vector out(pair.out(), Scalar::float32, problem.results());
    if (shape == ReduceShape::vector)
      return reduce(context, Vector(pair.in(), Scalar::float32, cols), out, ReduceOp::sum, o);
    const Matrix in(pair.in(), 4, rows, cols);
    return shape == ReduceShape::rows ? reduce_rows(context, in, Scalar::float32, out, ReduceOp::sum, o)
                                      : reduce_columns(context, in, Scalar::float32, out, ReduceOp::sum, o);
  };
  return made;
}

std::vector<TuneCase> reductions(Scale scale) {
  const std::size_t edge = sized(scale, 512, 4096, 16384);
  return {reduction(ReduceShape::vector, 1, edge * edge), reduction(ReduceShape::rows, edge, edge),
          reduction(ReduceShape::columns, edge, edge)};
}

std::vector<TuneCase> scans(Scale scale) {
  const std::size_t edge = sized(scale, 512, 4096, 16384);
  std::vector<TuneCase> cases;
  for (const bool by_rows : {false, true}) {
    ScanProblem problem;
    problem.shape = by_rows ? ScanShape::rows : ScanShape::vector;
    problem.rows = by_rows ? edge : 1;
    problem.cols = by_rows ? edge : edge * edge;
    cases.push_back(case_of(
        by_rows ? fmt::format("rows of {} x {} float32", edge, edge) : fmt::format("{} float32", edge * edge),
        problem, scan_variants(), [](const auto&... all) { return plan_scan(all...); }));
    cases.back().in = cases.back().out = summed(Scalar::float32, edge * edge);
    cases.back().call = [=](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
      constexpr Scalar kType = Scalar::float32;
      if (!by_rows) {
        return inclusive_scan(context, Vector(pair.in(), kType, edge * edge),
                              Vector(pair.out(), kType, edge * edge), ReduceOp::sum, o);
      }
      return inclusive_scan_rows(context, Matrix(pair.in(), 4, edge, edge), kType,
                                 Matrix(pair.out(), 4, edge, edge), kType, ReduceOp::sum, o);
    };
  }
  return cases;
}

std::vector<TuneCase> histograms(Scale scale) {
  const std::size_t size = sized(scale, 1U << 20, 1U << 24, 1U << 28);
  std::vector<TuneCase> cases;
  for (const auto& [type, bins] : {std::pair{Scalar::uint8, std::size_t{256}}, {Scalar::float32, 1024}}) {
    const double high = type == Scalar::uint8 ? 256 : 1024;
    HistogramProblem problem;
    problem.in = type;
    problem.rule = even_bins(type, bins, 0, high).rule;
    problem.bins = bins;
    problem.cols = size;
    cases.push_back(case_of(fmt::format("{} {}, {} bins", size, name_of(type), bins), problem,
                            histogram_variants(), [](const auto&... all) { return plan_histogram(all...); }));
    cases.back().in = {type, size, static_cast<unsigned>(high) - 1};
    cases.back().out = {Scalar::uint32, bins};
    const Scalar element = type;  // a structured binding cannot be captured by all compilers
    const std::size_t count = bins;
    cases.back().call = [=](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
      return histogram(context, Vector(pair.in(), element, size), Vector(pair.out(), Scalar::uint32, count),
                       Bins::even(count, 0, high), o);
    };
  }
  return cases;
}

std::vector<TuneCase> products(Scale scale) {
  const std::size_t edge = sized(scale, 128, 1024, 4096);
  std::vector<GemmCase> asked{{{edge, edge, edge}}};
  if (scale != Scale::small) asked.push_back({{1000, 333, 777}});
  if (scale == Scale::gpu) asked.push_back({{edge, edge, edge}, Scalar::half});
  std::vector<TuneCase> cases;
  for (const GemmCase& c : asked) {
    cases.push_back(case_of(label_of(c), problem_of(c), gemm_variants(),
                            [](const auto&... all) { return plan_gemm(all...); }));
    cases.back().in = {c.in, bytes_of(c) / size_of(c.in), 7};
    cases.back().out = {c.out, c.shape.m * c.shape.n};
    cases.back().call = [c](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
      return run_gemm(context, c, pair, o);
    };
  }
  return cases;
}

std::vector<TuneCase> stencils(Scale scale) {
  const std::size_t edge = sized(scale, 512, 4096, 8192), cube = sized(scale, 64, 256, 512);
  std::vector<StencilCase> asked{
      {.size = {edge, edge, 1}, .radius = {1, 1, 0}},
      {.shape = StencilShape::star, .size = {cube, cube, cube}, .radius = {1, 1, 1}}};
  if (scale != Scale::small)
    asked.push_back({.type = Scalar::uint8, .size = {edge, edge, 1}, .radius = {2, 2, 0}});
  std::vector<TuneCase> cases;
  for (const StencilCase& c : asked) {
    cases.push_back(case_of(label_of(c), problem_of(c), stencil_variants(),
                            [](const auto&... all) { return plan_stencil(all...); }));
    cases.back().in = cases.back().out = {c.type, elements_of(c)};
    cases.back().call = [c](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
      return run_stencil(context, c, pair, o);
    };
  }
  return cases;
}

std::vector<TuneCase> filters(Scale scale) {
  const std::size_t edge = sized(scale, 512, 4096, 8192);
  std::vector<TuneCase> cases;
  for (const std::size_t taps : {std::size_t{5}, std::size_t{15}}) {
    SeparableProblem problem;
    problem.width = problem.height = edge;
    problem.row_taps = problem.column_taps = taps;
    problem.boundary = Boundary::clamp;
    cases.push_back(case_of(fmt::format("{} x {} float32, {} x {} taps", edge, edge, taps, taps), problem,
                            separable_variants(), [](const auto&... all) { return plan_separable(all...); }));
    cases.back().in = cases.back().out = {Scalar::float32, edge * edge};
    std::vector<double> weights(taps);
    for (std::size_t i = 0; i < taps; ++i)
      weights[i] = static_cast<double>(i % 3) / 8;
    cases.back().call = [=](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
      const GridSize size{edge, edge};
      return separable(context, Grid(pair.in(), Scalar::float32, size),
                       Grid(pair.out(), Scalar::float32, size), weights, weights,
                       {.boundary = Boundary::clamp}, o);
    };
  }
  return cases;
}

/// Four steps of an eighth each keep numbers below 256 exact in float32: three bits a step.
std::vector<TuneCase> diffusions(Scale scale) {
  const std::size_t edge = sized(scale, 512, 4096, 16384), cube = sized(scale, 64, 256, 512);
  std::vector<TuneCase> cases;
  for (const auto& [size, steps] : {std::pair{GridSize{edge, edge}, std::size_t{1}},
                                    {GridSize{edge, edge}, 4},
                                    {GridSize{cube, cube, cube}, 1},
                                    {GridSize{cube, cube, cube}, 4}}) {
    if (scale == Scale::small && steps == 1) continue;
    const GridSize cells = size;
    const std::size_t count = steps;
    HeatProblem problem{.width = cells.width, .height = cells.height, .depth = cells.depth, .steps = count};
    problem.alignment = packed_alignment(cells.width * sizeof(float));
    cases.push_back(case_of(
        fmt::format("{} x {}{} float32, {} step{}", cells.width, cells.height,
                    cells.depth > 1 ? fmt::format(" x {}", cells.depth) : "", count, count == 1 ? "" : "s"),
        problem, heat_variants(), [](const auto&... all) { return plan_heat(all...); }));
    cases.back().in = cases.back().out = {Scalar::float32, cells.width * cells.height * cells.depth};
    cases.back().call = [=](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
      return smem::heat(context, Grid(pair.in(), Scalar::float32, cells),
                        Grid(pair.out(), Scalar::float32, cells), {.steps = count, .dt = 0.125}, o);
    };
  }
  return cases;
}

struct TuneTarget {
  const char* operation;
  std::vector<TuneCase> (*cases)(Scale scale);
};

constexpr TuneTarget kTargets[] = {
    {"transpose", transposes}, {"flip", flips},           {"reduce", reductions},
    {"scan", scans},           {"histogram", histograms}, {"gemm", products},
    {"stencil", stencils},     {"separable", filters},    {"heat", diffusions},
};

}  // namespace

std::vector<std::string> tune_operations() {
  std::vector<std::string> names;
  for (const TuneTarget& target : kTargets)
    names.emplace_back(target.operation);
  return names;
}

std::vector<TuneCase> tune_cases(const std::string& operation, const Device& device, bool small) {
  const Scale scale = small ? Scale::small : device.type == DeviceType::cpu ? Scale::cpu : Scale::gpu;
  for (const TuneTarget& target : kTargets)
    if (operation == target.operation) return target.cases(scale);
  return {};
}

}  // namespace smem::cli
