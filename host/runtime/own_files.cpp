#include "runtime/own_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

namespace smem::runtime {

namespace fs = std::filesystem;

namespace {

#ifdef O_PATH
constexpr int kPassThrough = O_PATH;  // needs no right to list the folder
#else
constexpr int kPassThrough = O_RDONLY;
#endif

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

/// Empty for a file that can be trusted.
std::string distrust(const struct stat& status) {
  if (status.st_uid != ::geteuid()) return "belongs to another user";
  if ((status.st_mode & kOthersWrite) != 0) return "can be written by other users";
  return {};
}

/// The end of a name that cannot be guessed.
std::string random_suffix() {
  static thread_local std::random_device source;
  char text[17];
  std::snprintf(text, sizeof text, "%08x%08x", source(), source());
  return text;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// \returns how many bytes there were.
std::optional<std::size_t> read_all(int file, char* to, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::read(file, to + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = other.release();
  }
  return *this;
}

int Descriptor::release() { return std::exchange(number_, -1); }

bool Descriptor::close() {
  const int number = release();
  return number >= 0 && ::close(number) == 0;
}

OwnFolder::OwnFolder(const fs::path& path, bool make) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error);
  if (!error) path_ = fs::weakly_canonical(whole, error);
  if (error) {
    fail(State::failed, path.string(), error.message());
    return;
  }
  if (walk(path_, make)) state_ = State::open;
}

bool OwnFolder::fail(State state, const std::string& place, const std::string& why) {
  state_ = state;
  why_ = place + " " + why;
  folder_.close();
  return false;
}

bool OwnFolder::walk(const fs::path& path, bool make) {
  std::vector<std::string> names;
  for (const fs::path& part : path.relative_path())
    if (!part.empty()) names.push_back(part.string());
  std::string place = "/";
  folder_ = Descriptor(::open("/", (names.empty() ? O_RDONLY : kPassThrough) | O_DIRECTORY | O_CLOEXEC));
  if (!folder_) return fail(State::failed, place, std::strerror(errno));
  if (!check(folder_.get(), place, names.empty())) return false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_last = i + 1 == names.size();
    if (place.size() > 1) place += '/';
    place += names[i];
    const int flags = (is_last ? O_RDONLY : kPassThrough) | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Descriptor next(::openat(folder_.get(), names[i].c_str(), flags));
    if (!next && errno == ENOENT) {
      if (!make) return fail(State::absent, place, "is not there");
      if (::mkdirat(folder_.get(), names[i].c_str(), S_IRWXU) == 0 || errno == EEXIST)
        next = Descriptor(::openat(folder_.get(), names[i].c_str(), flags));
    }
    if (!next) return fail(State::failed, place, std::string("cannot be opened: ") + std::strerror(errno));
    if (!check(next.get(), place, is_last)) return false;
    folder_ = std::move(next);
  }
  return true;
}

bool OwnFolder::check(int folder, const std::string& place, bool is_last) {
  struct stat status {};
  if (::fstat(folder, &status) != 0) return fail(State::failed, place, std::strerror(errno));
  if (is_last) {
    const std::string why = distrust(status);
    return why.empty() || fail(State::unsafe, place, why);
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return fail(State::unsafe, place, "belongs to another user");
  if ((status.st_mode & kOthersWrite) != 0 && (status.st_mode & S_ISVTX) == 0)
    return fail(State::unsafe, place, "lets other users replace what is in it");
  return true;
}

Descriptor OwnFolder::open(const std::string& name, int flags) const {
  // O_NONBLOCK: opening a pipe would wait for its other end.
  Descriptor file(::openat(folder_.get(), name.c_str(),
                           flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, S_IRUSR | S_IWUSR));
  if (!file) return file;
  struct stat status {};
  if (::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && distrust(status).empty()) return file;
  file.close();
  errno = EPERM;
  return file;
}

OwnFolder::Result OwnFolder::read(const std::string& name, std::size_t least, std::size_t most,
                                  std::string& content, bool touch) const {
  const Descriptor file = open(name, O_RDONLY);
  if (!file) return errno == ENOENT ? Result::absent : errno == EPERM ? Result::unsafe : Result::failed;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Result::failed;
  const auto size = static_cast<std::uintmax_t>(status.st_size);
  if (size < least || size > most) return Result::failed;
  content.resize(static_cast<std::size_t>(size));
  if (read_all(file.get(), content.data(), content.size()) != content.size()) return Result::failed;
  if (touch) ::futimens(file.get(), nullptr);
  return Result::read;
}

OwnFolder::Result OwnFolder::read_start(const std::string& name, std::size_t most,
                                        std::string& content) const {
  const Descriptor file = open(name, O_RDONLY);
  if (!file) return errno == ENOENT ? Result::absent : errno == EPERM ? Result::unsafe : Result::failed;
  content.resize(most);
  const std::optional<std::size_t> got = read_all(file.get(), content.data(), content.size());
  if (!got) return Result::failed;
  content.resize(*got);
  return Result::read;
}

bool OwnFolder::write(const std::string& name, std::initializer_list<std::string_view> parts) const {
  constexpr int kAttempts = 8;
  std::string part;
  Descriptor file;
  for (int attempt = 0; attempt < kAttempts && !file; ++attempt) {
    part = name + ".part-" + random_suffix();
    file = Descriptor(::openat(folder_.get(), part.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file && errno != EEXIST) return false;
  }
  if (!file) return false;
  bool good = true;
  for (const std::string_view text : parts)
    good = good && write_all(file.get(), text);
  good = file.close() && good;
  if (good && ::renameat(folder_.get(), part.c_str(), folder_.get(), name.c_str()) == 0) return true;
  if (good && errno == EISDIR) {  // a folder has the name
    std::error_code error;
    fs::remove_all(path_ / name, error);
    if (::renameat(folder_.get(), part.c_str(), folder_.get(), name.c_str()) == 0) return true;
  }
  ::unlinkat(folder_.get(), part.c_str(), 0);
  return false;
}

bool OwnFolder::remove(const std::string& name) const {
  return ::unlinkat(folder_.get(), name.c_str(), 0) == 0 || errno == ENOENT;
}

std::vector<OwnFolder::File> OwnFolder::files() const {
  std::vector<File> found;
  const int copy = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = copy < 0 ? nullptr : ::fdopendir(copy);
  if (list == nullptr) {
    if (copy >= 0) ::close(copy);
    return found;
  }
  while (const dirent* entry =
             ::readdir(list)) {  // NOLINT(concurrency-mt-unsafe): the list is this call's own
    struct stat status {};
    // Another process may remove files meanwhile.
    if (::fstatat(folder_.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(status.st_mode)) continue;
    const auto since_epoch =
        std::chrono::seconds(status.st_mtim.tv_sec) + std::chrono::nanoseconds(status.st_mtim.tv_nsec);
    found.push_back({entry->d_name,
                     fs::file_time_type(std::chrono::file_clock::from_sys(
                         std::chrono::sys_time<std::chrono::nanoseconds>(since_epoch))),
                     static_cast<std::size_t>(status.st_size)});
  }
  ::closedir(list);
  return found;
}

}  // namespace smem::runtime
