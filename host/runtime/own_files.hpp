/// Files that only the effective user can have written: what smem reads by itself, without a name from the
/// caller, it reads from here.
///
/// The rule is that of OpenSSH's StrictModes. The folder belongs to the effective user, and neither group nor
/// others can write it. Each folder above belongs to the effective user or root, and is not writable by group
/// or others unless it has the sticky bit, so that other users cannot replace it. A file belongs to the
/// effective user and is not writable by others. All checks are made on opened descriptors, and files
/// are reached through the descriptor of their folder: nothing can be exchanged between check and use.
/// Symbolic links to the folder are resolved first; those in it are not followed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smem::runtime {

/// A descriptor, closed with the object.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int release();
  /// \returns whether it was open and closed without an error.
  bool close();

 private:
  int number_;
};

class OwnFolder {
 public:
  /// What became of the folder. `absent`: it is not there, which is no fault.
  enum class State { open, absent, unsafe, failed };

  /// Opens a folder; with `make`, it and missing ones above are made, with mode 0700.
  explicit OwnFolder(const std::filesystem::path& path, bool make = false);

  State state() const { return state_; }
  explicit operator bool() const { return state_ == State::open; }
  /// Why it is unsafe or failed, in words that begin with the path at fault.
  const std::string& why() const { return why_; }

  enum class Result { absent, read, unsafe, failed };
  /// Reads a file of `least` to `most` bytes; with `touch`, marks it as just used. Other sizes count as
  /// failed, and so does what is no regular file.
  Result read(const std::string& name, std::size_t least, std::size_t most, std::string& content,
              bool touch = false) const;
  /// The first bytes of a file, at most `most`.
  Result read_start(const std::string& name, std::size_t most, std::string& content) const;

  /// Puts a file of mode 0600 in the place of what has the name: written as a whole beside it, under a name
  /// that cannot be guessed (NAME.part-…), then renamed. What fails leaves nothing behind.
  bool write(const std::string& name, std::initializer_list<std::string_view> parts) const;

  /// Opens a file with the flags of open(2), made with mode 0600 where they say so, and checks it. Empty with
  /// the reason in errno, EPERM for one that is not to be trusted.
  Descriptor open(const std::string& name, int flags) const;

  /// \returns false where the file is there and stays.
  bool remove(const std::string& name) const;

  struct File {
    std::string name;
    std::filesystem::file_time_type changed;
    std::size_t bytes = 0;
  };
  /// All regular files, in no special order.
  std::vector<File> files() const;

 private:
  bool fail(State state, const std::string& place, const std::string& why);
  bool walk(const std::filesystem::path& path, bool make);
  bool check(int folder, const std::string& place, bool is_last);

  std::filesystem::path path_;  // without symbolic links
  Descriptor folder_;
  State state_ = State::failed;
  std::string why_;
};

}  // namespace smem::runtime
