// The program cache on disk: its public functions.
#include "formatted.hpp"
#include "runtime/disk_cache.hpp"

#include <smem/cache.hpp>

#include <algorithm>
#include <string_view>

namespace smem {

namespace {

/// The rest of the key's line that begins with `name=`; empty without one. Keys are made in
/// runtime/programs.cpp, runtime/trial.cpp, runtime/local_memory.cpp and ops/rates.cpp.
std::string field(const std::string& key, std::string_view name) {
  const std::string start = formatted("\n{}=", name), text = formatted("\n{}", key);
  const std::size_t at = text.find(start);
  if (at == std::string::npos) return {};
  const std::size_t value = at + start.size();
  return text.substr(value, text.find('\n', value) - value);
}

CacheEntry described(const runtime::DiskCache::Entry& entry) {
  CacheEntry result;
  result.file = entry.path;
  result.bytes = entry.bytes;
  result.used = std::chrono::time_point_cast<std::chrono::system_clock::duration>(
      std::chrono::file_clock::to_sys(entry.used));
  const std::string& key = entry.key;
  if (key.starts_with("source=")) result.kind = CacheEntry::Kind::program;
  if (key.starts_with("rates ")) result.kind = CacheEntry::Kind::rates;
  if (key.starts_with("device=")) result.kind = CacheEntry::Kind::fact;
  const std::string source = field(key, "source");  // the file and the hash of its text
  result.kernel = source.substr(0, source.rfind(' '));
  result.options = field(key, "options");
  result.device = field(key, "device");
  result.driver = field(key, "driver");
  return result;
}

}  // namespace

std::filesystem::path cache_folder() { return runtime::DiskCache::from_environment().folder(); }

std::size_t cache_limit() { return runtime::DiskCache::from_environment().limit_bytes(); }

std::vector<CacheEntry> cache_entries() {
  std::vector<CacheEntry> entries;
  for (const runtime::DiskCache::Entry& entry : runtime::DiskCache::from_environment().entries())
    entries.push_back(described(entry));
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
    return a.used != b.used ? a.used > b.used : a.file < b.file;
  });
  return entries;
}

CacheCleared clear_cache(bool dry_run) {
  const runtime::DiskCache::Cleared cleared = runtime::DiskCache::from_environment().clear(dry_run);
  return {cleared.files, cleared.bytes, cleared.failures};
}

}  // namespace smem
