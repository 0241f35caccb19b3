// Sorts of rows and columns: views -> problem -> launch.
#include <smem/sort_rows.hpp>

#include "formatted.hpp"
#include "ops/run.hpp"
#include "ops/sorts.hpp"
#include "ops/views.hpp"
#include "plan/sizes.hpp"
#include "plan/sort_rows_types.hpp"
#include "plan/sort_types.hpp"

#include <smem/transpose.hpp>

#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem {

using ops::refuse;

namespace {

/// The matrices of a call. One of places has no `out`, one of keys alone no values.
struct SortRowsOperands {
  ConstMatrix keys, out, values, out_values;
};

cl::Event launch(const Context& context, const SortRowsProblem& problem, const SortRowsOperands& o,
                 const CallOptions& options) {
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const auto word = [](std::size_t value) { return static_cast<cl_uint>(value); };
  const bool has_values = problem.payload != SortPayload::none;
  // Kernels know values as parts of a power of two of bytes.
  const std::size_t parts = has_values ? problem.value_bytes >> std::countr_zero(problem.value_bytes | 8) : 0;
  const std::size_t all_rows = plan::size_product(problem.rows, problem.batch);
  const auto bind = [&](const ops::Launching& launch) {
    const Launch& l = launch.launch();
    const cl_mem in = o.keys.buffer;
    const bool spare_out = problem.payload == SortPayload::places;  // the other half of the first area
    const cl_mem spare = launch.scratch(0);
    const cl_mem out = spare_out ? spare : o.out.buffer;
    const std::size_t out_offset = spare_out ? plan::size_product(all_rows, problem.cols) : o.out.offset;
    const std::size_t out_pitch = spare_out ? problem.cols : o.out.pitch;
    const std::size_t out_stride = spare_out ? problem.rows * problem.cols : o.out.batch_stride;
    const cl_mem out_values = has_values ? o.out_values.buffer : nullptr;
    const cl_mem values = problem.payload == SortPayload::values ? o.values.buffer : out_values;
    const std::size_t passes = launch.plan().number("passes"), pass = launch.round();
    launch(runtime::packed(
        in, number(o.keys.offset), number(o.keys.pitch), number(o.keys.batch_stride), out, number(out_offset),
        number(out_pitch), number(out_stride), spare, values, number(o.values.offset * parts),
        number(o.values.pitch * parts), number(o.values.batch_stride * parts), out_values,
        number(o.out_values.offset * parts), number(o.out_values.pitch * parts),
        number(o.out_values.batch_stride * parts), launch.scratch(1), number(problem.rows), number(all_rows),
        number(problem.cols), number(l.number("parts")), number(l.number("piece")), word(problem.begin_bit),
        word(problem.end_bit), word(l.number("digit_bits")), word(passes), word(pass),
        ops::route_of(pass, plan::at_least_1(passes)), launch.scratch(2), cl_mem{}, number(0), number(0)));
  };
  return ops::run(context, plan::operation_name(problem), plan_sort_rows, problem, options, bind);
}

void require_shape(const char* operation, const char* name, const ConstMatrix& matrix,
                   const ConstMatrix& keys) {
  if (matrix.rows == keys.rows && matrix.cols == keys.cols && matrix.batch == keys.batch) return;
  refuse(operation, name, formatted("{} matrices of {} x {}, as keys has", keys.batch, keys.rows, keys.cols),
         formatted("{} of {} x {}", matrix.batch, matrix.rows, matrix.cols));
}

/// The checks that all sorts share. \returns the problem of the matrices' rows.
SortRowsProblem checked(const Context& context, const char* operation, SortPayload payload,
                        const SortRowsOperands& o, const SortOrder& order) {
  SortRowsProblem problem;
  problem.payload = payload;
  problem.keys = ops::number_type(operation, "keys", o.keys.type);
  problem.rows = o.keys.rows;
  problem.cols = o.keys.cols;
  problem.batch = o.keys.batch;
  ops::set_order(problem, order);
  if (payload != SortPayload::none) problem.value_bytes = o.out_values.type.bytes;
  const bool pairs = payload == SortPayload::values, places = payload == SortPayload::places;
  if (places) ops::require_places(operation, o.out_values.type);
  plan::check_order(operation, plan::one_row(problem));
  const char* out_name = pairs ? "out_keys" : "out";
  if (!places) {
    ops::check_type(operation, out_name, o.out.type, o.keys.type, "keys");
    require_shape(operation, out_name, o.out, o.keys);
  }
  if (pairs) {
    require_shape(operation, "values", o.values, o.keys);
    ops::check_type(operation, "out_values", o.out_values.type, o.values.type, "values");
  }
  if (pairs || places) require_shape(operation, pairs ? "out_values" : "places", o.out_values, o.keys);
  plan::check_sort_rows(context.device(), problem);
  if (ops::is_empty(o.keys)) return problem;
  ops::Views views(context, operation);
  views.read("keys", o.keys);
  if (pairs) views.read("values", o.values);
  if (!places) views.write(out_name, o.out, "keys");
  if (pairs) views.write("out_values", o.out_values, "values");
  if (places) views.write("places", o.out_values);
  problem.in_place = views.in_place();
  return problem;
}

cl::Event sort_rows_of(const Context& context, const char* operation, SortPayload payload,
                       const SortRowsOperands& o, const SortOrder& order, const CallOptions& options) {
  const SortRowsProblem problem = checked(context, operation, payload, o, order);
  if (ops::is_empty(o.keys)) return ops::run_empty(context, operation, plan_sort_rows, problem, options);
  return launch(context, problem, o, options);
}

/// A packed matrix of a matrix's columns, in temporary memory.
class Columns {
 public:
  Columns(const Context& context, const ConstMatrix& of)
      : lease_(context.runtime().scratch(),
               plan::size_product(plan::size_product(of.rows, of.cols), of.batch * of.type.bytes)),
        matrix_(lease_.memory_or(nullptr), of.type, of.cols, of.rows, {.batch = of.batch}) {}

  const Matrix& matrix() const { return matrix_; }
  void used_until(const cl::Event& event) { lease_.used_until(event); }

 private:
  runtime::Lease lease_;
  Matrix matrix_;
};

Matrix written(const ConstMatrix& view) {
  return {
      view.buffer, view.type, view.rows, view.cols, {view.offset, view.pitch, view.batch, view.batch_stride}};
}

/// Columns by transposes.
cl::Event sort_columns_of(const Context& context, const char* operation, SortPayload payload,
                          const SortRowsOperands& o, const SortOrder& order, const CallOptions& options) {
  SortRowsProblem problem = checked(context, operation, payload, o, order);
  if (payload == SortPayload::values) {
    const std::size_t bytes = o.values.type.bytes;
    if (!std::has_single_bit(bytes)) refuse(operation, "values", "elements of 1, 2, 4, 8 or 16 bytes", bytes);
  }
  std::swap(problem.rows, problem.cols);
  problem.in_place = payload != SortPayload::places;
  if (ops::is_empty(o.keys)) return ops::run_empty(context, operation, plan_sort_rows, problem, options);
  // What the options fix is refused before anything is enqueued.
  const PlanOverrides fixed = ops::overrides_of(context.runtime(), operation, options);
  const Plan plan = plan_sort_rows(context.device(), problem, fixed);
  if (options.plan != nullptr && *options.plan != plan)
    refuse(operation, "plan", "the one of plan_sort_rows() for the columns in place", "another one");

  Columns keys(context, o.keys);
  std::optional<Columns> values;
  cl::Event event = transpose(context, o.keys, keys.matrix(), {.wait_for = options.wait_for});
  const auto then = [&](cl::Event after) {
    event = std::move(after);
    keys.used_until(event);
    if (values) values->used_until(event);
  };
  then(event);
  if (payload != SortPayload::none) values.emplace(context, o.out_values);
  if (payload == SortPayload::values)
    then(transpose(context, o.values, values->matrix(), {.wait_for = {event}}));
  SortRowsOperands rows{keys.matrix(), keys.matrix(), {}, {}};
  if (payload == SortPayload::values) rows.values = values->matrix();
  if (payload != SortPayload::none) rows.out_values = values->matrix();
  CallOptions sorting = options;
  sorting.wait_for = {event};
  then(launch(context, problem, rows, sorting));
  if (payload != SortPayload::places)
    then(transpose(context, keys.matrix(), written(o.out), {.wait_for = {event}}));
  if (values) then(transpose(context, values->matrix(), written(o.out_values), {.wait_for = {event}}));
  return event;
}

}  // namespace

cl::Event sort_rows(const Context& context, const ConstMatrix& keys, const Matrix& out,
                    const SortOrder& order, const CallOptions& options) {
  return sort_rows_of(context, "sort_rows", SortPayload::none, {keys, out, {}, {}}, order, options);
}

cl::Event sort_pairs_rows(const Context& context, const ConstMatrix& keys, const ConstMatrix& values,
                          const Matrix& out_keys, const Matrix& out_values, const SortOrder& order,
                          const CallOptions& options) {
  return sort_rows_of(context, "sort_pairs_rows", SortPayload::values, {keys, out_keys, values, out_values},
                      order, options);
}

cl::Event argsort_rows(const Context& context, const ConstMatrix& keys, const Matrix& places,
                       const SortOrder& order, const CallOptions& options) {
  return sort_rows_of(context, "argsort_rows", SortPayload::places, {keys, {}, {}, places}, order, options);
}

cl::Event sort_columns(const Context& context, const ConstMatrix& keys, const Matrix& out,
                       const SortOrder& order, const CallOptions& options) {
  return sort_columns_of(context, "sort_columns", SortPayload::none, {keys, out, {}, {}}, order, options);
}

cl::Event sort_pairs_columns(const Context& context, const ConstMatrix& keys, const ConstMatrix& values,
                             const Matrix& out_keys, const Matrix& out_values, const SortOrder& order,
                             const CallOptions& options) {
  return sort_columns_of(context, "sort_pairs_columns", SortPayload::values,
                         {keys, out_keys, values, out_values}, order, options);
}

cl::Event argsort_columns(const Context& context, const ConstMatrix& keys, const Matrix& places,
                          const SortOrder& order, const CallOptions& options) {
  return sort_columns_of(context, "argsort_columns", SortPayload::places, {keys, {}, {}, places}, order,
                         options);
}

}  // namespace smem
