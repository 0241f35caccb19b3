#include "cli/child.hpp"

#include "cli/interrupt.hpp"
#include "cli/process.hpp"

#include <smem/error.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

namespace smem::cli {

std::string run_child(const std::vector<std::string>& arguments,
                      const std::map<std::string, std::optional<std::string>>& environment) {
  Ended ended =
      run_process({.program = "/proc/self/exe", .arguments = arguments, .environment = environment});
  if (ended.signal != 0) {
    throw Error({.operation = "bench", .expected = "a child process that succeeds", .got = ended.text()});
  }
  if (!ended.is_good()) throw ChildFailed{ended.exit_code};
  return std::move(ended.output);
}

std::string device_facts(const std::string& device, const char* operation) {
  constexpr std::chrono::seconds kPatience(120);  // with a driver that starts
  ProcessCommand command{.program = "/proc/self/exe", .arguments = {"devices", "--json"}};
  if (!device.empty()) command.arguments.insert(command.arguments.end(), {"--device", device});
  const auto start = std::chrono::steady_clock::now();
  command.may_go_on = [&] { return std::chrono::steady_clock::now() - start < kPatience; };
  const Ended ended = run_process(command);
  if (ended.signal == 0 && !ended.stopped) {
    if (ended.exit_code != 0) throw ChildFailed{ended.exit_code};
    return ended.output;
  }
  throw Error({.operation = operation,
               .expected = "an OpenCL driver that reports a device's facts",
               .got = ended.stopped ? fmt::format("nothing in {} s", kPatience.count()) : ended.text()});
}

namespace {

/// Removes a folder with all that is in it. Programs that were ended a moment ago may still write to it.
void remove_folder(const std::filesystem::path& path) {
  constexpr int kTries = 50;
  for (int i = 0; i < kTries; ++i) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
    if (!std::filesystem::exists(path, ignored)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  const NoInterrupt together;
  std::string name = (std::filesystem::temp_directory_path() / "smem-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error({.operation = "temporary folder",
                 .expected = fmt::format("room in {}", std::filesystem::temp_directory_path().string()),
                 .got = std::strerror(errno)});
  }
  path_ = name;
  at_interrupt_.emplace([path = path_] { remove_folder(path); });
}

TemporaryFolder::~TemporaryFolder() {
  const NoInterrupt together;
  remove_folder(path_);
  at_interrupt_.reset();
}

}  // namespace smem::cli
