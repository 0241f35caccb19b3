// Which types a scan takes, and which of its rows share a tile.
#include "plan/scan_types.hpp"

#include "plan/look_back.hpp"
#include "plan/reduce_types.hpp"
#include "plan/scan_policy.hpp"
#include "plan/sizes.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace smem::plan {

ReduceProblem as_reduction(const ScanProblem& problem) {
  ReduceProblem reduction;
  reduction.reduction = problem.operation;
  reduction.in = problem.in;
  reduction.out = problem.out;
  return reduction;
}

const char* operation_name(const ScanProblem& problem) {
  static constexpr std::array<std::array<const char*, 5>, 2> kNames{
      {{"inclusive_scan", "inclusive_scan_rows", "inclusive_scan_columns", "inclusive_scan_segments",
        "inclusive_scan_by_key"},
       {"exclusive_scan", "exclusive_scan_rows", "exclusive_scan_columns", "exclusive_scan_segments",
        "exclusive_scan_by_key"}}};
  return kNames.at(problem.exclusive ? 1 : 0).at(static_cast<std::size_t>(problem.shape));
}

void check_scan(const Device& device, const ScanProblem& problem) {
  const auto& [op, mode, expression, identity, commutes] = problem.operation;
  require_known("scan", "shape", problem.shape, ScanShape::keys);
  const char* operation = operation_name(problem);
  require_known(operation, "operation", op, ReduceOp::custom);
  require_known(operation, "mode", mode, FloatMode::compensated);
  require_known(operation, "in", problem.in);
  if (is_segmented(problem))
    require_known(operation, problem.shape == ScanShape::keys ? "keys" : "offsets", problem.marks);
  require_elements(operation, "in", {problem.rows, problem.cols, problem.batch});
  switch (op) {
    case ReduceOp::minmax:
    case ReduceOp::argmin:
    case ReduceOp::argmax:
    case ReduceOp::mean:
    case ReduceOp::norm:
    case ReduceOp::dot:
      refuse(operation, "operation", "sum, product, min, max, bit_and, bit_or, any, all or custom",
             name_of(op));
    default:
      break;
  }
  if (mode == FloatMode::compensated)
    refuse(operation, "mode", "reproducible: there is no compensated scan", "compensated");
  check_operation(device, operation, "out", as_reduction(problem));
  if (problem.shape == ScanShape::segments)
    require_one_of(operation, "offsets", problem.marks, {Scalar::uint32, Scalar::uint64});
}

std::size_t tile_alignment(const ScanProblem& problem, std::size_t elements, Scalar type) {
  return std::min(problem.packed_alignment, std::size_t{1} << std::countr_zero(elements * size_of(type)));
}

std::size_t rows_of_tile(const ScanProblem& problem, std::size_t elements) {
  const std::size_t fit = elements / problem.cols;
  const Scalar narrow = size_of(problem.in) < size_of(problem.out) ? problem.in : problem.out;
  const std::size_t aligned = problem.packed_alignment / tile_alignment(problem, problem.cols, narrow);
  return fit >= aligned ? fit / aligned * aligned : fit;
}

bool has_own_runs(const Device& device, const ScanProblem& problem, std::size_t items, std::size_t pack,
                  std::size_t out_pack) {
  const ScanPolicy& policy = scan_policy(device);
  return items * std::max(size_of(problem.in), size_of(problem.out)) <= policy.own_run_bytes &&
         pack * size_of(problem.in) == policy.pack_bytes &&
         out_pack * size_of(problem.out) == policy.pack_bytes;
}

std::size_t rows_with_lead(const Device& device, const ScanProblem& problem, std::size_t elements,
                           std::size_t items) {
  const std::size_t most = scan_policy(device).pack_bytes, usual = rows_of_tile(problem, elements);
  const std::size_t pack = run_pack(most, problem.in, most, items),
                    out_pack = run_pack(most, problem.out, most, items);
  if (!has_own_runs(device, problem, items, pack, out_pack)) return 0;
  const bool is_aligned = std::min(tile_alignment(problem, usual * problem.cols, problem.in),
                                   tile_alignment(problem, usual * problem.cols, problem.out)) >= most;
  const std::size_t rows = (elements - (pack - 1)) / problem.cols;
  return is_aligned && 4 * usual >= 3 * rows ? 0 : rows;
}

}  // namespace smem::plan
