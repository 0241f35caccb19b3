// Plans for described devices: they fit, have reasons, and can be compared, printed and passed
// on.
#include <smem/smem.hpp>

#include "support/catalogue.hpp"
#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

using test::target;

namespace {

void check_fits(const smem::Launch& plan, const smem::Device& device) {
  CAPTURE(plan.build_options());
  CAPTURE(device.name);
  CHECK(plan.local_bytes <= device.local_bytes);
  CHECK(plan.layout.bytes() <= plan.local_bytes);
  CHECK(plan.work_items() <= device.max_work_group);
  for (std::size_t d = 0; d < 3; ++d) {
    CHECK(plan.work_group[d] >= 1);
    CHECK(plan.work_group[d] <= device.max_work_items[d]);
    CHECK(plan.global[d] % plan.work_group[d] == 0);
    // NVIDIA's limits. With one work-item a group, which no real GPU has, they cannot hold for every size.
    if (device.max_work_group > 1)
      CHECK(plan.global[d] / plan.work_group[d] <= (d == 0 ? 0x7fffffff : 65535));
  }
}

smem::TransposeProblem problem(std::size_t element_bytes, std::size_t rows, std::size_t cols) {
  smem::TransposeProblem p;
  p.element_bytes = element_bytes;
  p.rows = rows;
  p.cols = cols;
  return p;
}

}  // namespace

TEST_CASE("plan: every configuration of every target fits its device and has a name of its own") {
  for (const smem::Device& device : test::all_targets()) {
    CAPTURE(device.name);
    std::set<std::string> names, variants;
    for (const test::Configuration& c : test::configurations(device)) {
      CHECK_MESSAGE(names.insert(c.name).second, "two configurations are called " << c.name);
      variants.insert(c.plan.operation + "/" + c.plan.variant);
      check_fits(c.plan, device);
    }
    // Every target runs every variant, but the CPUs' own one.
    for (const std::string_view variant : smem::transpose_variants()) {
      const bool runs = variant != "cpu" || device.type == smem::DeviceType::cpu;
      CHECK_MESSAGE(variants.contains("transpose/" + std::string(variant)) == runs, variant);
    }
    for (const std::string_view variant : smem::flip_variants())
      CHECK_MESSAGE(variants.contains("flip/" + std::string(variant)), variant);
  }
}

TEST_CASE("plan: shapes of all kinds fit every target and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits :
         {"", "local=32K", "local=16K,work_group=64", "local=512", "work_group=1", "local=0"}) {
      const smem::Device device = smem::clamp(whole, limits);
      for (const std::size_t element_bytes : {1, 2, 4, 8, 16}) {
        for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, 1},
                                         {3, 100000},
                                         {100000, 3},
                                         {46341, 46341},
                                         {std::size_t{1} << 33, 2},
                                         {2, std::size_t{1} << 33}}) {
          for (const std::size_t batch : {std::size_t{1}, std::size_t{100000}}) {
            smem::TransposeProblem p = problem(element_bytes, rows, cols);
            p.batch = batch;
            for (const std::size_t alignment : {std::size_t{64}, element_bytes}) {
              p.in_alignment = p.out_alignment = alignment;
              check_fits(smem::plan_transpose(device, p), device);
              if (rows != cols) continue;
              p.in_place = true;
              check_fits(smem::plan_transpose(device, p), device);
              p.in_place = false;
            }
            smem::FlipProblem f;
            f.element_bytes = element_bytes;
            f.rows = rows;
            f.cols = cols;
            f.batch = batch;
            try {
              check_fits(smem::plan_flip(device, f), device);
            } catch (const smem::Error& error) {  // more work-groups than a launch can have
              CHECK(error.details().argument == "in");
              CHECK(static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(batch) > 2e9);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("plan: the variant that is chosen is one that can be asked for and gives the same plan") {
  const auto names = smem::transpose_variants();
  for (const smem::Device& device : test::all_targets()) {
    for (const std::size_t alignment : {64, 4, 1}) {
      smem::TransposeProblem p = problem(4, 4096, 4096);
      p.in_alignment = p.out_alignment = alignment;
      const smem::Plan chosen = smem::plan_transpose(device, p);
      CAPTURE(chosen.to_string());
      CHECK(std::find(names.begin(), names.end(), chosen.variant) != names.end());
      const smem::Plan asked = smem::plan_transpose(device, p, {.variant = std::string(chosen.variant)});
      CHECK(asked.alternatives.empty());  // no other variant runs
      CHECK(chosen.alternatives.size() == names.size() - 1);
      smem::Plan without = chosen;
      without.alternatives = {};
      without.overrides = asked.overrides;
      CHECK(asked == without);
      CHECK(chosen.operation == "transpose");
      CHECK(chosen.scratch_bytes == 0);
      if (device.type == smem::DeviceType::gpu) {
        CHECK(chosen.variant != "cpu");
        CHECK(chosen.local_bytes > 0);
      }
    }
  }
  CHECK(smem::plan_transpose(target("cpu"), problem(4, 4096, 4096)).variant == "cpu");
}

TEST_CASE("plan: matrices without rows or columns, of which one side is packed, have plans") {
  for (const smem::Device& device : test::all_targets()) {
    CAPTURE(device.name);
    for (const bool in_packed : {true, false}) {
      smem::TransposeProblem p = problem(4, in_packed ? 9 : 0, in_packed ? 0 : 9);
      p.in_packed = in_packed;
      p.out_packed = !in_packed;
      CHECK_NOTHROW(smem::plan_transpose(device, p, {.variant = "strips"}));
    }
  }
}

TEST_CASE("plan: predicted bank conflicts of the ladder's variants") {
  const smem::TransposeProblem p = problem(4, 4096, 4096);
  for (const char* name : {"sm_75", "sm_90", "gfx1030", "gfx1100"}) {
    const smem::Device device = target(name);
    CAPTURE(name);
    const auto tiled = smem::plan_transpose(device, p, {.variant = "tiled"}).layout;
    CHECK(tiled.kind == smem::LocalLayout::Kind::plain);
    CHECK(tiled.store_degree() == 1);
    CHECK(tiled.load_degree() == 32);  // a column of 32 x 32 floats lies in one bank
    for (const char* better : {"padded", "swizzled"}) {
      const auto layout = smem::plan_transpose(device, p, {.variant = std::string(better)}).layout;
      CHECK(layout.store_degree() == 1);
      CHECK(layout.load_degree() == 1);
      CHECK(smem::name_of(layout.kind) == better);
    }
    const auto padded = smem::plan_transpose(device, p, {.variant = "padded"}).layout;
    const auto swizzled = smem::plan_transpose(device, p, {.variant = "swizzled"}).layout;
    CHECK(padded.bytes() > swizzled.bytes());
    CHECK(swizzled.bytes() == tiled.bytes());
  }
  CHECK(smem::plan_transpose(target("cpu"), p, {.variant = "tiled"}).layout.load_degree() == 1);
}

TEST_CASE("plan: without local memory it is naive and says so") {
  for (const smem::Device& whole : test::all_targets()) {
    const smem::Plan plan = smem::plan_transpose(smem::clamp(whole, "local=0"), problem(4, 100, 100));
    CHECK(plan.variant == "naive");
    CHECK(plan.local_bytes == 0);
    CHECK(plan.layout.kind == smem::LocalLayout::Kind::none);
    CHECK(test::contains(plan.reason, "no tile fits 0 bytes of local memory"));
    CHECK(test::contains(plan.to_string(), plan.reason));
  }
}

TEST_CASE("plan: a variant that does not fit is refused by name") {
  const smem::Device small = smem::clamp(target("sm_90"), "local=8");
  const auto error =
      test::failure_of([&] { smem::plan_transpose(small, problem(8, 10, 10), {.variant = "tiled"}); });
  CHECK(error.operation == "transpose");
  CHECK(error.argument == "variant");
  CHECK(test::contains(error.got, "tiled"));
  CHECK(test::contains(error.expected, "sm_90"));
  CHECK(test::contains(error.got, "8 bytes"));
}

TEST_CASE("plan: comparison and text") {
  const smem::Device device = target("sm_90");
  const smem::Plan a = smem::plan_transpose(device, problem(4, 1000, 2000));
  CHECK(a == smem::plan_transpose(device, problem(4, 1000, 2000)));
  CHECK(a != smem::plan_transpose(device, problem(4, 1000, 2001)));
  CHECK(a != smem::plan_transpose(device, problem(8, 1000, 2000)));
  CHECK(a != smem::plan_transpose(device, problem(4, 1000, 2000), {.variant = "naive"}));
  CHECK(a.prediction.bytes() == 2.0 * 4 * 1000 * 2000);
  CHECK(a.prediction.operations == 0);
  CHECK(a.prediction.intensity() == 0);
  for (const std::string_view variant : smem::transpose_variants()) {
    smem::TransposeProblem of = problem(4, 1000, 2000);
    if (variant == "strips") {
      of.cols = 20;
      of.in_packed = true;
    }
    const smem::Plan plan = smem::plan_transpose(target(variant == "cpu" ? "cpu" : "sm_90"), of,
                                                 {.variant = std::string(variant)});
    const std::string text = plan.to_string();
    CHECK(plan.variant == variant);
    CHECK(test::contains(text, "transpose"));
    CHECK(test::contains(text, std::string(variant)));
    CHECK(test::contains(text, plan.kernel_file));
    CHECK(test::contains(text, plan.entry_point));
    CHECK(test::contains(text, std::to_string(plan.local_bytes) + " bytes"));
    CHECK(test::contains(plan.build_options(), "-DELEMENT_BYTES=4"));
  }
}

TEST_CASE("plan: bad problems are refused") {
  const smem::Device device = target("sm_90");
  for (const std::size_t element_bytes : {0, 3, 5, 12, 32}) {
    const auto error = test::failure_of([&] { smem::plan_transpose(device, problem(element_bytes, 4, 4)); });
    CHECK(error.argument == "element size");
    CHECK(error.expected == "1, 2, 4, 8 or 16 bytes");
    CHECK(error.got == std::to_string(element_bytes) + " bytes");
    smem::FlipProblem flip;
    flip.element_bytes = element_bytes;
    CHECK(test::failure_of([&] { smem::plan_flip(device, flip); }).operation == "flip");
  }
  smem::TransposeProblem p = problem(4, 4, 5);
  p.in_place = true;
  CHECK(test::failure_of([&] { smem::plan_transpose(device, p); }).got == "4 x 5");
  const auto unknown =
      test::failure_of([&] { smem::plan_transpose(device, problem(4, 4, 4), {.variant = "fastest"}); });
  CHECK(unknown.argument == "variant");
  CHECK(unknown.got == "\"fastest\"");
  for (const std::string_view variant : smem::transpose_variants())
    CHECK(test::contains(unknown.expected, std::string(variant)));
  CHECK(test::failure_of([&] { smem::plan_flip(device, {}, {.variant = "fastest"}); }).argument == "variant");
}

TEST_CASE("plan: a caller's plan is launched and a plan for another problem is refused") {
  const smem::Context context;
  std::vector<float> input(30 * 50);
  for (std::size_t i = 0; i < input.size(); ++i)
    input[i] = static_cast<float>(i);
  const smem::Array<float> in(context, input);
  const std::vector<float> poison(input.size(), -1.0F);
  smem::Array<float> out(context, poison);

  smem::TransposeProblem right = problem(4, 30, 50);
  right.in_alignment = 8;   // 50 floats a row
  right.out_alignment = 8;  // 30
  for (const std::string_view variant : smem::transpose_variants()) {
    CAPTURE(variant);
    smem::Plan plan;
    try {
      plan = smem::plan_transpose(context.device(), right, {.variant = std::string(variant)});
    } catch (const smem::Error& error) {
      CHECK(error.details().argument == "variant");
      continue;
    }
    out.write(poison);
    smem::CallOptions options;
    options.plan = &plan;
    smem::transpose(context, in.matrix(30, 50), out.matrix(50, 30), options);
    const std::vector<float> got = out.to_host();
    CHECK(got[1] == 50.0F);
    CHECK(got[30] == 1.0F);
    CHECK(got[49 * 30 + 29] == input.back());
  }

  out.write(poison);
  smem::Plan other = smem::plan_transpose(context.device(), problem(4, 31, 50));
  smem::CallOptions options;
  options.plan = &other;
  auto error =
      test::failure_of([&] { smem::transpose(context, in.matrix(30, 50), out.matrix(50, 30), options); });
  CHECK(error.operation == "transpose");
  CHECK(error.argument == "plan");
  smem::Plan changed = smem::plan_transpose(context.device(), right);
  changed.global[0] *= 2;
  options.plan = &changed;
  CHECK(test::failure_of([&] {
          smem::transpose(context, in.matrix(30, 50), out.matrix(50, 30), options);
        }).argument == "plan");
  smem::FlipProblem flip;
  flip.rows = 30;
  flip.cols = 51;
  other = smem::plan_flip(context.device(), flip);
  options.plan = &other;
  CHECK(test::failure_of([&] {
          smem::flip(context, in.matrix(30, 50), out.matrix(30, 50), smem::Flip::horizontal, options);
        }).argument == "plan");
  CHECK(out.to_host() == poison);
}
