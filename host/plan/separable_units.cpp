// Separable filters by matrix units: products with bands of weights, in both directions.
#include "formatted.hpp"
#include "plan/filters.hpp"
#include "plan/pixels.hpp"
#include "plan/separable_policy.hpp"
#include "plan/variants.hpp"

#include <smem/separable_plan.hpp>

#include <algorithm>

namespace smem::plan {

namespace {

// Of cl/separable/units.cl.
constexpr std::size_t kWarp = 32, kBlock = 16, kRows = 16, kVector = 16;
constexpr std::size_t kMost = std::size_t{1} << 30;

/// The largest windows: reach along a row in elements, weights of a column.
struct MostReach {
  std::size_t reach, taps;
};
MostReach most_reach(std::size_t element) { return element == 1 ? MostReach{56, 113} : MostReach{16, 33}; }

/// The products of a window, and what a group keeps of the rows that it reads.
struct UnitShape {
  std::size_t element = 1;          ///< bytes
  std::size_t along = 1, down = 2;  ///< products along rows, steps of 16 rows that are kept
  std::size_t blocks = 4;           ///< of 16 columns of a warp

  std::size_t reach() const { return (2 * kVector / element * along - kBlock) / 2; }
  std::size_t strip(std::size_t group) const { return group / kWarp * kBlock * blocks; }
  /// Bytes of local memory: rows of whole vectors, 32 bytes past a multiple of 64; those of results; weights.
  std::size_t local_bytes(std::size_t group, std::size_t stages, bool emulated) const {
    const std::size_t row = strip(group) * element + 2 * round_up(reach() * element, kVector),
                      pitch = row + (96 - row % 64) % 64;
    const std::size_t results = element == 1 ? group / kWarp * kRows * (kBlock * blocks + kVector) : 0;
    const std::size_t weight = element == 1 ? 1 : sizeof(int);
    const std::size_t weights = kBlock * (1 + 2 / element * along) + kBlock * (1 + down);
    return stages * kRows * pitch + results + weight * weights + (emulated ? group * 6 * sizeof(int) : 0);
  }
};

std::size_t reach_of(const SeparableProblem& problem) {
  const std::size_t left = problem.origin() * problem.channels;
  return std::max(left, problem.halo() - left);
}

/// Whether it multiplies such elements by such weights; of 16 bits any, but for the value beyond the edges.
std::string refused_numbers(const SeparableProblem& problem) {
  if (problem.out != problem.in && (problem.in != Scalar::uint8 || problem.out != Scalar::float32))
    return "its results have the type of the elements, or are floats of bytes";
  if (problem.in == Scalar::uint8) {
    if (problem.fixed_point || (problem.mean && problem.out == Scalar::uint8)) return {};
    return "for weights of whole 256ths, as Gaussian blurs of bytes have them, and means of bytes";
  }
  if (problem.in != Scalar::half && problem.in != Scalar::uint16) return "for elements of 8 and 16 bits";
  if (problem.unsharp || problem.mean || problem.half_up) return "of elements of 16 bits for sums alone";
  if (problem.boundary == Boundary::constant) return "a value beyond the edges may be no element";
  return {};
}

/// Why it cannot compute a problem; empty: it can.
std::string refused(const Device& device, const SeparableProblem& problem) {
  constexpr int kSm80 = 80;
  const bool units = is_nvidia_gpu(device) && compute_capability(device) >= kSm80;
  if (!units && device.type != DeviceType::cpu)  // where they are emulated, for tests
    return "needs the matrix units of NVIDIA's sm_80 and later";
  if (std::string why = refused_numbers(problem); !why.empty()) return why;
  const MostReach most = most_reach(size_of(problem.in));
  if (reach_of(problem) > most.reach || problem.column_taps > most.taps) {
    return formatted("a window reaches farther than {} elements along a row, or has more than {} rows",
                     most.reach, most.taps);
  }
  if (problem.in_alignment < kVector) return formatted("rows do not begin at multiples of {} bytes", kVector);
  if (problem.row_elements() > kMost || problem.height > kMost)
    return formatted("more than {} columns or rows", kMost);
  return {};
}

UnitShape shape_of(const SeparableProblem& problem) {
  UnitShape shape;
  shape.element = size_of(problem.in);
  shape.along = divide_up(2 * reach_of(problem) + kBlock, 2 * kVector / shape.element);
  shape.down = divide_up(problem.column_taps + kRows - 1, kRows);
  if (shape.element == 1) shape.down = round_up(shape.down, 2);
  return shape;
}

}  // namespace

Attempt separable_units(const Device& device, const SeparableProblem& problem, const PlanOverrides& fixed) {
  if (std::string why = refused(device, problem); !why.empty()) return why;
  const SeparableUnits& policy = separable_policy(device).units;
  const bool emulated = !is_nvidia_gpu(device);
  UnitShape shape = shape_of(problem);
  const UnitGroups& groups = shape.element > 1
                                 ? (shape.down > 2 || shape.along > 2 ? policy.wide_large : policy.wide)
                             : shape.down > 2 ? policy.large
                                              : policy.small;
  shape.blocks = groups.blocks;
  if (fixed.tile_cols != 0) shape.blocks = fixed.tile_cols / kBlock;
  if ((shape.blocks != 2 && shape.blocks != 4) || (fixed.tile_cols != 0 && fixed.tile_cols % kBlock != 0))
    return "a warp has 32 or 64 columns";
  if (fixed.tile_rows % kRows != 0) return formatted("a band has a multiple of {} rows", kRows);
  const std::size_t group = fixed.work_items != 0 ? fixed.work_items : emulated ? kWarp : groups.group;
  if (group % kWarp != 0 || (emulated && group != kWarp) || group > device.max_work_group)
    return formatted("groups have {}warps of {} work-items", emulated ? "single " : "whole ", kWarp);
  const std::size_t local = shape.local_bytes(group, policy.stages, emulated);
  if (local > local_room(device)) return no_tile_fits(device);
  const std::size_t strip = shape.strip(group);
  const std::size_t strips = divide_up(problem.row_elements(), strip) * problem.planes;
  const std::size_t least_band = std::max(policy.least_band, policy.bands_of_rows * kRows * (shape.down - 1));
  const std::size_t band =
      fixed.tile_rows != 0
          ? fixed.tile_rows
          : best_band(problem.height, kRows * (shape.down - 1),
                      {strips,
                       at_least_1(policy.registers_a_unit / groups.registers / group * device.compute_units),
                       kRows, least_band, policy.most_rounds});
  Plan plan = separable_plan(kSeparableName, problem, "units", kUnitsFile, "separable_units");
  const std::size_t all = strips * divide_up(problem.height, band);
  set_groups(plan, group, all, all);
  set_group_tile(plan, {.rows = band,
                        .cols = kBlock * shape.blocks,
                        .vector_width = kVector,
                        .items = kRows * strip / group,
                        .local_bytes = local});
  define(plan, {{"GROUP", group},
                {"BLOCKS", shape.blocks},
                {"STAGES", policy.stages},
                {"ALONG", shape.along},
                {"DOWN", shape.down},
                {"ROW_TAPS", problem.row_taps},
                {"ROW_ORIGIN", problem.origin()},
                {"COLUMN_TAPS", problem.column_taps},
                {"VECTOR_OUT", problem.out_alignment >= kVector ? 1 : 0},
                {"EMULATED", emulated ? 1 : 0}});
  if (shape.element != 1) define(plan, "ELEMENT_BYTES", shape.element);
  if ((groups.limited || problem.mean) && !emulated) {
    plan.most_registers = problem.mean ? policy.box_registers : groups.registers;
    define(plan, "LIMITS_REGISTERS", 1);
  }
  plan.numbers = {{"band", band}};
  plan.reason = shape.element == 1
                    ? "matrix units multiply bytes by bands of weights, and both bytes of the sums again"
                    : "matrix units multiply elements by bands of weights, and both halves of the sums again";
  return plan;
}

}  // namespace smem::plan
