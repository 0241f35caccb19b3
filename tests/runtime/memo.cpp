// What is computed of a problem once.
#include <smem/smem.hpp>

#include "plan/sizes.hpp"

#include "support/matrices.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct NamedCall {
  std::string name;
  std::string variant;  ///< to be asked for as well; empty: none
  std::function<void(const smem::CallOptions& options)> make;
};

/// A small call of every operation that plans by its problem, in the context's own buffers.
std::vector<NamedCall> all_calls(const smem::Context& context, cl_mem in, cl_mem out, cl_mem more) {
  using smem::Scalar;
  constexpr std::size_t kSide = 32, kSize = kSide * kSide;
  const auto f = Scalar::float32;
  const smem::Vector x(in, f, kSize), y(out, f, kSize), one(out, f, 1), counts(out, Scalar::uint32, 64),
      count(more, Scalar::uint32, 1);
  const smem::Matrix a(in, f, kSide, kSide), b(more, f, kSide, kSide), c(out, f, kSide, kSide);
  const smem::Grid grid(in, f, {kSide, kSide}), result(out, f, {kSide, kSide});
  const smem::Grid half_size(out, f, {kSide / 2, kSide / 2}), cell(out, f, {1, 1});
  const smem::Grid image(in, f, {kSide, kSide / 8, 8}), layer(out, f, {kSide, kSide / 8, 8});
  const smem::Grid filters(more, f, {1, 1, 8}, {.batch = 8});
  const smem::Bins bins = smem::Bins::even(64, 0, 1);
  const std::vector<double> weights{0.25, 0.5, 0.25};
  using Options = const smem::CallOptions&;
  return {
      {"transpose", "padded", [=](Options o) { transpose(context, a, c, o); }},
      {"flip", "", [=](Options o) { flip(context, a, c, smem::Flip::horizontal, o); }},
      {"reduce", "", [=](Options o) { reduce(context, x, one, smem::ReduceOp::sum, o); }},
      {"scan", "", [=](Options o) { inclusive_scan(context, x, y, smem::ReduceOp::sum, o); }},
      {"histogram", "", [=](Options o) { histogram(context, x, counts, bins, o); }},
      {"histogram_weighted", "",
       [=](Options o) {
         histogram_weighted(context, x, smem::Vector(more, f, kSize), smem::Vector(out, f, 64), bins, o);
       }},
      {"copy_if", "", [=](Options o) { copy_if(context, x, y, count, "x > 0", o); }},
      {"gemm", "", [=](Options o) { gemm(context, a, b, c, {}, o); }},
      {"stencil", "",
       [=](Options o) {
         stencil(context, grid, result, smem::Stencil::star(1, {1, 1}, {1, 1}), o);
       }},
      {"conv2d", "naive", [=](Options o) { conv2d(context, image, filters, layer, {}, o); }},
      {"separable", "naive",
       [=](Options o) {
         separable(context, grid, result, {weights, weights}, {}, o);
       }},
      {"box_blur", "",
       [=](Options o) {
         box_blur(context, grid, result, smem::BoxRadius{5, 5}, {}, o);
       }},
      {"median_blur", "", [=](Options o) { median_blur(context, grid, result, 3, {}, o); }},
      {"max_pool2d", "",
       [=](Options o) { max_pool2d(context, grid, half_size, smem::Pooling::square(2, 2), o); }},
      {"global_avg_pool", "", [=](Options o) { global_avg_pool(context, grid, cell, o); }},
      {"moving_mean", "",
       [=](Options o) { moving_mean(context, grid, result, 3, smem::MeanEnds::shrink, o); }},
      {"heat", "naive", [=](Options o) { heat(context, grid, result, {.steps = 3, .dt = 0.1}, o); }},
  };
}

}  // namespace

TEST_CASE("memo: a call that was made before makes no plan") {
  const smem::Context context;
  std::vector<cl::Buffer> buffers;
  for (int i = 0; i < 3; ++i) {
    buffers.push_back(smem::make_buffer(context, 1 << 14));
    const std::vector<float> numbers((1 << 14) / 4, 0.5F);
    smem::write_buffer(context, buffers.back(), numbers.data(), numbers.size() * 4);
  }
  for (const NamedCall& call : all_calls(context, buffers[0](), buffers[1](), buffers[2]())) {
    CAPTURE(call.name);
    const smem::PlanOverrides fixed{.variant = call.variant};
    const auto call_both = [&] {
      call.make({});
      if (!call.variant.empty()) call.make({.overrides = &fixed});
    };
    const std::size_t none = smem::plan::plans_made();
    call_both();
    const std::size_t made = smem::plan::plans_made();
    CHECK(made > none);
    call_both();
    CHECK(smem::plan::plans_made() == made);
    context.finish();
  }
}
