#include "cli/whole_file.hpp"

#include <fmt/format.h>

#include <unistd.h>

namespace smem::cli {

namespace fs = std::filesystem;

namespace {

void remove_if_there(const fs::path& path) {
  std::error_code ignored;
  if (!path.empty()) fs::remove(path, ignored);
}

}  // namespace

WholeFile::~WholeFile() {
  const NoInterrupt together;
  if (is_open()) close();
  at_interrupt_.reset();
  remove_if_there(part_);
}

void WholeFile::open(const fs::path& path) {
  std::error_code error;
  const bool exists = fs::exists(path, error);
  path_ = fs::weakly_canonical(path, error);  // a link stays one
  if (error) path_ = path;
  // Links that lead nowhere, as /dev/stdout of a closed stream, or to a file without a name.
  const bool has_name = exists ? fs::equivalent(path, path_, error) : !fs::is_symlink(path, error);
  if (!has_name || (exists && !fs::is_regular_file(path, error))) {
    std::ofstream::open(path, std::ios::trunc);
    return;
  }
  part_ = path_;
  part_ += fmt::format(".part-{}", ::getpid());
  const NoInterrupt together;
  at_interrupt_.emplace([part = part_] { remove_if_there(part); });
  std::ofstream::open(part_, std::ios::trunc);
}

bool WholeFile::finish() {
  close();
  bool good = !fail();
  if (!part_.empty()) {
    std::error_code error;
    if (good) fs::rename(part_, path_, error);
    good = good && !error;
    if (good) part_.clear();
  }
  at_interrupt_.reset();
  return good;
}

std::optional<std::string> text_of_file(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char part[65536];
  while (file.good() && text.size() <= kMost) {
    file.read(part, sizeof part);
    text.append(part, static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof() || file.bad()) return std::nullopt;
  return text;
}

}  // namespace smem::cli
