/// smem: the program cache on disk, which all processes of a user share. Includes no OpenCL header.
///
/// Entries are machine code that a driver loads, so the cache trusts only files of the effective user. It is
/// off where its folder belongs to another user, where group or others can write to it (by its mode), or
/// where they can replace a folder above it: each must belong to the effective user or root, and must not be
/// writable by group or others unless it has the sticky bit, as /tmp has. A file in the cache that breaks
/// these rules is not loaded, and is replaced. With SMEM_TRACE set, a line on the error stream says so in
/// each case. Access control lists are not checked. Symbolic links to the folder are followed, links inside
/// it never. smem creates folders with mode 0700 and files with 0600. Tuning files are trusted by the same
/// rules (tuning.hpp).
///
/// All functions here, like the constructor of a context, throw Error when SMEM_CACHE_LIMIT is not a size.
#pragma once

#include <smem/cplusplus.hpp>
#include <smem/export.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace smem {

/// One file of the cache; it belongs to one device and driver.
struct CacheEntry {
  /// What the file holds: a compiled program, the measured rates of the device, a fact of the device that a
  /// trial showed, or damaged data. The next call that needs a damaged entry replaces it.
  enum class Kind { program, rates, fact, damaged };
  Kind kind = Kind::damaged;                   ///< of this file
  std::filesystem::path file;                  ///< its path
  std::size_t bytes = 0;                       ///< of the file
  std::chrono::system_clock::time_point used;  ///< when it was last loaded, or written if it was not
  /// What a program was built from: a file below cl/, such as "transpose/vector.cl"; empty for the caller's
  /// own kernel.
  std::string kernel;
  std::string options;  ///< compiler options
  std::string device;   ///< the device's name; empty when the file does not contain it
  std::string driver;   ///< the driver's version
};

/// The folder of the cache: SMEM_CACHE_DIR, else $XDG_CACHE_HOME/smem, else ~/.cache/smem. It need not exist.
/// Empty when the cache is off: by SMEM_CACHE, without a home folder, or where others could write.
SMEM_API std::filesystem::path cache_folder();

/// The limit in bytes beyond which the least recently used entries are removed: SMEM_CACHE_LIMIT in MiB, a
/// whole number up to 2^40, else 256 MiB. Files left by writers that were killed count too.
SMEM_API std::size_t cache_limit();

/// The entries of cache_folder(), most recently used first; files of other programs are not among them. Reads
/// the beginning of each file. A file that cannot be read counts as damaged. Never throws for it.
SMEM_API std::vector<CacheEntry> cache_entries();

/// What clear_cache() removed, or would remove.
struct CacheCleared {
  std::size_t entries = 0;   ///< files
  std::size_t bytes = 0;     ///< of these files
  std::size_t failures = 0;  ///< files that could not be removed
};

/// Removes the entries of cache_folder(), and files left there by writers that were killed. Removes no other
/// file and no folder. Programs that contexts hold in memory remain. With `dry_run` nothing is removed; the
/// result says what would be.
SMEM_API CacheCleared clear_cache(bool dry_run = false);

}  // namespace smem
