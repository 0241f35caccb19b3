// The program cache through its public functions: its entries, and that clearing removes only these.
#include <smem/smem.hpp>

#include "runtime/trial.hpp"
#include "support/environment.hpp"
#include "support/folder.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace fs = std::filesystem;

namespace {

/// One program of smem's own, and one of the caller's, built, run and stored.
void fill(const smem::Context& context) {
  const smem::Array<float> in(context, std::vector<float>(77, 1.0f)), out(context, smem::Count{77});
  smem::transpose(context, in.matrix(7, 11), out.matrix(11, 7));
  const smem::Kernel mine =
      context.build({.source = "kernel void one(global float* out) { out[get_global_id(0)] = SEVEN; }",
                     .entry_point = "one",
                     .defines = {{"SEVEN", 7}}});
  mine({.global = {77, 1, 1}, .work_group = {1, 1, 1}}, out);
  context.finish();
  // Stored after the first run has ended, which rusticl says a moment late.
  for (int i = 0; i < 500 && context.cache_statistics().stored_on_disk < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    context.finish();
  }
}

/// The entries but those of facts, which trials of some devices leave.
std::vector<smem::CacheEntry> entries_but_facts() {
  std::vector<smem::CacheEntry> entries = smem::cache_entries();
  std::erase_if(entries,
                [](const smem::CacheEntry& entry) { return entry.kind == smem::CacheEntry::Kind::fact; });
  return entries;
}

}  // namespace

TEST_CASE("cache: its entries tell what they hold") {
  const test::CacheFolder folder;
  CHECK(smem::cache_folder() == folder.path());
  CHECK(smem::cache_limit() == std::size_t{256} << 20);
  CHECK(smem::cache_entries().empty());
  const smem::Context context;
  fill(context);
  test::write_text(folder.path() / (std::string(32, 'a') + ".smembin"), "not an entry");
  test::write_text(folder.path() / "letter.smembin", "not an entry's name");
  const std::vector<smem::CacheEntry> entries = entries_but_facts();
  REQUIRE(entries.size() == 3);
  std::size_t own = 0, of_caller = 0, damaged = 0;
  for (const smem::CacheEntry& entry : entries) {
    CHECK(entry.bytes == fs::file_size(entry.file));
    CHECK(std::chrono::system_clock::now() - entry.used < std::chrono::minutes(10));
    if (entry.kind == smem::CacheEntry::Kind::damaged) {
      ++damaged;
      CHECK(entry.device.empty());
      continue;
    }
    CHECK(entry.kind == smem::CacheEntry::Kind::program);
    CHECK(entry.device == context.device().name);
    CHECK(entry.driver == context.device().driver);
    if (entry.kernel.empty()) {
      ++of_caller;
      CHECK(entry.options.find("-DSEVEN=7") != std::string::npos);
    } else {
      ++own;
      CHECK(entry.kernel.starts_with("transpose/"));
    }
  }
  CHECK(own == 1);
  CHECK(of_caller == 1);
  CHECK(damaged == 1);
}

TEST_CASE("cache: what a trial of a device showed is a fact, not damaged") {
  const smem::Device device{.name = "a device", .driver = "1.0"};
  for (const bool works : {true, false}) {
    const test::CacheFolder folder;
    CHECK(smem::runtime::kept_answer(device, works ? "it works" : "it fails", [&] { return works; }) ==
          works);
    const std::vector<smem::CacheEntry> entries = smem::cache_entries();
    REQUIRE(entries.size() == 1);
    CHECK(entries[0].kind == smem::CacheEntry::Kind::fact);
    CHECK(entries[0].device == "a device");
    CHECK(entries[0].driver == "1.0");
    CHECK(entries[0].kernel.empty());
  }
}

TEST_CASE("cache: the entry that was used last comes first") {
  const test::CacheFolder folder;
  const fs::path old = folder.path() / (std::string(32, '1') + ".smembin"),
                 young = folder.path() / (std::string(32, '2') + ".smembin");
  test::write_text(old, "x");
  test::write_text(young, "y");
  fs::last_write_time(old, fs::last_write_time(young) - std::chrono::hours(24));
  const std::vector<smem::CacheEntry> entries = smem::cache_entries();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].file == young);
  CHECK(entries[1].file == old);
  const auto apart = entries[0].used - entries[1].used;
  CHECK(apart > std::chrono::hours(23));
  CHECK(apart < std::chrono::hours(25));
}

TEST_CASE("cache: clearing removes its own files and no other") {
  const test::CacheFolder folder;
  const smem::Context context;
  fill(context);
  const std::string name = std::string(32, '0') + ".smembin";
  const fs::path below = folder.path() / (std::string(32, '3') + ".smembin");
  const std::vector<fs::path> foreign{folder.path() / "letter.txt",         folder.path() / "letter.smembin",
                                      folder.path() / (name + ".bak"),
                                      folder.path() / (name + ".part-1-1"),  // its writer may be at work
                                      folder.path() / std::string(32, '0'), below / name};
  fs::create_directory(below);
  for (const fs::path& file : foreign)
    test::write_text(file, "of somebody else");
  const fs::path link = folder.path() / (std::string(32, '4') + ".smembin");
  fs::create_symlink(foreign[0], link);
  const fs::path abandoned = folder.path() / (name + ".part-2-2");
  test::write_text(abandoned, "abandoned");
  fs::last_write_time(abandoned, fs::last_write_time(abandoned) - std::chrono::hours(2));

  std::size_t bytes = fs::file_size(abandoned);
  for (const smem::CacheEntry& entry : smem::cache_entries())
    bytes += entry.bytes;
  const std::size_t facts = smem::cache_entries().size() - entries_but_facts().size();
  const smem::CacheCleared would = smem::clear_cache(true);
  CHECK(would.entries == 3 + facts);
  CHECK(would.bytes == bytes);
  CHECK(entries_but_facts().size() == 2);  // still there

  const smem::CacheCleared cleared = smem::clear_cache();
  CHECK(cleared.entries == 3 + facts);
  CHECK(cleared.bytes == bytes);
  CHECK(cleared.failures == 0);
  CHECK(smem::cache_entries().empty());
  CHECK_FALSE(fs::exists(abandoned));
  CHECK(fs::is_symlink(link));
  for (const fs::path& file : foreign)
    CHECK_MESSAGE(fs::exists(file), file);
  CHECK(smem::clear_cache().entries == 0);
  fill(context);  // what is in memory is used on
  CHECK(smem::cache_entries().empty());
}

TEST_CASE("cache: off, or without a folder") {
  const test::CacheFolder folder;
  const test::Variable nowhere("SMEM_CACHE_DIR", (folder.path() / "not made yet").string());
  CHECK(smem::cache_entries().empty());
  CHECK(smem::clear_cache().entries == 0);
  CHECK_FALSE(fs::exists(folder.path() / "not made yet"));
  const test::Variable off("SMEM_CACHE", "off");
  CHECK(smem::cache_folder().empty());
  CHECK(smem::cache_limit() == 0);
  CHECK(smem::cache_entries().empty());
  CHECK(smem::clear_cache().entries == 0);
}
