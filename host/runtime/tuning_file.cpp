// Files of tuning entries: JSON, written as a whole beside the file and renamed.
#include "runtime/tuning_file.hpp"

#include "formatted.hpp"
#include "json.hpp"
#include "runtime/own_files.hpp"
#include "runtime/trace.hpp"

#include <smem/error.hpp>
#include <smem/tuning.hpp>
#include <smem/version.hpp>

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace smem {

namespace fs = std::filesystem;

namespace {

constexpr int kTuningFormat = 1;
constexpr int kTuningLevels = 8;
constexpr std::size_t kMostEntries = 2000;
constexpr std::size_t kMostOverride = std::size_t{1} << 24;

Json device_json(const Device& device) {
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

[[noreturn]] void refuse_tuning(const fs::path& path, const std::string& why) {
  throw Error({.operation = "store_tuning",
               .expected = "a tuning file that can be written",
               .got = formatted("{}: {}", path.string(), why)});
}

/// Held while a file is read, changed and replaced. A file of its own, since the other one is replaced.
class Lock {
 public:
  Lock(const runtime::OwnFolder& folder, const fs::path& path)
      : file_(folder.open(path.filename().string(), O_CREAT | O_RDWR)) {
    if (!file_) refuse_tuning(path, std::strerror(errno));
    while (::flock(file_.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
  }

 private:
  runtime::Descriptor file_;
};

bool is_of(const TuningEntry& entry, const std::vector<TuningClass>& classes) {
  return std::find(classes.begin(), classes.end(), entry.problems) != classes.end();
}

}  // namespace

std::string runtime::tuning_key(const Device& device) { return line_of(device_json(device)) + SMEM_VERSION; }

std::vector<TuningEntry> runtime::tuning_entries_in(std::string_view text, const Device& device) {
  const Json json = shallow_json(text, kTuningLevels);
  std::vector<TuningEntry> entries;
  try {
    if (json.is_discarded() || json.at("smem_tuning") != kTuningFormat || json.at("smem") != SMEM_VERSION ||
        json.at("device") != device_json(device))
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

std::vector<TuningEntry> tuning_entries(const Device& device) {
  const fs::path path = tuning_file(device);
  if (path.empty()) return {};
  const runtime::OwnFolder folder(path.parent_path());
  if (folder.state() == runtime::OwnFolder::State::unsafe)
    runtime::trace("what was tuned is not used: " + folder.why());
  if (!folder) return {};
  std::string text;
  const auto result = folder.read(path.filename().string(), 1, kMostJsonBytes, text);
  if (result == runtime::OwnFolder::Result::unsafe)
    runtime::trace(formatted("what was tuned is not used: other users could have written {}", path.string()));
  if (result != runtime::OwnFolder::Result::read) return {};
  return runtime::tuning_entries_in(text, device);
}

void store_tuning(const Device& device, const std::vector<TuningEntry>& entries,
                  const std::vector<TuningClass>& dropped) {
  const fs::path path = tuning_file(device);
  if (path.empty()) refuse_tuning("SMEM_TUNING_DIR", "no folder: neither it nor HOME is set");
  const runtime::OwnFolder folder(path.parent_path(), true);
  if (!folder) refuse_tuning(path.parent_path(), folder.why());
  fs::path lock_path = path;
  lock_path += ".lock";
  const Lock lock(folder, lock_path);
  if (entries.empty() && dropped.empty()) return;
  std::vector<TuningClass> replaced = dropped;
  for (const TuningEntry& entry : entries)
    replaced.push_back(entry.problems);
  Json list = Json::array();
  for (const TuningEntry& entry : tuning_entries(device))
    if (!is_of(entry, replaced)) list.push_back(to_json(entry));
  for (const TuningEntry& entry : entries)
    list.push_back(to_json(entry));
  const Json all{{"smem_tuning", kTuningFormat},
                 {"smem", SMEM_VERSION},
                 {"device", device_json(device)},
                 {"entries", list}};
  const std::string text = lines_of(all);
  if (!folder.write(path.filename().string(), {text})) refuse_tuning(path, std::strerror(errno));
}

}  // namespace smem
