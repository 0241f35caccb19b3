// Files of variants that failed: JSON, replaced as a whole.
#include "runtime/failures.hpp"

#include "formatted.hpp"
#include "json.hpp"
#include "runtime/environment.hpp"
#include "runtime/own_files.hpp"
#include "runtime/trace.hpp"
#include "runtime/tuning_file.hpp"

#include <smem/error.hpp>
#include <smem/failures.hpp>
#include <smem/tuning.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace smem {

namespace fs = std::filesystem;

namespace {

constexpr int kFailuresFormat = 1;
constexpr int kFailuresLevels = 4;
constexpr std::size_t kMostFailures = 2000;

[[noreturn]] void refuse_failures(const char* operation, const fs::path& path, const std::string& why) {
  throw Error({.operation = operation,
               .expected = "a file of failures that can be written",
               .got = formatted("{}: {}", path.string(), why)});
}

/// \throws what derives from std::exception when it has another form.
BrokenVariant failure_of(const Json& json) {
  BrokenVariant failure{text_at(json, "operation"), text_at(json, "variant"), text_at(json, "type"),
                        text_at(json, "reason")};
  if (failure.operation.empty() || failure.variant.empty()) throw std::out_of_range("variant");
  return failure;
}

bool is_same(const BrokenVariant& left, const BrokenVariant& right) {
  return left.operation == right.operation && left.variant == right.variant && left.type == right.type;
}

}  // namespace

fs::path failures_file(const Device& device) {
  fs::path path = tuning_file(device);
  if (!path.empty()) path.replace_extension(".failures.json");
  return path;
}

bool failures_are_avoided() {
  const std::string on = runtime::environment("SMEM_FAILURES");
  return on != "0" && on != "off" && on != "OFF";
}

std::vector<BrokenVariant> runtime::failures_in(std::string_view text, const Device& device) {
  const Json json = shallow_json(text, kFailuresLevels);
  std::vector<BrokenVariant> failures;
  try {
    if (json.is_discarded() || json.at("smem_failures") != kFailuresFormat ||
        json.at("key") != tuning_key(device))
      return {};
    const Json& list = json.at("failures");
    if (!list.is_array() || list.size() > kMostFailures) return {};
    for (const Json& one : list) {
      try {
        failures.push_back(failure_of(one));
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the others may be right
      }
    }
  } catch (const std::exception&) {
    return {};
  }
  return failures;
}

std::vector<BrokenVariant> remembered_failures(const Device& device) {
  const fs::path path = failures_file(device);
  if (path.empty()) return {};
  const runtime::OwnFolder folder(path.parent_path());
  if (folder.state() == runtime::OwnFolder::State::unsafe)
    runtime::trace("what failed smem selftest is not avoided: " + folder.why());
  if (!folder) return {};
  std::string text;
  const auto result = folder.read(path.filename().string(), 1, kMostJsonBytes, text);
  if (result == runtime::OwnFolder::Result::unsafe) {
    runtime::trace(formatted("what failed smem selftest is not avoided: other users could have written {}",
                             path.string()));
  }
  if (result != runtime::OwnFolder::Result::read) return {};
  return runtime::failures_in(text, device);
}

void remember_failures(const Device& device, const std::vector<BrokenVariant>& failures) {
  constexpr const char* kOperation = "remember_failures";
  const fs::path path = failures_file(device);
  if (path.empty()) refuse_failures(kOperation, "SMEM_TUNING_DIR", "no folder: neither it nor HOME is set");
  const runtime::OwnFolder folder(path.parent_path(), true);
  if (!folder) refuse_failures(kOperation, path.parent_path(), folder.why());
  std::vector<BrokenVariant> all = failures;
  for (const BrokenVariant& before : remembered_failures(device)) {
    if (std::none_of(failures.begin(), failures.end(),
                     [&](const BrokenVariant& one) { return is_same(one, before); }))
      all.push_back(before);
  }
  Json list = Json::array();
  for (const BrokenVariant& one : all) {
    list.push_back({{"operation", one.operation},
                    {"variant", one.variant},
                    {"type", one.type},
                    {"reason", one.reason.substr(0, kMostJsonText)}});
  }
  const Json json{
      {"smem_failures", kFailuresFormat}, {"key", runtime::tuning_key(device)}, {"failures", list}};
  const std::string text = lines_of(json);
  if (!folder.write(path.filename().string(), {text}))
    refuse_failures(kOperation, path, std::strerror(errno));
}

bool forget_failures(const Device& device) {
  const fs::path path = failures_file(device);
  std::error_code error;
  const bool removed = !path.empty() && fs::remove(path, error);
  if (error) refuse_failures("forget_failures", path, error.message());
  return removed;
}

Device runtime::with_failures(Device device) {
  if (!failures_are_avoided()) return device;
  for (BrokenVariant& failure : remembered_failures(device))
    device.broken.push_back(std::move(failure));
  return device;
}

}  // namespace smem
