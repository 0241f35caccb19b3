// Which types a scan takes, and how it is cut into pieces.
#include "plan/scan_parts.hpp"
#include "formatted.hpp"

#include "plan/reduce_types.hpp"
#include "plan/scan_policy.hpp"
#include "plan/sizes.hpp"

#include <smem/error.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace smem::plan {

namespace {

constexpr std::size_t kGroupsPerUnit = 8;
constexpr std::size_t kMostParts = 2048;            // all of which every part after them reads
constexpr std::size_t kCpuPieceBytes = 128 * 1024;  // half of a small second-level cache
constexpr std::size_t kColumnsOfGroup = 256;        // neighbouring columns that a group of a GPU walks down

[[noreturn]] void refuse(const ScanProblem& problem, const char* argument, std::string expected,
                         std::string got) {
  throw Error({.operation = operation_name(problem),
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got)});
}

}  // namespace

std::size_t scan_group(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed) {
  if (fixed.work_items != 0) return fixed.work_items;
  if (!is_nvidia_gpu(device)) return 256;
  // Larger tiles make the chain from tile to tile shorter, and two groups or more should share a
  // multiprocessor's registers: one works while the other waits for its predecessors.
  const bool wide = size_of(accumulator_type(as_reduction(problem))) == 8;
  return wide && scans_in_registers(device, problem) ? 256 : 512;
}

bool scans_in_registers(const Device& device, const ScanProblem& problem) {
  return is_nvidia_gpu(device) && !is_segmented(problem) && problem.shape != ScanShape::columns;
}

std::size_t scan_items(const Device& device, const ScanProblem& problem, bool in_registers) {
  const std::size_t number = size_of(accumulator_type(as_reduction(problem)));
  // A CPU's compiler makes loops of work-items, and long code of many registers. Intel's for GPUs runs 32
  // work-items in the registers of one thread.
  if (device.type == DeviceType::cpu) return 16 / number;
  return (device.vendor == Vendor::intel ? 32 : in_registers ? 128 : 64) / number;
}

std::size_t scan_tile(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed) {
  return scan_group(device, problem, fixed) *
         scan_items(device, problem, scans_in_registers(device, problem));
}

bool can_look_back(const Device& device) { return device_fence(device) != 0; }
bool prefers_look_back(const Device& device) { return device.forward_progress && can_look_back(device); }

void define_publishing(const Device& device, Plan& plan) {
  define(plan, "LINE", scan_line(device));
  define(plan, "DEVICE_FENCE", device_fence(device));
  define(plan, "POLL_LIMIT", poll_limit(device));
}

std::size_t scan_state_bytes(const ScanProblem& problem) {
  return size_of(accumulator_type(as_reduction(problem))) * (is_segmented(problem) ? 2 : 1);
}

bool is_ordered(const ScanProblem& problem) {
  return is_segmented(problem) || problem.operation.op == ReduceOp::custom;
}

ScanParts scan_parts_of(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed) {
  const std::string_view variant =
      fixed.variant.empty() ? choose_scan(device, problem, fixed) : std::string_view(fixed.variant);
  const bool by_columns = problem.shape == ScanShape::columns, on_cpu = variant == "cpu";
  const std::size_t rows = std::max<std::size_t>(problem.rows * problem.batch, 1);
  const std::size_t length = std::max<std::size_t>(by_columns ? problem.rows : problem.cols, 1);
  const std::size_t tile = scan_tile(device, problem, fixed);
  ScanParts parts;
  const auto cut = [&](std::size_t wanted, std::size_t multiple) {
    parts.piece = round_up(divide_up(length, std::max<std::size_t>(wanted, 1)), multiple);
    parts.parts = divide_up(length, parts.piece);
  };
  bool single_pass = false;
  if (by_columns) {
    const std::size_t strip = on_cpu ? kScanStrip : kColumnsOfGroup;
    const std::size_t jobs = std::max<std::size_t>(divide_up(problem.cols, strip) * problem.batch, 1);
    const std::size_t wanted = (on_cpu ? 4 : kGroupsPerUnit) * device.compute_units;
    cut(std::clamp<std::size_t>(std::min(wanted / jobs, length / 64), 1, kMostParts), 1);
  } else if (on_cpu) {
    const std::size_t piece = kCpuPieceBytes / size_of(problem.in);
    single_pass = prefers_look_back(device);
    if (rows >= 4 * device.compute_units || length <= 2 * piece) {
      cut(1, 1);
    } else if (single_pass) {
      cut(divide_up(length, piece), piece);
    } else {
      cut(std::min(divide_up(16 * device.compute_units, rows), divide_up(length, piece)), 64);
    }
  } else if (variant == "look_back") {
    single_pass = true;
    cut(divide_up(length, tile), tile);
  } else {
    const std::size_t wanted = kGroupsPerUnit * device.compute_units;
    cut(std::clamp<std::size_t>(std::min(wanted / rows, length / (2 * tile)), 1, kMostParts), tile);
  }
  if (parts.parts == 1 && variant != "look_back") return parts;
  const std::size_t count = parts.parts * rows;
  if (single_pass) {
    const std::size_t entries = parts.parts == 1 ? 0 : count + rows * divide_up(parts.parts, kScanBlock);
    parts.zeroed_bytes = parts.scratch_bytes = 8 * scan_line(device) * (1 + entries);
  } else {
    parts.two_launches = true;
    parts.scratch_bytes =
        (by_columns ? parts.parts * problem.cols * problem.batch : count) * scan_state_bytes(problem);
  }
  return parts;
}

std::string_view choose_scan(const Device& device, const ScanProblem& problem, const PlanOverrides& fixed) {
  if (runs_cpu_variant(device)) return "cpu";
  if (problem.shape == ScanShape::columns || !prefers_look_back(device)) return "reduce_then_scan";
  // Where rows have one part each, one launch that needs no counters does all. Of rows that fill a tile the
  // other one is faster, as it needs no loop: H200, 16384 x 16384 floats, 0.524 ms and 0.563.
  const std::size_t tile = scan_tile(device, problem, fixed);
  const bool fills = problem.shape == ScanShape::rows && problem.cols <= tile && 2 * problem.cols > tile;
  if (fills && scans_in_registers(device, problem)) return "look_back";
  PlanOverrides other = fixed;
  other.variant = "reduce_then_scan";
  return scan_parts_of(device, problem, other).parts == 1 ? "reduce_then_scan" : "look_back";
}

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
  const std::string in_name(name_of(problem.in));
  require_number(operation_name(problem), "in", problem.in);
  require_number(operation_name(problem), "out", problem.out);
  switch (op) {
    case ReduceOp::minmax:
    case ReduceOp::argmin:
    case ReduceOp::argmax:
    case ReduceOp::mean:
    case ReduceOp::norm:
    case ReduceOp::dot:
      refuse(problem, "operation", "sum, product, min, max, bit_and, bit_or, any, all or custom",
             std::string(name_of(op)));
    default:
      break;
  }
  if (mode == FloatMode::compensated)
    refuse(problem, "mode", "reproducible: there is no compensated scan", "compensated");
  if ((op == ReduceOp::bit_and || op == ReduceOp::bit_or) && is_float(problem.in))
    refuse(problem, "in", formatted("integers for {}", name_of(op)), in_name);
  if (op == ReduceOp::custom && (expression.empty() || identity.empty()))
    refuse(problem, expression.empty() ? "expression" : "identity", "OpenCL C", "nothing");
  if (const std::string types = wrong_result(as_reduction(problem)); !types.empty()) {
    refuse(problem, "out", formatted("{} for {} of {}", types, name_of(op), in_name),
           std::string(name_of(problem.out)));
  }
  if (!device.fp64 && (problem.in == Scalar::float64 || problem.out == Scalar::float64)) {
    throw Error({.operation = operation_name(problem),
                 .argument = problem.in == Scalar::float64 ? "in" : "out",
                 .expected = "a type that the device computes with; it has no fp64",
                 .got = "float64",
                 .device = device.name});
  }
  if (problem.shape == ScanShape::segments && problem.marks != Scalar::uint32 &&
      problem.marks != Scalar::uint64)
    refuse(problem, "offsets", "uint32 or uint64", std::string(name_of(problem.marks)));
}

}  // namespace smem::plan
