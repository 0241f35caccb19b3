#include "runtime/disk_cache.hpp"
#include "formatted.hpp"
#include "plan/sizes.hpp"

#include "runtime/environment.hpp"
#include "runtime/trace.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>

namespace smem::runtime {

namespace fs = std::filesystem;

namespace {

constexpr char kMagic[8] = {'s', 'm', 'e', 'm', 'b', 'i', 'n', '1'};  // the digit is the format's version
constexpr const char* kSuffix = ".smembin";
constexpr const char* kTemporary = ".part-";
constexpr std::size_t kDefaultLimitMiB = 256;
constexpr std::size_t kMostMiB = std::size_t{1} << 40;
constexpr std::size_t kMostEntryBytes = std::size_t{1} << 30;  // of an entry: no program is near
constexpr std::size_t kMostKey = std::size_t{1} << 20;
constexpr auto kAbandoned = std::chrono::hours(1);  // a temporary file this old has no writer any more
constexpr auto kAtWork = std::chrono::minutes(1);   // and one this old hardly: it goes where room is needed

struct Header {
  char magic[8];
  std::uint64_t key_bytes;
  std::uint64_t content_bytes;
  std::uint64_t hash_low;  // of key and content
  std::uint64_t hash_high;
};

XXH128_hash_t hash_of(std::string_view key, std::string_view content) {
  return XXH3_128bits_withSeed(content.data(), content.size(), XXH3_64bits(key.data(), key.size()));
}

/// The names that name_of_entry() and OwnFolder::write() make: 32 hexadecimal digits and the suffix, and for
/// a temporary file what follows. Files of other names are not the cache's.
enum class Name { foreign, entry, temporary };
Name kind_of(const std::string& name) {
  constexpr std::size_t kDigits = 32;
  if (name.find_first_not_of("0123456789abcdef") != kDigits) return Name::foreign;
  const std::string rest = name.substr(kDigits);
  if (rest == kSuffix) return Name::entry;
  return rest.starts_with(std::string(kSuffix) + kTemporary) ? Name::temporary : Name::foreign;
}

std::string name_of_entry(const std::string& key) {
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return formatted("{:016x}{:016x}{}", hash.high64, hash.low64, kSuffix);
}

/// The header of a file that may be an entry, as far as it is complete.
std::optional<Header> header_in(std::string_view text, std::size_t file_bytes) {
  Header header;
  if (text.size() < sizeof header || file_bytes < sizeof header) return std::nullopt;
  std::memcpy(&header, text.data(), sizeof header);
  const std::size_t body = file_bytes - sizeof header;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key_bytes > body ||
      header.content_bytes != body - header.key_bytes)
    return std::nullopt;
  return header;
}

/// The key in an entry's file; empty when the file is damaged. The hash is not checked, which needs
/// all of it.
std::string key_in(const OwnFolder& folder, const std::string& name, std::size_t file_bytes) {
  std::string text;
  if (folder.read_start(name, std::min(file_bytes, sizeof(Header) + kMostKey), text) !=
      OwnFolder::Result::read)
    return {};
  const std::optional<Header> header = header_in(text, file_bytes);
  if (!header || header->key_bytes > text.size() - sizeof(Header)) return {};
  return text.substr(sizeof(Header), header->key_bytes);
}

/// SMEM_CACHE_LIMIT in bytes.
std::size_t limit_in_environment() {
  const std::string text = environment("SMEM_CACHE_LIMIT");
  if (text.empty()) return kDefaultLimitMiB << 20;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > kMostMiB) {
    plan::refuse("Context", "SMEM_CACHE_LIMIT", formatted("a whole number of MiB, at most {}", kMostMiB),
                 formatted("\"{}\"", text));
  }
  return value << 20;
}

}  // namespace

std::optional<std::string_view> content_of_entry(std::string_view file, std::string_view key) {
  const std::optional<Header> header = header_in(file, file.size());
  if (!header || header->key_bytes != key.size() || file.substr(sizeof(Header), key.size()) != key)
    return std::nullopt;
  const std::string_view content = file.substr(sizeof(Header) + key.size());
  const XXH128_hash_t hash = hash_of(key, content);
  if (hash.low64 != header->hash_low || hash.high64 != header->hash_high) return std::nullopt;
  return content;
}

DiskCache DiskCache::from_environment() {
  const std::string on = environment("SMEM_CACHE");
  if (on == "0" || on == "off" || on == "OFF") return {};
  const std::size_t limit = limit_in_environment();
  fs::path folder = environment("SMEM_CACHE_DIR");
  if (folder.empty()) {
    if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty() && xdg.front() == '/') {
      folder = fs::path(xdg) / "smem";
    } else if (const std::string home = environment("HOME"); !home.empty()) {
      folder = fs::path(home) / ".cache" / "smem";
    }
  }
  if (folder.empty()) return {};
  if (const OwnFolder opened(folder); opened.state() == OwnFolder::State::unsafe) {
    trace("the program cache is off: " + opened.why());
    return {};
  }
  return {folder, limit};
}

DiskCache::Lookup DiskCache::load(const std::string& key) const {
  if (!enabled()) return {};
  const OwnFolder folder(folder_);
  if (!folder) return {};
  const std::string name = name_of_entry(key);
  std::string file;
  switch (folder.read(name, 0, kMostEntryBytes, file, true)) {
    case OwnFolder::Result::absent:
      return {};
    case OwnFolder::Result::unsafe:
      trace(formatted("{} is not used: other users could have written it", (folder_ / name).string()));
      return {Outcome::damaged, {}};
    case OwnFolder::Result::failed:
      return {Outcome::damaged, {}};
    case OwnFolder::Result::read:
      break;
  }
  const std::optional<std::string_view> content = content_of_entry(file, key);
  if (!content) return {Outcome::damaged, {}};
  return {Outcome::found, std::vector<unsigned char>(content->begin(), content->end())};
}

bool DiskCache::store(const std::string& key, const std::vector<unsigned char>& content) const {
  if (!enabled()) return false;
  const OwnFolder folder(folder_, true);
  if (!folder) return false;
  const std::string_view bytes(reinterpret_cast<const char*>(content.data()), content.size());
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.key_bytes = key.size();
  header.content_bytes = content.size();
  const XXH128_hash_t hash = hash_of(key, bytes);
  header.hash_low = hash.low64;
  header.hash_high = hash.high64;
  const std::string_view start(reinterpret_cast<const char*>(&header), sizeof header);
  if (!folder.write(name_of_entry(key), {start, key, bytes})) return false;
  evict(folder);
  return true;
}

void DiskCache::remove(const std::string& key) const {
  if (!enabled()) return;
  if (const OwnFolder folder(folder_); folder) folder.remove(name_of_entry(key));
}

DiskCache::Files DiskCache::files(const OwnFolder& folder) const {
  Files found;
  const auto now = fs::file_time_type::clock::now();
  for (const OwnFolder::File& file : folder.files()) {
    const Name name = kind_of(file.name);
    if (name == Name::foreign) continue;
    std::vector<Entry>& group = name == Name::entry               ? found.entries
                                : now - file.changed > kAbandoned ? found.abandoned
                                                                  : found.young;
    group.push_back({folder_ / file.name, file.changed, file.bytes, {}});
  }
  return found;
}

std::vector<DiskCache::Entry> DiskCache::entries() const {
  if (!enabled()) return {};
  const OwnFolder folder(folder_);
  if (!folder) return {};
  std::vector<Entry> found = files(folder).entries;
  for (Entry& entry : found)
    entry.key = key_in(folder, entry.path.filename().string(), entry.bytes);
  return found;
}

DiskCache::Cleared DiskCache::clear(bool dry_run) const {
  Cleared cleared;
  if (!enabled()) return cleared;
  const OwnFolder folder(folder_);
  if (!folder) return cleared;
  const Files found = files(folder);
  for (const std::vector<Entry>* group : {&found.entries, &found.abandoned}) {
    for (const Entry& entry : *group) {
      if (!dry_run && !folder.remove(entry.path.filename().string())) {
        ++cleared.failures;
      } else {
        ++cleared.files;
        cleared.bytes += entry.bytes;
      }
    }
  }
  return cleared;
}

void DiskCache::evict(const OwnFolder& folder) const {
  const Files found = files(folder);
  for (const Entry& entry : found.abandoned)
    folder.remove(entry.path.filename().string());
  const auto now = fs::file_time_type::clock::now();
  std::size_t total = 0;
  std::vector<Entry> may_go;
  for (const std::vector<Entry>* group : {&found.entries, &found.young}) {
    for (const Entry& entry : *group) {
      total += entry.bytes;
      if (group == &found.entries || now - entry.used > kAtWork) may_go.push_back(entry);
    }
  }
  std::sort(may_go.begin(), may_go.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : may_go) {
    if (total <= limit_bytes_) break;
    folder.remove(entry.path.filename().string());
    total -= entry.bytes;
  }
}

}  // namespace smem::runtime
