// smem explain conv2d.
#include "cli/explain.hpp"
#include "cli/stencil_case.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace smem::cli {

namespace {

/// Seconds of `call(in, out)` on grids of the larger size.
template <class Call>
auto timed(std::size_t bytes, const Call& call) {
  return [=](const Context& context, const Plan& plan) {
    const measure::Buffers buffers = explain_buffers(context, bytes);
    const auto once = [&](const measure::BufferPair& pair) {
      return call(context, pair, CallOptions{.overrides = &plan.overrides});
    };
    return measure::Meter(context).measure(buffers, plan.prediction.bytes(), once).call.median;
  };
}

std::size_t alignment_of(std::size_t bytes) { return std::min<std::size_t>(64, bytes & (~bytes + 1)); }

/// What all of these are asked besides.
struct FilterOptions : ExplainOptions {
  std::string extent;
  std::size_t size = 3, stride = 0, padding = 0, channels = 1, filters = 1, groups = 1;

  std::size_t width() const { return (*parse_extent(extent, 1))[0]; }
  std::size_t height() const { return (*parse_extent(extent, 1))[1]; }
  Scalar scalar() const { return *parse_pixel(type); }
  PlanOverrides fixed() const { return {.variant = variant, .work_items = work_items}; }
};

Command add(Command explain, const char* name, const char* what, FilterOptions& options) {
  const Command command = explain.add_command(name, what);
  command.add_option("extent", options.extent, "Cells of a plane: X or XxY")
      .required()
      .check(extent_validator(1));
  command.add_option("type", options.type, "uint8, uint16, half, float32 or float64")
      .required()
      .check(pixel_validator());
  return command;
}

void add_number(Command command, const char* name, std::size_t& value, const char* what, std::size_t least) {
  command.add_option(name, value, what).show_default().between(least, std::size_t{1} << 20);
}

int explain_conv2d(const FilterOptions& o) {
  Conv2d how = Conv2d::square(std::max<std::size_t>(o.stride, 1), o.padding);
  how.groups = o.groups;
  Conv2dProblem p;
  p.type = o.scalar();
  p.images = o.batch;
  p.width = o.width(), p.height = o.height(), p.in_channels = o.channels, p.out_channels = o.filters;
  p.window_width = p.window_height = o.size;
  p.out_width = convolved_size(p.width, o.size, how.stride_x, 1, o.padding, o.padding);
  p.out_height = convolved_size(p.height, o.size, how.stride_y, 1, o.padding, o.padding);
  p.stride_x = p.stride_y = how.stride_x;
  p.pad_left = p.pad_top = o.padding;
  p.groups = o.groups;
  const std::size_t bytes = size_of(p.type), inputs = p.images * p.in_channels * p.width * p.height;
  const std::size_t group = p.in_channels / std::max<std::size_t>(o.groups, 1);
  p.in_alignment = alignment_of(p.width * p.height * bytes);
  p.out_alignment = alignment_of(p.plane_results() * bytes);
  p.weight_alignment = alignment_of(group * p.taps() * bytes);
  const auto call = [&](const Context& context, const measure::BufferPair& pair, const CallOptions& options) {
    const std::size_t behind = (inputs + 63) / 64 * 64;
    return conv2d(
        context, Grid(pair.in(), p.type, {p.width, p.height, p.in_channels}, {.batch = p.images}),
        Grid(pair.in(), p.type, {o.size, o.size, group}, {.offset = behind, .batch = p.out_channels}),
        Grid(pair.out(), p.type, {p.out_width, p.out_height, p.out_channels}, {.batch = p.images}), how,
        options);
  };
  const std::size_t elements = std::max(inputs + 64 + p.out_channels * group * p.taps(),
                                        p.images * p.out_channels * p.plane_results());
  return show(
      o,
      fmt::format("{} x {} x {} {}, {} filters of {} x {} / {}{}", p.in_channels, p.height, p.width,
                  name_of(p.type), p.out_channels, o.size, o.size, p.stride_x, times(o.batch)),
      p, o.fixed(),
      [&](const Device& device, const PlanOverrides& fixed) { return plan_conv2d(device, p, fixed); },
      timed(elements * bytes, call));
}

}  // namespace

void add_explain_filters(Command explain, int& exit_code) {
  const auto finish = [&](Command command, const std::shared_ptr<FilterOptions>& options,
                          const std::vector<std::string_view>& variants, int (*run)(const FilterOptions&)) {
    add_explain_options(command, *options, variants);
    command.on_run([options, run, &exit_code] { exit_code = run(*options); });
  };
  auto conv = std::make_shared<FilterOptions>();
  conv->stride = 1;
  const Command command = add(explain, "conv2d", "The plan of a convolution of many channels", *conv);
  add_number(command, "--channels", conv->channels, "Of an image", 1);
  add_number(command, "--filters", conv->filters, "Channels of the output", 1);
  add_number(command, "--window", conv->size, "Rows and columns of a filter", 1);
  add_number(command, "--stride", conv->stride, "From a window to the next", 1);
  add_number(command, "--padding", conv->padding, "On all sides", 0);
  add_number(command, "--groups", conv->groups, "Of channels", 1);
  finish(command, conv, conv2d_variants(), explain_conv2d);
}

}  // namespace smem::cli
