// Moves by places: views -> problem -> launch.
#include <smem/gather.hpp>

#include "formatted.hpp"
#include "ops/run.hpp"
#include "ops/sorts.hpp"
#include "ops/views.hpp"
#include "plan/gather_types.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace smem {

using ops::refuse;

namespace {

struct GatherOperands {
  ConstMatrix in;
  ConstVector places;
  ConstMatrix out;
};

/// A vector as a matrix of rows of one element.
ConstMatrix as_rows(const ConstVector& vector) {
  return {vector.buffer, vector.type, vector.size, 1, {.offset = vector.offset}};
}

Scalar type_of_places(const char* operation, const ConstVector& places) {
  const Scalar type = ops::number_type(operation, "places", places.type);
  if (type != Scalar::uint32 && type != Scalar::uint64)
    refuse(operation, "places", "uint32 or uint64", std::string(name_of(type)));
  return type;
}

/// \throws Error naming the first of the places that is not less than `size`.
void require_inside(const Context& context, const char* operation, const ConstVector& places,
                    std::size_t size, const std::vector<cl::Event>& wait_for) {
  const plan::CheckPlacesProblem problem{type_of_places(operation, places), places.size};
  const std::uint32_t bad = ops::read_flag(context, operation, [&](cl_mem flag) {
    return ops::run(context, operation, plan::plan_check_places, problem, {.wait_for = wait_for},
                    [&](const ops::Launching& launch) {
                      launch(places.buffer, static_cast<cl_ulong>(places.offset),
                             static_cast<cl_ulong>(places.size), static_cast<cl_ulong>(size), flag);
                    });
  });
  if (bad == 0) return;
  const std::size_t width = places.type.bytes;
  std::vector<std::byte> bytes(places.size * width);
  ops::read_to_host(context, operation, places.buffer, places.offset * width, bytes);
  for (std::size_t i = 0; i < places.size; ++i) {
    std::uint64_t place = 0;  // little-endian, as all OpenCL hosts that smem knows
    std::memcpy(&place, bytes.data() + i * width, width);
    if (place >= size) {
      refuse(operation, "places", formatted("places less than {}", size),
             formatted("{} at index {}", place, i));
    }
  }
}

cl::Event launch(const Context& context, const GatherProblem& problem, const GatherOperands& o,
                 const CallOptions& options) {
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const std::size_t part = problem.alignment, bytes = o.in.type.bytes;
  const auto parts = [&](std::size_t elements) { return number(elements * bytes / part); };
  const std::size_t limit = problem.op == GatherOp::gather ? o.in.rows : o.out.rows;
  return ops::run(
      context, name_of(problem.op).data(), plan_gather, problem, options, [&](const ops::Launching& launch) {
        launch(o.in.buffer, parts(o.in.offset), parts(o.in.pitch), o.places.buffer, number(o.places.offset),
               o.out.buffer, parts(o.out.offset), parts(o.out.pitch), number(problem.rows), number(limit),
               parts(o.in.cols), number(launch.launch().number("piece")));
      });
}

cl::Event move(const Context& context, const char* operation, GatherOp op, const GatherOperands& o,
               const PlaceOptions& how, const CallOptions& options) {
  GatherProblem problem;
  problem.op = op;
  problem.places = type_of_places(operation, o.places);
  problem.rows = o.places.size;
  problem.row_bytes = plan::size_product(o.in.cols, o.in.type.bytes);
  if (o.in.type.bytes == 0 || o.in.type.bytes > 16)
    refuse(operation, "in", "elements of 1 to 16 bytes", o.in.type.bytes);
  ops::check_type(operation, "out", o.out.type, o.in.type);
  for (const auto& [name, matrix] : {std::pair{"in", &o.in}, {"out", &o.out}})
    if (matrix->batch != 1) refuse(operation, name, "one matrix", matrix->batch);
  if (o.out.cols != o.in.cols)
    refuse(operation, "out", formatted("rows of {} elements, as in has", o.in.cols), o.out.cols);
  const bool gathers = op == GatherOp::gather;
  const std::size_t moved = gathers ? o.out.rows : o.in.rows;
  if (moved != problem.rows) {
    refuse(operation, gathers ? "out" : "in", formatted("{} rows or elements, as places has", problem.rows),
           moved);
  }
  problem.alignment = 1;
  if (problem.rows == 0 || problem.row_bytes == 0)
    return ops::run_empty(context, operation, plan_gather, problem, options);
  const ops::Memory places = ops::check_view(context, operation, "places", ops::as_matrix(o.places), false);
  ops::Memory in, out;
  const bool has_in = o.in.rows > 0, has_out = o.out.rows > 0;  // else all places are outside
  if (has_in) in = ops::check_view(context, operation, "in", o.in, false);
  if (has_out) {
    out = ops::check_view(context, operation, "out", o.out, true);
    if (has_in) ops::check_apart(operation, o.in, in, o.out, out);
    ops::check_apart(operation, ops::as_matrix(o.places), places, o.out, out, "places", "out");
  }
  if (has_in && has_out) {
    problem.alignment =
        std::min({std::size_t{16}, ops::row_alignment(o.in, in), ops::row_alignment(o.out, out),
                  std::size_t{1} << std::countr_zero(problem.row_bytes)});
  }
  // What the options fix is refused before anything waits or is enqueued.
  plan_gather(context.device(), problem, ops::overrides_of(context.runtime(), operation, options));
  if (how.check)
    require_inside(context, operation, o.places, gathers ? o.in.rows : o.out.rows, options.wait_for);
  if (!has_in || !has_out) return context.runtime().marker(options.wait_for);
  return launch(context, problem, o, options);
}

}  // namespace

cl::Event gather(const Context& context, const ConstVector& in, const ConstVector& places, const Vector& out,
                 const PlaceOptions& how, const CallOptions& options) {
  return move(context, "gather", GatherOp::gather, {as_rows(in), places, as_rows(out)}, how, options);
}

cl::Event scatter(const Context& context, const ConstVector& in, const ConstVector& places, const Vector& out,
                  const PlaceOptions& how, const CallOptions& options) {
  return move(context, "scatter", GatherOp::scatter, {as_rows(in), places, as_rows(out)}, how, options);
}

cl::Event gather_rows(const Context& context, const ConstMatrix& in, const ConstVector& places,
                      const Matrix& out, const PlaceOptions& how, const CallOptions& options) {
  return move(context, "gather_rows", GatherOp::gather, {in, places, out}, how, options);
}

cl::Event scatter_rows(const Context& context, const ConstMatrix& in, const ConstVector& places,
                       const Matrix& out, const PlaceOptions& how, const CallOptions& options) {
  return move(context, "scatter_rows", GatherOp::scatter, {in, places, out}, how, options);
}

cl::Event permute_rows(const Context& context, const ConstMatrix& in, const ConstVector& places,
                       const Matrix& out, const PlaceOptions& how, const CallOptions& options) {
  ops::check_size("permute_rows", "places", places.size, in.rows);
  return move(context, "permute_rows", GatherOp::gather, {in, places, out}, how, options);
}

void check_places(const Context& context, const ConstVector& places, std::size_t size) {
  constexpr const char* kOperation = "check_places";
  type_of_places(kOperation, places);
  if (places.size == 0) return;
  ops::check_view(context, kOperation, "places", ops::as_matrix(places), false);
  require_inside(context, kOperation, places, size, {});
}

}  // namespace smem
