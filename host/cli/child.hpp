/// This program, started again as a child process.
#pragma once

#include "cli/interrupt.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

/// A child process has failed and has printed why: nothing is left but to end with its exit code.
struct ChildFailed {
  int exit_code = 0;
};

/// Runs the smem command with `arguments` and returns what it wrote to its output. Changes the environment
/// first: an empty optional removes the variable. \throws ChildFailed, or Error when a signal has ended it.
std::string run_child(const std::vector<std::string>& arguments,
                      const std::map<std::string, std::optional<std::string>>& environment);

/// Facts of the device that is asked for, as JSON, from a process of its own: a driver may crash as it
/// starts, and a child of a process that has opened an NVIDIA GPU does not see it. \throws ChildFailed, or
/// Error in the name of `operation` when that process hangs or crashes.
std::string device_facts(const std::string& device, const char* operation);

/// A folder of its own under the system's temporary directory, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<OnInterrupt> at_interrupt_;
};

}  // namespace smem::cli
