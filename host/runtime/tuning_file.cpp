// Files of tuning entries: JSON, written as a whole beside the file and renamed.
#include "runtime/tuning_file.hpp"

#include "formatted.hpp"

#include <smem/error.hpp>
#include <smem/tuning.hpp>
#include <smem/version.hpp>

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <utility>

namespace smem {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
// What is larger was not written by smem tune, and would take time when a context opens.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kMostEntries = 2000;
constexpr std::size_t kMostText = 400;
constexpr std::size_t kMostOverride = std::size_t{1} << 24;

Json facts_of(const Device& device) {
  return {{"name", device.name},
          {"vendor", device.vendor_name},
          {"driver", device.driver},
          {"platform", device.platform},
          {"platform_version", device.platform_version},
          {"compute_units", device.compute_units},
          {"max_work_group", device.max_work_group},
          {"local_bytes", device.local_bytes}};
}

/// The other way round as parse_layout(); empty: not fixed.
std::string layout_text(const LayoutChoice& choice) {
  using Kind = LocalLayout::Kind;
  if (choice.padding) return formatted("padded:{}", *choice.padding);
  if (choice.swizzle_mask) return formatted("swizzled:{}", *choice.swizzle_mask);
  return choice.kind && *choice.kind != Kind::none ? std::string(name_of(*choice.kind)) : std::string();
}

Json to_json(const TuningEntry& entry) {
  Json extents = Json::object();
  for (const TuningExtent& extent : entry.problems.extents)
    extents[extent.name] = extent.value;
  const PlanOverrides& o = entry.overrides;
  return {{"operation", entry.problems.operation},
          {"kind", entry.problems.kind},
          {"extents", extents},
          {"variant", o.variant},
          {"tile_rows", o.tile_rows},
          {"tile_cols", o.tile_cols},
          {"work_items", o.work_items},
          {"layout", layout_text(o.layout)},
          {"gain", entry.gain},
          {"seconds", entry.seconds},
          {"shipped", entry.shipped},
          {"date", entry.date}};
}

std::string text_at(const Json& json, const char* name) {
  auto text = json.at(name).get<std::string>();
  if (text.size() > kMostText) throw std::out_of_range(name);
  return text;
}

std::size_t number_at(const Json& json, const char* name) {
  const Json& value = json.at(name);
  if (!value.is_number_unsigned() || value.get<std::size_t>() > kMostOverride) throw std::out_of_range(name);
  return value.get<std::size_t>();
}

double above_zero(const Json& json, const char* name) {
  const double value = json.at(name).get<double>();
  if (!std::isfinite(value) || value <= 0) throw std::out_of_range(name);
  return value;
}

/// \throws what derives from std::exception when the entry has another form.
TuningEntry entry_of(const Json& json) {
  TuningEntry entry;
  entry.problems.operation = text_at(json, "operation");
  entry.problems.kind = text_at(json, "kind");
  for (const auto& [name, value] : json.at("extents").items()) {
    if (!value.is_number_unsigned()) throw std::out_of_range(name);
    entry.problems.extents.push_back({name, value.get<std::size_t>()});
  }
  entry.overrides.variant = text_at(json, "variant");
  entry.overrides.tile_rows = number_at(json, "tile_rows");
  entry.overrides.tile_cols = number_at(json, "tile_cols");
  entry.overrides.work_items = number_at(json, "work_items");
  if (const std::string layout = text_at(json, "layout"); !layout.empty())
    entry.overrides.layout = parse_layout(layout);
  entry.gain = above_zero(json, "gain");
  entry.seconds = above_zero(json, "seconds");
  entry.shipped = text_at(json, "shipped");
  entry.date = text_at(json, "date");
  return entry;
}

std::string text_in(const fs::path& path) {
  std::error_code ignored;
  if (path.empty() || !fs::is_regular_file(path, ignored)) return {};
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  if (size <= 0 || static_cast<std::size_t>(size) > kMostBytes) return {};
  std::string text(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(text.data(), size)) return {};
  return text;
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error({.operation = "store_tuning",
               .expected = "a tuning file that can be written",
               .got = formatted("{}: {}", path.string(), why)});
}

/// Held while a file is read, changed and replaced. A file of its own, since the other one is replaced.
class Lock {
 public:
  explicit Lock(const fs::path& path) : file_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    if (file_ < 0) refuse(path, std::strerror(errno));
    while (::flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~Lock() { ::close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

void replace_file(const fs::path& path, const std::string& text) {
  fs::path part = path;
  part += formatted(".part-{}", ::getpid());
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  std::error_code error, ignored;
  if (file) fs::rename(part, path, error);
  if (file && !error) return;
  fs::remove(part, ignored);
  refuse(path, error ? error.message() : "the write failed");
}

bool is_of(const TuningEntry& entry, const std::vector<TuningClass>& classes) {
  return std::find(classes.begin(), classes.end(), entry.problems) != classes.end();
}

}  // namespace

std::string runtime::tuning_key(const Device& device) { return facts_of(device).dump() + SMEM_VERSION; }

std::vector<TuningEntry> tuning_entries(const Device& device) {
  const std::string text = text_in(tuning_file(device));
  if (text.empty()) return {};
  const Json json = Json::parse(text, nullptr, false);
  std::vector<TuningEntry> entries;
  try {
    if (json.is_discarded() || json.at("smem_tuning") != kFormat || json.at("smem") != SMEM_VERSION ||
        json.at("device") != facts_of(device))
      return {};
    const Json& list = json.at("entries");
    if (!list.is_array() || list.size() > kMostEntries) return {};
    for (const Json& one : list) {
      try {
        entries.push_back(entry_of(one));
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the others may be right
      }
    }
  } catch (const std::exception&) {
    return {};
  }
  return entries;
}

void store_tuning(const Device& device, const std::vector<TuningEntry>& entries,
                  const std::vector<TuningClass>& dropped) {
  const fs::path path = tuning_file(device);
  if (path.empty()) refuse("SMEM_TUNING_DIR", "no folder: neither it nor HOME is set");
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) refuse(path.parent_path(), error.message());
  fs::path lock_path = path;
  lock_path += ".lock";
  const Lock lock(lock_path);
  std::vector<TuningClass> replaced = dropped;
  for (const TuningEntry& entry : entries)
    replaced.push_back(entry.problems);
  Json list = Json::array();
  for (const TuningEntry& entry : tuning_entries(device))
    if (!is_of(entry, replaced)) list.push_back(to_json(entry));
  for (const TuningEntry& entry : entries)
    list.push_back(to_json(entry));
  const Json all{
      {"smem_tuning", kFormat}, {"smem", SMEM_VERSION}, {"device", facts_of(device)}, {"entries", list}};
  replace_file(path, all.dump(2) + "\n");
}

}  // namespace smem
