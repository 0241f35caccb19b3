/// Compiled programs on disk, shared by all processes of a user.
///
/// An entry is one file. It is written under a temporary name and renamed, so a reader sees all of it or
/// nothing. It holds its whole key and a hash of its content; an entry that is not exactly what was asked for
/// counts as absent and is replaced after the next build. No failure here is an error: a program can always
/// be built from source. What other users could have written is not read (own_files.hpp).
#pragma once

#include "runtime/own_files.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smem::runtime {

class DiskCache {
 public:
  /// The cache that the environment describes: SMEM_CACHE=0 or off disables it, SMEM_CACHE_DIR names the
  /// folder (else $XDG_CACHE_HOME/smem, else ~/.cache/smem), SMEM_CACHE_LIMIT is its size in MiB (256 by
  /// default: some thousand programs). Disabled, with a line of SMEM_TRACE, where other users could write or
  /// replace the folder. \throws Error when SMEM_CACHE_LIMIT is no size.
  static DiskCache from_environment();

  DiskCache() = default;  ///< disabled
  DiskCache(std::filesystem::path folder, std::size_t limit_bytes)
      : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

  bool enabled() const { return !folder_.empty(); }
  const std::filesystem::path& folder() const { return folder_; }
  std::size_t limit_bytes() const { return limit_bytes_; }

  /// `damaged`: there is something else in the entry's place, to be replaced.
  enum class Outcome { absent, found, damaged };
  struct Lookup {
    Outcome outcome = Outcome::absent;
    std::vector<unsigned char> content;
  };
  /// The content stored under `key`; marks it as just used.
  Lookup load(const std::string& key) const;

  /// Stores `content` under `key`, in place of whatever is there, then removes the entries that were not used
  /// for longest until the limit holds, which counts temporary files too. \returns whether it is stored.
  bool store(const std::string& key, const std::vector<unsigned char>& content) const;

  /// Removes an entry, for instance one that the driver refused.
  void remove(const std::string& key) const;

  /// An entry by its file's header, without its content.
  struct Entry {
    std::filesystem::path path;
    std::filesystem::file_time_type used;
    std::size_t bytes = 0;
    std::string key;  ///< empty when the file is damaged
  };
  /// All entries, in no special order.
  std::vector<Entry> entries() const;

  struct Cleared {
    std::size_t files = 0;
    std::size_t bytes = 0;
    std::size_t failures = 0;
  };
  /// Removes all entries, and temporary files without a writer; with `dry_run` it only counts them.
  Cleared clear(bool dry_run) const;

 private:
  /// The files that are this cache's: entries without their keys, temporary files whose writer may be at work
  /// still, and those that were abandoned.
  struct Files {
    std::vector<Entry> entries, young, abandoned;
  };
  Files files(const OwnFolder& folder) const;
  void evict(const OwnFolder& folder) const;

  std::filesystem::path folder_;
  std::size_t limit_bytes_ = 0;
};

/// The content of an entry's file, if it is one of this key: the view is into `file`.
std::optional<std::string_view> content_of_entry(std::string_view file, std::string_view key);

}  // namespace smem::runtime
