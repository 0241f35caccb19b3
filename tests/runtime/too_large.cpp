// A driver may refuse a launch for what the compiled kernel needs. Then a smaller plan takes its place.
#include "ops/run.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace {

/// A naive plan for 1 x 40000 that has work-groups of `group`, more than any driver accepts if so asked.
smem::Plan plan_with_group(std::size_t group) {
  smem::Plan plan;
  plan.operation = "transpose";
  plan.variant = "naive";
  plan.kernel_file = "transpose/naive.cl";
  plan.entry_point = "transpose_naive";
  plan.work_group = {group, 1, 1};
  plan.global = {(40000 + group - 1) / group * group, 1, 1};
  plan.defines = {
      {"ELEMENT_BYTES", 4}, {"GROUP_0", static_cast<long>(group)}, {"GROUP_1", 1}, {"GROUP_2", 1}};
  return plan;
}

/// The groups of the plans that were made.
std::vector<std::size_t>& asked() {
  static std::vector<std::size_t> groups;
  return groups;
}

/// The first plan ignores the device's limit, as a plan that knows too little of a kernel's needs would.
smem::Plan plan_too_large(const smem::Device& device, const smem::TransposeProblem& /*problem*/,
                          const smem::PlanOverrides& /*overrides*/) {
  asked().push_back(asked().empty() ? 2 * device.max_work_group : device.max_work_group);
  return plan_with_group(asked().back());
}

}  // namespace

TEST_CASE("runtime: a launch that the driver refuses is repeated with smaller work-groups") {
  const smem::Context context;
  std::vector<unsigned> host(40000);
  for (std::size_t i = 0; i < host.size(); ++i)
    host[i] = static_cast<unsigned>(i);
  const smem::Array<unsigned> in(context, host), out(context, smem::Count{host.size()});
  asked().clear();
  const auto run = [&] {
    return smem::ops::run(context, "transpose", plan_too_large, smem::TransposeProblem{4, 1, 40000}, {},
                          [&](const smem::ops::Launching& launch) {
                            launch(in.buffer()(), cl_ulong{0}, cl_long{1}, cl_ulong{0}, out.buffer()(),
                                   cl_ulong{0}, cl_long{40000}, cl_ulong{0}, cl_ulong{40000}, cl_ulong{1},
                                   cl_ulong{1});
                          });
  };
  run();
  CHECK(out.to_host() == host);
  REQUIRE(asked().size() >= 2);
  for (std::size_t i = 1; i < asked().size(); ++i)
    CHECK(asked()[i] == asked()[i - 1] / 2);
  const std::size_t plans = asked().size();
  run();  // what works is remembered
  CHECK(asked().size() == plans);
}
