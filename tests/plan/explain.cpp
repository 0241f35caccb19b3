// Plans in words and as JSON, facts as JSON, and what is wrong with a facts file.
#include <smem/explain.hpp>
#include <smem/transpose_plan.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

smem::Plan plan_for(const smem::Device& device, std::string_view variant = {}) {
  smem::TransposeProblem problem;
  problem.rows = problem.cols = 4096;
  return smem::plan_transpose(device, problem, {.variant = std::string(variant)});
}

smem::Device hopper() {
  smem::Device device = test::targets::nvidia("sm_90", 227 * 1024);
  device.unit = {228 * 1024, 1024, 65536, 256, 2048, 32};
  return device;
}

}  // namespace

TEST_CASE("explain: the text says what was chosen, what was not, and why") {
  const smem::Device device = hopper();
  const smem::Plan plan = plan_for(device);
  const std::string text = smem::explain(plan, device);
  for (const char* part :
       {"nvidia-hopper", "transpose / vector", "rows are aligned", "evidence", "H200", "transpose/vector.cl",
        "256 x 1 x 1", "64 x 64 elements", "16896 bytes", "row * 33 + col", "conflict degree 1",
        "row 1 |  2  4", "8 group(s)", "limited by work-items", "67.1 MB read",
        "no floating-point operations", "not chosen"})
    CHECK_MESSAGE(test::contains(text, part), part << " is not in\n" << text);
  CHECK_FALSE(test::contains(text, "bound "));
  for (const std::string_view variant : smem::transpose_variants()) {
    if (variant == "vector") continue;
    CHECK(test::contains(text, "    " + std::string(variant) + " "));
  }
  CHECK(test::contains(text, "takes 32 turns of the banks"));
  // Without a device, what depends on one is left out.
  const std::string alone = smem::explain(plan);
  CHECK(test::contains(alone, "conflict degree 1"));
  CHECK_FALSE(test::contains(alone, "banks in which"));
  CHECK_FALSE(test::contains(alone, "residency"));
}

TEST_CASE("explain: rates, registers and a measured time") {
  const smem::Device device = hopper();
  const std::string text = smem::explain(
      plan_for(device), device, {.rates = {4e12, 60e12}, .registers = 62, .measured_seconds = 40e-6});
  CHECK(test::contains(text, "bound"));
  CHECK(test::contains(text, "33.6 us, set by memory"));
  CHECK(test::contains(text, "15.0 a byte"));
  CHECK(test::contains(text, "40.0 us"));
  CHECK(test::contains(text, "0.84 of the bound"));
  CHECK(test::contains(text, "limited by registers; 62 registers"));
}

TEST_CASE("explain: variants with conflicts, without local memory, fixed by hand, and on CPUs") {
  const smem::Device device = hopper();
  const std::string tiled = smem::explain(plan_for(device, "tiled"), device);
  CHECK(test::contains(tiled, "conflict degree 32, 32.00 x"));
  CHECK(test::contains(tiled, "row 1 |  0  1"));  // rows of a plain tile begin in the same bank
  CHECK(test::contains(tiled, "fixed by hand  variant"));
  CHECK_FALSE(test::contains(tiled, "not chosen"));
  const std::string swizzled = smem::explain(plan_for(device, "swizzled"), device);
  CHECK(test::contains(swizzled, "col ^ (row & 31)"));
  CHECK(test::contains(swizzled, "row 1 |  1  0  3  2"));
  CHECK_FALSE(test::contains(smem::explain(plan_for(device, "naive"), device), "banks in which"));
  const smem::Device cpu = test::targets::cpu();
  const std::string on_cpu = smem::explain(plan_for(cpu), cpu);
  CHECK_FALSE(test::contains(on_cpu, "banks in which"));
  CHECK(test::contains(on_cpu, "vector"));
  const smem::Device strange = test::targets::gpu("strange", smem::Vendor::other, 32, 256, 32768);
  CHECK(test::contains(smem::explain(plan_for(strange), strange), "residency      not known"));
  CHECK(test::contains(smem::explain(plan_for(strange), strange), "no measurement"));
}

TEST_CASE("explain: as JSON") {
  const smem::Device device = hopper();
  const smem::Plan plan = plan_for(device);
  const auto json = nlohmann::json::parse(
      smem::explain_json(plan, device, {.rates = {4e12, 60e12}, .registers = 62, .measured_seconds = 40e-6}));
  CHECK(json["operation"] == "transpose");
  CHECK(json["variant"] == "vector");
  CHECK(json["family"] == "nvidia-hopper");
  CHECK(json["local_bytes"] == plan.local_bytes);
  CHECK(json["layout"]["stride"] == 33);
  CHECK(json["layout"]["accesses"].size() == 2);
  CHECK(json["layout"]["accesses"][0]["degree"] == 1);
  CHECK(json["residency"]["limit"] == "registers");
  CHECK(json["prediction"]["bytes_read"] == 4096.0 * 4096 * 4);
  CHECK(json["bound"]["by"] == "memory");
  CHECK(json["measured_seconds"] == 40e-6);
  CHECK(json["not_chosen"].size() == smem::transpose_variants().size() - 1);
  const auto naive = nlohmann::json::parse(smem::explain_json(plan_for(device, "naive"), device));
  CHECK(naive["layout"].is_null());
  CHECK(naive["bound"].is_null());
  CHECK(naive["measured_seconds"].is_null());
  CHECK(naive["not_chosen"].empty());
}

TEST_CASE("explain: facts survive the way to JSON and back") {
  for (smem::Device device : test::all_targets()) {
    device.unit = {1, 2, 3, 4, 5, 6};
    device.opencl_c = "OpenCL C \"1.2\" \\";
    CHECK(smem::device_from_json(smem::to_json(device)) == device);
  }
  const smem::Device few = smem::device_from_json(
      R"({"name": "x", "vendor": "nvidia", "architecture": "sm_90", "local_bytes": 232448})");
  CHECK(few.local_bytes == 232448);
  CHECK(few.max_work_group == smem::Device().max_work_group);
  CHECK(few.unit.work_items == 2048);  // of the architecture
}

TEST_CASE("explain: what is wrong with facts is named") {
  const auto field = [](const char* text) {
    return test::failure_of([&] { smem::device_from_json(text); }).argument;
  };
  CHECK(field("") == "text");
  CHECK(field("{") == "text");
  CHECK(field("[]") == "text");
  CHECK(field(R"({"local_byte": 1})") == "local_byte");
  CHECK(field(R"({"local_bytes": "many"})") == "local_bytes");
  CHECK(field(R"({"local_bytes": -1})") == "local_bytes");
  CHECK(field(R"({"local_bytes": 1.5})") == "local_bytes");
  CHECK(field(R"({"local_banks": 0})") == "local_banks");
  CHECK(field(R"({"max_work_group": 0})") == "max_work_group");
  CHECK(field(R"({"max_work_items": [1, 2]})") == "max_work_items");
  CHECK(field(R"({"max_work_items": [1, 0, 1]})") == "max_work_items[1]");
  CHECK(field(R"({"vendor": "nvida"})") == "vendor");
  CHECK(field(R"({"type": 1})") == "type");
  CHECK(field(R"({"fp64": 1})") == "fp64");
  CHECK(field(R"({"name": null})") == "name");
  CHECK(field(R"({"unit": 3})") == "unit");
  CHECK(field(R"({"unit": {"groups": "x"}})") == "unit.groups");
  CHECK(field(R"({"unit": {"group": 1}})") == "unit.group");
  const auto error = test::failure_of([] { smem::device_from_json(R"({"vendor": "nvida"})"); });
  CHECK(test::contains(error.expected, "\"nvidia\""));
  CHECK(error.got == "\"nvida\"");
}
