#include "runtime/disk_cache.hpp"
#include "formatted.hpp"

#include "runtime/environment.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>

namespace smem::runtime {

namespace fs = std::filesystem;

namespace {

constexpr char kMagic[8] = {'s', 'm', 'e', 'm', 'b', 'i', 'n', '1'};  // the digit is the format's version
constexpr const char* kSuffix = ".smembin";
constexpr const char* kTemporary = ".part-";
constexpr std::size_t kDefaultLimitMiB = 256;
constexpr auto kAbandoned = std::chrono::hours(1);  // a temporary file this old has no writer any more

struct Header {
  char magic[8];
  std::uint64_t key_bytes;
  std::uint64_t content_bytes;
  std::uint64_t hash_low;  // of key and content
  std::uint64_t hash_high;
};

XXH128_hash_t hash_of(const std::string& key, const unsigned char* content, std::size_t bytes) {
  return XXH3_128bits_withSeed(content, bytes, XXH3_64bits(key.data(), key.size()));
}

/// The names that path_of() and store() make: 32 hexadecimal digits and the suffix, and for a temporary file
/// what follows. Files of other names are not the cache's.
enum class Name { foreign, entry, temporary };
Name kind_of(const fs::path& path) {
  constexpr std::size_t kDigits = 32;
  const std::string name = path.filename().string();
  if (name.find_first_not_of("0123456789abcdef") != kDigits) return Name::foreign;
  const std::string rest = name.substr(kDigits);
  if (rest == kSuffix) return Name::entry;
  return rest.starts_with(std::string(kSuffix) + kTemporary) ? Name::temporary : Name::foreign;
}

/// The key that an entry's file tells; empty when the file is damaged. The hash is not checked, which needs
/// all of it.
std::string key_in(const fs::path& path, std::size_t file_bytes) {
  std::ifstream file(path, std::ios::binary);
  Header header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return {};
  const std::size_t body = file_bytes - sizeof header;
  if (header.key_bytes > body || header.content_bytes != body - header.key_bytes) return {};
  std::string key(header.key_bytes, '\0');
  if (!file.read(key.data(), static_cast<std::streamsize>(key.size()))) return {};
  return key;
}

}  // namespace

DiskCache DiskCache::from_environment() {
  const std::string on = environment("SMEM_CACHE");
  if (on == "0" || on == "off" || on == "OFF") return {};
  std::size_t limit = kDefaultLimitMiB;
  if (const std::string text = environment("SMEM_CACHE_LIMIT"); !text.empty()) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
    if (end != text.c_str() && *end == '\0') limit = value;
  }
  fs::path folder = environment("SMEM_CACHE_DIR");
  if (folder.empty()) {
    if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty() && xdg.front() == '/') {
      folder = fs::path(xdg) / "smem";
    } else if (const std::string home = environment("HOME"); !home.empty()) {
      folder = fs::path(home) / ".cache" / "smem";
    }
  }
  return {folder, limit << 20};  // without any home the folder is empty, and the cache off
}

fs::path DiskCache::path_of(const std::string& key) const {
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return folder_ / formatted("{:016x}{:016x}{}", hash.high64, hash.low64, kSuffix);
}

DiskCache::Lookup DiskCache::load(const std::string& key) const {
  if (!enabled()) return {};
  const fs::path path = path_of(key);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  // Read by read(), which turns a failure into the stream's state: an iterator would throw. A folder can be
  // opened, and has a size without meaning.
  if (!fs::is_regular_file(path, ignored)) return {Outcome::damaged, {}};
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  Header header;
  const std::streamoff size = file.tellg();  // -1 when it could not be opened
  if (size < static_cast<std::streamoff>(sizeof header)) return {Outcome::damaged, {}};
  std::vector<unsigned char> bytes(static_cast<std::size_t>(size));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), size)) return {Outcome::damaged, {}};
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t body = bytes.size() - sizeof header;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key_bytes != key.size() ||
      body < key.size() || header.content_bytes != body - key.size() ||
      std::memcmp(bytes.data() + sizeof header, key.data(), key.size()) != 0) {
    return {Outcome::damaged, {}};
  }
  const unsigned char* content = bytes.data() + sizeof header + key.size();
  const XXH128_hash_t hash = hash_of(key, content, header.content_bytes);
  if (hash.low64 != header.hash_low || hash.high64 != header.hash_high) return {Outcome::damaged, {}};
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);  // the mark of its last use
  return {Outcome::found, std::vector<unsigned char>(content, content + header.content_bytes)};
}

bool DiskCache::store(const std::string& key, const std::vector<unsigned char>& content) const {
  if (!enabled()) return false;
  std::error_code error;
  fs::create_directories(folder_, error);
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.key_bytes = key.size();
  header.content_bytes = content.size();
  const XXH128_hash_t hash = hash_of(key, content.data(), content.size());
  header.hash_low = hash.low64;
  header.hash_high = hash.high64;

  static std::atomic<unsigned> counter{0};  // two threads of this process may store the same entry
  const fs::path path = path_of(key);
  fs::path part = path;
  part += formatted("{}{}-{}", kTemporary, ::getpid(), counter.fetch_add(1));
  {
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.write(key.data(), static_cast<std::streamsize>(key.size()));
    file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) {  // the folder cannot be written, or the disk is full
      fs::remove(part, error);
      return false;
    }
  }
  fs::rename(part, path, error);
  if (error) {
    fs::remove(part, error);
    return false;
  }
  evict();
  return true;
}

void DiskCache::remove(const std::string& key) const {
  std::error_code ignored;
  if (enabled()) fs::remove(path_of(key), ignored);
}

DiskCache::Files DiskCache::files() const {
  Files found;
  if (!enabled()) return found;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator file(folder_, error), end; !error && file != end; file.increment(error)) {
    std::error_code gone;  // another process may remove files meanwhile
    const Name name = kind_of(file->path());
    if (name == Name::foreign) continue;
    const auto used = file->last_write_time(gone);
    const bool is_file = file->symlink_status(gone).type() == fs::file_type::regular;
    const auto bytes = is_file ? file->file_size(gone) : 0;
    if (gone || !is_file) continue;
    if (name == Name::entry)
      found.entries.push_back({file->path(), used, static_cast<std::size_t>(bytes), {}});
    if (name == Name::temporary && now - used > kAbandoned)
      found.abandoned.push_back({file->path(), used, static_cast<std::size_t>(bytes), {}});
  }
  return found;
}

std::vector<DiskCache::Entry> DiskCache::entries() const {
  std::vector<Entry> found = files().entries;
  for (Entry& entry : found)
    entry.key = key_in(entry.path, entry.bytes);
  return found;
}

DiskCache::Cleared DiskCache::clear(bool dry_run) const {
  Cleared cleared;
  const Files found = files();
  for (const std::vector<Entry>* group : {&found.entries, &found.abandoned}) {
    for (const Entry& entry : *group) {
      std::error_code error;
      if (!dry_run) fs::remove(entry.path, error);  // no error where another process was faster
      if (error) {
        ++cleared.failures;
      } else {
        ++cleared.files;
        cleared.bytes += entry.bytes;
      }
    }
  }
  return cleared;
}

void DiskCache::evict() const {
  Files found = files();
  std::error_code gone;
  for (const Entry& entry : found.abandoned)
    fs::remove(entry.path, gone);
  std::size_t total = 0;
  for (const Entry& entry : found.entries)
    total += entry.bytes;
  std::sort(found.entries.begin(), found.entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : found.entries) {
    if (total <= limit_bytes_) break;
    fs::remove(entry.path, gone);
    total -= entry.bytes;
  }
}

}  // namespace smem::runtime
