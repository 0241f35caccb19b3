// The model of distributed calls: what they exchange, by hand; bounds; refused arguments.
#include "support.hpp"

#include <smem/distributed/gemm.hpp>
#include <smem/distributed/plan.hpp>
#include <smem/distributed/stencil.hpp>
#include <smem/distributed/transpose.hpp>

namespace d = smem::distributed;

namespace {

d::PlanProblem problem_of(std::string_view operation) {
  if (operation == "gemm") return {.operation = "gemm", .rows = 4096, .cols = 4096, .depth = 4096};
  if (operation == "heat") {
    return {.operation = "heat", .rows = 512, .cols = 512, .depth = 2048, .steps = 64, .steps_per_halo = 8};
  }
  if (operation == "stencil") {
    return {.operation = "stencil",
            .rows = 128,
            .cols = 256,
            .depth = 512,
            .steps = 10,
            .steps_per_halo = 4,
            .radius = 2};
  }
  if (operation == "attention")
    return {.operation = "attention", .rows = 8192, .cols = 512, .depth = 128, .element_bytes = 2};
  if (operation == "transpose") return {.operation = "transpose", .rows = 8192, .cols = 8192};
  return {.operation = std::string(operation), .rows = std::size_t{1} << 30};
}

}  // namespace

TEST_CASE("plan: bytes by hand") {
  const d::MachineRates rates;
  // Two ranks below each other: each sends its half of B.
  CHECK(d::plan(problem_of("gemm"), 2, rates).bytes == 4096ull * 4096 * 4 / 2);
  // 8 x 8 ranks: 7/64 of A, 63/64 of an eighth of B, and of a 64th of C seven eighths.
  CHECK(d::plan(problem_of("gemm"), 64, rates).bytes == 4096ull * 4096 * 4 * (7 * 8 + 63 + 7) / 512);
  CHECK(test::contains(d::explain(d::plan(problem_of("gemm"), 64, rates), rates), "on 8 x 8 ranks"));
  // Sums that travel are worth it where they are long.
  const auto square = [](std::size_t depth) {
    return d::PlanProblem{.operation = "gemm", .rows = 4096, .cols = 4096, .depth = depth};
  };
  CHECK(test::contains(d::explain(d::plan(square(1024), 4, rates), rates), "on 4 x 1 ranks"));
  CHECK(test::contains(d::explain(d::plan(square(16384), 4, rates), rates), "on 2 x 2 ranks"));
  // Few rows, many columns: all ranks in one row, so that no B is exchanged with those below.
  const d::PlanProblem wide{.operation = "gemm", .rows = 64, .cols = 65536, .depth = 1024};
  CHECK(test::contains(d::explain(d::plan(wide, 16, rates), rates), "on 1 x 16 ranks"));
  // Keys and values of a quarter of the tokens go to three others.
  CHECK(d::plan(problem_of("attention"), 4, rates).bytes == 2ull * 8192 * 128 * 2 * 3 / 4);
  // Two halos of 2 x 4 planes every 4 steps of 10.
  CHECK(d::plan(problem_of("stencil"), 4, rates).bytes == 256ull * 128 * 4 * 2 * 8 * 3);
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
  CHECK(problem_of("stencil").grown(3).depth == 3 * 512);
  CHECK(problem_of("gemm").grown(3).rows == 3 * 4096);
}

TEST_CASE("plan: steps between two exchanges of halos") {
  const d::MachineRates rates;
  const auto seconds = [](std::size_t per_halo, const d::MachineRates& with) {
    d::PlanProblem problem = problem_of("heat");
    problem.steps_per_halo = per_halo;
    return d::plan(problem, 8, with).seconds;
  };
  d::MachineRates slow_messages = rates;
  slow_messages.latency = 5e-3;
  for (const std::size_t per_halo : {1, 2, 4, 12, 24, 64}) {
    CHECK(seconds(0, rates) <= seconds(per_halo, rates));
    CHECK(seconds(0, slow_messages) <= seconds(per_halo, slow_messages));
  }
  // Slow messages are fewer.
  d::PlanProblem problem = problem_of("heat");
  problem.steps_per_halo = 0;
  CHECK(d::plan(problem, 8, slow_messages).messages < d::plan(problem, 8, rates).messages);
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

TEST_CASE("plan: a product sends the bytes that its plan says") {
  const d::Session& session = test::session();
  const auto ranks = static_cast<std::size_t>(session.ranks());
  struct Shape {
    std::size_t m, n, k;
  };
  for (const Shape& shape : {Shape{12, 20, 16}, Shape{1, 40, 3}, Shape{40, 3, 5}}) {
    const std::size_t m = shape.m * ranks, n = shape.n * ranks, k = shape.k * ranks;
    d::Matrix<float> a(session, m, k), b(session, k, n), c(session, m, n);
    a.write(std::vector<float>(m * k, 1.0F));
    b.write(std::vector<float>(k * n, 1.0F));
    const std::uint64_t before = d::sent_bytes(session);
    d::gemm(a, b, c);
    const d::DistributedPlan plan =
        d::plan({.operation = "gemm", .rows = m, .cols = n, .depth = k}, ranks, d::MachineRates{});
    CHECK(d::sent_bytes(session) - before == plan.bytes);
  }
}

TEST_CASE("omit: the same messages without kernels, none without exchange") {
  const d::Session& session = test::session();
  d::Grid<float> in(session, {40, 200}), out(session, {40, 200});
  in.write(test::numbers<float>(8000, 0, 1000));
  const smem::Heat heat{.steps = 6, .dt = 0.1};
  const auto sent = [&](d::Omit what) {
    d::omit(session, what);
    const std::uint64_t before = d::sent_bytes(session);
    d::heat(in, out, heat, {2});
    d::omit(session, d::Omit::nothing);
    return d::sent_bytes(session) - before;
  };
  const std::uint64_t all = sent(d::Omit::nothing);
  const std::vector<float> wanted = out.to_host();
  CHECK(sent(d::Omit::computation) == all);
  CHECK(out.to_host() != wanted);
  CHECK(sent(d::Omit::exchange) == 0);
  CHECK(sent(d::Omit::nothing) == all);
  CHECK(out.to_host() == wanted);
}
