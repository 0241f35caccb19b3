// Which types a selection takes, and how it is cut into pieces.
#include "plan/select_parts.hpp"

#include "plan/scan_parts.hpp"
#include "plan/sizes.hpp"

#include <smem/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

namespace smem::plan {

namespace {

constexpr std::size_t kGroupsPerUnit = 8;
constexpr std::size_t kMostParts = 2048;            // all of which every part after them reads
constexpr std::size_t kCpuPieceBytes = 128 * 1024;  // half of a small second-level cache
constexpr std::size_t kMostItems = 32;              // bits of a word

[[noreturn]] void refuse(const SelectProblem& problem, const char* argument, std::string expected,
                         std::string got) {
  throw Error({.operation = operation_name(problem),
               .argument = argument,
               .expected = std::move(expected),
               .got = std::move(got)});
}

}  // namespace

std::size_t select_group(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed) {
  if (fixed.work_items != 0) return fixed.work_items;
  if (!is_nvidia_gpu(device)) return 256;
  // Larger tiles make the chain from tile to tile shorter; NVIDIA's multiprocessors hold 2048 work-items. On
  // the H200, 2^28 floats, ms: copy_if 512 0.469, 256 0.478, 1024 0.488; copy_flagged 1024 0.534, 256 0.564,
  // 512 0.663; run_length_encode 256 0.880, 512 0.937; partition, which has no chain, 64 0.991, 512 1.083.
  if (is_partition(problem.op)) return 64;
  if (problem.op == SelectOp::run_length_encode) return 256;
  return problem.op == SelectOp::copy_flagged && device.local_bytes >= 160 * 1024 ? 1024 : 512;
}

bool selects_in_registers(const Device& device) { return is_nvidia_gpu(device); }

std::size_t select_items(const Device& device, const SelectProblem& problem) {
  const std::size_t bytes = size_of(problem.in);
  // A CPU's compiler makes loops of work-items, and long code of many registers. Intel's for GPUs runs 32
  // work-items in the registers of one thread.
  if (device.type == DeviceType::cpu) return 16 / bytes;
  std::size_t most = kMostItems;
  std::size_t room = device.vendor == Vendor::intel ? 32 : 64, each = bytes;
  if (selects_in_registers(device)) {
    // A tile is in local memory as well, of which NVIDIA's older multiprocessors have 64 KiB for two groups,
    // newer ones 227 KiB. The lengths of runs take two bytes more an element.
    if (device.local_bytes >= 96 * 1024) room = 128;
    if (problem.op == SelectOp::run_length_encode) each += 2;
    // Elements that are read one by one take more registers: 32 of them would spill.
    if (problem.in_alignment < 16) most = 16;
  }
  const std::size_t items = std::bit_floor(room / each);
  return std::min(items, most);
}

std::size_t select_tile(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed) {
  return select_group(device, problem, fixed) * select_items(device, problem);
}

bool selects_in_one_pass(const Device& device, const SelectProblem& problem) {
  // Where a partition's others begin is known at the end. A count and a place of 64 bits each are more than
  // tiles can publish at once.
  return can_look_back(device) && !is_partition(problem.op) &&
         !(problem.op == SelectOp::run_length_encode && is_wide(problem));
}

std::size_t select_state_bytes(const SelectProblem& problem) {
  return (is_wide(problem) ? 8 : 4) * (problem.op == SelectOp::run_length_encode ? 2 : 1);
}

SelectParts select_parts_of(const Device& device, const SelectProblem& problem, const PlanOverrides& fixed) {
  const std::string_view variant =
      fixed.variant.empty() ? choose_select(device, problem, fixed) : std::string_view(fixed.variant);
  const std::size_t length = std::max<std::size_t>(problem.size, 1);
  const std::size_t tile = select_tile(device, problem, fixed);
  SelectParts parts;
  const auto cut = [&](std::size_t wanted, std::size_t multiple) {
    parts.piece = round_up(divide_up(length, wanted), multiple);
    parts.parts = divide_up(length, parts.piece);
  };
  bool single_pass = false;
  if (variant == "cpu") {
    const std::size_t piece = kCpuPieceBytes / size_of(problem.in);
    single_pass = prefers_look_back(device) && selects_in_one_pass(device, problem);
    if (length <= 2 * piece) {
      cut(1, 1);
    } else if (single_pass) {
      cut(divide_up(length, piece), piece);
    } else {
      cut(std::clamp<std::size_t>(16 * device.compute_units, 1, divide_up(length, piece)), 64);
    }
  } else if (variant == "look_back") {
    single_pass = true;
    parts.piece = tile;
    parts.parts = divide_up(length, tile);
  } else {
    const std::size_t wanted = kGroupsPerUnit * device.compute_units;
    cut(std::clamp<std::size_t>(std::min(wanted, length / (2 * tile)), 1, kMostParts), tile);
  }
  if (parts.parts == 1 && variant != "look_back" && !is_partition(problem.op)) return parts;
  if (single_pass) {
    const std::size_t entries = parts.parts == 1 ? 0 : parts.parts + divide_up(parts.parts, kScanBlock);
    parts.zeroed_bytes = parts.scratch_bytes = 8 * scan_line(device) * (1 + entries);
  } else {
    parts.two_launches = true;
    parts.scratch_bytes = parts.parts * select_state_bytes(problem);
  }
  return parts;
}

std::string_view choose_select(const Device& device, const SelectProblem& problem,
                               const PlanOverrides& fixed) {
  if (runs_cpu_variant(device)) return "cpu";
  if (!prefers_look_back(device) || !selects_in_one_pass(device, problem)) return "count_then_place";
  // What is one part needs no counters.
  PlanOverrides other = fixed;
  other.variant = "count_then_place";
  return select_parts_of(device, problem, other).parts == 1 ? "count_then_place" : "look_back";
}

const char* operation_name(const SelectProblem& problem) { return name_of(problem.op).data(); }

void check_select(const Device& device, const SelectProblem& problem) {
  require_known("select", "op", problem.op, SelectOp::run_length_encode);
  if (is_flagged(problem.op)) require_known(operation_name(problem), "flags", problem.flags);
  require_elements(operation_name(problem), "in", {problem.size});
  require_number(operation_name(problem), "in", problem.in);
  if (is_by_predicate(problem.op) && problem.predicate.empty())
    refuse(problem, "predicate", "OpenCL C, of x", "nothing");
  if (is_flagged(problem.op) && is_float(problem.flags))
    refuse(problem, "flags", "an integer type", std::string(name_of(problem.flags)));
  if (!device.fp64 && problem.in == Scalar::float64 && !is_flagged(problem.op)) {
    throw Error({.operation = operation_name(problem),
                 .argument = "in",
                 .expected = "a type that the device computes with; it has no fp64",
                 .got = "float64",
                 .device = device.name});
  }
}

}  // namespace smem::plan

namespace smem {

std::string_view name_of(SelectOp op) {
  static constexpr std::array<std::string_view, 6> kNames{
      "copy_if", "copy_flagged", "partition", "partition_flagged", "unique", "run_length_encode"};
  return plan::name_among(kNames, op);
}

}  // namespace smem
