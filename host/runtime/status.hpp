/// OpenCL status codes and small queries. The library calls OpenCL's C functions: whether the C++ header
/// throws is the including program's choice, so nothing here may depend on it.
#pragma once

#include <smem/error.hpp>
#include <smem/opencl.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace smem::runtime {

/// \throws Error naming the call and its status, when the status is not CL_SUCCESS.
inline void check(cl_int status, const char* call, const char* operation = "") {
  if (status != CL_SUCCESS) {
    ErrorDetails details;
    details.operation = operation;
    details.call = call;
    details.code = status;
    throw Error(std::move(details));
  }
}

/// The value of a fixed-size property, or `otherwise` where the driver does not know it.
template <class T>
T device_value(cl_device_id device, cl_device_info what, T otherwise = {}) {
  T value{};
  std::size_t size = 0;
  const cl_int status = clGetDeviceInfo(device, what, sizeof value, &value, &size);
  return status == CL_SUCCESS && size == sizeof value ? value : otherwise;
}

/// The value of a fixed-size property of a buffer. \throws Error when OpenCL fails.
template <class T>
T memory_value(cl_mem memory, cl_mem_info what, const char* operation) {
  T value{};
  check(clGetMemObjectInfo(memory, what, sizeof value, &value, nullptr), "clGetMemObjectInfo", operation);
  return value;
}

/// Drivers may take another context's buffer and read what is no memory of theirs. \throws Error naming the
/// argument when the buffer is of another context.
void require_context(cl_context context, const char* operation, const std::string& argument, cl_mem memory);

/// The value of a text property; empty where the driver does not know it.
std::string device_text(cl_device_id device, cl_device_info what);
std::string platform_text(cl_platform_id platform, cl_platform_info what);

}  // namespace smem::runtime
