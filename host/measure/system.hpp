/// What reports say of the machine and of the environment in which they were made.
#pragma once

#include <fmt/format.h>

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>
#include <string_view>

namespace smem::measure {

/// "Debian GNU/Linux 12 (bookworm), Linux 6.1.0 x86_64".
inline std::string system_text() {
  std::string text;
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    constexpr std::string_view kName = "PRETTY_NAME=";
    if (!line.starts_with(kName)) continue;
    text = line.substr(kName.size());
    std::erase(text, '"');
    text += ", ";
  }
  utsname kernel{};
  if (::uname(&kernel) == 0) text += fmt::format("{} {} {}", kernel.sysname, kernel.release, kernel.machine);
  return text;
}

/// The variables that change what OpenCL or smem do.
inline std::map<std::string, std::string> variables() {
  std::map<std::string, std::string> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    for (const std::string_view prefix : {"SMEM_", "OCL_", "POCL_", "CUDA_", "ROCR_", "HIP_", "GPU_",
                                          "RUSTICL_", "ZE_", "ONEAPI_", "CL_CONFIG_"}) {
      const std::size_t equals = text.find('=');
      if (text.starts_with(prefix)) found[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
  }
  return found;
}

}  // namespace smem::measure
