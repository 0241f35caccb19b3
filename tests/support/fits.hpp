/// Whether a plan fits the device that it was made for, and what a plan may be refused for.
#pragma once

#include <smem/device.hpp>
#include <smem/error.hpp>
#include <smem/plan.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string_view>

namespace test {

/// Of a plan that was chosen freely, all `variants` but one are explained.
inline void check_fits(const smem::Device& device, const smem::Plan& plan, std::string_view asked,
                       std::size_t variants) {
  CAPTURE(plan.to_string());
  CHECK(plan.local_bytes <= device.local_bytes);
  CHECK(plan.work_items() <= device.max_work_group);
  CHECK(plan.scratch.size() <= smem::Plan::kMostScratch);
  for (std::size_t d = 0; d < 3; ++d) {
    CHECK(plan.work_group.at(d) <= device.max_work_items.at(d));
    CHECK(plan.global.at(d) > 0);
    CHECK(plan.global.at(d) % plan.work_group.at(d) == 0);
    if (d > 0) CHECK(plan.global.at(d) / plan.work_group.at(d) <= 65535);
  }
  if (asked.empty()) CHECK(plan.alternatives.size() + 1 == variants);
}

/// Only a variant that was asked for may not run, and "naive" runs everywhere.
inline void check_refused_variant(const smem::Error& error, std::string_view asked) {
  CHECK(error.details().argument == "variant");
  CHECK(!asked.empty());
  CHECK(asked != "naive");
}

}  // namespace test
