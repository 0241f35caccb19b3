// Products of fp8 whose factors a launch before them widens to halves, or for CPUs to float32.
#include "formatted.hpp"
#include "plan/gemm_variants.hpp"

#include <algorithm>

namespace smem::plan::gemm {

namespace {

constexpr std::size_t kWideItem = 8;    ///< elements of a work-item
constexpr std::size_t kWidePitch = 64;  ///< of which lines are multiples: 128 bytes of halves
constexpr std::size_t kWideGroup = 256;

struct WideLines {
  std::size_t count, along;  ///< lines of a matrix that are contiguous, and their elements

  std::size_t pitch() const { return round_up(along, kWidePitch); }
  std::size_t items() const { return size_product(count, divide_up(along, kWideItem)); }
};
WideLines wide_a(const GemmProblem& p) { return p.a_along_k ? WideLines{p.m, p.k} : WideLines{p.k, p.m}; }
WideLines wide_b(const GemmProblem& p) { return p.b_along_k ? WideLines{p.n, p.k} : WideLines{p.k, p.n}; }

/// Halves, but for CPUs without matrix units, whose halves become floats anyway.
Scalar wide_type(const Device& device) {
  return runs_cpu_variant(device) && device.matrix_unit == MatrixUnit::none ? Scalar::float32 : Scalar::half;
}

Packing all_widened(const Device& device, const GemmProblem& problem) {
  const WideLines a = wide_a(problem), b = wide_b(problem);
  Packing packing;
  packing.widened = true;
  packing.a_pitch = a.pitch();
  packing.b_pitch = b.pitch();
  packing.b_at = size_product(size_product(a.count, packing.a_pitch), problem.batch);
  const std::size_t of_b = size_product(size_product(b.count, packing.b_pitch), problem.batch);
  packing.bytes = size_product(packing.b_at + of_b, size_of(wide_type(device)));
  return packing;
}

}  // namespace

bool widens(std::string_view variant) {
  return variant == "mma" || variant == "matrix_units" || variant == "cpu";
}

std::string no_widening(const Device& device, const GemmProblem& problem) {
  if (problem.k == 0) return {};
  if (problem.listed) return "factors of fp8 would be widened before, which a list does not allow";
  const std::size_t bytes = all_widened(device, problem).bytes;
  if (device.max_allocation > 0 && bytes > device.max_allocation)
    return formatted("factors of fp8 would be widened before, to {} bytes, more than a buffer", bytes);
  if (wide_a(problem).items() + wide_b(problem).items() > kMaxTiles)
    return "factors of fp8 would be widened before, by more work-items than are counted";
  return {};
}

GemmProblem as_widened(const Device& device, GemmProblem problem) {
  if (!is_fp8(problem.in) || !no_widening(device, problem).empty()) return problem;
  problem.in = wide_type(device);
  problem.mixed = false;
  problem.a_alignment = problem.b_alignment = 64;
  return problem;
}

Packing widening_of(const Device& device, const GemmProblem& problem) {
  if (problem.k == 0 || !no_widening(device, problem).empty()) return {};
  return all_widened(device, problem);
}

Launch widen(const Device& device, const GemmProblem& problem, const Packing& packing) {
  Launch launch = named_plan("gemm", "widen", "gemm/widen.cl", "gemm_widen");
  define(launch, {{"ELEMENT_TYPE", type_number(problem.in)},
                  {"B_TYPE", type_number(b_type(problem))},
                  {"WIDE_FLOAT", wide_type(device) == Scalar::float32 ? 1 : 0},
                  {"A_ALIGNED", problem.a_alignment >= kWideItem ? 1 : 0},
                  {"B_ALIGNED", problem.b_alignment >= kWideItem ? 1 : 0}});
  const std::size_t items = wide_a(problem).items() + wide_b(problem).items();
  launch.work_group = shape_group(device, kWideGroup, kWideGroup, {items, 1, 1});
  launch.global = {round_up(items, launch.work_group[0]), std::min(at_least_1(problem.batch), kMaxGroups), 1};
  define(launch, "GROUP", launch.work_group[0]);
  launch.items_per_work_item = launch.vector_width = kWideItem;
  launch.prediction = {.bytes_read = real(packing.bytes) / real(size_of(wide_type(device))),
                       .bytes_written = real(packing.bytes)};
  launch.reason =
      formatted("writes both factors as {}, which has all numbers of fp8", name_of(wide_type(device)));
  return launch;
}

}  // namespace smem::plan::gemm
