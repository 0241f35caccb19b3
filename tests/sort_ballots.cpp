// Sorts whose tiles are ranked by ballots of sub-groups, where a device has them: sub-groups of every size.
#include "support/environment.hpp"
#include "support/sort_rows.hpp"
#include "support/sorts.hpp"

#include "plan/ballots.hpp"
#include "runtime/ballots.hpp"
#include "runtime/devices.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using test::Keys;

namespace {

/// Sizes of sub-groups that kernels of the device can require (CL_DEVICE_SUB_GROUP_SIZES_INTEL), up to 64.
std::vector<std::size_t> required_sizes(cl_device_id id) {
  constexpr cl_device_info kSubGroupSizes = 0x4108;
  std::array<std::size_t, 8> sizes{};
  std::size_t bytes = 0;
  if (clGetDeviceInfo(id, kSubGroupSizes, sizeof sizes, sizes.data(), &bytes) != CL_SUCCESS) return {};
  std::vector<std::size_t> found(sizes.begin(), sizes.begin() + bytes / sizeof sizes[0]);
  std::erase_if(found, [](std::size_t lanes) { return lanes > smem::plan::kMostBallotLanes; });
  return found;
}

/// Sizes of sub-groups by whose ballots the device ranks; none where it has no ballots.
std::vector<std::size_t> widths_here() {
  const auto id = smem::runtime::choose_device({}).id;
  const smem::Device device = smem::runtime::facts_of(id);
  // All of Intel's runtimes have them: a kernel that ranks wrong must not pass as a device without.
  if (device.platform.starts_with("Intel(R) OpenCL")) REQUIRE(device.ballot_width != 0);
  if (device.ballot_width == 0) return {};
  const std::vector<std::size_t> widths = required_sizes(id);
  return widths.empty() ? std::vector{device.ballot_width} : widths;
}

void check_kinds(const smem::Context& context, std::string_view variant, std::size_t lanes) {
  CAPTURE(variant);
  CAPTURE(lanes);
  smem::SortProblem problem;
  problem.keys = smem::Scalar::uint32;
  problem.size = 20011;
  problem.end_bit = 32;
  const smem::Plan plan = smem::plan_sort(context.device(), problem, {.variant = std::string(variant)});
  CHECK(plan.reason.find("ballots of sub-groups of " + std::to_string(lanes)) != std::string::npos);
  for (const Keys kind : test::kKeys) {
    CAPTURE(static_cast<int>(kind));
    CHECK(test::sorts(context, test::make_keys<std::uint32_t>(kind, 20011, 5),
                      {.variant = variant, .offset = 1}));
  }
}

void check_rows(const smem::Context& context, const test::RowsCall& call, Keys kind) {
  CAPTURE(call.variant);
  CHECK(test::sorts_rows(context, test::make_keys<std::uint32_t>(kind, test::spread_size(call), call.cols),
                         call));
}

}  // namespace

// Each program costs a driver's compiler a second or more: few for the sizes that plans do not choose.
TEST_CASE("small: sort by ballots of sub-groups") {
  for (const std::size_t lanes : widths_here()) {
    const test::Variable clamp("SMEM_CLAMP", "ballots=" + std::to_string(lanes));
    const smem::Context context;
    REQUIRE(context.device().ballot_width == lanes);
    CAPTURE(lanes);
    CHECK(smem::runtime::ranks_by_ballots(smem::runtime::choose_device({}).id, context.device(), lanes));
    check_kinds(context, "three_launches", lanes);
  }
}

TEST_CASE("sort by ballots of sub-groups: every variant, equal keys in their order") {
  const smem::Context context;
  const std::size_t lanes = context.device().ballot_width;
  if (lanes == 0) return;
  check_kinds(context, "four_bits", lanes);
  check_kinds(context, "onesweep", lanes);
  CHECK(test::sorts(context, test::make_keys<std::uint64_t>(Keys::uniform, 9001, 3),
                    {.variant = "onesweep", .order = {.descending = true}, .in_place = true}));
  CHECK(test::sorts_pairs(context, test::make_keys<std::uint32_t>(Keys::small, 9001, 4), 12,
                          {.variant = "three_launches"}, false));
  CHECK(test::argsorts<std::uint32_t, std::uint32_t>(
      context, test::make_keys<std::uint32_t>(Keys::zipf, 9001, 6), {.variant = "onesweep"}));
  test::RowsCall rows{.variant = "tile", .rows = 5, .cols = 1000, .gap = 1};
  check_rows(context, rows, Keys::uniform);
  rows.payload = smem::SortPayload::values;
  rows.value_bytes = 4;
  check_rows(context, rows, Keys::small);
  rows.variant = "radix";
  check_rows(context, rows, Keys::small);
}

TEST_CASE("sort by ballots of sub-groups: groups of few work-items") {
  for (const std::size_t lanes : widths_here()) {
    // Of one sub-group, or of half of one, whose work-items match in local memory.
    const std::size_t group = lanes == 32 || lanes == 8 ? lanes / 2 : lanes;
    const test::Variable clamp(
        "SMEM_CLAMP", "work_group=" + std::to_string(group) + ",local=16K,ballots=" + std::to_string(lanes));
    const smem::Context context;
    CAPTURE(lanes);
    CHECK(test::sorts(context, test::make_keys<std::uint32_t>(Keys::zipf, 9001, 7),
                      {.variant = "three_launches"}));
  }
}

TEST_CASE("sort by ballots of sub-groups: a size that no compiler takes leaves the device without them") {
  const auto id = smem::runtime::choose_device({}).id;
  const smem::Device device = smem::runtime::facts_of(id);
  if (device.ballot_width == 0) return;  // other compilers may end the process
  CHECK_FALSE(smem::runtime::ranks_by_ballots(id, device, 0));
  CHECK_FALSE(smem::runtime::ranks_by_ballots(id, device, 2));
  CHECK(smem::runtime::usable_ballot_width(id, device, 2) == 0);
  CHECK(smem::runtime::usable_ballot_width(id, device, 2) == 0);  // as it was kept
}
