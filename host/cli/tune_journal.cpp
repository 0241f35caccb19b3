// What smem tune has measured, a line of JSON each.
#include "cli/tune.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <system_error>

namespace smem::cli {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

std::string key_of(const TuneCase& of, const PlanOverrides& overrides, bool thorough) {
  return fmt::format("{}\n{}\n{}", of.one.tuning.to_string(), text_of(overrides), thorough);
}

/// All that a measurement holds for besides what the file's name says: kernels of one's own.
std::string header_of(const Device& device) {
  const char* kernels = std::getenv("SMEM_KERNEL_DIR");
  return Json{{"smem_measured", 1},
              {"smem", SMEM_VERSION},
              {"device", device.name},
              {"driver", device.driver},
              {"platform", device.platform_version},
              {"kernels", kernels == nullptr ? "" : kernels}}
      .dump();
}

/// Whether only this user can have written a file. Other users cannot replace it meanwhile either, since
/// store_tuning() has refused such folders.
bool is_own(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// One write, so that lines of two processes do not mix.
bool append(const fs::path& path, const std::string& text) {
  const int file =
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return false;
  const ssize_t written = ::write(file, text.data(), text.size());
  return ::close(file) == 0 && written == static_cast<ssize_t>(text.size());
}

}  // namespace

std::string layout_text(const LayoutChoice& layout) {
  if (layout.padding) return fmt::format("padded:{}", *layout.padding);
  if (layout.swizzle_mask) return fmt::format("swizzled:{}", *layout.swizzle_mask);
  return layout.kind ? std::string(name_of(*layout.kind)) : std::string();
}

std::string text_of(const PlanOverrides& overrides) {
  std::string text = overrides.variant;
  const auto size = [](std::size_t value) {
    return value == 0 ? std::string("?") : fmt::format("{}", value);
  };
  if (overrides.tile_rows != 0 || overrides.tile_cols != 0)
    text += fmt::format(", tile {} x {}", size(overrides.tile_rows), size(overrides.tile_cols));
  if (overrides.work_items != 0) text += fmt::format(", {} work-items", overrides.work_items);
  if (const std::string layout = layout_text(overrides.layout); !layout.empty()) text += ", " + layout;
  return text;
}

Json to_json(const PlanOverrides& overrides) {
  return {{"variant", overrides.variant},
          {"tile_rows", overrides.tile_rows},
          {"tile_cols", overrides.tile_cols},
          {"work_items", overrides.work_items},
          {"layout", layout_text(overrides.layout)}};
}

PlanOverrides overrides_from(const Json& json) {
  PlanOverrides overrides{json.at("variant").get<std::string>(),
                          json.at("tile_rows").get<std::size_t>(),
                          json.at("tile_cols").get<std::size_t>(),
                          json.at("work_items").get<std::size_t>(),
                          {}};
  if (const auto layout = json.at("layout").get<std::string>(); !layout.empty())
    overrides.layout = parse_layout(layout);
  return overrides;
}

Json to_json(const Outcome& outcome) {
  return {{"overrides", to_json(outcome.overrides)},
          {"gain", outcome.gain},
          {"low", outcome.low},
          {"high", outcome.high},
          {"seconds", outcome.seconds},
          {"shipped_seconds", outcome.shipped_seconds},
          {"dropped", outcome.dropped}};
}

Outcome outcome_from(const Json& json) {
  return {overrides_from(json.at("overrides")), json.at("gain").get<double>(),
          json.at("low").get<double>(),         json.at("high").get<double>(),
          json.at("seconds").get<double>(),     json.at("shipped_seconds").get<double>(),
          json.at("dropped").get<std::string>()};
}

Journal::Journal(const Device& device, bool restart) : path_(tuning_file(device)) {
  if (path_.empty()) {
    throw Error({.operation = "tune",
                 .expected = "a folder for what is found",
                 .got = "neither SMEM_TUNING_DIR nor HOME"});
  }
  path_.replace_extension(".measured");
  store_tuning(device, {});  // nothing, but the folder is made, and refused where others could write it
  const std::string header = header_of(device);
  if (!restart) read(header);
  if (!outcomes_.empty()) return;
  std::error_code ignored;
  fs::remove(path_, ignored);  // whatever it is
  if (!append(path_, header + "\n"))
    throw Error({.operation = "tune", .expected = "a file that can be written", .got = path_.string()});
}

void Journal::read(const std::string& header) {
  if (!is_own(path_)) return;
  std::ifstream file(path_);
  std::string line;
  if (!std::getline(file, line) || line != header) return;
  while (std::getline(file, line)) {
    const Json json = Json::parse(line, nullptr, false);
    try {
      outcomes_[json.at("key").get<std::string>()] = outcome_from(json.at("outcome"));
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): a line that was cut off
    }
  }
}

const Outcome* Journal::find(const TuneCase& of, const PlanOverrides& overrides, bool thorough) const {
  const auto found = outcomes_.find(key_of(of, overrides, thorough));
  return found == outcomes_.end() ? nullptr : &found->second;
}

void Journal::add(const TuneCase& of, bool thorough, const Outcome& outcome) {
  const std::string key = key_of(of, outcome.overrides, thorough);
  outcomes_[key] = outcome;
  const std::string line = Json{{"key", key}, {"outcome", to_json(outcome)}}.dump() + "\n";
  append(path_, line);
}

}  // namespace smem::cli
