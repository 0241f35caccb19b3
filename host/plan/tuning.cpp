// Classes of problems for tuning: what must be equal, and the sizes that may differ by a factor of two.
#include <smem/tuning_plan.hpp>

#include "formatted.hpp"
#include "plan/reduce_types.hpp"
#include "plan/scan_types.hpp"
#include "plan/select_types.hpp"
#include "plan/stencil_problem.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

namespace smem {

namespace {

/// Bytes from which vectors of 16 bytes can be read: rows that begin at less often have a plan of their own.
constexpr std::size_t kAligned = 16;

std::string rows_that_are(std::size_t alignment) {
  return alignment >= kAligned ? "aligned" : formatted("aligned to {}", alignment);
}

/// "float32", or "half to float32" where results have another type.
std::string types(Scalar in, Scalar out) {
  return in == out ? std::string(name_of(in)) : formatted("{} to {}", name_of(in), name_of(out));
}

/// The parts of a kind, without the empty ones.
std::string kind_of(std::initializer_list<std::string> parts) {
  std::vector<std::string> said;
  for (const std::string& part : parts)
    if (!part.empty()) said.push_back(part);
  return joined(said);
}

std::string when(bool is, const char* text) { return is ? text : ""; }

}  // namespace

std::string TuningClass::to_string() const {
  std::string text = formatted("{}: {}", operation, kind);
  for (const TuningExtent& extent : extents)
    text += formatted(", {} {}", extent.name, extent.value);
  return text;
}

double distance(const TuningClass& a, const TuningClass& b) {
  constexpr double kApart = -1;
  if (a.operation != b.operation || a.kind != b.kind || a.extents.size() != b.extents.size()) return kApart;
  double sum = 0;
  for (std::size_t i = 0; i < a.extents.size(); ++i) {
    const TuningExtent &x = a.extents[i], &y = b.extents[i];
    if (x.name != y.name) return kApart;
    if (x.value == y.value) continue;
    if (x.value == 0 || y.value == 0) return kApart;
    const double ratio = std::abs(std::log2(static_cast<double>(x.value) / static_cast<double>(y.value)));
    if (ratio > 1) return kApart;
    sum += ratio;
  }
  return sum;
}

std::string TuningEntry::evidence() const {
  std::string measured;
  for (const TuningExtent& extent : problems.extents)
    measured += formatted("{}{} {}", measured.empty() ? "" : ", ", extent.name, extent.value);
  return formatted("tuned on this device: {:.2f} times the shipped plan, {}, at {}; {}", gain, shipped,
                   measured, date);
}

TuningClass tuning_class(const TransposeProblem& p) {
  return {
      "transpose",
      kind_of({formatted("{} B", p.element_bytes), rows_that_are(std::min(p.in_alignment, p.out_alignment)),
               when(p.in_place, "in place"), when(p.base_alignment < kAligned, "host memory")}),
      {{"rows", p.rows}, {"cols", p.cols}, {"batch", p.batch}}};
}

TuningClass tuning_class(const FlipProblem& p) {
  return {"flip",
          kind_of({formatted("{} B", p.element_bytes), p.reverse_cols ? "horizontal" : "vertical"}),
          {{"rows", p.rows}, {"cols", p.cols}, {"batch", p.batch}}};
}

TuningClass tuning_class(const ReduceProblem& p) {
  if (!p.reduction.expression.empty()) return {};
  return {"reduce",
          kind_of({plan::operation_name(p), std::string(name_of(p.reduction.op)), types(p.in, p.out),
                   formatted("mode {}", static_cast<int>(p.reduction.mode)), rows_that_are(p.alignment)}),
          {{"rows", p.rows}, {"cols", p.cols}, {"batch", p.batch}}};
}

TuningClass tuning_class(const ScanProblem& p) {
  if (!p.operation.expression.empty()) return {};
  return {"scan",
          kind_of({plan::operation_name(p), std::string(name_of(p.operation.op)), types(p.in, p.out),
                   formatted("mode {}", static_cast<int>(p.operation.mode)), when(p.exclusive, "exclusive"),
                   rows_that_are(std::min(p.in_alignment, p.out_alignment))}),
          {{"rows", p.rows}, {"cols", p.cols}, {"batch", p.batch}}};
}

TuningClass tuning_class(const HistogramProblem& p) {
  return {"histogram",
          kind_of({types(p.in, p.out), std::string(name_of(p.rule)), formatted("{} channels", p.channels),
                   rows_that_are(p.alignment)}),
          {{"bins", p.bins}, {"rows", p.rows}, {"cols", p.cols}, {"batch", p.batch}}};
}

TuningClass tuning_class(const WeightedHistogramProblem& p) {
  const HistogramProblem& c = p.counts;
  return {"histogram_weighted",
          kind_of({std::string(name_of(c.in)), formatted("weights {}", types(p.weights, p.out)),
                   std::string(name_of(c.rule))}),
          {{"bins", c.bins}, {"rows", c.rows}, {"cols", c.cols}, {"batch", c.batch}}};
}

TuningClass tuning_class(const SelectProblem& p) {
  const bool flagged = plan::is_flagged(p.op);
  return {"select",
          kind_of({std::string(name_of(p.op)), std::string(name_of(p.in)),
                   flagged ? formatted("flags {}", name_of(p.flags)) : "",
                   rows_that_are(flagged ? std::min(p.in_alignment, p.flags_alignment) : p.in_alignment)}),
          {{"size", p.size}}};
}

TuningClass tuning_class(const GemmProblem& p) {
  if (!p.expression.empty()) return {};
  return {"gemm",
          kind_of({types(p.in, p.out), formatted("A along {}", p.a_along_k ? "k" : "m"),
                   formatted("B along {}", p.b_along_k ? "k" : "n"), when(p.reads_c, "reads C"),
                   when(p.listed, "listed"), when(p.epilogue, "epilogue"), when(p.tf32, "tf32"),
                   rows_that_are(std::min({p.a_alignment, p.b_alignment, p.c_alignment}))}),
          {{"m", p.m}, {"n", p.n}, {"k", p.k}, {"batch", p.batch}}};
}

TuningClass tuning_class(const StencilProblem& p) {
  if (!p.expression.empty()) return {};
  const auto& [x, y, z] = p.window;
  return {
      "stencil",
      kind_of({plan::operation_name(p), std::string(name_of(p.type)), std::string(name_of(p.shape)),
               formatted("window {} x {} x {}", x, y, z), formatted("{} channels", p.channels),
               formatted("stride {} x {}", p.stride[0], p.stride[1]),
               formatted("dilation {} x {}", p.dilation[0], p.dilation[1]), std::string(name_of(p.boundary)),
               rows_that_are(std::min(p.in_alignment, p.out_alignment))}),
      {{"width", p.size[0]}, {"height", p.size[1]}, {"depth", p.size[2]}, {"batch", p.batch}}};
}

TuningClass tuning_class(const SeparableProblem& p) {
  return {"separable",
          kind_of({types(p.in, p.out), formatted("{} x {} taps", p.row_taps, p.column_taps),
                   formatted("{} channels", p.channels), std::string(name_of(p.boundary)),
                   when(p.unsharp, "unsharp"), rows_that_are(std::min(p.in_alignment, p.out_alignment))}),
          {{"width", p.width}, {"height", p.height}, {"planes", p.planes}}};
}

TuningClass tuning_class(const BoxProblem& p) {
  const SeparableProblem& g = p.grids;
  return {
      "box_blur",
      kind_of({types(g.in, g.out), formatted("{} channels", g.channels), std::string(name_of(g.boundary))}),
      {{"width", g.width},
       {"height", g.height},
       {"planes", g.planes},
       {"across", g.row_taps},
       {"down", g.column_taps}}};
}

TuningClass tuning_class(const WindowProblem& p) {
  const SeparableProblem& g = p.grids;
  return {p.op == WindowOp::median ? "median_blur" : "sobel",
          kind_of({types(g.in, g.out), formatted("{} x {}", g.row_taps, g.row_taps),
                   formatted("{} channels", g.channels), std::string(name_of(g.boundary))}),
          {{"width", g.width}, {"height", g.height}, {"planes", g.planes}}};
}

TuningClass tuning_class(const PoolProblem& p) {
  const Pooling& w = p.windows;
  const bool padded = w.pad_left + w.pad_right + w.pad_top + w.pad_bottom > 0;
  return {"pool",
          kind_of({p.op == PoolOp::max ? "max" : "average", types(p.in, p.out),
                   formatted("windows {} x {}", w.width, w.height),
                   formatted("stride {} x {}", w.stride_across, w.stride_down), when(padded, "padded"),
                   formatted("{} channels", p.channels), when(p.indices, "indices"),
                   rows_that_are(std::min(p.in_alignment, p.out_alignment))}),
          {{"width", p.width}, {"height", p.height}, {"planes", p.planes}}};
}

TuningClass tuning_class(const GlobalPoolProblem& p) {
  return {"global_pool",
          kind_of({p.op == PoolOp::max ? "max" : "average", types(p.in, p.out),
                   formatted("{} channels", p.channels)}),
          {{"width", p.width}, {"height", p.height}, {"planes", p.planes}}};
}

TuningClass tuning_class(const Conv2dProblem& p) {
  return {"conv2d",
          kind_of({std::string(name_of(p.type)), formatted("window {} x {}", p.window_width, p.window_height),
                   formatted("stride {} x {}", p.stride_x, p.stride_y),
                   formatted("dilation {} x {}", p.dilation_x, p.dilation_y),
                   p.groups == 1 ? ""
                   : p.groups == p.in_channels && p.in_channels == p.out_channels
                       ? std::string("depthwise")
                       : formatted("{} groups", p.groups),
                   when(!p.in_packed || !p.out_packed, "gaps between rows"),
                   rows_that_are(std::min({p.in_alignment, p.out_alignment, p.weight_alignment}))}),
          {{"images", p.images},
           {"channels", p.in_channels},
           {"width", p.width},
           {"height", p.height},
           {"filters", p.out_channels}}};
}

TuningClass tuning_class(const MovingMeanProblem& p) {
  return {"moving_mean",
          kind_of({types(p.in, p.out)}),
          {{"width", p.width}, {"rows", p.rows}, {"window", p.window}}};
}

TuningClass tuning_class(const HeatProblem& p) {
  // In place a pass that failed could not be made again from what it read.
  if (p.in_place) return {};
  return {
      "heat",
      kind_of({std::string(name_of(p.type)), formatted("{} dimensions", heat_dimensions(p)),
               std::string(name_of(p.walls)), when(p.variable, "conductivities"), when(p.source, "source"),
               p.steps_per_pass == 0 ? "" : formatted("{} steps a pass", p.steps_per_pass),
               rows_that_are(p.alignment)}),
      {{"width", p.width}, {"height", p.height}, {"depth", p.depth}, {"batch", p.batch}, {"steps", p.steps}}};
}

}  // namespace smem
