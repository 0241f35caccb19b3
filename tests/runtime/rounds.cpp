// A call of several launches: their order, their memory and their arguments.
#include "ops/run.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kRoundRows = 24, kRoundCols = 40;

/// In two rounds: into temporary memory, and twice from there to the output.
smem::Plan plan_there_and_back(const smem::Device& device, const smem::TransposeProblem& problem,
                               const smem::PlanOverrides& /*overrides*/) {
  smem::Plan plan = smem::plan_transpose(device, {4, problem.cols, problem.rows}, {.variant = "naive"});
  plan.before.push_back(smem::plan_transpose(device, problem, {.variant = "naive"}));
  plan.before[0].variant = "there";
  plan.repeats = 2;
  plan.rounds = 2;
  plan.numbers = {{"offset", 7}};
  plan.scratch = {{kRoundRows * kRoundCols * 4, 0}};
  return plan;
}

}  // namespace

TEST_CASE("runtime: launches of a call come in rounds, each after the one before it") {
  const smem::Context context;
  std::vector<float> host(kRoundRows * kRoundCols);
  std::iota(host.begin(), host.end(), 0.0F);
  const smem::Array<float> in(context, host), out(context, smem::Count{4 * host.size() + 7});
  std::vector<std::string> seen;
  std::size_t number = 0;
  const cl_ulong rows = kRoundRows, cols = kRoundCols, one = 1, none = 0;
  smem::ops::run(context, "transpose", plan_there_and_back, smem::TransposeProblem{4, kRoundRows, kRoundCols},
                 {}, [&](const smem::ops::Launching& launch) {
                   seen.push_back(launch.launch().variant + std::to_string(launch.round()) +
                                  std::to_string(launch.repeat()));
                   const cl_mem between = launch.scratch(0, nullptr);
                   CHECK(launch.is_main() == (launch.launch().variant == "naive"));
                   if (!launch.is_main()) {
                     launch(in.buffer()(), none, static_cast<cl_long>(cols), none, between, none,
                            static_cast<cl_long>(rows), none, rows, cols, one);
                     return;
                   }
                   const cl_ulong to = launch.plan().number("offset") + number++ * kRoundRows * kRoundCols;
                   launch(between, none, static_cast<cl_long>(rows), none, out.buffer()(), to,
                          static_cast<cl_long>(cols), none, cols, rows, one);
                 });
  CHECK(seen == std::vector<std::string>{"there00", "naive00", "naive01", "there10", "naive10", "naive11"});
  const std::vector<float> made = out.to_host();
  for (std::size_t copy = 0; copy < 4; ++copy) {
    const auto begin = made.begin() + static_cast<std::ptrdiff_t>(7 + copy * host.size());
    CHECK(std::equal(host.begin(), host.end(), begin));
  }
}
