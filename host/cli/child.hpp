/// This program, started again as a child process.
#pragma once

#include "cli/interrupt.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

/// Runs the smem command with `arguments`, with the environment changed as told (an empty optional removes
/// the variable), and returns what it wrote to its output. \throws Error when it fails.
std::string run_child(const std::vector<std::string>& arguments,
                      const std::map<std::string, std::optional<std::string>>& environment);

/// Facts of the device that is asked for, as JSON, from a process of its own: a driver may crash as it
/// starts, and a child of a process that has opened an NVIDIA GPU does not see it. Empty: that process said
/// what is wrong. \throws Error when it hangs or crashes, which `operation` is told of.
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
