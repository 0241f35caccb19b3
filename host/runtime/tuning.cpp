// Tuning files: found, read, and what of them a problem gets.
#include "runtime/tuning.hpp"

#include "formatted.hpp"
#include "runtime/environment.hpp"
#include "runtime/tuning_file.hpp"

#include <smem/context.hpp>
#include <smem/tuning.hpp>
#include <smem/version.hpp>

#include "runtime/runtime.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string>

namespace smem {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kNameLimit = 40;  // letters of a device's name in that of its file

/// "pthread-skylake" of "pthread-Skylake (AVX)": what every file system takes.
std::string file_name_of(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain) {
      text += c;
    } else if (!text.empty() && text.back() != '-') {
      text += '-';
    }
    if (text.size() >= kNameLimit) break;
  }
  return text.empty() ? "device" : text;
}

}  // namespace

fs::path tuning_folder() {
  if (fs::path folder = runtime::environment("SMEM_TUNING_DIR"); !folder.empty()) return folder;
  // As the XDG Base Directory Specification has it, relative paths do not count.
  if (const std::string data = runtime::environment("XDG_DATA_HOME"); !data.empty() && data.front() == '/')
    return fs::path(data) / "smem" / "tuning";
  if (const std::string home = runtime::environment("HOME"); !home.empty())
    return fs::path(home) / ".local" / "share" / "smem" / "tuning";
  return {};
}

fs::path tuning_file(const Device& device) {
  const fs::path folder = tuning_folder();
  if (folder.empty()) return {};
  const std::string key = runtime::tuning_key(device);
  return folder /
         formatted("{}-{:016x}.json", file_name_of(device.name), XXH3_64bits(key.data(), key.size()));
}

bool tuning_is_on() {
  const std::string on = runtime::environment("SMEM_TUNING");
  return on != "0" && on != "off" && on != "OFF";
}

std::optional<TuningEntry> find_tuning(const Context& context, const TuningClass& problems) {
  const TuningEntry* entry = context.runtime().tuning().nearest(problems);
  return entry == nullptr ? std::nullopt : std::optional(*entry);
}

namespace runtime {

Tuning::Tuning(const Device& device) {
  if (tuning_is_on()) entries_ = tuning_entries(device);
}

const TuningEntry* Tuning::nearest(const TuningClass& problems) const {
  const TuningEntry* best = nullptr;
  double least = 0;
  for (const TuningEntry& entry : entries_) {
    const double far = distance(entry.problems, problems);
    if (far < 0 || (best != nullptr && far >= least)) continue;
    best = &entry;
    least = far;
  }
  return best;
}

}  // namespace runtime

}  // namespace smem
