// The program cache of a context: memory, disk, source; and that a bad entry is only ever slower.
#include <smem/smem.hpp>

#include "support/device_lock.hpp"
#include "support/environment.hpp"
#include "support/folder.hpp"
#include "support/matrices.hpp"
#include "support/process.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <deque>
#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

/// One right transpose in a context of its own; what its cache did, its end included.
smem::CacheStatistics one_run(std::size_t n = 40) {
  const smem::Context context;
  test::Random random(7);
  const test::Outcome outcome = test::run(context, {test::Operation::transpose, "", 4, n, n, {}, {}}, random);
  CHECK_MESSAGE(outcome.fault.empty(), outcome.fault);
  context.finish();
  return context.cache_statistics();
}

/// The files of cached programs; what trials of the device showed is kept beside them.
std::vector<fs::path> stored_programs() {
  std::vector<fs::path> programs;
  for (const smem::CacheEntry& entry : smem::cache_entries())
    if (entry.kind == smem::CacheEntry::Kind::program) programs.push_back(entry.file);
  return programs;
}

}  // namespace

TEST_CASE("program cache: built once and then loaded") {
  const test::CacheFolder folder;
  smem::CacheStatistics s = one_run();
  CHECK(s.built_from_source == 1);
  CHECK(s.stored_on_disk == 1);
  CHECK(s.loaded_from_disk == 0);
  CHECK(s.disk_failures == 0);
  CHECK(stored_programs().size() == 1);
  CHECK(test::files_in(folder.path()).size() == smem::cache_entries().size());
  s = one_run();
  CHECK(s.built_from_source == 0);
  CHECK(s.loaded_from_disk == 1);
  CHECK(s.stored_on_disk == 0);
  CHECK(s.disk_failures == 0);
}

TEST_CASE("program cache: a build that fails without naming a line is tried once more") {
  const test::Variable off("SMEM_CACHE", "0");
  const smem::Context context;
  const smem::KernelSource source{.source = "kernel void set(global int* x) { *x = 7; }",
                                  .entry_point = "set"};
  test::fail_builds(1);
  CHECK_NOTHROW(context.build(source));
  test::fail_builds(2);
  const smem::Context other;
  CHECK_THROWS_AS(other.build(source), smem::Error);
  CHECK_NOTHROW(other.build(source));
}

TEST_CASE("program cache: the end of a context stores what has run") {
  const test::CacheFolder folder;
  {
    const smem::Context context;
    const smem::Array<int> in(context, {1, 2, 3, 4}), out(context, smem::Count{4});
    smem::transpose(context, in.matrix(2, 2), out.matrix(2, 2)).wait();
    CHECK(stored_programs().empty());
  }
  CHECK(stored_programs().size() == 1);
}

TEST_CASE("program cache: reading a result back stores what has run") {
  const test::CacheFolder folder;
  const smem::Context context;
  const smem::Array<int> in(context, {1, 2, 3, 4}), out(context, smem::Count{4});
  smem::transpose(context, in.matrix(2, 2), out.matrix(2, 2));
  // rusticl may say only a moment after a read that the kernel before it has ended; a later read finds it so.
  for (int read = 0; read < 1000 && context.cache_statistics().stored_on_disk == 0; ++read)
    CHECK(out.to_host() == std::vector<int>{1, 3, 2, 4});
  CHECK(stored_programs().size() == 1);
  CHECK(context.cache_statistics().stored_on_disk == 1);
}

TEST_CASE("program cache: memory serves a second shape with the same program") {
  const test::Variable off("SMEM_CACHE", "0");
  const smem::Context context;
  test::Random random;
  for (const std::size_t n : {40, 41, 42, 40})
    CHECK(test::run(context, {test::Operation::transpose, "padded", 4, n, n, {}, {}}, random).fault.empty());
  CHECK(context.cache_statistics().built_from_source == 1);
  CHECK(context.cache_statistics().found_in_memory == 2);  // the last shape needs no look-up at all
}

TEST_CASE("program cache: SMEM_CACHE=0 writes and reads nothing") {
  const test::CacheFolder folder;
  {
    const test::Variable off("SMEM_CACHE", "0");
    const smem::CacheStatistics s = one_run();
    CHECK(s.built_from_source == 1);
    CHECK(s.stored_on_disk == 0);
    CHECK(s.disk_failures == 0);
    CHECK(test::files_in(folder.path()).empty());
  }
  one_run();
  const test::Variable off("SMEM_CACHE", "0");
  CHECK(one_run().loaded_from_disk == 0);
}

TEST_CASE("program cache: a damaged entry leads to a build and is replaced") {
  const test::CacheFolder folder;
  one_run();
  REQUIRE(stored_programs().size() == 1);
  const fs::path entry = stored_programs().front();
  const std::string good = test::text_of(entry);
  std::string flipped = good;
  flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 1);
  for (const std::string& bad : {std::string(), std::string("smembin"), good.substr(0, good.size() / 2),
                                 good.substr(0, good.size() - 1), flipped, good + good}) {
    CAPTURE(bad.size());
    test::write_text(entry, bad);
    smem::CacheStatistics s = one_run();
    CHECK(s.built_from_source == 1);
    CHECK(s.loaded_from_disk == 0);
    CHECK(s.disk_failures == 1);
    CHECK(s.stored_on_disk == 1);
    s = one_run();
    CHECK(s.loaded_from_disk == 1);
    CHECK(s.disk_failures == 0);
  }
}

TEST_CASE("program cache: a folder in an entry's place is only slower, and replaced") {
  const test::CacheFolder folder;
  one_run();
  REQUIRE(stored_programs().size() == 1);
  const fs::path entry = stored_programs().front();
  fs::remove(entry);
  fs::create_directory(entry);
  test::write_text(entry / "inside", "");
  const smem::CacheStatistics s = one_run();
  CHECK(s.built_from_source == 1);
  CHECK(s.stored_on_disk == 1);
  CHECK(s.disk_failures == 1);  // that it could not be read
  CHECK(one_run().loaded_from_disk == 1);
}

TEST_CASE("program cache: a folder that cannot be made or written is only slower") {
  const test::Folder folder;
  test::write_text(folder.path() / "file", "");
  for (const std::string& bad : {folder.string() + "/file/below", std::string("/proc/smem-cannot-be-here")}) {
    CAPTURE(bad);
    const test::Variable on("SMEM_CACHE", std::nullopt), at("SMEM_CACHE_DIR", bad);
    const smem::CacheStatistics s = one_run();
    CHECK(s.built_from_source == 1);
    CHECK(s.stored_on_disk == 0);
    CHECK(s.disk_failures == 1);
  }
}

TEST_CASE("program cache: without any home there is no disk cache") {
  const test::Variable on("SMEM_CACHE", std::nullopt), at("SMEM_CACHE_DIR", std::nullopt),
      xdg("XDG_CACHE_HOME", std::nullopt);
  // PoCL needs a home too: its own cache gets a folder.
  const test::Folder pocl;
  const test::Variable for_pocl("POCL_CACHE_DIR", pocl.string());
  const test::Variable home("HOME", std::nullopt);
  const smem::CacheStatistics s = one_run();
  CHECK(s.built_from_source == 1);
  CHECK(s.stored_on_disk == 0);
  CHECK(s.disk_failures == 0);
}

TEST_CASE("program cache: other options are another entry") {
  const test::CacheFolder folder;
  const smem::Context context;
  test::Random random;
  for (const std::size_t element_bytes : {2, 4}) {
    for (const char* variant : {"tiled", "padded"})
      CHECK(test::run(context, {test::Operation::transpose, variant, element_bytes, 40, 40, {}, {}}, random)
                .fault.empty());
  }
  context.finish();
  CHECK(stored_programs().size() == 4);
  CHECK(context.cache_statistics().stored_on_disk == 4);
}

// ---------------------------------------------------------------------------------------------------------

TEST_CASE("child: transposes with every variant on the cache of its environment" * doctest::skip()) {
  const smem::Context context;
  test::Random random;
  for (const std::string_view variant : smem::transpose_variants()) {
    const test::Outcome outcome =
        test::run(context, {test::Operation::transpose, std::string(variant), 4, 70, 90, {}, {}}, random);
    CHECK_MESSAGE(outcome.fault.empty(), outcome.fault);
  }
  context.finish();
  CHECK(context.cache_statistics().disk_failures == 0);
}

TEST_CASE("program cache: many processes at once on one cold folder") {
  const test::CacheFolder folder;
  std::deque<test::Child> children;
  const std::string device = smem::Context().device().name;
  // Leaks are looked for in this process: in a child, LeakSanitizer's tracer now and then reads the stack of
  // a thread of PoCL that is just ending, and crashes.
  const test::Child::Variables variables{{"SMEM_DEVICE", device}, {"LSAN_OPTIONS", "detect_leaks=0"}};
  for (int i = 0; i < 4; ++i)
    children.emplace_back("child: transposes with every variant*", variables);
  for (test::Child& child : children) {
    const test::Ended ended = child.wait();
    if (ended.output.find("SMEM_DEVICE: expected") != std::string::npos) {
      MESSAGE("a child of this process does not see " << device << ": not tested here");
      return;
    }
    CHECK_MESSAGE(ended.passed(), ended.output);
  }
  // What is left is whole: a fifth process builds nothing.
  const smem::Context context;
  test::Random random;
  std::size_t ran = 0;
  for (const std::string_view variant : smem::transpose_variants()) {
    const test::Outcome outcome =
        test::run(context, {test::Operation::transpose, std::string(variant), 4, 70, 90, {}, {}}, random);
    CHECK(outcome.fault.empty());
    ran += !outcome.refused;
  }
  CHECK(context.cache_statistics().built_from_source == 0);
  CHECK(context.cache_statistics().disk_failures == 0);
  CHECK(context.cache_statistics().loaded_from_disk == ran);
  CHECK(stored_programs().size() == ran);
  CHECK(test::files_in(folder.path()).size() == smem::cache_entries().size());  // no temporary file stays
}
