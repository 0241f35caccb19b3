#include "runtime/driver_faults.hpp"
#include "formatted.hpp"

#include "plan/driver_faults.hpp"
#include "runtime/environment.hpp"

#include <smem/error.hpp>

#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

namespace smem::runtime {

HostFacts host_facts() {
  HostFacts host;
  const auto is_there = [](const char* path) {
    std::error_code error;
    return std::filesystem::is_directory(path, error);
  };
  // Where hwloc searches by default.
  host.cpu_topology = is_there("/sys/devices/system/cpu/cpu0/topology") ||
                      is_there("/sys/bus/cpu/devices/cpu0/topology") ||
                      !environment("HWLOC_XMLFILE").empty() || !environment("HWLOC_SYNTHETIC").empty() ||
                      !environment("HWLOC_FSROOT").empty();
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    host.data_limit = limit.rlim_cur;
  return host;
}

std::string compiler_variable(const std::string& version) {
  // PoCL from 7.0 on loads a value again behind a barrier instead of keeping it, also where the memory has
  // changed in between (https://github.com/pocl/pocl/pull/2269, merged after 7.1).
  const std::size_t pocl = version.find("PoCL ");
  if (pocl == std::string::npos) return {};
  const plan::Version release = plan::version_in(version.substr(pocl));
  return release >= plan::Version{7, 0} && release < plan::Version{8, 0} ? "POCL_PREGION_VALUE_REMAT" : "";
}

void correct_compiler(const std::string& version) {
  const std::string name = compiler_variable(version);
  static std::once_flag once;  // setenv is not safe beside other threads that read the environment
  if (!name.empty()) std::call_once(once, [&] { ::setenv(name.c_str(), "0", 0); });
}

std::string why_platform_aborts(const std::string& version, const HostFacts& host) {
  // PoCL up to 6.0 reads the size of the memory from hwloc, and the limits of the process, and aborts with
  // "Not enough memory to run on this device" where it finds less than 128 MiB.
  constexpr unsigned long kLeast = 128UL << 20;
  const std::size_t pocl = version.find("PoCL ");
  if (pocl == std::string::npos) return {};
  const plan::Version release = plan::version_in(version.substr(pocl));
  if (release >= plan::Version{7, 0}) return {};
  const std::string name = formatted("PoCL {}.{}", release.first, release.second);
  if (!host.cpu_topology) {
    return name +
           ", which ends the process if /sys does not list the processor's cores: mount sysfs at /sys (a "
           "container or chroot may lack it)";
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
  if (device.vendor != Vendor::nvidia || plan::version_in(device.driver) < plan::Version{610, 0}) return {};
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
  details.argument = "bytes";
  details.expected = why_allocation_fails(device, bytes);
  if (details.expected.empty()) details.expected = "a size that the driver allocates";
  details.got = formatted("{}", bytes);
  details.device = device.name;
  details.call = "clCreateBuffer";
  details.code = status;
  throw Error(std::move(details));
}

}  // namespace smem::runtime
