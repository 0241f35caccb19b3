// Which folders and files are trusted: those that only the effective user can have written.
#include "runtime/own_files.hpp"

#include "support/failure.hpp"
#include "support/folder.hpp"
#include "support/others.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using smem::runtime::OwnFolder;
using State = OwnFolder::State;
using Result = OwnFolder::Result;

namespace {

constexpr std::size_t kMost = 1000;

Result read(const OwnFolder& folder, const std::string& name) {
  std::string content;
  return folder.read(name, 0, kMost, content);
}

}  // namespace

TEST_CASE("own files: what is made belongs to the user alone, whatever the mask") {
  const test::Folder folder;
  const test::NoMask mask;
  const OwnFolder own(folder.path() / "a" / "b", true);
  REQUIRE(own);
  REQUIRE(own.write("file", {"con", "tent"}));
  CHECK(test::text_of(folder.path() / "a" / "b" / "file") == "content");
  CHECK(test::mode_of(folder.path() / "a") == 0700);
  CHECK(test::mode_of(folder.path() / "a" / "b") == 0700);
  CHECK(test::mode_of(folder.path() / "a" / "b" / "file") == 0600);
  CHECK(OwnFolder(folder.path() / "nosuch" / "below").state() == State::absent);
  CHECK_FALSE(fs::exists(folder.path() / "nosuch"));
}

TEST_CASE("own files: a folder that others can write is not used") {
  const test::Folder folder;
  const fs::path inner = folder.path() / "inner";
  REQUIRE(OwnFolder(inner, true));
  for (const mode_t mode : {0777, 01777, 0770, 0720, 0702}) {
    CAPTURE(mode);
    test::set_mode(inner, mode);
    const OwnFolder own(inner, true);
    CHECK(own.state() == State::unsafe);
    CHECK(test::contains(own.why(), inner.string() + " can be written by other users"));
  }
  test::set_mode(inner, 0755);  // may be read
  CHECK(OwnFolder(inner));
}

TEST_CASE("own files: a folder that others can replace is not used") {
  const test::Folder folder;
  const fs::path middle = folder.path() / "middle", inner = middle / "one" / "two";
  REQUIRE(OwnFolder(inner, true));
  for (const mode_t mode : {0777, 0770, 0702}) {
    CAPTURE(mode);
    test::set_mode(middle, mode);
    const OwnFolder own(inner);
    CHECK(own.state() == State::unsafe);
    CHECK(test::contains(own.why(), middle.string() + " lets other users replace"));
    CHECK(OwnFolder(middle / "new", true).state() == State::unsafe);
    CHECK_FALSE(fs::exists(middle / "new"));
  }
  test::set_mode(middle, 01777);  // as /tmp: each may replace his own
  CHECK(OwnFolder(inner));
  test::set_mode(middle, 0711);
  CHECK(OwnFolder(inner));
}

TEST_CASE("own files: links to the folder are followed, and what they lead to is judged") {
  const test::Folder folder;
  const fs::path inner = folder.path() / "inner", link = folder.path() / "link";
  REQUIRE(OwnFolder(inner, true));
  fs::create_directory_symlink(inner, link);
  CHECK(OwnFolder(link));
  CHECK(OwnFolder(link / "below", true));
  CHECK(fs::is_directory(inner / "below"));
  test::set_mode(inner, 0777);
  CHECK(OwnFolder(link).state() == State::unsafe);
  CHECK(OwnFolder(link / "below").state() == State::unsafe);
}

TEST_CASE("own files: files that others can write, links and pipes are not read") {
  const test::Folder folder;
  const OwnFolder own(folder.path());
  REQUIRE(own);
  REQUIRE(own.write("file", {"content"}));
  CHECK(read(own, "file") == Result::read);
  CHECK(read(own, "nosuch") == Result::absent);
  for (const mode_t mode : {0666, 0660, 0602}) {
    CAPTURE(mode);
    test::set_mode(folder.path() / "file", mode);
    CHECK(read(own, "file") == Result::unsafe);
  }
  test::set_mode(folder.path() / "file", 0644);
  CHECK(read(own, "file") == Result::read);
  fs::create_symlink(folder.path() / "file", folder.path() / "link");
  CHECK(read(own, "link") != Result::read);
  REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
  CHECK(read(own, "pipe") != Result::read);
  fs::create_directory(folder.path() / "folder");
  CHECK(read(own, "folder") != Result::read);
  std::string content;
  CHECK(own.read("file", 8, kMost, content) == Result::failed);
  CHECK(own.read("file", 0, 6, content) == Result::failed);
  CHECK(own.read_start("file", 3, content) == Result::read);
  CHECK(content == "con");
}

TEST_CASE("own files: what is written replaces links, pipes and folders, and follows nothing") {
  const test::Folder folder;
  const fs::path target = folder.path() / "target";
  test::write_text(target, "of somebody else");
  const OwnFolder own(folder.path());
  fs::create_symlink(target, folder.path() / "link");
  REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
  fs::create_directories(folder.path() / "folder" / "inside");
  test::write_text(folder.path() / "folder" / "inside" / "file", "x");
  for (const char* name : {"link", "pipe", "folder"}) {
    CAPTURE(name);
    CHECK(own.write(name, {"new"}));
    CHECK(fs::is_regular_file(fs::symlink_status(folder.path() / name)));
    CHECK(test::text_of(folder.path() / name) == "new");
  }
  CHECK(test::text_of(target) == "of somebody else");
  CHECK(own.files().size() == 4);  // and no temporary one
}

TEST_CASE("own files: folders and files of another user") {
  if (!test::is_root()) {
    MESSAGE("skipped: only root can give files away");
    return;
  }
  const test::Folder folder;
  const fs::path middle = folder.path() / "middle", inner = middle / "inner";
  {
    const OwnFolder own(inner, true);
    REQUIRE(own.write("file", {"planted"}));
    test::give_away(inner / "file");
    CHECK(read(own, "file") == Result::unsafe);
    CHECK(own.write("file", {"mine"}));
    CHECK(read(own, "file") == Result::read);
  }
  test::give_away(inner);
  OwnFolder own(inner, true);
  CHECK(own.state() == State::unsafe);
  CHECK(test::contains(own.why(), inner.string() + " belongs to another user"));
  test::give_away(middle);
  CHECK(OwnFolder(middle / "new", true).state() == State::unsafe);
  CHECK_FALSE(fs::exists(middle / "new"));
  // To its owner it is his own, below root's folders. Nobody else's are right for him.
  test::give_away(inner / "file");
  test::set_mode(folder.path(), 0711);
  REQUIRE(::seteuid(test::kNobody) == 0);
  own = OwnFolder(inner);
  const Result his = own ? read(own, "file") : Result::failed;
  const bool wrote = own && own.write("new", {"x"});
  REQUIRE(::seteuid(0) == 0);
  CHECK(his == Result::read);
  CHECK(wrote);
}
