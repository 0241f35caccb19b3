/// Small arithmetic that plans share, and small facts that follow from a device.
#pragma once

#include <smem/boundary.hpp>
#include <smem/device.hpp>
#include <smem/error.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>
#include <smem/sizes.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem::plan {

using detail::size_product;

constexpr std::size_t divide_up(std::size_t value, std::size_t by) {
  return value / by + (value % by != 0 ? 1 : 0);
}
constexpr std::size_t round_up(std::size_t value, std::size_t to) { return divide_up(value, to) * to; }
constexpr std::size_t at_least_1(std::size_t value) { return std::max<std::size_t>(value, 1); }

/// The product of numbers as a double, of which no product is too large.
template <class... Numbers>
constexpr double real(Numbers... numbers) {
  return (... * static_cast<double>(numbers));
}

/// \throws Error that names the argument of an operation; with a device, whose limits refuse it.
[[noreturn]] void refuse(std::string_view operation, std::string_view argument, std::string_view expected,
                         std::string_view got);
[[noreturn]] void refuse(const Device& device, std::string_view operation, std::string_view argument,
                         std::string_view expected, std::string_view got);

/// \throws Error unless an element of `bytes` bytes can be moved as a whole: 1, 2, 4, 8 or 16.
inline void require_element(const char* operation, std::size_t bytes) {
  if (std::has_single_bit(bytes) && bytes <= 16) return;
  refuse(operation, "element size", "1, 2, 4, 8 or 16 bytes", std::to_string(bytes) + " bytes");
}

/// The most characters of an expression that a caller gives, and the most prefix operators and casts in it.
/// These nest without brackets, which compilers limit: 3000 overflow the stack of PoCL's compiler, which runs
/// in the caller's process; 2500 do not (PoCL 3.1, a stack of 8 MiB).
inline constexpr std::size_t kMostCode = 16384, kMostPrefixes = 1000;

/// \throws Error naming `argument` unless `text`, an expression of OpenCL C, has 1 to kMostCode characters
/// and at most kMostPrefixes prefix operators and casts.
void require_code(std::string_view operation, std::string_view argument, std::string_view text,
                  std::string_view expected = "OpenCL C");

/// Elements of an array: more than any memory holds, and few enough that what plans make of them, as bytes,
/// tiles or parts, fits 64 bits.
inline constexpr std::size_t kMostElements = std::size_t{1} << 52;

/// \throws Error naming `argument` unless an array of these extents has at most kMostElements. An extent of 0
/// counts as 1: plans multiply the others all the same.
void require_elements(const char* operation, const char* argument,
                      std::initializer_list<std::size_t> extents);

/// Throws what require_known() does.
[[noreturn]] void refuse_value(const char* operation, const char* argument, long long last, long long value);

/// Throws what require_known() does of fp8.
[[noreturn]] void refuse_fp8(const char* operation, const char* argument, Scalar type);

/// \throws Error naming `argument` unless the value is one of its enumeration, whose values are 0 to `last`.
template <class Enum>
void require_known(const char* operation, const char* argument, Enum value, Enum last) {
  const auto number = static_cast<long long>(value), most = static_cast<long long>(last);
  if (number < 0 || number > most) refuse_value(operation, argument, most, number);
}
/// Of elements, whatever is done with them.
inline void require_element(const char* operation, const char* argument, Scalar type) {
  require_known(operation, argument, type, Scalar::e5m2);
}
/// Of numbers: \throws Error for fp8 too, which gemm() alone computes with.
inline void require_known(const char* operation, const char* argument, Scalar type) {
  require_element(operation, argument, type);
  if (is_fp8(type)) refuse_fp8(operation, argument, type);
}
inline void require_known(const char* operation, const char* argument, Boundary boundary) {
  require_known(operation, argument, boundary, Boundary::leave);
}

/// The name of a value, of the names of all values in their order. \throws Error as require_known().
template <class Enum, std::size_t kCount>
std::string_view name_among(const std::array<std::string_view, kCount>& names, Enum value) {
  require_known("name_of", "value", value, static_cast<Enum>(kCount - 1));
  return names[static_cast<std::size_t>(value)];
}

/// Work-groups in the first dimension, as NVIDIA's hardware has them. More tiles than that are matrices far
/// smaller than a tile, for which a variant without tiles is right anyway.
constexpr std::size_t kMaxTiles = (std::size_t{1} << 31) - 1;

/// Work-groups in the second and third dimension of a launch. NVIDIA's hardware has 65535; kernels loop over
/// the rest.
constexpr std::size_t kMaxGroups = 32768;

/// The smallest power of four that is at least `value`: few sizes, so that few programs serve all shapes.
constexpr std::size_t power_of_four(std::size_t value) {
  std::size_t power = 1;
  while (power < value && power < std::size_t{1} << 60)
    power *= 4;
  return power;
}

/// A work-group for a grid of `extent` work-items, `wanted` in all: the first dimension takes what it can
/// use, the next ones what is left. Small grids so get groups that are nearly full all the same.
inline std::array<std::size_t, 3> shape_group(const Device& device, std::size_t wanted,
                                              std::size_t widest_first,
                                              const std::array<std::size_t, 3>& extent) {
  std::array<std::size_t, 3> group{1, 1, 1};
  std::size_t left = std::bit_floor(std::max<std::size_t>(std::min(wanted, device.max_work_group), 1));
  for (std::size_t d = 0; d < 3; ++d) {
    std::size_t most = std::min(
        {left, std::bit_floor(std::max<std::size_t>(device.max_work_items[d], 1)), power_of_four(extent[d])});
    if (d == 0) most = std::min(most, widest_first);
    group[d] = most;
    left /= most;
  }
  return group;
}

/// The launch of a grid of `extent` work-items: whole groups, and no more groups than drivers take.
inline std::array<std::size_t, 3> global_size(const std::array<std::size_t, 3>& extent,
                                              const std::array<std::size_t, 3>& group) {
  std::array<std::size_t, 3> global{};
  for (std::size_t d = 0; d < 3; ++d) {
    const std::size_t groups = divide_up(extent[d], group[d]);
    global[d] = (d == 0 ? groups : std::min(groups, kMaxGroups)) * group[d];
  }
  return global;
}

/// A number that a kernel is compiled with.
struct Define {
  template <std::integral Number>
  Define(const char* of, Number number) : name(of), value(static_cast<long>(number)) {}
  const char* name;
  long value;
};
inline void define(Launch& launch, std::initializer_list<Define> all) {
  for (const Define& one : all)
    launch.defines.emplace_back(one.name, one.value);
}
template <std::integral Number>
void define(Launch& launch, const char* name, Number value) {
  define(launch, {{name, value}});
}

/// Types that a kernel is compiled with.
inline void define_types(Launch& launch, std::initializer_list<std::pair<const char*, Scalar>> all) {
  for (const auto& [name, type] : all)
    launch.text_defines.emplace_back(name, opencl_name_of(type));
}

/// The plan of a call with what every plan has.
inline Plan named_plan(std::string_view operation, std::string_view variant, std::string_view kernel_file,
                       std::string_view entry_point) {
  Plan plan;
  plan.operation = operation;
  plan.variant = variant;
  plan.kernel_file = kernel_file;
  plan.entry_point = entry_point;
  return plan;
}

/// Gives a launch `groups` work-groups, from 1 to `most`, in the first dimension.
inline void set_groups(Launch& launch, std::size_t group, std::size_t groups, std::size_t most = kMaxTiles) {
  launch.work_group = {group, 1, 1};
  launch.global = {std::clamp<std::size_t>(groups, 1, most) * group, 1, 1};
}

/// Launches it so many times. Until then its prediction is that of one time.
inline void set_repeats(Launch& launch, std::size_t repeats) {
  const auto times = static_cast<double>(repeats);
  launch.repeats = repeats;
  launch.prediction.bytes_read *= times;
  launch.prediction.bytes_written *= times;
  launch.prediction.local_bytes *= times;
  launch.prediction.operations *= times;
  launch.prediction.matrix_operations *= times;
}

/// What a work-group makes at a time, as plans print it.
struct GroupTile {
  std::size_t rows = 1, cols = 1, vector_width = 1, items = 1;  ///< `items`: of a work-item
  std::size_t local_bytes = 0;
};
inline void set_group_tile(Launch& launch, const GroupTile& tile) {
  launch.tile_rows = tile.rows;
  launch.tile_cols = tile.cols;
  launch.vector_width = tile.vector_width;
  launch.items_per_work_item = tile.items;
  launch.local_bytes = tile.local_bytes;
}

/// Defines the three sizes of a kernel's work-group.
inline void define_group(Launch& launch) {
  define(launch, {{"GROUP_0", launch.work_group[0]},
                  {"GROUP_1", launch.work_group[1]},
                  {"GROUP_2", launch.work_group[2]}});
}

/// Gives a launch a work-item for each place of a grid, in work-groups of `wanted`.
inline void set_grid(Launch& launch, const Device& device, std::size_t wanted,
                     const std::array<std::size_t, 3>& extent) {
  constexpr std::size_t kWidest = 64;  // work-items of a group along a row
  launch.work_group = shape_group(device, wanted, kWidest, extent);
  launch.global = global_size(extent, launch.work_group);
}

/// Tells a kernel's TILE_AT of a layout.
inline void define_layout(Launch& plan, const LocalLayout& layout) {
  for (auto& define : layout_defines(layout))
    plan.defines.push_back(std::move(define));
}

/// What a launch reads and writes: of each type so many elements, in bytes.
inline void predict(Launch& launch, double elements, Scalar in, Scalar out) {
  launch.prediction.bytes_read = elements * real(size_of(in));
  launch.prediction.bytes_written = elements * real(size_of(out));
}

/// \throws Error unless the operation computes with the type.
inline void require_number(const char* operation, const char* argument, Scalar type) {
  require_known(operation, argument, type);
  if (type != Scalar::bfloat16) return;
  refuse(operation, argument, "a type that this operation computes with", "bfloat16");
}

/// \throws Error naming `argument` unless the type is one of `all`.
void require_one_of(std::string_view operation, const char* argument, Scalar type,
                    std::initializer_list<Scalar> all);

/// \throws Error unless the device computes with the type.
inline void require_fp64(const char* operation, const Device& device, const char* argument, Scalar type) {
  if (type != Scalar::float64 || device.fp64) return;
  refuse(device, operation, argument, "a type that the device computes with; it has no fp64", "float64");
}

/// 90 of "sm_90"; 0 for what is not NVIDIA's.
unsigned compute_capability(const Device& device);

/// Whether it runs in warps of 32, with NVIDIA's instructions.
inline bool is_nvidia_gpu(const Device& device) {
  return device.vendor == Vendor::nvidia && device.type == DeviceType::gpu;
}

/// Whether the warps of such a group are whole, so that they can use shuffles.
inline bool uses_shuffles(const Device& device, std::size_t group) {
  return is_nvidia_gpu(device) && group % 32 == 0;
}

/// Whether variants for CPUs run there: one work-item a thread, whose loops are long. A GPU would run one
/// work-item in 32.
inline bool runs_cpu_variant(const Device& device) {
  return device.type == DeviceType::cpu && device.long_loops;
}
/// Why they do not.
inline const char* no_cpu_variant(const Device& device) {
  return device.type == DeviceType::cpu ? "its loops are longer than this device runs them"
                                        : "only one work-item of a GPU's sub-group would work";
}

/// \throws Error naming the field, unless the variant is one of `names` or left open, and no tile or layout
/// is fixed.
void require_choice(const char* operation, const PlanOverrides& overrides,
                    const std::vector<std::string_view>& names);

/// \throws Error unless the fixed size of a work-group, if any, is a power of two that the device has.
void require_work_items(const char* operation, const Device& device, const PlanOverrides& overrides);

/// Work-items of a group: those that were fixed, or else the plan's own choice.
inline std::size_t group_wanted(const PlanOverrides& fixed, std::size_t usual) {
  return fixed.work_items != 0 ? fixed.work_items : usual;
}

/// \throws Error unless the plan has the fixed size of a work-group. `cpu_reason`: why the variant for CPUs
/// has one work-item.
void require_fixed_group(const char* operation, const Device& device, const PlanOverrides& overrides,
                         const Launch& plan, const char* cpu_reason);

/// Why no variant with tiles of a work-group runs.
std::string no_tile_fits(const Device& device);

/// How many plans this thread has made: by it tests see that a call makes none that was made before.
std::size_t& plans_made();

/// Gives a plan another area of temporary memory, whose first `zeroed` bytes are zero before the first
/// launch.
inline void add_scratch(Plan& plan, std::size_t bytes, std::size_t zeroed = 0) {
  plan.scratch.push_back({.bytes = bytes, .zeroed_bytes = zeroed});
  plan.scratch_bytes += bytes;
}

/// How the groups of one launch can hand data to each other (cl/common/hand_over.clh): 0: not known.
/// Compilers that stay in LLVM know the builtin; Oclgrind and the way through SPIR-V do not.
inline std::size_t device_fence(const Device& device) {
  if (is_nvidia_gpu(device)) return 2;
  return device.type == DeviceType::cpu && device.prefetch_builtin ? 1 : 0;
}

/// Counters of 32 bits that the kernels of a call may share (Plan::counters).
inline constexpr std::size_t kSharedCounters = 4096;

inline constexpr std::size_t kOwnBytes = 64;  ///< of local memory, which compilers take for themselves
/// Local memory that is left for what a plan lays there.
inline std::size_t local_room(const Device& device) {
  return device.local_bytes - std::min(kOwnBytes, device.local_bytes);
}

/// Asks Intel's compiler for pvc for sub-groups of 16: with those of 32 it leaves the work-items' arrays in
/// memory.
inline void define_sub_group(const Device& device, Launch& launch) {
  if (device.vendor == Vendor::intel && device.architecture.starts_with("pvc"))
    define(launch, "INTEL_SUB_GROUP", 16);
}

/// The largest group of at most `wanted` work-items for which `bytes` each, and `flag` bytes, fit local
/// memory; 0 when none does.
inline std::size_t group_for(const Device& device, std::size_t wanted, std::size_t bytes,
                             std::size_t flag = 0) {
  std::size_t group = std::bit_floor(std::min({wanted, std::max<std::size_t>(device.max_work_group, 1),
                                               std::max<std::size_t>(device.max_work_items[0], 1)}));
  while (group > 0 && group * bytes + flag > device.local_bytes)
    group /= 2;
  return group;
}

}  // namespace smem::plan
