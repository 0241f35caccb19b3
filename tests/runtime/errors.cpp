// The exception's text, and status codes by name.
#include <smem/error.hpp>
#include <smem/opencl.hpp>

#include <doctest/doctest.h>

#include <string>

TEST_CASE("errors: status codes have their names") {
  // Spelled out for both ends and the middle of each run of numbers in the OpenCL headers.
#define CHECK_NAME(code) CHECK(smem::status_name(code) == #code)
  CHECK_NAME(CL_SUCCESS);
  CHECK_NAME(CL_DEVICE_NOT_FOUND);
  CHECK_NAME(CL_OUT_OF_RESOURCES);
  CHECK_NAME(CL_BUILD_PROGRAM_FAILURE);
  CHECK_NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET);
  CHECK_NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
  CHECK_NAME(CL_INVALID_VALUE);
  CHECK_NAME(CL_INVALID_CONTEXT);
  CHECK_NAME(CL_INVALID_BINARY);
  CHECK_NAME(CL_INVALID_KERNEL_NAME);
  CHECK_NAME(CL_INVALID_WORK_GROUP_SIZE);
  CHECK_NAME(CL_INVALID_EVENT_WAIT_LIST);
  CHECK_NAME(CL_INVALID_GLOBAL_WORK_SIZE);
  CHECK_NAME(CL_INVALID_DEVICE_PARTITION_COUNT);
#undef CHECK_NAME
  CHECK(smem::status_name(-1001) == "CL_PLATFORM_NOT_FOUND_KHR");
  for (const int unknown : {1, -20, -29, -73, -9999, 2147483647, -2147483647 - 1}) {
    CHECK(smem::status_name(unknown) == "OpenCL error " + std::to_string(unknown));
  }
}

TEST_CASE("errors: the message holds every field") {
  smem::ErrorDetails details;
  details.operation = "transpose";
  details.argument = "out";
  details.expected = "4 x 6";
  details.got = "6 x 4";
  CHECK(std::string(smem::Error(details).what()) == "smem::transpose: out: expected 4 x 6, got 6 x 4");
  details = {};
  details.operation = "transpose";
  details.call = "clBuildProgram";
  details.code = CL_BUILD_PROGRAM_FAILURE;
  details.device = "a device";
  details.build_log = "line 3: error";
  CHECK(std::string(smem::Error(details).what()) ==
        "smem::transpose: clBuildProgram failed with CL_BUILD_PROGRAM_FAILURE (device: a device)\nline 3: "
        "error");
  CHECK(smem::Error(details).details().code == CL_BUILD_PROGRAM_FAILURE);
  CHECK(std::string(smem::Error({}).what()) == "smem");
  details = {};
  details.got = std::string("a\0b", 3);
  details.build_log = "a log";
  CHECK(std::string(smem::Error(details).what()) == "smem: got a?b\na log");
}
