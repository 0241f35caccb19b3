/// A kernel without smem: what measurements are compared with.
#pragma once

#include <smem/smem.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace smem::measure {

/// \throws Error naming the call and its status, when the status is not CL_SUCCESS.
inline void check(cl_int status, const char* call, std::string build_log = {}) {
  if (status == CL_SUCCESS) return;
  throw Error({.operation = "measure", .code = status, .call = call, .build_log = std::move(build_log)});
}

/// Builds `source` for the context's device, and returns its kernel `entry_point`.
inline cl::Kernel plain_kernel(const Context& context, const char* source, const char* entry_point) {
  cl_int status = CL_SUCCESS;
  const cl::Program program(clCreateProgramWithSource(context.cl_context()(), 1, &source, nullptr, &status));
  check(status, "clCreateProgramWithSource");
  const cl_device_id device = context.cl_device()();
  status = clBuildProgram(program(), 1, &device, "", nullptr, nullptr);
  if (status != CL_SUCCESS) {
    std::size_t bytes = 0;
    clGetProgramBuildInfo(program(), device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
    std::string log(bytes, '\0');
    clGetProgramBuildInfo(program(), device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
    check(status, "clBuildProgram", log);
  }
  cl::Kernel kernel(clCreateKernel(program(), entry_point, &status));
  check(status, "clCreateKernel");
  return kernel;
}

/// Sets all arguments, in their order.
template <class... Arguments>
void set_arguments(cl_kernel kernel, const Arguments&... arguments) {
  cl_uint index = 0;
  (check(clSetKernelArg(kernel, index++, sizeof arguments, &arguments), "clSetKernelArg"), ...);
}

}  // namespace smem::measure
