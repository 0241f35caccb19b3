// The model of distributed calls: what they exchange, by hand; bounds; refused arguments.
#include "support.hpp"

#include <smem/distributed/plan.hpp>
#include <smem/distributed/transpose.hpp>

namespace d = smem::distributed;

namespace {

d::PlanProblem problem_of(std::string_view operation) {
  if (operation == "gemm") return {.operation = "gemm", .rows = 4096, .cols = 4096, .depth = 4096};
  if (operation == "heat") {
    return {.operation = "heat", .rows = 512, .cols = 512, .depth = 2048, .steps = 64, .steps_per_halo = 8};
  }
  if (operation == "transpose") return {.operation = "transpose", .rows = 8192, .cols = 8192};
  return {.operation = std::string(operation), .rows = std::size_t{1} << 30};
}

}  // namespace

TEST_CASE("plan: bytes by hand") {
  const d::MachineRates rates;
  // B goes round: each rank sends all of it but the share that its neighbour has.
  CHECK(d::plan(problem_of("gemm"), 4, rates).bytes == 4096ull * 4096 * 4 * 3 / 4);
  // Of its quarter three quarters go away.
  CHECK(d::plan(problem_of("transpose"), 4, rates).bytes == 8192ull * 8192 * 4 / 4 * 3 / 4);
  // Two halos of 8 planes every 8 steps.
  CHECK(d::plan(problem_of("heat"), 4, rates).bytes == 512ull * 512 * 4 * 2 * 8 * 8);
  CHECK(d::plan(problem_of("reduce"), 4, rates).bytes == 8 * 3);
}

TEST_CASE("plan: no time is lost or won, up to 1024 ranks") {
  const d::MachineRates rates;
  for (const std::string_view name : d::planned_operations()) {
    CAPTURE(name);
    const d::DistributedPlan one = d::plan(problem_of(name), 1, rates);
    CHECK(one.seconds == one.seconds_of_one);
    CHECK(one.bytes == 0);
    for (std::size_t ranks = 2; ranks <= 1024; ranks *= 2) {
      const d::DistributedPlan plan = d::plan(problem_of(name), ranks, rates);
      double sum = 0;
      for (const d::PlanPhase& phase : plan.phases)
        sum += phase.compute + phase.exchange;
      CHECK(plan.seconds == doctest::Approx(sum - plan.hidden));
      CHECK(plan.hidden <= plan.exchange);
      CHECK(plan.efficiency() > 0);
      CHECK(plan.efficiency() <= 1.0001);
    }
    // What hides more takes no longer: a network without cost.
    d::MachineRates free = rates;
    free.network = free.host_link = 1e18;
    free.latency = 1e-15;
    CHECK(d::plan(problem_of(name), 64, free).seconds <= d::plan(problem_of(name), 64, rates).seconds);
    CHECK(test::contains(d::explain(d::plan(problem_of(name), 64, rates), rates), "hidden"));
  }
  CHECK(problem_of("heat").grown(3).depth == 3 * 2048);
  CHECK(problem_of("gemm").grown(3).rows == 3 * 4096);
}

TEST_CASE("plan: refused arguments") {
  const d::MachineRates rates;
  CHECK(test::failure_of([&] { d::plan({.operation = "nothing"}, 2, rates); }).argument == "operation");
  CHECK(test::failure_of([&] { d::plan(problem_of("sort"), 0, rates); }).argument == "ranks");
  d::MachineRates none = rates;
  none.network = 0;
  CHECK(test::failure_of([&] { d::plan(problem_of("sort"), 2, none); }).argument == "rates.network");
}

TEST_CASE("plan: a transpose sends the bytes that its plan says") {
  const d::Session& session = test::session();
  const auto ranks = static_cast<std::size_t>(session.ranks());
  d::Matrix<float> in(session, 12 * ranks, 20 * ranks), out(session, 20 * ranks, 12 * ranks);
  in.write(test::numbers<float>(12 * ranks * 20 * ranks, 0, 9));
  const std::uint64_t before = d::sent_bytes(session);
  d::transpose(in, out);
  const d::DistributedPlan plan =
      d::plan({.operation = "transpose", .rows = 12 * ranks, .cols = 20 * ranks}, ranks, d::MachineRates{});
  CHECK(d::sent_bytes(session) - before == plan.bytes);
}
