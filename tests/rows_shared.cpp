// Rows that groups share: the same bits whoever computes the statistics of a part, and the plans.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/random_cases.hpp"
#include "support/targets.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::vector<float> drawn(std::size_t count) {
  test::Random random(17);
  std::vector<float> all(count);
  for (float& v : all)
    v = static_cast<float>(random.between(0, 1 << 20)) / (1 << 17) - 4;
  return all;
}

double most_apart(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

smem::SoftmaxProblem rows_of(std::size_t rows, std::size_t cols) {
  smem::SoftmaxProblem p{.rows = rows, .cols = cols};
  p.row_alignment = cols % 4 == 0 ? 16 : 4;
  return p;
}

}  // namespace

TEST_CASE("rows shared: the same bits whoever computes the statistics of a part") {
  const std::size_t rows = 41, cols = 1003;
  const std::vector<float> host = drawn(rows * cols);
  std::vector<float> softmaxes, norms;
  for (const char* limit : {"", "poll_limit=0", "poll_limit=1"}) {
    CAPTURE(std::string(limit));
    const test::Variable clamp("SMEM_CLAMP", limit);
    const smem::Context context;
    if (!test::runs_on_rows(context.device(), "cooperative") || context.device().max_work_group < 32) return;
    const smem::PlanOverrides fixed{.variant = "cooperative", .tile_cols = 256, .work_items = 32};
    CHECK(smem::plan_softmax(context.device(), rows_of(rows, cols), fixed).number("parts") > 1);
    const smem::Array<float> in(context, host), weight(context, drawn(cols));
    smem::Array<float> out(context, smem::Count{rows * cols});
    const smem::Norm how{.weight = weight.vector(), .bias = weight.vector()};
    smem::softmax(context, in.matrix(rows, cols), out.matrix(rows, cols), {}, {.variant = "online"});
    const std::vector<float> other = out.to_host();
    for (const bool in_place : {false, true, false}) {  // also with statuses of earlier calls
      if (in_place) out.write(host);
      smem::softmax(context, (in_place ? out : in).matrix(rows, cols), out.matrix(rows, cols), {},
                    {.overrides = &fixed});
      if (softmaxes.empty()) softmaxes = out.to_host();
      CHECK(same_bits(out.to_host(), softmaxes));
      CHECK(most_apart(out.to_host(), other) < 1e-6);
      if (in_place) out.write(host);
      smem::layer_norm(context, (in_place ? out : in).matrix(rows, cols), out.matrix(rows, cols), how,
                       {.overrides = &fixed});
      if (norms.empty()) norms = out.to_host();
      CHECK(same_bits(out.to_host(), norms));
    }
  }
}

TEST_CASE("rows shared: parts that a group holds, of rows that are read and written once") {
  const smem::Device device = test::target("sm_90");
  const smem::PlanOverrides fixed{.variant = "cooperative"};
  for (const std::size_t cols : {16384, 50257, 100003, 1 << 18, 1 << 20}) {
    CAPTURE(cols);
    const smem::Plan plan = smem::plan_softmax(device, rows_of(4096, cols), fixed);
    const std::size_t parts = plan.number("parts"),
                      at_once = plan.number("groups_a_unit") * device.compute_units;
    CHECK(parts * plan.tile_cols >= cols);
    CHECK(plan.local_bytes <= device.local_bytes);
    CHECK(plan.groups() <= at_once);
    CHECK(plan.groups() + parts > at_once);  // no team more would run at once
    CHECK(plan.groups() % parts == 0);
    const double bytes = 4096.0 * static_cast<double>(cols) * 4;
    CHECK(plan.prediction.bytes_read >= bytes);
    CHECK(plan.prediction.bytes_read < 1.01 * bytes);
    CHECK(plan.prediction.bytes_written < 1.01 * bytes);
  }
  // Few rows, for which parts are smaller: the last team ends with the others.
  const smem::Plan few = smem::plan_softmax(device, rows_of(16, 1 << 20), fixed);
  CHECK(16 % (few.groups() / few.number("parts")) == 0);
  // One group has a row beside later ones, and waits for none.
  const smem::Plan one = smem::plan_softmax(device, rows_of(16384, 4096), fixed);
  CHECK(one.number("parts") == 1);
  CHECK(one.scratch.empty());
}

TEST_CASE("rows shared: by name, and refused where groups cannot share") {
  const auto refused = [](const smem::SoftmaxProblem& problem, const char* target, std::size_t tile_cols) {
    try {
      (void)smem::plan_softmax(test::target(target), problem,
                               {.variant = "cooperative", .tile_cols = tile_cols});
    } catch (const smem::Error& error) {
      return error.details().argument;
    }
    return std::string();
  };
  CHECK(refused(rows_of(4096, 50257), "sm_90", 0).empty());
  CHECK(refused(rows_of(4096, 50257), "sm_90", 1 << 20) == "variant");
  CHECK(refused(rows_of(4096, 1 << 20), "sm_90", 32) == "variant");  // more parts than a work-group polls
  CHECK(refused(rows_of(4096, 50257), "gfx90a", 0) == "variant");    // no fence between groups is known
  // A second input is not copied ahead.
  smem::NormProblem sum{.rows = 4096, .cols = 1 << 18};
  const auto runs = [&] {
    try {
      return smem::plan_norm(test::target("sm_90"), sum, {.variant = "cooperative"}).number("parts") > 1;
    } catch (const smem::Error&) {
      return false;
    }
  };
  CHECK(runs());
  sum.residual = sum.sum = true;
  CHECK_FALSE(runs());
}
