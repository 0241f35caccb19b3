/// Every kernel configuration that smem would launch on a device. A new operation adds one function and its
/// name in configurations().
#pragma once

#include "support/reduce_turn.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace test {

struct Configuration {
  std::string name;  ///< operation/variant/element size, and what else tells it from the others
  smem::Launch plan;
};

/// Collects the launches of plans, each program once. What cannot run on the device is left out.
class Catalogue {
 public:
  /// `lenient`: whatever a plan refuses is left out, on devices that no kernel was made for.
  explicit Catalogue(bool lenient = false) : lenient_(lenient) {}

  template <class MakePlan>
  void add(const std::string& name, const MakePlan& make_plan) {
    try {
      const smem::Plan plan = make_plan();
      for (const smem::Launch* launch : plan.launches()) {
        if (seen_.insert(launch->kernel_file + " " + launch->entry_point + " " + launch->build_options())
                .second)
          found_.push_back({launch == &plan ? name : name + "/" + launch->variant, *launch});
      }
    } catch (const smem::Error& error) {
      if (!lenient_ && error.details().argument != "variant") throw;
    }
  }
  std::vector<Configuration> take() { return std::move(found_); }

 private:
  bool lenient_;
  std::set<std::string> seen_;
  std::vector<Configuration> found_;
};

inline void add_transpose(const smem::Device& device, Catalogue& catalogue) {
  for (const std::string_view variant : smem::transpose_variants()) {
    for (const std::size_t element_bytes : {1, 2, 4, 8, 16}) {
      for (const bool in_place : {false, true}) {
        // Rows at cache lines; at words of 4, 8 and 16 bytes; anywhere.
        for (const std::size_t alignment : {64, 16, 8, 4, 1}) {
          smem::TransposeProblem problem;
          problem.element_bytes = element_bytes;
          problem.rows = problem.cols = 4096;
          problem.in_place = in_place;
          problem.in_alignment = problem.out_alignment = std::max(alignment, element_bytes);
          catalogue.add(
              fmt::format("transpose/{}/{}B{}{}", variant, element_bytes, in_place ? "/in-place" : "",
                          alignment == 64 ? "" : fmt::format("/aligned-{}", problem.in_alignment)),
              [&] { return smem::plan_transpose(device, problem, variant); });
        }
      }
    }
  }
}

inline void add_flip(const smem::Device& device, Catalogue& catalogue) {
  for (const std::string_view variant : smem::flip_variants()) {
    for (const std::size_t element_bytes : {1, 2, 4, 8, 16}) {
      for (const bool reverse_cols : {true, false}) {
        smem::FlipProblem problem;
        problem.element_bytes = element_bytes;
        problem.rows = problem.cols = 4096;
        problem.reverse_cols = reverse_cols;
        catalogue.add(fmt::format("flip/{}/{}B{}", variant, element_bytes, reverse_cols ? "" : "/rows-only"),
                      [&] { return smem::plan_flip(device, problem, variant); });
      }
    }
  }
}

inline void add_rates(const smem::Device& device, Catalogue& catalogue) {
  catalogue.add("rates/copy", [&] { return smem::plan_rates(device, {smem::Rate::copy, 1 << 20}); });
  catalogue.add("rates/fp32", [&] { return smem::plan_rates(device, {smem::Rate::fp32, 1}); });
}

inline void add_reduce(const smem::Device& device, Catalogue& catalogue) {
  using smem::ReduceOp, smem::ReduceShape, smem::Scalar;
  const auto add = [&](const smem::ReduceProblem& problem, const std::string& what) {
    for (const std::string_view variant : smem::reduce_variants()) {
      if (!is_turn_of(variant, problem.reduction.op, problem.in)) continue;
      const std::string name = fmt::format("{}/{}/{}", what, variant, name_of(problem.reduction.op));
      catalogue.add(fmt::format("{}/{}", name, name_of(problem.in)),
                    [&] { return smem::plan_reduce(device, problem, variant); });
    }
  };
  smem::ReduceProblem problem;
  problem.rows = 1;
  problem.cols = std::size_t{1} << 24;
  // Every operation on floats, and every type with the sum: the rest is made of the same parts.
  for (const ReduceOp op :
       {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::bit_or, ReduceOp::any, ReduceOp::minmax,
        ReduceOp::argmax, ReduceOp::mean, ReduceOp::norm, ReduceOp::dot}) {
    for (const Scalar in : {Scalar::int8, Scalar::int32, Scalar::uint64, Scalar::half, Scalar::float32}) {
      if (op == ReduceOp::bit_or && is_float(in)) continue;
      const Scalar usual = op == ReduceOp::bit_or ? Scalar::int32 : Scalar::float32;
      if (in != usual && (op != ReduceOp::sum || in == Scalar::int32)) continue;
      const bool place = op == ReduceOp::argmax, average = op == ReduceOp::mean || op == ReduceOp::norm;
      problem.reduction = op;
      problem.in = in;
      problem.out = place                      ? Scalar::uint64
                    : op == ReduceOp::any      ? Scalar::uint8
                    : average && !is_float(in) ? (device.fp64 ? Scalar::float64 : Scalar::float32)
                                               : in;
      problem.shape = ReduceShape::vector;
      problem.rows = 1;
      problem.cols = std::size_t{1} << 24;
      add(problem, "reduce");
      const bool is_dot = op == ReduceOp::dot;  // of rows and columns: matvec and vecmat
      if (op != ReduceOp::sum && op != ReduceOp::minmax && op != ReduceOp::argmax && !is_dot) continue;
      problem.rows = problem.cols = 4096;
      for (const ReduceShape shape : {ReduceShape::rows, ReduceShape::columns, ReduceShape::segments}) {
        if (in != Scalar::float32 && shape != ReduceShape::columns) continue;
        if (is_dot && shape == ReduceShape::segments) continue;
        problem.shape = shape;
        add(problem, shape == ReduceShape::rows      ? "rows"
                     : shape == ReduceShape::columns ? "columns"
                                                     : "segments");
      }
    }
  }
  problem.shape = ReduceShape::vector;
  problem.rows = 1;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::dot}) {
    problem.reduction = {op, smem::FloatMode::compensated};
    problem.in = problem.out = Scalar::float32;
    add(problem, "compensated");
  }
  // Operations that do not commute.
  problem = {};
  problem.reduction.commutes = false;
  problem.cols = std::size_t{1} << 24;
  add(problem, "ordered");
  problem.rows = problem.cols = 4096;
  problem.shape = ReduceShape::columns;
  add(problem, "ordered/columns");
}

inline void add_histogram(const smem::Device& device, Catalogue& catalogue) {
  using smem::BinRule, smem::Scalar;
  const auto add = [&](const smem::HistogramProblem& problem, std::string_view variant) {
    catalogue.add(
        fmt::format("histogram/{}/{}/{}{}/{}", variant.empty() ? "chosen" : variant, name_of(problem.rule),
                    name_of(problem.in), problem.channels == 1 ? "" : fmt::format("x{}", problem.channels),
                    problem.bins),
        [&] { return smem::plan_histogram(device, problem, variant); });
  };
  smem::HistogramProblem problem;
  problem.cols = std::size_t{1} << 24;
  for (const std::string_view variant : smem::histogram_variants())
    add(problem, variant);
  // The rules, types and sizes in which kernels differ, in the variant that is chosen.
  for (const auto& [rule, in] : {std::pair{BinRule::whole, Scalar::uint8},
                                 {BinRule::small, Scalar::uint8},
                                 {BinRule::whole, Scalar::int16},
                                 {BinRule::even, Scalar::half},
                                 {BinRule::even, Scalar::int32},
                                 {BinRule::even, Scalar::uint64},
                                 {BinRule::direct, Scalar::int32},
                                 {BinRule::edges, Scalar::float32}}) {
    problem.rule = rule;
    problem.in = in;
    problem.bins = in == Scalar::int16 ? 65536 : 256;
    add(problem, {});
  }
  problem.rule = BinRule::even;
  problem.in = Scalar::float32;
  for (const std::size_t bins : {4096, 1 << 20}) {
    problem.bins = bins;
    problem.out = bins == 4096 ? Scalar::uint32 : Scalar::uint64;
    add(problem, {});
  }
  problem.out = Scalar::uint32;
  problem.rule = BinRule::whole;
  problem.in = Scalar::uint8;
  problem.bins = 256;
  problem.channels = 3;
  problem.rows = 4096;
  problem.cols = 300;
  add(problem, {});
}

inline void add_weighted(const smem::Device& device, Catalogue& catalogue) {
  smem::WeightedHistogramProblem problem;
  problem.counts.cols = std::size_t{1} << 24;
  const auto add = [&](const std::string& variant) {
    catalogue.add(fmt::format("weighted/{}/{}", variant, name_of(problem.weights)),
                  [&] { return smem::plan_histogram_weighted(device, problem, {.variant = variant}); });
  };
  for (const std::string_view variant : smem::histogram_weighted_variants())
    add(std::string(variant));
  problem.weights = problem.out = smem::Scalar::int64;
  add("local");
}

inline void add_scan(const smem::Device& device, Catalogue& catalogue) {
  using smem::ReduceOp, smem::Scalar, smem::ScanShape;
  const auto add = [&](const smem::ScanProblem& problem, const std::string& what, bool all_variants) {
    for (const std::string_view variant : smem::scan_variants()) {
      if (!all_variants && (variant == "hillis_steele" || variant == "blelloch")) continue;
      catalogue.add(fmt::format("{}/{}/{}", what, variant, name_of(problem.in)),
                    [&] { return smem::plan_scan(device, problem, variant); });
    }
  };
  smem::ScanProblem problem;
  problem.cols = std::size_t{1} << 28;
  for (const Scalar in : {Scalar::float32, Scalar::uint64, Scalar::int8}) {
    problem.in = problem.out = in;
    problem.exclusive = in == Scalar::uint64;
    add(problem, "scan", in == Scalar::float32);
  }
  problem.exclusive = false;
  problem.in = problem.out = Scalar::int32;
  problem.in_alignment = problem.out_alignment = 4;
  add(problem, "scan/unaligned", false);
  problem.in_alignment = problem.out_alignment = 16;
  problem.in = problem.out = Scalar::float32;
  problem.shape = ScanShape::segments;
  add(problem, "scan/segments", false);
  problem.shape = ScanShape::keys;
  add(problem, "scan/keys", false);
  problem.rows = std::size_t{1} << 16;
  problem.cols = 100;
  problem.shape = ScanShape::rows;
  add(problem, "scan/rows", false);
  problem.rows = problem.cols = 4096;
  problem.shape = ScanShape::columns;
  add(problem, "scan/columns", false);
}

inline void add_select(const smem::Device& device, Catalogue& catalogue) {
  using smem::Scalar, smem::SelectOp;
  smem::SelectProblem problem;
  problem.size = std::size_t{1} << 28;
  problem.predicate = "x < 1";
  const auto add = [&](const char* what) {
    for (const std::string_view variant : smem::select_variants()) {
      catalogue.add(fmt::format("{}{}/{}/{}", name_of(problem.op), what, variant, name_of(problem.in)),
                    [&] { return smem::plan_select(device, problem, variant); });
    }
  };
  for (const auto& [op, in] : {std::pair{SelectOp::copy_if, Scalar::float32},
                               {SelectOp::copy_flagged, Scalar::float32},
                               {SelectOp::partition, Scalar::float32},
                               {SelectOp::unique, Scalar::float32},
                               {SelectOp::run_length_encode, Scalar::float32},
                               {SelectOp::unique, Scalar::int8},
                               {SelectOp::copy_if, Scalar::half},
                               {SelectOp::run_length_encode, Scalar::uint64}}) {
    problem.op = op;
    problem.in = in;
    add("");
  }
  problem.in_alignment = 4;
  problem.in = Scalar::int32;
  problem.op = SelectOp::copy_if;
  add("/unaligned");
  problem.in_alignment = 16;
  problem.size = std::size_t{1} << 33;
  problem.op = SelectOp::run_length_encode;
  add("/wide");
}

inline void add_gemm(const smem::Device& device, Catalogue& catalogue) {
  using smem::Scalar;
  smem::GemmProblem problem;
  problem.m = problem.n = problem.k = 4096;
  const auto add = [&](std::string_view variant, const char* what) {
    const std::string name =
        fmt::format("gemm/{}/{}{}", variant.empty() ? "chosen" : variant, name_of(problem.in), what);
    catalogue.add(name, [&] { return smem::plan_gemm(device, problem, variant); });
  };
  for (const std::string_view variant : smem::gemm_variants())
    add(variant, "");
  problem.a_along_k = false;
  problem.b_along_k = true;
  problem.a_alignment = problem.b_alignment = problem.c_alignment = 4;
  for (const char* variant : {"registers_2d", "async", ""})
    add(variant, "/turned-unaligned");
  problem.a_alignment = problem.b_alignment = problem.c_alignment = 64;
  add("", "/turned");
  problem.a_along_k = true;
  problem.b_along_k = false;
  for (const auto& [in, out] : {std::pair{Scalar::half, Scalar::float32},
                                {Scalar::half, Scalar::half},
                                {Scalar::bfloat16, Scalar::bfloat16},
                                {Scalar::int8, Scalar::int32},
                                {Scalar::float64, Scalar::float64}}) {
    if (in == Scalar::float64 && !device.fp64) continue;
    problem.in = in;
    problem.out = out;
    add("", out == Scalar::half ? "/to-half" : "");
  }
  problem.in = Scalar::half;
  problem.out = Scalar::float32;
  add("async", "");
  problem.in = Scalar::float32;
  problem.epilogue = true;
  problem.activation = smem::Activation::gelu;
  problem.column_bias = problem.residual = true;
  add("", "/epilogue");
  problem.epilogue = false;
  problem.listed = true;
  problem.a_alignment = problem.b_alignment = problem.c_alignment = 4;
  add("", "/listed");
  problem = {};
  problem.m = 31;
  problem.n = 129;
  problem.k = 65536;
  add("split_k", "/skinny");
  if (device.vendor != smem::Vendor::nvidia) return;
  add("", "/skinny");
  problem = {};
  problem.m = problem.n = problem.k = 4096;
  problem.in = Scalar::half;
  add("mma", "");
  problem.a_alignment = problem.b_alignment = problem.c_alignment = 2;
  for (const char* variant : {"mma", "wgmma"})
    add(variant, "/unaligned");
  problem.batch = 2;  // which is not packed
  add("wgmma", "/unaligned/batch");
  problem = {};
  problem.m = problem.n = problem.k = 4096;
  problem.tf32 = problem.b_along_k = true;
  for (const char* variant : {"mma", "wgmma"})
    add(variant, "/tf32");
}

inline void add_heat(const smem::Device& device, Catalogue& catalogue) {
  smem::HeatProblem problem;
  const auto add = [&](const std::string& variant, const char* what) {
    problem.steps = variant == "vector" || variant == "naive" || variant == "tiled" ? 1 : 16;
    const std::size_t dimensions = smem::heat_dimensions(problem);
    catalogue.add(fmt::format("heat/{}/{}d/{}{}", variant, dimensions, name_of(problem.type), what),
                  [&] { return smem::plan_heat(device, problem, variant); });
  };
  const auto add_all = [&] {
    for (const std::string_view variant : smem::heat_variants())
      add(std::string(variant), "");
  };
  problem.width = std::size_t{1} << 26;
  for (const char* variant : {"naive", "blocked", "cpu"})
    add(variant, "");
  problem.width = problem.height = 8192;
  add_all();
  problem.variable = true;
  add("blocked", "/variable");
  problem.variable = false;
  problem.width = problem.height = problem.depth = 512;
  add_all();
  problem.walls = smem::Walls::fixed;
  problem.source = true;
  add("march", "/fixed-source");
  problem.walls = smem::Walls::held;
  problem.variable = true;
  add("vector", "/held-source-variable");
  add("cpu", "/held-source-variable");
  problem.variable = problem.source = false;
  add("march", "/held");
  problem.walls = smem::Walls::insulated;
  problem.alignment = 4;
  for (const char* variant : {"vector", "march"})
    add(variant, "/unaligned");
  problem.type = smem::Scalar::half;
  add("march", "/unaligned");
  problem.alignment = 64;
  for (const char* variant : {"vector", "march", "cpu"})
    add(variant, "");
  if (!device.fp64) return;
  problem.type = smem::Scalar::float64;
  for (const char* variant : {"vector", "march", "cpu"})
    add(variant, "");
}

/// Windows of 5 x 5 in all variants, and in the one that is chosen the types, windows and edges in which
/// kernels differ.
inline void add_separable(const smem::Device& device, Catalogue& catalogue) {
  using smem::Scalar;
  smem::SeparableProblem problem;
  problem.width = problem.height = 4096;
  problem.row_taps = problem.column_taps = 5;
  problem.boundary = smem::Boundary::mirror;
  const auto add = [&](std::string_view variant, const char* what) {
    const std::string name =
        fmt::format("separable/{}/{}{}", variant.empty() ? "chosen" : variant, name_of(problem.in), what);
    catalogue.add(name, [&] { return smem::plan_separable(device, problem, variant); });
  };
  for (const std::string_view variant : smem::separable_variants())
    add(variant, "");
  for (const Scalar type : {Scalar::uint8, Scalar::half, Scalar::float64}) {
    if (type == Scalar::float64 && !device.fp64) continue;
    problem.in = problem.out = type;
    add("", "");
  }
  problem.in = problem.out = Scalar::float32;
  problem.row_taps = problem.column_taps = 15;
  add("", "/15");
  problem.in_alignment = problem.out_alignment = 4;
  problem.channels = 3;
  problem.row_taps = problem.column_taps = 3;
  problem.unsharp = true;
  problem.boundary = smem::Boundary::constant;
  add("", "/unsharp-unaligned");
}

inline void add_blur(const smem::Device& device, Catalogue& catalogue) {
  using smem::Scalar;
  smem::SeparableProblem grids;
  grids.width = grids.height = 8192;
  grids.boundary = smem::Boundary::mirror;
  const auto add_box = [&](const std::string& variant, const char* what) {
    const smem::BoxProblem problem = smem::BoxProblem::of(grids, 50);
    const std::string name = fmt::format("box_blur/{}/{}{}", variant, name_of(grids.in), what);
    catalogue.add(name, [&] { return smem::plan_box(device, problem, {.variant = variant}); });
  };
  for (const char* variant : {"two_pass", "march", "cpu"})
    add_box(variant, "");
  grids.in = grids.out = Scalar::uint8;
  add_box("march", "");
  grids.channels = 3;
  add_box("march", "/3");
  // The mean of bytes as a float, on grids smaller than their windows.
  smem::SeparableProblem small = grids;
  small.width = small.height = 3;
  small.out = Scalar::float32;
  small.channels = 1;
  catalogue.add("box_blur/uint8/float32/folds",
                [&] { return smem::plan_box(device, smem::BoxProblem::of(small, 7)); });
  for (const auto& window : {std::tuple{smem::WindowOp::median, Scalar::uint8, 5},
                             {smem::WindowOp::median, Scalar::float32, 3},
                             {smem::WindowOp::gradient, Scalar::float32, 3}}) {
    const smem::WindowOp op = std::get<0>(window);
    const Scalar type = std::get<1>(window);
    const int size = std::get<2>(window);
    grids.in = grids.out = type;
    grids.channels = 1;
    grids.row_taps = grids.column_taps = static_cast<std::size_t>(size);
    catalogue.add(fmt::format("window/{}/{}/{}", op == smem::WindowOp::median ? "median" : "gradient",
                              name_of(type), size),
                  [&] {
                    return smem::plan_window(device, {grids, op});
                  });
  }
}

inline void add_pool(const smem::Device& device, Catalogue& catalogue) {
  using smem::Scalar;
  smem::PoolProblem problem;
  problem.width = problem.height = 4096;
  const auto add = [&](const std::string& variant, const char* what) {
    catalogue.add(fmt::format("pool/{}/{}{}", variant, name_of(problem.in), what),
                  [&] { return smem::plan_pool(device, problem, {.variant = variant}); });
  };
  for (const char* variant : {"windows", "vector"})
    add(variant, "");
  problem.windows = smem::Pooling::square(3, 2, 1);
  problem.in = problem.out = Scalar::half;
  add("vector", "/3");
  problem.in = problem.out = Scalar::uint8;
  problem.op = smem::PoolOp::average;
  problem.windows = {};
  add("vector", "/average");
  const smem::GlobalPoolProblem whole{problem.op, problem.in, problem.out, problem.width, problem.height};
  catalogue.add("pool/global", [&] { return smem::plan_global_pool(device, whole); });
  problem.op = smem::PoolOp::max;
  problem.indices = true;
  problem.channels = 3;
  add("windows", "/places");
}

inline void add_conv2d(const smem::Device& device, Catalogue& catalogue) {
  using smem::Scalar;
  smem::Conv2dProblem p;
  p.images = 8;
  p.in_channels = p.out_channels = 64;
  p.width = p.height = p.out_width = p.out_height = 56;
  p.window_width = p.window_height = 3;
  p.pad_left = p.pad_top = 1;
  const auto add = [&](const char* variant, const char* what) {
    catalogue.add(fmt::format("conv2d/{}/{}{}", variant, name_of(p.type), what),
                  [&] { return smem::plan_conv2d(device, p, {.variant = variant}); });
  };
  for (const char* variant : {"naive", "direct", "implicit", "gemm"})
    add(variant, "");
  // Tiles, packs and windows of "implicit".
  p.in_channels = p.out_channels = 512;
  p.width = p.height = p.out_width = p.out_height = 7;
  p.out_alignment = 4;
  add("implicit", "/512");
  p.images = 64, p.in_channels = 3, p.out_channels = 128;
  p.width = p.height = p.out_width = p.out_height = 224;
  p.window_width = p.window_height = 7;
  p.weight_alignment = 4;
  add("implicit", "/unaligned");
  p.images = 8, p.in_channels = 64, p.out_channels = 32;
  p.width = p.height = p.out_width = p.out_height = 56;
  p.window_width = p.window_height = 3;
  p.out_alignment = p.weight_alignment = 64;
  add("implicit", "/32");
  p.out_channels = 64;
  p.type = Scalar::half;
  p.activation = smem::Activation::gelu;
  for (const char* variant : {"naive", "direct", "implicit", "gemm"})
    add(variant, "/gelu");
  p.activation = smem::Activation::none;
  p.groups = 64;
  add("direct", "/depthwise");
  p.type = Scalar::float64;
  p.groups = 1;
  if (device.fp64) add("direct", "");
  if (device.fp64) add("implicit", "");
}

inline void add_moving_mean(const smem::Device& device, Catalogue& catalogue) {
  using smem::Scalar;
  smem::MovingMeanProblem p;
  p.width = std::size_t{1} << 20;
  p.window = 101;
  const auto add = [&](const char* variant, const char* what) {
    catalogue.add(fmt::format("moving_mean/{}/{}{}", variant, name_of(p.in), what),
                  [&] { return smem::plan_moving_mean(device, p, {.variant = variant}); });
  };
  for (const char* variant : {"naive", "tiled", "blocks"})
    add(variant, "");
  p.window = 2000;
  add("tiled", "/long");
  p.window = 12;
  add("tiled", "/12");
  p.window = 5;
  add("tiled", "/short");
  p.window = 101;
  p.in = p.out = Scalar::uint8;
  add("tiled", "");
  p.in = p.out = Scalar::half;
  add("tiled", "");
  p.in = p.out = Scalar::float64;
  if (device.fp64) add("tiled", "");
}

inline void add_stencil(const smem::Device& device, Catalogue& catalogue) {
  using smem::Scalar, smem::StencilShape;
  const auto add = [&](const std::string& what, const smem::StencilProblem& problem,
                       std::string_view variant) {
    catalogue.add(
        fmt::format("stencil/{}/{}{}", variant.empty() ? "chosen" : variant, name_of(problem.type), what),
        [&] { return smem::plan_stencil(device, problem, variant); });
  };
  smem::StencilProblem volume = smem::stencil_problem(Scalar::float32, {512, 512, 512}, {1, 1, 1});
  for (const std::string_view variant : smem::stencil_variants())
    add("/27", volume, variant);
  volume.shape = StencilShape::star;
  volume.boundary = smem::Boundary::reflect;
  for (const char* variant : {"march", "planes"})
    add("/7", volume, variant);
  // Of volumes too: types, channels, windows, alignments.
  for (const Scalar type : {Scalar::uint8, Scalar::uint16, Scalar::half, Scalar::float64}) {
    if (type == Scalar::float64 && !device.fp64) continue;
    smem::StencilProblem box =
        smem::stencil_problem(type, {512, 512, 512}, {1, 1, 1}, type == Scalar::uint8 ? 4 : 1);
    add("/27", box, "planes");
    box.shape = StencilShape::star;
    add("/7", box, "planes");
  }
  for (const std::size_t radius : {2, 3}) {
    smem::StencilProblem star =
        smem::stencil_problem(Scalar::float32, {512, 512, 512}, {radius, radius, radius});
    star.shape = StencilShape::star;
    add(fmt::format("/{}", 6 * radius + 1), star, "planes");
  }
  smem::StencilProblem odd = smem::stencil_problem(Scalar::float32, {511, 511, 511}, {1, 1, 1});
  odd.shape = StencilShape::star;
  odd.boundary = smem::Boundary::leave;
  add("/unaligned", odd, "planes");
  odd.shape = StencilShape::expression;
  odd.expression = "fmax(AT(-1, 0, 0), AT(0, 1, 0)) - AT(0, 0, 1)";
  add("/expression", odd, "planes");
  // What registers hold is what differs: types, channels, windows, alignments.
  for (const std::size_t radius : {1, 2, 3}) {
    for (const Scalar type :
         {Scalar::uint8, Scalar::uint16, Scalar::half, Scalar::float32, Scalar::float64}) {
      if (type == Scalar::float64 && !device.fp64) continue;
      if (radius == 3 && type != Scalar::float32) continue;
      const std::size_t channels = type == Scalar::uint8 ? 4 : 1;
      add(fmt::format("/{}", 2 * radius + 1),
          smem::stencil_problem(type, {8192, 8192, 1}, {radius, radius, 0}, channels), "rows");
    }
  }
  smem::StencilProblem image = smem::stencil_problem(Scalar::float32, {8191, 8191, 1}, {1, 1, 0});
  image.boundary = smem::Boundary::reflect;
  add("/unaligned", image, "rows");
  image.shape = StencilShape::expression;
  image.expression = "fmax(AT(-1, 0, 0), AT(0, 1, 0)) - C";
  add("/expression", image, "rows");
  image.type = Scalar::uint8;
  image.channels = 3;
  for (const char* variant : {"tiled", "cpu"})
    add("/expression", image, variant);
  for (const char* variant : {"naive", "tiled", "cpu"})
    add("/line", smem::stencil_problem(Scalar::half, {1 << 24, 1, 1}, {40, 0, 0}), variant);
}

inline std::vector<Configuration> configurations(const smem::Device& device, bool lenient = false) {
  Catalogue catalogue(lenient);
  for (const auto add :
       {add_transpose, add_flip, add_rates, add_reduce, add_histogram, add_weighted, add_scan, add_select,
        add_gemm, add_heat, add_separable, add_blur, add_pool, add_stencil, add_conv2d, add_moving_mean})
    try {
      add(device, catalogue);
    } catch (const smem::Error&) {
      if (!lenient) throw;
    }
  return catalogue.take();
}

}  // namespace test
