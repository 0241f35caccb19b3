// Sorts: views -> problem -> launch.
#include "formatted.hpp"
#include "ops/run.hpp"
#include "ops/sorts.hpp"
#include "ops/views.hpp"
#include "plan/sizes.hpp"
#include "plan/sort_types.hpp"

#include <smem/error.hpp>
#include <smem/sort.hpp>

#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smem {

using ops::refuse;

namespace {

/// The views of a sort. One of places has no `out`, one of keys alone no values.
struct SortOperands {
  ConstVector keys, out, values, out_values;
};

/// What the kernels of one pass read and write (cl/sort/keys.clh), where digits do not decide it.
cl_uint route_of(std::size_t pass, std::size_t passes, bool in_place) {
  constexpr cl_uint kFromOut = 1, kFromSpare = 2, kToSpare = 4, kIsLast = 8, kIsActive = 16, kInPlace = 64;
  const std::size_t left = passes - 1 - pass;
  cl_uint route = kIsActive | (in_place ? kInPlace : 0);
  if (pass > 0) route |= left % 2 == 0 ? kFromSpare : kFromOut;
  if (left % 2 != 0) route |= kToSpare;
  if (left == 0) route |= kIsLast;
  return route;
}

cl::Event launch(const Context& context, const SortProblem& problem, const SortOperands& o,
                 const CallOptions& options, const ops::CallerMemory* callers) {
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const bool has_values = problem.payload != SortPayload::none;
  // Kernels know values as parts of a power of two of bytes.
  const std::size_t parts = has_values ? problem.value_bytes >> std::countr_zero(problem.value_bytes | 8) : 0;
  const auto bind = [&](const ops::Launching& launch) {
    const Launch& l = launch.launch();
    const cl_mem in = o.keys.buffer;
    const bool spare_out = problem.payload == SortPayload::places;  // the other half of the first area
    const cl_mem spare = launch.scratch(0);
    const cl_mem out = spare_out ? spare : o.out.buffer;
    const std::size_t out_offset = spare_out ? plan::round_up(problem.size, 64) : o.out.offset;
    const cl_mem out_values = has_values ? o.out_values.buffer : nullptr;
    const cl_mem values = problem.payload == SortPayload::values ? o.values.buffer : out_values;
    const std::size_t passes = launch.plan().number("passes"),
                      pass = launch.round() + launch.repeat() + l.number("turn");
    if (l.variant == "one_row") {  // the arguments of a sort of rows
      const cl_ulong size = number(problem.size);
      launch(runtime::packed(
          in, number(o.keys.offset), size, size, out, number(out_offset), size, size, spare, values,
          number(o.values.offset * parts), size * parts, size * parts, out_values,
          number(o.out_values.offset * parts), size * parts, size * parts, launch.scratch(1), number(1),
          number(1), size, number(l.number("parts")), number(l.number("piece")),
          static_cast<cl_uint>(problem.begin_bit), static_cast<cl_uint>(problem.end_bit),
          static_cast<cl_uint>(l.number("digit_bits")), static_cast<cl_uint>(passes), cl_uint{0},
          ops::route_of(0, plan::at_least_1(passes)), launch.scratch(2), cl_mem{}, number(0), number(0)));
      return;
    }
    launch(runtime::packed(
        in, number(o.keys.offset), out, number(out_offset), spare, values, number(o.values.offset * parts),
        out_values, number(o.out_values.offset * parts), launch.scratch(1), number(problem.size),
        number(l.number("parts")), number(l.number("piece")), static_cast<cl_uint>(problem.begin_bit),
        static_cast<cl_uint>(problem.end_bit), static_cast<cl_uint>(l.number("digit_bits")),
        static_cast<cl_uint>(passes), static_cast<cl_uint>(pass), route_of(pass, passes, problem.in_place),
        launch.scratch(2), launch.counters()));
  };
  return ops::run(context, plan::operation_name(problem), plan_sort, problem, options, bind, callers);
}

/// The checks that all sorts share, and the launch.
cl::Event check_and_launch(const Context& context, SortProblem problem, const SortOperands& o,
                           const SortOrder& order, CallOptions options) {
  const char* operation = plan::operation_name(problem);
  const std::optional<Vector> scratch = std::exchange(options.scratch, std::nullopt);
  problem.keys = ops::number_type(operation, "keys", o.keys.type);
  problem.size = o.keys.size;
  ops::set_order(problem, order);
  if (problem.payload != SortPayload::none) problem.value_bytes = o.out_values.type.bytes;
  plan::check_sort(context.device(), problem);
  const bool pairs = problem.payload == SortPayload::values;
  const auto require_size = [&](const char* name, std::size_t size) {
    if (size == problem.size) return;
    refuse(plan::operation_name(problem), name, formatted("{} elements, as keys has", problem.size),
           formatted("{}", size));
  };
  const char* out_name = pairs ? "out_keys" : "out";
  if (problem.payload != SortPayload::places) {
    ops::check_type(operation, out_name, o.out.type, o.keys.type, "keys");
    require_size(out_name, o.out.size);
  }
  if (pairs) {
    require_size("values", o.values.size);
    require_size("out_values", o.out_values.size);
    ops::check_type(operation, "out_values", o.out_values.type, o.values.type, "values");
  } else if (problem.payload == SortPayload::places) {
    require_size("places", o.out_values.size);
  }
  if (problem.size == 0) return ops::run_empty(context, operation, plan_sort, problem, options);

  struct View {
    const char* name;
    ConstMatrix matrix;
    ops::Memory memory;
    bool written;
  };
  std::vector<View> views;
  /// `source`: the view that it may take the place of.
  const auto check = [&](const char* name, const ConstVector& view, bool written,
                         const char* source = "") -> const View& {
    const ConstMatrix matrix = ops::as_matrix(view);
    const ops::Memory memory = ops::check_view(context, operation, name, matrix, written);
    for (const View& other : views) {
      if (!written && !other.written) continue;
      const bool same = other.name == std::string_view(source) && other.memory.root == memory.root &&
                        other.memory.origin + other.matrix.offset * other.matrix.type.bytes ==
                            memory.origin + matrix.offset * matrix.type.bytes;
      if (same) {
        problem.in_place = true;
      } else {
        ops::check_apart(operation, other.matrix, other.memory, matrix, memory, other.name, name);
      }
    }
    views.push_back({name, matrix, memory, written});
    if (written) ops::require_readable(operation, name, memory);  // between passes
    return views.back();
  };
  check("keys", o.keys, false);
  if (pairs) check("values", o.values, false);
  if (problem.payload != SortPayload::places) check(out_name, o.out, true, "keys");
  if (pairs) check("out_values", o.out_values, true, "values");
  if (problem.payload == SortPayload::places) check("places", o.out_values, true);
  if (!scratch || scratch->size == 0) {  // what the plan needs
    const ops::CallerMemory none;
    return launch(context, problem, o, options, scratch ? &none : nullptr);
  }
  const View& view = check("scratch", *scratch, true);
  const std::size_t bytes = scratch->type.bytes;
  const ops::CallerMemory callers{view.memory.root, view.memory.origin + scratch->offset * bytes,
                                  scratch->size * bytes};
  if (callers.begin % Plan::kScratchAlignment != 0) {
    refuse(operation, "scratch",
           formatted("a view from a multiple of {} bytes of its buffer on", Plan::kScratchAlignment),
           formatted("one from byte {} on", callers.begin));
  }
  return launch(context, problem, o, options, &callers);
}

}  // namespace

cl::Event sort(const Context& context, const ConstVector& keys, const Vector& out, const SortOrder& order,
               const CallOptions& options) {
  return check_and_launch(context, {}, {keys, out, {}, {}}, order, options);
}

cl::Event sort_pairs(const Context& context, const ConstVector& keys, const ConstVector& values,
                     const Vector& out_keys, const Vector& out_values, const SortOrder& order,
                     const CallOptions& options) {
  SortProblem problem;
  problem.payload = SortPayload::values;
  return check_and_launch(context, problem, {keys, out_keys, values, out_values}, order, options);
}

cl::Event argsort(const Context& context, const ConstVector& keys, const Vector& places,
                  const SortOrder& order, const CallOptions& options) {
  SortProblem problem;
  problem.payload = SortPayload::places;
  const Scalar type = ops::number_type("argsort", "places", places.type);
  if (type != Scalar::uint32 && type != Scalar::uint64)
    refuse("argsort", "places", "uint32 or uint64", std::string(name_of(type)));
  return check_and_launch(context, problem, {keys, {}, {}, places}, order, options);
}

}  // namespace smem
