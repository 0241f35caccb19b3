/// Folders and files of one test.
#pragma once

#include "support/environment.hpp"

#include <doctest/doctest.h>

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace test {

namespace fs = std::filesystem;

/// An empty folder, removed with the object.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "smem-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::permissions(path_, fs::perms::owner_all, ignored);
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }
  std::string string() const { return path_.string(); }

 private:
  fs::path path_;
};

/// The disk cache, on and in an empty folder of its own, for the length of a scope.
class CacheFolder : public Folder {
 private:
  Variable on_{"SMEM_CACHE", std::nullopt};
  Variable at_{"SMEM_CACHE_DIR", string()};
};

/// Everything below a folder, in no special order.
inline std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator file(folder, error), end; !error && file != end; file.increment(error))
    files.push_back(file->path());
  return files;
}

inline std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  REQUIRE(file);
}

}  // namespace test
