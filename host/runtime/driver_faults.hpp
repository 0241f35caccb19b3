/// What drivers do wrong when devices are listed and buffers made, by their names and versions.
#pragma once

#include <smem/device.hpp>
#include <smem/opencl.hpp>

#include <string>

namespace smem::runtime {

/// What a platform's first query of its devices reads of the system.
struct HostFacts {
  bool cpu_topology = true;         ///< whether /sys lists the processor's cores
  unsigned long data_limit = ~0UL;  ///< bytes that the process may have: RLIMIT_DATA
};
HostFacts host_facts();

/// The variable of the environment that, as 0, turns off what this platform's compiler does wrong; empty:
/// none.
std::string compiler_variable(const std::string& version);

/// Sets that variable, once in a process, unless it is set: compilers read it whenever they build a kernel.
void correct_compiler(const std::string& version);

/// Why a platform of this CL_PLATFORM_VERSION ends the process when it is asked for its devices; empty: it
/// does not.
std::string why_platform_aborts(const std::string& version, const HostFacts& host);

/// What lets the driver refuse a buffer of `bytes` although the device has the memory; empty: nothing is
/// known.
std::string why_allocation_fails(const Device& device, std::size_t bytes);

/// A buffer of the device's memory, to be read and written by kernels. \throws Error when the driver refuses
/// it, with what is known of the reason.
cl::Buffer new_buffer(const cl::Context& context, const Device& device, std::size_t bytes,
                      const char* operation);

}  // namespace smem::runtime
