// Sorts whose tiles are ranked by ballots of sub-groups, where a device has them: sub-groups of every size.
#include "support/environment.hpp"
#include "support/sort_rows.hpp"
#include "support/sorts.hpp"

#include "runtime/ballots.hpp"
#include "runtime/devices.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using test::Keys;

namespace {

/// Sizes of sub-groups by whose ballots the device can rank; none where it has no ballots.
std::vector<std::size_t> widths_here() {
  const auto id = smem::runtime::choose_device({}).id;
  const smem::Device device = smem::runtime::facts_of(id);
  std::vector<std::size_t> widths;
  for (const std::size_t lanes : {8, 16, 32, 64})
    if (device.ballot_width != 0 && smem::runtime::ranks_by_ballots(id, device, lanes))
      widths.push_back(lanes);
  return widths;
}

std::string text_of(std::size_t lanes) { return "sub-groups of " + std::to_string(lanes); }

void check_sorts(const smem::Context& context, std::size_t lanes) {
  smem::SortProblem problem;
  problem.keys = smem::Scalar::uint32;
  problem.size = 20011;
  problem.end_bit = 32;
  for (const char* variant : {"three_launches", "four_bits", "onesweep"}) {
    CAPTURE(variant);
    CHECK(smem::plan_sort(context.device(), problem, {.variant = variant}).reason.find(text_of(lanes)) !=
          std::string::npos);
    for (const Keys kind : test::kKeys) {
      CAPTURE(static_cast<int>(kind));
      CHECK(test::sorts(context, test::make_keys<std::uint32_t>(kind, 20011, 5),
                        {.variant = variant, .offset = 1}));
    }
    CHECK(test::sorts(context, test::make_keys<std::uint64_t>(Keys::uniform, 9001, 3),
                      {.variant = variant, .order = {.descending = true}, .in_place = true}));
    CHECK(test::sorts_pairs(context, test::make_keys<std::uint32_t>(Keys::small, 9001, 4), 12,
                            {.variant = variant}, false));
    CHECK(test::argsorts<std::uint32_t, std::uint32_t>(
        context, test::make_keys<std::uint32_t>(Keys::zipf, 9001, 6), {.variant = variant}));
  }
}

}  // namespace

TEST_CASE("small: sort by ballots of sub-groups") {
  for (const std::size_t lanes : widths_here()) {
    const test::Variable clamp("SMEM_CLAMP", "ballots=" + std::to_string(lanes));
    const smem::Context context;
    CAPTURE(lanes);
    REQUIRE(context.device().ballot_width == lanes);
    CHECK(test::sorts(context, test::make_keys<std::uint16_t>(Keys::small, 9001, 7),
                      {.variant = "three_launches", .offset = 3}));
  }
}

TEST_CASE("sort by ballots of sub-groups: every variant, keys of every kind, equal keys in their order") {
  for (const std::size_t lanes : widths_here()) {
    const test::Variable clamp("SMEM_CLAMP", "ballots=" + std::to_string(lanes));
    const smem::Context context;
    CAPTURE(lanes);
    check_sorts(context, lanes);
    for (const char* variant : {"tile", "radix"}) {
      CAPTURE(variant);
      for (const std::size_t cols : {65, 1000}) {
        const test::RowsCall keys{.variant = variant, .rows = 5, .cols = cols, .gap = 1};
        CHECK(test::sorts_rows(
            context, test::make_keys<std::uint32_t>(Keys::uniform, test::spread_size(keys), cols), keys));
        const test::RowsCall pairs{.variant = variant,
                                   .rows = 5,
                                   .cols = cols,
                                   .payload = smem::SortPayload::values,
                                   .value_bytes = 4};
        CHECK(test::sorts_rows(
            context, test::make_keys<std::uint32_t>(Keys::small, test::spread_size(pairs), cols), pairs));
      }
    }
  }
}

TEST_CASE("sort by ballots of sub-groups: groups of few work-items, and of a number that is no multiple") {
  for (const std::size_t lanes : widths_here()) {
    for (const char* limits : {"work_group=4", "work_group=40", "work_group=64,local=16K", "local=4K"}) {
      const test::Variable clamp("SMEM_CLAMP", std::string(limits) + ",ballots=" + std::to_string(lanes));
      const smem::Context context;
      CAPTURE(lanes);
      CAPTURE(limits);
      for (const char* variant : {"three_launches", "onesweep"}) {
        CAPTURE(variant);
        CHECK(
            test::sorts(context, test::make_keys<std::uint32_t>(Keys::zipf, 9001, 7), {.variant = variant}));
      }
    }
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
