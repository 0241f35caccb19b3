#include "runtime/driver_faults.hpp"
#include "formatted.hpp"

#include "runtime/environment.hpp"

#include <smem/error.hpp>

#include <sys/resource.h>

#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

namespace smem::runtime {

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A variant that some versions of a driver break. A new row says what was seen, with which version.
struct Fault {
  bool (*is_of)(const Device&);
  Version from, below;  ///< versions of CL_DRIVER_VERSION: from <= version < below
  BrokenVariant broken;
};

constexpr const char* kRegions = "PoCL 5 ends the process when it compiles its regions between barriers";

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all{
      {[](const Device& device) { return is_pocl(device) && device.event_language == "CL1.2"; },
       {5, 0},
       {7, 0},
       {.operation = "gemm",
        .variant = "async",
        .type = "",
        .reason =
            "PoCL 5 and 6 end the process when OpenCL C without generic addresses waits for its copies"}},
      // 5.0 of Ubuntu 24.04: wrong at every shape of two and three dimensions, of every type; right in 3.1
      // and 6.0.
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "heat",
        .variant = "march",
        .type = "",
        .reason = "PoCL 5 compiles its loop over planes or rows into wrong results"}},
      // 5.0 with LLVM 17, as Ubuntu 24.04 has it: one channel of doubles, and bytes into floats; 3.1 and 6.0
      // compile them.
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "box_blur", .variant = "march", .type = "float64", .reason = kRegions}},
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "box_blur", .variant = "march", .type = "uint8", .reason = kRegions}}};
  return all;
}

}  // namespace

Version version_in(const std::string& text) {
  Version version;
  const std::size_t digit = text.find_first_of("0123456789");
  if (digit == std::string::npos) return version;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data() + digit, end, version.first);
  if (error != std::errc()) return {};
  if (after != end && *after == '.') std::from_chars(after + 1, end, version.second);
  return version;
}

bool is_pocl(const Device& device) { return contains(device.platform, "Portable Computing Language"); }

std::vector<BrokenVariant> known_faults(const Device& device) {
  const Version version = version_in(device.driver);
  std::vector<BrokenVariant> broken;
  for (const Fault& fault : faults())
    if (fault.is_of(device) && fault.from <= version && version < fault.below) broken.push_back(fault.broken);
  return broken;
}

HostFacts host_facts() {
  HostFacts host;
  const auto is_there = [](const char* path) {
    std::error_code error;
    return std::filesystem::is_directory(path, error);
  };
  // Where hwloc looks, unless it is told of another place.
  host.cpu_topology = is_there("/sys/devices/system/cpu/cpu0/topology") ||
                      is_there("/sys/bus/cpu/devices/cpu0/topology") ||
                      !environment("HWLOC_XMLFILE").empty() || !environment("HWLOC_SYNTHETIC").empty() ||
                      !environment("HWLOC_FSROOT").empty();
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    host.data_limit = limit.rlim_cur;
  return host;
}

std::string why_platform_aborts(const std::string& version, const HostFacts& host) {
  // PoCL up to 6.0 reads the size of the memory from hwloc, and the limits of the process, and aborts with
  // "Not enough memory to run on this device" where it finds less than 128 MiB.
  constexpr unsigned long kLeast = 128UL << 20;
  const std::size_t pocl = version.find("PoCL ");
  if (pocl == std::string::npos) return {};
  const Version release = version_in(version.substr(pocl));
  if (release >= Version{7, 0}) return {};
  const std::string name = formatted("PoCL {}.{}", release.first, release.second);
  if (!host.cpu_topology) {
    return name +
           ", which ends the process where /sys does not tell of the processor's cores: mount sysfs at /sys "
           "(a "
           "container or chroot has none by itself)";
  }
  if (host.data_limit < kLeast) {
    return formatted(
        "{}, which ends the process where it may have less than 128 MiB: raise the limit of data (ulimit -d)",
        name);
  }
  return {};
}

std::string why_allocation_fails(const Device& device, std::size_t bytes) {
  const char* const kLifts = "NVCL_DISABLE_MAX_MEM_ALLOC_SIZE_CHECK";
  if (device.vendor != Vendor::nvidia || version_in(device.driver) < Version{610, 0}) return {};
  if (device.max_allocation == 0 || bytes <= device.max_allocation || environment(kLifts) == "1") return {};
  return formatted(
      "at most {} bytes: NVIDIA's drivers from 610 on refuse a single buffer above a quarter of the memory, "
      "unless {}=1 is in "
      "the environment before the first OpenCL call",
      device.max_allocation, kLifts);
}

cl::Buffer new_buffer(const cl::Context& context, const Device& device, std::size_t bytes,
                      const char* operation) {
  cl_int status = CL_SUCCESS;
  cl::Buffer buffer(clCreateBuffer(context(), CL_MEM_READ_WRITE, bytes, nullptr, &status));
  if (status == CL_SUCCESS) return buffer;
  ErrorDetails details;
  details.operation = operation;
  details.expected = why_allocation_fails(device, bytes);
  if (!details.expected.empty()) {
    details.argument = "bytes";
    details.got = formatted("{}", bytes);
  }
  details.call = "clCreateBuffer";
  details.code = status;
  throw Error(std::move(details));
}

}  // namespace smem::runtime
