/// Files of another user, which only root can make.
#pragma once

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace test {

inline constexpr uid_t kNobody = 65534;

inline bool is_root() { return ::geteuid() == 0; }

/// Gives a file or folder, or a link itself, to another user.
inline void give_away(const std::filesystem::path& path) {
  REQUIRE(::lchown(path.c_str(), kNobody, static_cast<gid_t>(-1)) == 0);
}

/// The permissions alone, as chmod takes them.
inline unsigned mode_of(const std::filesystem::path& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

inline void set_mode(const std::filesystem::path& path, mode_t mode) {
  REQUIRE(::chmod(path.c_str(), mode) == 0);
}

/// The least strict mask for new files, for the length of a scope.
class NoMask {
 public:
  NoMask() : before_(::umask(0)) {}
  ~NoMask() { ::umask(before_); }
  NoMask(const NoMask&) = delete;
  NoMask& operator=(const NoMask&) = delete;

 private:
  mode_t before_;
};

}  // namespace test
