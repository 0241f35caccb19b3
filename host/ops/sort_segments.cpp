// Sorts of segments: views -> problem -> launch.
#include <smem/sort_segments.hpp>

#include "formatted.hpp"
#include "ops/run.hpp"
#include "ops/sorts.hpp"
#include "ops/views.hpp"
#include "plan/sizes.hpp"
#include "plan/sort_segments_types.hpp"

#include <bit>
#include <string>

namespace smem {

using ops::refuse;

namespace {

/// The vectors of a call. One of places has no `out`, one of keys alone no values.
struct SortSegmentsOperands {
  ConstVector keys, offsets, out, values, out_values;
};

cl::Event launch(const Context& context, const SortSegmentsProblem& problem, const SortSegmentsOperands& o,
                 const CallOptions& options) {
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const auto word = [](std::size_t value) { return static_cast<cl_uint>(value); };
  const bool has_values = problem.payload != SortPayload::none;
  // Kernels know values as parts of a power of two of bytes.
  const std::size_t parts = has_values ? problem.value_bytes >> std::countr_zero(problem.value_bytes | 8) : 0;
  const auto bind = [&](const ops::Launching& launch) {
    const Launch& l = launch.launch();
    const cl_mem in = o.keys.buffer;
    if (l.variant == "check") {
      launch(o.offsets.buffer, number(o.offsets.offset), number(o.offsets.size), number(problem.size),
             launch.scratch(2));
      return;
    }
    const bool spare_out = problem.payload == SortPayload::places;  // the other half of the first area
    const cl_mem spare = launch.scratch(0);
    const cl_mem out = spare_out ? spare : o.out.buffer,
                 out_values = has_values ? o.out_values.buffer : nullptr;
    const cl_mem values = problem.payload == SortPayload::values ? o.values.buffer : out_values;
    const std::size_t passes = l.number("passes"), pass = l.number("pass"), none = 0;
    launch(runtime::packed(in, number(o.keys.offset), number(none), number(none), out,
                           number(spare_out ? problem.size : o.out.offset), number(none), number(none), spare,
                           values, number(o.values.offset * parts), number(none), number(none), out_values,
                           number(o.out_values.offset * parts), number(none), number(none), launch.scratch(1),
                           number(l.number("rows")), number(problem.segments), number(problem.size),
                           number(l.number("parts")), number(l.number("piece")), word(problem.begin_bit),
                           word(problem.end_bit), word(l.number("digit_bits")), word(passes), word(pass),
                           ops::route_of(pass, plan::at_least_1(passes)), launch.scratch(2), o.offsets.buffer,
                           number(o.offsets.offset), number(l.number("listed"))));
  };
  return ops::run(context, plan::operation_name(problem), plan_sort_segments, problem, options, bind);
}

cl::Event check_and_launch(const Context& context, SortPayload payload, const SortSegmentsOperands& o,
                           const SortOrder& order, const CallOptions& options) {
  SortSegmentsProblem problem;
  problem.payload = payload;
  const char* operation = plan::operation_name(problem);
  problem.keys = ops::number_type(operation, "keys", o.keys.type);
  problem.offsets = ops::number_type(operation, "offsets", o.offsets.type);
  problem.size = o.keys.size;
  problem.segments = plan::at_least_1(o.offsets.size) - 1;
  ops::set_order(problem, order);
  if (payload != SortPayload::none) problem.value_bytes = o.out_values.type.bytes;
  const bool pairs = payload == SortPayload::values, places = payload == SortPayload::places;
  if (places) ops::require_places(operation, o.out_values.type);
  plan::check_sort_segments(context.device(), problem);
  const char* out_name = pairs ? "out_keys" : "out";
  if (!places) {
    ops::check_type(operation, out_name, o.out.type, o.keys.type, "keys");
    ops::check_size(operation, out_name, o.out.size, problem.size, "keys");
  }
  if (pairs) {
    ops::check_size(operation, "values", o.values.size, problem.size, "keys");
    ops::check_type(operation, "out_values", o.out_values.type, o.values.type, "values");
  }
  if (pairs || places)
    ops::check_size(operation, pairs ? "out_values" : "places", o.out_values.size, problem.size, "keys");
  if (problem.size == 0 || problem.segments == 0)
    return ops::run_empty(context, operation, plan_sort_segments, problem, options);
  ops::Views views(context, operation);
  views.read("keys", ops::as_matrix(o.keys));
  views.read("offsets", ops::as_matrix(o.offsets));
  if (pairs) views.read("values", ops::as_matrix(o.values));
  if (!places) views.write(out_name, ops::as_matrix(o.out), "keys");
  if (pairs) views.write("out_values", ops::as_matrix(o.out_values), "values");
  if (places) views.write("places", ops::as_matrix(o.out_values));
  problem.in_place = views.in_place();
  return launch(context, problem, o, options);
}

}  // namespace

cl::Event sort_segments(const Context& context, const ConstVector& keys, const ConstVector& offsets,
                        const Vector& out, const SortOrder& order, const CallOptions& options) {
  return check_and_launch(context, SortPayload::none, {keys, offsets, out, {}, {}}, order, options);
}

cl::Event sort_pairs_segments(const Context& context, const ConstVector& keys, const ConstVector& values,
                              const ConstVector& offsets, const Vector& out_keys, const Vector& out_values,
                              const SortOrder& order, const CallOptions& options) {
  return check_and_launch(context, SortPayload::values, {keys, offsets, out_keys, values, out_values}, order,
                          options);
}

cl::Event argsort_segments(const Context& context, const ConstVector& keys, const ConstVector& offsets,
                           const Vector& places, const SortOrder& order, const CallOptions& options) {
  return check_and_launch(context, SortPayload::places, {keys, offsets, {}, {}, places}, order, options);
}

}  // namespace smem
