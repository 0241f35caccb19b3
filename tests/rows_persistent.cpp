// Rows of groups that go from row to row, and load the next one as results leave: against plain loops, and
// the plans.
#include <smem/smem.hpp>

#include "support/case_sweep.hpp"
#include "support/environment.hpp"
#include "support/more_groups.hpp"
#include "support/norms.hpp"
#include "support/random_cases.hpp"
#include "support/softmaxes.hpp"
#include "support/targets.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

using smem::NormOp;
using smem::Scalar;

namespace {

/// More rows than groups, of whole words of all work-items and of words of some. A section ends within a word
/// of two elements, or not, and those of two sections differ.
constexpr std::size_t kRows = 150;
constexpr std::array<std::size_t, 4> kCols{129, 191, 521, 1003};
constexpr std::size_t kItems = 32;
/// Elements of a part of a row that groups share, at most: or twice as many.
constexpr std::size_t kPart = 251;
/// Rows of more words than have their weights in registers.
constexpr std::size_t kFewRows = 5, kLongCols = 6001;
/// So that groups have several rows.
constexpr const char* kFewUnits = "compute_units=1,local=40K";

std::size_t defined(const smem::Plan& plan, std::string_view name) {
  for (const auto& [define, value] : plan.defines)
    if (define == name) return static_cast<std::size_t>(value);
  return 0;
}

/// Each operation, operand, layout and in-place call, in turns.
void vary(test::NormCase& c, std::size_t turn) {
  c.op = turn % 3 == 2 ? NormOp::rms : NormOp::layer;
  c.weight = turn % 4 != 3;
  c.bias = turn % 4 != 1 && c.op == NormOp::layer;
  c.statistics = turn % 2 == 0;
  c.gaps = turn % 3 == 1;
  c.offsets = turn % 3 == 2;
  c.batch = turn % 6 == 1 ? 2 : 1;
  if (turn % 4 == 2) c.in_place = test::NormInPlace::out_in;
}

/// Whether groups may wait for each other, as teams that fetch rows do.
bool teams_share_rows(const smem::Device& device) {
  return device.forward_progress && device.max_work_group >= kItems &&
         test::runs_on_rows(device, "cooperative");
}

}  // namespace

TEST_CASE("rows persistent: norms") {
  const test::Variable clamp("SMEM_CLAMP", kFewUnits);
  const smem::Context context;
  if (context.device().max_work_group < kItems) return;
  test::CaseSweep<test::NormCase> sweep(context);
  std::size_t turn = 0;
  for (const Scalar type : {Scalar::half, Scalar::bfloat16, Scalar::float32}) {
    for (const std::size_t cols : kCols) {
      test::NormCase c;
      c.variant = "persistent";
      c.in = c.out = type;
      c.weights = type;
      vary(c, turn);
      c.rows = kRows;
      c.cols = cols;
      c.work_items = kItems << turn % 2;
      if (cols < 8 * c.work_items) c.work_items = kItems;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("rows persistent: softmax and log_softmax") {
  const test::Variable clamp("SMEM_CLAMP", kFewUnits);
  const smem::Context context;
  if (context.device().max_work_group < kItems) return;
  test::CaseSweep<test::SoftmaxCase> sweep(context);
  std::size_t turn = 0;
  for (const Scalar type : {Scalar::half, Scalar::bfloat16, Scalar::float32}) {
    for (const std::size_t cols : kCols) {
      test::SoftmaxCase c;
      c.variant = "persistent";
      c.in = c.out = type;
      c.op = turn % 2 == 0 ? smem::SoftmaxOp::softmax : smem::SoftmaxOp::log_softmax;
      c.rows = kRows;
      c.cols = cols;
      c.work_items = cols < 8 * kItems ? kItems : kItems << turn % 2;
      c.gaps = turn % 3 == 1;
      c.offsets = turn % 3 == 2;
      c.batch = turn % 5 == 1 ? 2 : 1;
      c.in_place = turn % 4 == 2;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("rows persistent: softmax of rows of which local memory holds more than one, and less than two") {
  const test::Variable clamp("SMEM_CLAMP", "compute_units=1,local=24K");
  const smem::Context context;
  if (context.device().max_work_group < kItems) return;
  test::CaseSweep<test::SoftmaxCase> sweep(context);
  std::size_t turn = 0;
  for (const Scalar type : {Scalar::half, Scalar::bfloat16, Scalar::float32}) {
    for (const std::size_t length : {17001, 20003}) {
      test::SoftmaxCase c;
      c.variant = "persistent";
      c.in = c.out = type;
      c.op = turn % 2 == 0 ? smem::SoftmaxOp::softmax : smem::SoftmaxOp::log_softmax;
      c.cols = length / size_of(type);
      c.rows = 13;
      c.work_items = kItems << turn % 2;
      c.gaps = turn == 1;
      c.offsets = turn == 2;
      const smem::SoftmaxProblem p{
          .in = type, .out = type, .rows = c.rows, .cols = c.cols, .row_alignment = size_of(type)};
      const smem::Plan plan =
          smem::plan_softmax(context.device(), p, {.variant = c.variant, .work_items = c.work_items});
      const std::size_t pieces = defined(plan, "PIECES"), slots = defined(plan, "SLOTS") * c.work_items / 32;
      CHECK(slots >= pieces);
      CHECK(slots < 2 * pieces);
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("rows persistent: softmax of long rows by groups as plans choose them") {
  const test::Variable clamp("SMEM_CLAMP", "compute_units=4");
  const smem::Context context;
  if (smem::family_of(context.device()) != "nvidia-hopper") return;
  test::CaseSweep<test::SoftmaxCase> sweep(context);
  for (const Scalar type : {Scalar::half, Scalar::float32}) {
    test::SoftmaxCase c;
    c.in = c.out = type;
    c.rows = 21;
    c.cols = 50257;
    c.offsets = type == Scalar::half;
    const smem::SoftmaxProblem p{
        .in = type, .out = type, .rows = c.rows, .cols = c.cols, .row_alignment = size_of(type)};
    CHECK(smem::plan_softmax(context.device(), p).variant == "persistent");
    sweep.run(c);
  }
  CHECK(sweep.ran() == 2);
}

TEST_CASE("rows persistent: norms of rows that teams share") {
  const test::Variable clamp("SMEM_CLAMP", "local=40K");
  const smem::Context context;
  if (!teams_share_rows(context.device())) return;
  test::CaseSweep<test::NormCase> sweep(context);
  std::size_t turn = 0;
  for (const Scalar type : {Scalar::half, Scalar::bfloat16, Scalar::float32}) {
    for (const std::size_t cols : {499, 1003}) {
      test::NormCase c;
      c.variant = "persistent";
      c.in = c.out = c.weights = type;
      vary(c, turn);
      c.rows = turn % 5 == 4 ? 3 : kRows;
      c.cols = cols;
      c.work_items = turn % 2 == 0 ? kItems : 2 * kItems;
      c.tile_cols = cols < 2 * kPart ? kPart : kPart << turn % 2;
      sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("rows persistent: norms of rows that several teams fetch") {
  const test::Variable clamp("SMEM_CLAMP", "compute_units=2,local=40K");
  const smem::Context context;
  if (!teams_share_rows(context.device())) return;
  constexpr std::size_t kTeams = 5;
  const test::MoreGroups as_of_a_larger_device(kTeams);
  test::CaseSweep<test::NormCase> sweep(context);
  std::size_t turn = 0;
  // With a row for each team, two for some, and more: tickets are those of rows STAGES turns later.
  for (const std::size_t stages : {3, 4}) {
    for (const std::size_t rows : {kTeams, kTeams + 2, 2 * kTeams + 1, 3 * kTeams, 4 * kTeams + 3, kRows}) {
      test::NormCase c;
      c.variant = "persistent";
      c.in = c.out = c.weights = Scalar::float32;
      c.weight = c.bias = c.statistics = true;
      c.rows = rows;
      c.cols = 499;
      c.work_items = kItems;
      c.tile_rows = stages;
      c.tile_cols = kPart;
      for (std::size_t call = 0; call < 2; ++call)  // also with tickets of an earlier call
        sweep.run(c);
      ++turn;
    }
  }
  CHECK(sweep.ran() == 2 * turn);
}

TEST_CASE("rows persistent: long rows that teams share, by groups as plans choose them") {
  const test::Variable clamp("SMEM_CLAMP", "compute_units=6");
  const smem::Context context;
  test::CaseSweep<test::NormCase> sweep(context);
  std::size_t turn = 0;
  for (const Scalar type : {Scalar::half, Scalar::float32}) {
    test::NormCase c;
    c.variant = "persistent";
    c.in = c.out = c.weights = type;
    c.rows = 21;
    c.cols = type == Scalar::half ? 60001 : 30011;
    c.weight = c.bias = true;
    c.offsets = type == Scalar::half;
    const smem::NormProblem p{.in = type,
                              .out = type,
                              .weights = type,
                              .weight = true,
                              .bias = true,
                              .rows = c.rows,
                              .cols = c.cols,
                              .row_alignment = size_of(type)};
    if (smem::family_of(context.device()) != "nvidia-hopper") continue;
    CHECK(smem::plan_norm(context.device(), p, {.variant = c.variant}).number("parts") == 2);
    sweep.run(c);
    ++turn;
  }
  CHECK(sweep.ran() == turn);
}

TEST_CASE("rows persistent: the same bits whoever computes the statistics of a part") {
  constexpr std::size_t kShared = 41, kLong = 1003;
  test::Random random(23);
  std::vector<float> host(kShared * kLong);
  for (float& v : host)
    v = static_cast<float>(random.between(0, 1 << 20)) / (1 << 17) - 4;
  std::vector<float> norms;
  for (const char* clamps : {"local=40K", "local=40K,poll_limit=0", "local=40K,poll_limit=1"}) {
    CAPTURE(std::string(clamps));
    const test::Variable clamp("SMEM_CLAMP", clamps);
    const smem::Context context;
    if (!teams_share_rows(context.device())) return;
    const smem::PlanOverrides fixed{.variant = "persistent", .tile_cols = 256, .work_items = kItems};
    const smem::Array<float> in(context, host);
    smem::Array<float> out(context, smem::Count{host.size()});
    for (const bool in_place : {false, true, false}) {  // also with statuses of earlier calls
      if (in_place) out.write(host);
      smem::layer_norm(context, (in_place ? out : in).matrix(kShared, kLong), out.matrix(kShared, kLong), {},
                       {.overrides = &fixed});
      if (norms.empty()) norms = out.to_host();
      CHECK(out.to_host() == norms);
    }
  }
}

TEST_CASE("rows persistent: weights that registers do not hold are in local memory") {
  const test::Variable clamp("SMEM_CLAMP", kFewUnits);
  const smem::Context context;
  if (context.device().max_work_group < kItems) return;
  const smem::NormProblem p{.in = Scalar::half,
                            .out = Scalar::half,
                            .weights = Scalar::half,
                            .weight = true,
                            .bias = true,
                            .rows = kFewRows,
                            .cols = kLongCols};
  const smem::Plan plan =
      smem::plan_norm(context.device(), p, {.variant = "persistent", .work_items = kItems});
  CHECK(defined(plan, "REGISTER_WORDS") > 0);
  CHECK(defined(plan, "REGISTER_WORDS") < defined(plan, "WORDS"));
  test::CaseSweep<test::NormCase> sweep(context);
  test::NormCase c;
  c.variant = "persistent";
  c.in = c.out = c.weights = Scalar::half;
  c.rows = kFewRows;
  c.cols = kLongCols;
  c.work_items = kItems;
  c.weight = c.bias = true;
  for (const bool gaps : {false, true}) {
    c.gaps = gaps;
    sweep.run(c);
  }
  CHECK(sweep.ran() == 2);
}

TEST_CASE("rows persistent: chosen for long rows with weights on Hopper") {
  const smem::Device device = test::target("sm_90");
  const auto plan_of = [&](Scalar type, std::size_t cols, bool weighs, std::size_t rows) {
    const smem::NormProblem p{.in = type,
                              .out = type,
                              .weights = weighs ? type : Scalar::float32,
                              .weight = weighs,
                              .bias = weighs,
                              .rows = rows,
                              .cols = cols,
                              .row_alignment = size_of(type)};
    return smem::plan_norm(device, p);
  };
  const smem::Plan plan = plan_of(Scalar::half, 50257, true, 4096);
  CHECK(plan.variant == "persistent");
  CHECK(plan.groups() == device.compute_units);
  CHECK(defined(plan, "BULK_COPIES") == 1);
  const smem::Plan floats = plan_of(Scalar::float32, 24577, true, 8192);
  CHECK(floats.variant == "persistent");
  CHECK(plan_of(Scalar::bfloat16, 50257, true, 4096).variant == "persistent");
  CHECK(smem::plan_softmax(device, {.in = Scalar::half, .out = Scalar::half, .rows = 4096, .cols = 50257})
            .variant == "persistent");
  CHECK(plan_of(Scalar::half, 50257, false, 4096).variant == "ahead");
  CHECK(plan_of(Scalar::half, 20000, true, 4096).variant != "persistent");
  CHECK(plan_of(Scalar::half, 50257, true, device.compute_units).variant !=
        "persistent");  // a row for each group, at most
  // Two rows are more than local memory holds: teams share them.
  const smem::Plan shared = plan_of(Scalar::float32, 50257, true, 4096);
  CHECK(shared.variant == "persistent");
  CHECK(shared.number("parts") == 3);
  CHECK(shared.groups() == device.compute_units / 3 * 3);
  CHECK(shared.local_bytes <= device.local_bytes);
  CHECK(plan_of(Scalar::half, 100003, true, 2048).number("parts") == 3);
  CHECK(plan_of(Scalar::half, 1000001, true, 4096).variant != "persistent");
  // Rings of softmax hold a row, and the first pieces of the next one.
  const smem::SoftmaxProblem floats_of_rings{.rows = 4096, .cols = 50257, .row_alignment = 4};
  CHECK(smem::plan_softmax(device, floats_of_rings).variant == "persistent");
  CHECK(smem::plan_softmax(device, floats_of_rings).local_bytes <= device.local_bytes);
  CHECK(smem::plan_softmax(device, {.rows = 4096, .cols = 60000}).variant != "persistent");
  const smem::PlanOverrides by_name{.variant = "persistent"};
  CHECK_THROWS_AS(smem::plan_softmax(device, {.rows = 4096, .cols = 60000}, by_name), smem::Error);
}
