// The disk cache alone: bytes by keys, and damaged, missing or unwritable files.
#include "runtime/disk_cache.hpp"
#include "runtime/programs.hpp"

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/folder.hpp"
#include "support/others.hpp"
#include "support/process.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using smem::runtime::DiskCache;
using Bytes = std::vector<unsigned char>;

namespace {

constexpr std::size_t kLimit = std::size_t{1} << 20;

/// The one file in a folder.
fs::path only_file(const fs::path& folder) {
  const std::vector<fs::path> files = test::files_in(folder);
  REQUIRE(files.size() == 1);
  return files.front();
}

void make_older(const fs::path& file, std::chrono::seconds by) {
  fs::last_write_time(file, fs::last_write_time(file) - by);
}

}  // namespace

TEST_CASE("disk cache: what is stored is found") {
  const test::Folder folder;
  const DiskCache cache(folder.path() / "made" / "when needed", kLimit);
  CHECK(cache.enabled());
  CHECK(cache.load("key").outcome == DiskCache::Outcome::absent);
  const Bytes content{0, 1, 2, 255, 0};
  CHECK(cache.store("key", content));
  const DiskCache again(cache.folder(), kLimit);
  CHECK(again.load("key").outcome == DiskCache::Outcome::found);
  CHECK(again.load("key").content == content);
  CHECK(again.load("another key").outcome == DiskCache::Outcome::absent);
  CHECK(cache.store("key", Bytes{9}));  // replaced
  CHECK(again.load("key").content == Bytes{9});
  CHECK(cache.store("empty", Bytes{}));
  CHECK(again.load("empty").outcome == DiskCache::Outcome::found);
  CHECK(again.load("empty").content.empty());
  CHECK(test::files_in(cache.folder()).size() == 2);  // no temporary file stays
  cache.remove("key");
  CHECK(cache.load("key").outcome == DiskCache::Outcome::absent);
  cache.remove("never there");
}

TEST_CASE("disk cache: every changed byte and every length but the right one is noticed") {
  const test::Folder folder;
  const DiskCache cache(folder.path(), kLimit);
  const Bytes content{10, 20, 30, 40, 50, 60, 70};
  REQUIRE(cache.store("some key", content));
  const fs::path file = only_file(folder.path());
  const std::string good = test::text_of(file);
  REQUIRE(good.size() > content.size());
  for (std::size_t i = 0; i < good.size(); ++i) {
    CAPTURE(i);
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    test::write_text(file, bad);
    CHECK(cache.load("some key").outcome == DiskCache::Outcome::damaged);
    test::write_text(file, good.substr(0, i));
    CHECK(cache.load("some key").outcome == DiskCache::Outcome::damaged);
  }
  test::write_text(file, good + "x");
  CHECK(cache.load("some key").outcome == DiskCache::Outcome::damaged);
  CHECK(cache.store("some key", content));  // replaces the damaged one
  CHECK(cache.load("some key").content == content);
}

TEST_CASE("disk cache: an entry of another key under this key's name is not taken") {
  const test::Folder folder;
  const DiskCache cache(folder.path(), kLimit);
  REQUIRE(cache.store("mine", Bytes{1}));
  const fs::path mine = only_file(folder.path());
  cache.remove("mine");
  REQUIRE(cache.store("its1", Bytes{2}));  // of the same length
  fs::rename(only_file(folder.path()), mine);
  CHECK(cache.load("mine").outcome == DiskCache::Outcome::damaged);
}

TEST_CASE("disk cache: a folder or a link in an entry's place counts as damaged and is replaced") {
  const test::Folder folder;
  const DiskCache cache(folder.path(), kLimit);
  REQUIRE(cache.store("key", Bytes{1, 2, 3}));
  const fs::path file = only_file(folder.path());
  fs::remove(file);
  fs::create_directory(file);  // reading fails for everybody, root too
  CHECK(cache.load("key").outcome == DiskCache::Outcome::damaged);
  CHECK(cache.store("key", Bytes{4}));
  CHECK(cache.load("key").content == Bytes{4});
  fs::rename(file, folder.path() / "elsewhere");
  fs::create_directory(file);
  test::write_text(file / "inside", "so that it is not empty");
  CHECK(cache.store("key", Bytes{5}));
  CHECK(cache.load("key").content == Bytes{5});
  fs::remove(file);
  fs::create_symlink(folder.path() / "elsewhere", file);  // a right entry, but reached through a link
  CHECK(cache.load("key").outcome == DiskCache::Outcome::damaged);
  CHECK(cache.store("key", Bytes{6}));
  CHECK(cache.load("key").content == Bytes{6});
  CHECK(test::files_in(folder.path()).size() == 2);  // no temporary file stays
}

TEST_CASE("disk cache: a store writes through no link that was planted at a temporary name") {
  const test::Folder folder, others;
  const fs::path target = others.path() / "precious";
  test::write_text(target, "precious");
  const DiskCache cache(folder.path(), kLimit);
  REQUIRE(cache.store("key", Bytes{1}));
  const fs::path file = only_file(folder.path());
  // The names that are easily guessed: those of a process's first temporary files.
  for (int number = 0; number < 200; ++number) {
    fs::path part = file;
    part += ".part-" + std::to_string(::getpid()) + "-" + std::to_string(number);
    fs::create_symlink(target, part);
  }
  CHECK(cache.store("key", Bytes{2}));
  CHECK(cache.load("key").content == Bytes{2});
  CHECK(test::text_of(target) == "precious");
}

TEST_CASE("disk cache: files that others can write are not loaded, and are replaced") {
  const test::Folder folder;
  const DiskCache cache(folder.path(), kLimit);
  const auto check = [&] {
    CHECK(cache.load("key").outcome == DiskCache::Outcome::damaged);
    const std::vector<DiskCache::Entry> entries = cache.entries();
    REQUIRE(entries.size() == 1);
    CHECK(entries.front().key.empty());
    CHECK(cache.store("key", Bytes{1}));
    CHECK(cache.load("key").outcome == DiskCache::Outcome::found);
    CHECK(test::mode_of(only_file(folder.path())) == 0600);
  };
  REQUIRE(cache.store("key", Bytes{1}));
  for (const mode_t mode : {0666, 0660}) {
    CAPTURE(mode);
    test::set_mode(only_file(folder.path()), mode);
    check();
  }
  if (!test::is_root()) {
    MESSAGE("skipped for other owners: only root can give files away");
    return;
  }
  test::give_away(only_file(folder.path()));
  check();
}

TEST_CASE("disk cache: a folder that others can write or replace is not used") {
  const test::Folder folder;
  const fs::path middle = folder.path() / "middle", inner = middle / "inner";
  const DiskCache cache(inner, kLimit);
  const test::Variable on("SMEM_CACHE", std::nullopt), at("SMEM_CACHE_DIR", inner.string());
  REQUIRE(cache.store("key", Bytes{1}));
  CHECK(DiskCache::from_environment().enabled());
  const auto check = [&] {
    CHECK_FALSE(DiskCache::from_environment().enabled());
    CHECK(cache.load("key").outcome == DiskCache::Outcome::absent);
    CHECK_FALSE(cache.store("other", Bytes{1}));
    CHECK(cache.entries().empty());
    CHECK(cache.clear(false).files == 0);
    CHECK(test::files_in(inner).size() == 1);
  };
  for (const mode_t mode : {0777, 0770}) {
    CAPTURE(mode);
    test::set_mode(inner, mode);
    check();
    test::set_mode(inner, 0700);
    test::set_mode(middle, mode);
    check();
    test::set_mode(middle, 0700);
  }
  CHECK(cache.load("key").outcome == DiskCache::Outcome::found);
  if (!test::is_root()) {
    MESSAGE("skipped for other owners: only root can give files away");
    return;
  }
  test::give_away(inner);
  check();
}

TEST_CASE("disk cache: is off in a folder of others" * doctest::skip()) {
  CHECK_FALSE(DiskCache::from_environment().enabled());
}

TEST_CASE("disk cache: SMEM_TRACE says in one line why it is off") {
  const test::Folder folder;
  test::set_mode(folder.path(), 0777);
  const test::Ended ended =
      test::run_child("disk cache: is off in a folder of others",
                      {{"SMEM_TRACE", "1"}, {"SMEM_CACHE", "1"}, {"SMEM_CACHE_DIR", folder.string()}});
  CHECK_MESSAGE(ended.passed(), ended.output);
  const std::string line = "smem: the program cache is off: " + fs::canonical(folder.path()).string() +
                           " can be written by other users\n";
  CHECK_MESSAGE(test::contains(ended.output, line), ended.output);
  test::set_mode(folder.path(), 0700);
}

TEST_CASE("disk cache: a folder that cannot be written stores nothing") {
  const test::Folder folder;
  test::write_text(folder.path() / "file", "");
  for (const fs::path& bad : {folder.path() / "file", folder.path() / "file" / "below",
                              fs::path("/proc/smem"), fs::path("/dev/null/x")}) {
    CAPTURE(bad);
    const DiskCache cache(bad, kLimit);
    CHECK_FALSE(cache.store("key", Bytes{1}));
    CHECK(cache.load("key").outcome != DiskCache::Outcome::found);
    cache.remove("key");
  }
}

TEST_CASE("disk cache: permissions that forbid writing or reading") {
  const test::Folder folder;
  const bool root = ::geteuid() == 0;
  constexpr uid_t kNobody = 65534;
  if (root) REQUIRE(::chown(folder.path().c_str(), kNobody, static_cast<gid_t>(-1)) == 0);
  if (root) REQUIRE(::seteuid(kNobody) == 0);  // root would ignore the permissions
  const DiskCache cache(folder.path() / "closed", kLimit);
  const bool stored = cache.store("key", Bytes{1});
  fs::permissions(cache.folder(), fs::perms::owner_read | fs::perms::owner_exec);
  const bool stored_in_read_only = cache.store("other", Bytes{1});
  const DiskCache::Outcome from_read_only = cache.load("key").outcome;
  fs::permissions(cache.folder(), fs::perms::owner_all);
  fs::permissions(only_file(cache.folder()), fs::perms::none);
  const DiskCache::Outcome from_unreadable = cache.load("key").outcome;
  const bool replaced = cache.store("key", Bytes{2});
  const Bytes then = cache.load("key").content;
  if (root) REQUIRE(::seteuid(0) == 0);
  CHECK(stored);
  CHECK_FALSE(stored_in_read_only);
  CHECK(from_read_only == DiskCache::Outcome::found);  // reading is still possible
  CHECK(from_unreadable == DiskCache::Outcome::damaged);
  CHECK(replaced);
  CHECK(then == Bytes{2});
  CHECK(test::files_in(cache.folder()).size() == 1);
}

TEST_CASE("disk cache: a full disk leaves nothing behind") {
  // A limit on the size of files fails writes as a full disk does, with another error number.
  const test::Folder folder;
  const DiskCache cache(folder.path(), std::size_t{1} << 30);
  REQUIRE(cache.store("small", Bytes{1}));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{std::size_t{64} * 1024, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  const bool large = cache.store("large", Bytes(std::size_t{1} << 20, 7));
  const bool fits = cache.store("fits", Bytes(1000, 7));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK_FALSE(large);
  CHECK(fits);
  CHECK(cache.load("large").outcome == DiskCache::Outcome::absent);
  CHECK(cache.load("small").outcome == DiskCache::Outcome::found);
  CHECK(test::files_in(folder.path()).size() == 2);
}

TEST_CASE("disk cache: what was not used for longest goes first") {
  const test::Folder folder;
  const std::size_t one = 10000;
  const DiskCache cache(folder.path(), 3 * one + 1000);
  const Bytes content(one, 5);
  for (const char* key : {"a", "b", "c"}) {
    REQUIRE(cache.store(key, content));
    for (const fs::path& file : test::files_in(folder.path()))
      make_older(file, std::chrono::seconds(10));
  }
  CHECK(cache.load("a").outcome == DiskCache::Outcome::found);  // now "b" is the one
  CHECK(cache.store("d", content));
  CHECK(cache.load("b").outcome == DiskCache::Outcome::absent);
  CHECK(cache.load("a").outcome == DiskCache::Outcome::found);
  CHECK(cache.load("c").outcome == DiskCache::Outcome::found);
  CHECK(cache.load("d").outcome == DiskCache::Outcome::found);
  CHECK(test::files_in(folder.path()).size() == 3);
}

TEST_CASE("disk cache: only its own files are removed and old temporary ones too") {
  const test::Folder folder;
  const DiskCache cache(folder.path(), 100);
  REQUIRE(cache.store("key", Bytes{1}));
  const std::string name = only_file(folder.path()).string();
  const fs::path foreign = folder.path() / "letter.txt", young = name + ".part-1-1", old = name + ".part-2-2";
  const DiskCache larger(folder.path(), 10200);
  test::write_text(foreign, std::string(10000, 'x'));
  test::write_text(young, std::string(10000, 'x'));
  test::write_text(old, std::string(10000, 'x'));
  make_older(foreign, std::chrono::hours(1000));
  make_older(old, std::chrono::hours(2));
  REQUIRE(larger.store("key", Bytes{2}));
  CHECK(fs::exists(foreign));
  CHECK(fs::exists(young));  // another process may be writing it
  CHECK_FALSE(fs::exists(old));
  CHECK(cache.load("key").outcome == DiskCache::Outcome::found);
}

TEST_CASE("disk cache: what killed writers left counts towards the limit") {
  const test::Folder folder;
  const std::size_t one = 10000;
  const DiskCache cache(folder.path(), 3 * one + 1000);
  const Bytes content(one, 5);
  REQUIRE(cache.store("a", content));
  const std::string left = only_file(folder.path()).string() + ".part-0123456789abcdef";
  make_older(only_file(folder.path()), std::chrono::minutes(20));
  test::write_text(left, std::string(one, 'x'));
  test::set_mode(left, 0600);
  REQUIRE(cache.store("b", content));
  REQUIRE(cache.store("c", content));
  CHECK(cache.load("a").outcome == DiskCache::Outcome::absent);  // one too many; the writer may be at work
  CHECK(fs::exists(left));
  make_older(left, std::chrono::minutes(10));  // a write takes no minutes
  REQUIRE(cache.store("d", content));
  CHECK_FALSE(fs::exists(left));
  for (const char* key : {"b", "c", "d"})
    CHECK(cache.load(key).outcome == DiskCache::Outcome::found);
}

TEST_CASE("disk cache: the environment says where and how large") {
  const test::Variable on("SMEM_CACHE", std::nullopt), at("SMEM_CACHE_DIR", std::nullopt),
      xdg("XDG_CACHE_HOME", "/somewhere"), home("HOME", "/home/me"), limit("SMEM_CACHE_LIMIT", std::nullopt);
  CHECK(DiskCache::from_environment().folder() == "/somewhere/smem");
  {
    const test::Variable relative("XDG_CACHE_HOME", "relative");  // to be ignored, says the XDG specification
    CHECK(DiskCache::from_environment().folder() == "/home/me/.cache/smem");
  }
  {
    const test::Variable none("XDG_CACHE_HOME", std::nullopt);
    CHECK(DiskCache::from_environment().folder() == "/home/me/.cache/smem");
    const test::Variable homeless("HOME", std::nullopt);
    CHECK_FALSE(DiskCache::from_environment().enabled());
    CHECK_FALSE(DiskCache::from_environment().store("key", Bytes{1}));
    CHECK(DiskCache::from_environment().load("key").outcome == DiskCache::Outcome::absent);
  }
  for (const char* off : {"0", "off", "OFF"}) {
    const test::Variable disabled("SMEM_CACHE", off);
    CHECK_FALSE(DiskCache::from_environment().enabled());
  }
  {
    const test::Variable enabled("SMEM_CACHE", "1");
    CHECK(DiskCache::from_environment().enabled());
  }
  const test::Folder folder;
  const test::Variable there("SMEM_CACHE_DIR", folder.string());
  CHECK(DiskCache::from_environment().folder() == folder.path());
  const Bytes more_than_half(std::size_t{600} * 1024, 1);
  {
    const test::Variable one("SMEM_CACHE_LIMIT", "1");  // MiB
    const DiskCache cache = DiskCache::from_environment();
    CHECK(cache.store("a", more_than_half));
    make_older(only_file(folder.path()), std::chrono::seconds(10));
    CHECK(cache.store("b", more_than_half));
    CHECK(cache.load("a").outcome == DiskCache::Outcome::absent);
    CHECK(cache.load("b").outcome == DiskCache::Outcome::found);
  }
  {
    const test::Variable empty("SMEM_CACHE_LIMIT", "");
    CHECK(DiskCache::from_environment().limit_bytes() == std::size_t{256} << 20);
  }
  {
    const test::Variable most("SMEM_CACHE_LIMIT", "1099511627776");
    CHECK(DiskCache::from_environment().limit_bytes() == std::size_t{1} << 60);
  }
  // 2^44 MiB are 2^64 bytes.
  for (const char* nonsense : {"much", "5x", " 5", "-1", "+5", "0x10", "1.5", "1099511627777",
                               "17592186044416", "99999999999999999999"}) {
    CAPTURE(nonsense);
    const test::Variable bad("SMEM_CACHE_LIMIT", nonsense);
    const auto error = test::failure_of([] { DiskCache::from_environment(); });
    CHECK(error.operation == "Context");
    CHECK(error.argument == "SMEM_CACHE_LIMIT");
    CHECK(test::contains(error.expected, "1099511627776"));
    CHECK(error.got == std::string("\"") + nonsense + "\"");
    const test::Variable disabled("SMEM_CACHE", "0");
    CHECK_FALSE(DiskCache::from_environment().enabled());
  }
}

TEST_CASE("disk cache: keys tell devices, platforms and drivers apart") {
  smem::Device device;
  device.name = "a device", device.vendor_name = "its vendor", device.platform = "a platform";
  device.platform_version = "OpenCL 3.0", device.driver = "1.0";
  for (std::string smem::Device::*fact :
       {&smem::Device::name, &smem::Device::vendor_name, &smem::Device::platform,
        &smem::Device::platform_version, &smem::Device::driver}) {
    smem::Device other = device;
    other.*fact += "1";
    CHECK(smem::runtime::device_key(other) != smem::runtime::device_key(device));
  }
}
