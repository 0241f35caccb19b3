/// smem: what lies in the program cache on disk, which all processes of a user share. Includes no OpenCL
/// header.
///
/// Entries are machine code that a driver loads, so the cache trusts files of the effective user alone. It is
/// off, with a line on the error stream when SMEM_TRACE is set, where its folder belongs to another user or
/// can be written by one (by its mode: group or others), and where others can replace a folder above: each
/// must belong to the effective user or root, and not be writable by group or others unless it has the sticky
/// bit, as /tmp has. A file in it of which the same is true is not loaded, with such a line, and replaced.
/// Access control lists beyond modes are not looked at. Symbolic links to the folder are followed, those in
/// it never. What smem makes is 0700 and 0600. Tuning files are trusted by the same rules (tuning.hpp).
///
/// All functions here throw Error where SMEM_CACHE_LIMIT is no size, as a context does that opens.
#pragma once

#include <smem/cplusplus.hpp>
#include <smem/export.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace smem {

/// One file of the cache, which belongs to one device and driver.
struct CacheEntry {
  /// What the file holds: a compiled program, the measured rates of the device, or damaged data, which the
  /// next call that needs the entry replaces.
  enum class Kind { program, rates, damaged };
  Kind kind = Kind::damaged;                   ///< of this file
  std::filesystem::path file;                  ///< its whole path
  std::size_t bytes = 0;                       ///< of the file
  std::chrono::system_clock::time_point used;  ///< when it was loaded last, else when it was written
  /// What a program was built from: a file below cl/, as "transpose/vector.cl"; empty for a kernel of the
  /// caller's own.
  std::string kernel;
  std::string options;  ///< of the compiler
  std::string device;   ///< the device's name; empty when the file does not tell
  std::string driver;   ///< the driver's version
};

/// The folder that the environment names: SMEM_CACHE_DIR, else $XDG_CACHE_HOME/smem, else ~/.cache/smem. It
/// need not exist. Empty when the cache is off: by SMEM_CACHE, without any home, or where others could write.
SMEM_API std::filesystem::path cache_folder();

/// Bytes beyond which the entries that were not used for longest go: SMEM_CACHE_LIMIT in MiB, a whole number
/// up to 2^40, else 256 MiB. What writers left that ended before their time counts too.
SMEM_API std::size_t cache_limit();

/// The entries of cache_folder(), the one that was used last first. Files of others are not among them.
/// Reads the beginning of each file. What cannot be read counts as damaged; never an error.
SMEM_API std::vector<CacheEntry> cache_entries();

/// What clear_cache() removed, or would remove.
struct CacheCleared {
  std::size_t entries = 0;   ///< files
  std::size_t bytes = 0;     ///< of these files
  std::size_t failures = 0;  ///< files that could not be removed
};

/// Removes the entries of cache_folder(), and what writers left there that ended before their time. Removes
/// no other file and no folder. Programs that contexts have in memory stay. With `dry_run` nothing is
/// removed, and the answer is what would be.
SMEM_API CacheCleared clear_cache(bool dry_run = false);

}  // namespace smem
