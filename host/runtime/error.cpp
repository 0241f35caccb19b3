// The exception type's text, and the names of OpenCL's status codes. Names only: no OpenCL header is needed
// here, since plans throw the same exception.
#include "formatted.hpp"

#include <smem/error.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace smem {

namespace {

// From 0 to -19 and from -30 to -72 as the OpenCL 3.0 specification numbers them, appendix of error codes.
constexpr const char* kFromZero[] = {"CL_SUCCESS",
                                     "CL_DEVICE_NOT_FOUND",
                                     "CL_DEVICE_NOT_AVAILABLE",
                                     "CL_COMPILER_NOT_AVAILABLE",
                                     "CL_MEM_OBJECT_ALLOCATION_FAILURE",
                                     "CL_OUT_OF_RESOURCES",
                                     "CL_OUT_OF_HOST_MEMORY",
                                     "CL_PROFILING_INFO_NOT_AVAILABLE",
                                     "CL_MEM_COPY_OVERLAP",
                                     "CL_IMAGE_FORMAT_MISMATCH",
                                     "CL_IMAGE_FORMAT_NOT_SUPPORTED",
                                     "CL_BUILD_PROGRAM_FAILURE",
                                     "CL_MAP_FAILURE",
                                     "CL_MISALIGNED_SUB_BUFFER_OFFSET",
                                     "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
                                     "CL_COMPILE_PROGRAM_FAILURE",
                                     "CL_LINKER_NOT_AVAILABLE",
                                     "CL_LINK_PROGRAM_FAILURE",
                                     "CL_DEVICE_PARTITION_FAILED",
                                     "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"};
constexpr const char* kFromThirty[] = {"CL_INVALID_VALUE",
                                       "CL_INVALID_DEVICE_TYPE",
                                       "CL_INVALID_PLATFORM",
                                       "CL_INVALID_DEVICE",
                                       "CL_INVALID_CONTEXT",
                                       "CL_INVALID_QUEUE_PROPERTIES",
                                       "CL_INVALID_COMMAND_QUEUE",
                                       "CL_INVALID_HOST_PTR",
                                       "CL_INVALID_MEM_OBJECT",
                                       "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
                                       "CL_INVALID_IMAGE_SIZE",
                                       "CL_INVALID_SAMPLER",
                                       "CL_INVALID_BINARY",
                                       "CL_INVALID_BUILD_OPTIONS",
                                       "CL_INVALID_PROGRAM",
                                       "CL_INVALID_PROGRAM_EXECUTABLE",
                                       "CL_INVALID_KERNEL_NAME",
                                       "CL_INVALID_KERNEL_DEFINITION",
                                       "CL_INVALID_KERNEL",
                                       "CL_INVALID_ARG_INDEX",
                                       "CL_INVALID_ARG_VALUE",
                                       "CL_INVALID_ARG_SIZE",
                                       "CL_INVALID_KERNEL_ARGS",
                                       "CL_INVALID_WORK_DIMENSION",
                                       "CL_INVALID_WORK_GROUP_SIZE",
                                       "CL_INVALID_WORK_ITEM_SIZE",
                                       "CL_INVALID_GLOBAL_OFFSET",
                                       "CL_INVALID_EVENT_WAIT_LIST",
                                       "CL_INVALID_EVENT",
                                       "CL_INVALID_OPERATION",
                                       "CL_INVALID_GL_OBJECT",
                                       "CL_INVALID_BUFFER_SIZE",
                                       "CL_INVALID_MIP_LEVEL",
                                       "CL_INVALID_GLOBAL_WORK_SIZE",
                                       "CL_INVALID_PROPERTY",
                                       "CL_INVALID_IMAGE_DESCRIPTOR",
                                       "CL_INVALID_COMPILER_OPTIONS",
                                       "CL_INVALID_LINKER_OPTIONS",
                                       "CL_INVALID_DEVICE_PARTITION_COUNT",
                                       "CL_INVALID_PIPE_SIZE",
                                       "CL_INVALID_DEVICE_QUEUE",
                                       "CL_INVALID_SPEC_ID",
                                       "CL_MAX_SIZE_RESTRICTION_EXCEEDED"};

/// The text of the details, in which each NUL becomes a question mark: what() would end there.
std::string text_of(ErrorDetails& d) {
  for (std::string* part : {&d.operation, &d.argument, &d.expected, &d.got, &d.build_log})
    std::replace(part->begin(), part->end(), '\0', '?');
  std::string text = d.operation.empty() ? "smem" : "smem::" + d.operation;
  if (!d.argument.empty()) text += formatted(": {}", d.argument);
  if (!d.expected.empty()) text += formatted(": expected {}", d.expected);
  if (!d.got.empty()) text += formatted("{}got {}", d.expected.empty() ? ": " : ", ", d.got);
  if (!d.call.empty()) text += formatted(": {} failed with {}", d.call, status_name(d.code));
  if (!d.device.empty()) text += formatted(" (device: {})", d.device);
  if (!d.build_log.empty()) text += "\n" + d.build_log;
  return text;
}

}  // namespace

Error::Error(ErrorDetails details) : std::runtime_error(text_of(details)), details_(std::move(details)) {}
Error::~Error() = default;

std::string status_name(int code) {
  const long from_zero = -static_cast<long>(code);
  if (from_zero >= 0 && from_zero < static_cast<long>(std::size(kFromZero))) return kFromZero[from_zero];
  const long from_thirty = from_zero - 30;
  if (from_thirty >= 0 && from_thirty < static_cast<long>(std::size(kFromThirty)))
    return kFromThirty[from_thirty];
  if (code == -1001) return "CL_PLATFORM_NOT_FOUND_KHR";
  return formatted("OpenCL error {}", code);
}

}  // namespace smem
