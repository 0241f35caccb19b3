// Tuning files: used by operations of themselves, and ignored wherever something is wrong with them.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/folder.hpp"
#include "support/others.hpp"
#include "support/targets.hpp"
#include "support/transposed.hpp"
#include "support/tuning_folder.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTunedRows = 70, kTunedCols = 130;

bool transposes_right(const smem::Context& context, const smem::CallOptions& options = {}) {
  return test::transposes(context, kTunedRows, kTunedCols, options);
}

smem::TransposeProblem problem() {
  return {.element_bytes = 4,
          .rows = kTunedRows,
          .cols = kTunedCols,
          .in_alignment = 8,
          .out_alignment = 8,
          .in_packed = true,
          .out_packed = true};
}

smem::TuningEntry entry_of(smem::PlanOverrides overrides) {
  return {smem::tuning_class(problem()), std::move(overrides), 1.25, 1e-4, "cpu", "2026-11-22"};
}

smem::Plan plan_of(const smem::Context& context) {
  return smem::tuned_plan(context, problem(), [&](const smem::PlanOverrides& overrides) {
    return smem::plan_transpose(context.device(), problem(), overrides);
  });
}

/// The program that a call builds, by the trace of a fresh context: whether calls use the variant.
bool call_uses(const smem::Context& context, const char* variant) {
  const std::size_t before = context.cache_statistics().built_from_source;
  CHECK(transposes_right(context));
  CHECK(context.cache_statistics().built_from_source == before + 1);
  CHECK(transposes_right(context, {.variant = variant}));  // builds nothing if it was this one
  return context.cache_statistics().built_from_source == before + 1;
}

}  // namespace

TEST_CASE("tuning: calls that fix nothing use the entry, and others what they fix") {
  const test::TuningFolder folder;
  const smem::Context before;
  const std::string shipped = plan_of(before).variant;
  REQUIRE(shipped != "padded");
  smem::store_tuning(before.device(), {entry_of({.variant = "padded", .tile_rows = 16})});
  CHECK(smem::tuning_file(before.device()).parent_path() == folder.path());
  CHECK(call_uses(before, shipped.c_str()));  // a context has what was there when it opened

  const smem::Context context;
  const smem::Plan plan = plan_of(context);
  CHECK(plan.variant == "padded");
  CHECK(plan.tile_rows == 16);
  CHECK(test::contains(plan.evidence, "1.25 times the shipped plan"));
  CHECK(transposes_right(context, {.plan = &plan}));
  const std::size_t built = context.cache_statistics().built_from_source;
  CHECK(transposes_right(context));
  CHECK(context.cache_statistics().built_from_source == built);  // the very same program

  const smem::Context second;
  CHECK(call_uses(second, "padded") == false);  // its tile is another one than the variant's own
  const smem::Context third;
  const smem::PlanOverrides fixed{.variant = "tiled"};
  CHECK(transposes_right(third, {.overrides = &fixed}));
  CHECK(transposes_right(third, {.variant = "tiled"}));
  CHECK(third.cache_statistics().built_from_source == 1);
}

TEST_CASE("tuning: off by SMEM_TUNING") {
  const test::TuningFolder folder;
  smem::store_tuning(smem::Context().device(), {entry_of({.variant = "padded"})});
  CHECK(plan_of(smem::Context()).variant == "padded");
  for (const char* off : {"0", "off", "OFF"}) {
    const test::Variable disabled("SMEM_TUNING", off);
    CHECK_FALSE(smem::tuning_is_on());
    const smem::Context context;
    CHECK(plan_of(context).variant != "padded");
    CHECK_FALSE(call_uses(context, "padded"));
  }
}

TEST_CASE("tuning: files of another driver, version or device, and broken ones, are ignored") {
  const test::TuningFolder folder;
  const smem::Device device = smem::Context().device();
  smem::store_tuning(device, {entry_of({.variant = "padded"})});
  const auto file = smem::tuning_file(device);
  const std::string good = test::text_of(file);
  REQUIRE(smem::tuning_entries(device).size() == 1);
  const auto changed = [&](const auto& change) {
    Json json = Json::parse(good);
    change(json);
    return json.dump();
  };
  const std::vector<std::string> bad{
      "",
      "{",
      "[]",
      "7",
      std::string(3000, '['),
      std::string(60000, '[') + std::string(60000, ']'),
      good.substr(0, good.size() / 2),
      changed([](Json& json) { json["smem"] = "0.0.9"; }),
      changed([](Json& json) { json["smem_tuning"] = 2; }),
      changed([](Json& json) { json["device"]["driver"] = "older"; }),
      changed([](Json& json) { json["device"]["name"] = "another"; }),
      changed([](Json& json) { json["device"]["platform_version"] = "older"; }),
      changed([](Json& json) { json.erase("entries"); }),
      changed([](Json& json) { json["entries"] = "none"; }),
      changed([](Json& json) { json["entries"][0]["gain"] = -1; }),
      changed([](Json& json) { json["entries"][0]["work_items"] = std::size_t{1} << 40; }),
      changed([](Json& json) { json["entries"][0]["tile_rows"] = -4; }),
      changed([](Json& json) { json["entries"][0]["extents"]["rows"] = "many"; }),
      changed([](Json& json) { json["entries"][0]["layout"] = "diagonal"; }),
      changed([](Json& json) { json["entries"][0]["variant"] = std::string(100000, 'x'); }),
      changed([](Json& json) { json["entries"][0].erase("date"); }),
      good + std::string(std::size_t{2} << 20, ' '),
  };
  for (const std::string& text : bad) {
    CAPTURE(text.substr(0, 200));
    test::write_text(file, text);
    CHECK(smem::tuning_entries(device).empty());
    CHECK(plan_of(smem::Context()).variant != "padded");
  }
  CHECK(transposes_right(smem::Context()));
  // A folder in its place, and then the file again.
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  CHECK(smem::tuning_entries(device).empty());
  std::filesystem::remove(file);
  test::write_text(file, good);
  CHECK(plan_of(smem::Context()).variant == "padded");
  // One that belongs to another driver has another name too.
  smem::Device other = device;
  other.driver += ".1";
  CHECK(smem::tuning_file(other) != file);
}

TEST_CASE("tuning: files and folders that others can write are ignored, and not written") {
  const test::TuningFolder folder;
  const test::NoMask mask;
  const smem::Device device = test::target("sm_90");
  const std::filesystem::path inner = folder.path() / "inner";
  const test::Variable at("SMEM_TUNING_DIR", inner.string());
  smem::store_tuning(device, {entry_of({.variant = "padded"})});
  const auto file = smem::tuning_file(device);
  CHECK(test::mode_of(inner) == 0700);
  CHECK(test::files_in(inner).size() == 2);  // it, and its lock
  for (const auto& made : test::files_in(inner))
    CHECK(test::mode_of(made) == 0600);
  REQUIRE(smem::tuning_entries(device).size() == 1);
  const auto refused = [&] {
    CHECK(smem::tuning_entries(device).empty());
    const auto error =
        test::failure_of([&] { smem::store_tuning(device, {entry_of({.variant = "tiled"})}); });
    CHECK(error.operation == "store_tuning");
    CHECK(test::contains(error.got, inner.string()));
  };
  for (const mode_t mode : {0777, 0770}) {
    CAPTURE(mode);
    test::set_mode(file, 0600 | (mode & 066));
    CHECK(smem::tuning_entries(device).empty());
    test::set_mode(file, 0600);
    test::set_mode(inner, mode);
    refused();
    test::set_mode(inner, 0700);
    test::set_mode(folder.path(), mode);
    refused();
    test::set_mode(folder.path(), 0700);
  }
  CHECK(smem::tuning_entries(device).size() == 1);
  // A link in its place, and in that of the lock.
  const auto elsewhere = folder.path() / "elsewhere", lock = std::filesystem::path(file.string() + ".lock");
  std::filesystem::rename(file, elsewhere);
  std::filesystem::create_symlink(elsewhere, file);
  CHECK(smem::tuning_entries(device).empty());
  std::filesystem::remove(lock);
  std::filesystem::create_symlink(folder.path() / "made", lock);
  CHECK(test::failure_of([&] { smem::store_tuning(device, {}); }).operation == "store_tuning");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "made"));
  std::filesystem::remove(lock);
  smem::store_tuning(device, {entry_of({.variant = "tiled"})});
  CHECK(smem::tuning_entries(device).size() == 1);
  CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(file)));
  if (!test::is_root()) {
    MESSAGE("skipped for other owners: only root can give files away");
    return;
  }
  test::give_away(file);
  CHECK(smem::tuning_entries(device).empty());
  test::give_away(inner);
  refused();
}

TEST_CASE("tuning: entries that cannot be leave the shipped plan") {
  const test::TuningFolder folder;
  const smem::Device device = smem::Context().device();
  const std::string shipped = [&] {
    const test::Variable off("SMEM_TUNING", "0");
    return plan_of(smem::Context()).variant;
  }();
  for (const smem::PlanOverrides& overrides :
       {smem::PlanOverrides{.variant = "nosuch"}, smem::PlanOverrides{.variant = "tiled", .tile_rows = 7},
        smem::PlanOverrides{.variant = "tiled", .work_items = std::size_t{1} << 20},
        smem::PlanOverrides{.variant = "vector", .tile_rows = 4096, .tile_cols = 4096},
        smem::PlanOverrides{.variant = "naive", .layout = {.padding = 1}}}) {
    CAPTURE(overrides.variant);
    smem::store_tuning(device, {entry_of(overrides)});
    const smem::Context context;
    CHECK(plan_of(context).variant == shipped);
    CHECK(call_uses(context, shipped.c_str()));
  }
  // Of another operation or of other sizes.
  smem::TuningEntry far = entry_of({.variant = "padded"});
  far.problems.extents.front().value *= 3;
  smem::store_tuning(device, {far}, {entry_of({}).problems});
  CHECK(plan_of(smem::Context()).variant == shipped);
}

TEST_CASE("tuning: the nearest entry counts, and entries are replaced and dropped") {
  const test::TuningFolder folder;
  const smem::Device device = smem::Context().device();
  smem::TuningEntry near = entry_of({.variant = "padded"}), far = entry_of({.variant = "tiled"});
  near.problems.extents.front().value += 10;
  far.problems.extents.front().value += 40;
  smem::store_tuning(device, {far, near});
  CHECK(plan_of(smem::Context()).variant == "padded");
  smem::store_tuning(device, {}, {near.problems});
  CHECK(plan_of(smem::Context()).variant == "tiled");
  far.overrides.variant = "swizzled";
  far.overrides.layout = smem::parse_layout("swizzled:3");
  smem::store_tuning(device, {far});
  CHECK(smem::tuning_entries(device) == std::vector{far});
  CHECK(plan_of(smem::Context()).layout.swizzle_mask == 3);
}

TEST_CASE("tuning: writers at the same time lose nothing") {
  const test::TuningFolder folder;
  const smem::Device device = smem::Context().device();
  std::vector<std::thread> writers;
  for (std::size_t i = 0; i < 8; ++i) {
    writers.emplace_back([&, i] {
      smem::TuningEntry entry = entry_of({.variant = "padded"});
      entry.problems.extents.front().value = 1000 * (i + 1);
      smem::store_tuning(device, {entry});
    });
  }
  for (std::thread& writer : writers)
    writer.join();
  CHECK(smem::tuning_entries(device).size() == 8);
  const test::Variable nowhere("SMEM_TUNING_DIR", "/dev/null/nowhere");
  const auto error = test::failure_of([&] { smem::store_tuning(device, {entry_of({})}); });
  CHECK(test::contains(error.got, "/dev/null/nowhere"));
}

TEST_CASE("tuning: the folder comes from the environment") {
  const test::Variable at("SMEM_TUNING_DIR", std::nullopt), data("XDG_DATA_HOME", "/somewhere"),
      home("HOME", "/home/me");
  CHECK(smem::tuning_folder() == "/somewhere/smem/tuning");
  const test::Variable relative("XDG_DATA_HOME", "elsewhere");
  CHECK(smem::tuning_folder() == "/home/me/.local/share/smem/tuning");
  const test::Variable homeless("HOME", std::nullopt);
  CHECK(smem::tuning_folder().empty());
  CHECK(smem::tuning_file(smem::Device{}).empty());
}
