#include "runtime/status.hpp"

#include "plan/sizes.hpp"

namespace smem::runtime {

namespace {

template <class Query>
std::string text_of(Query query) {
  std::size_t size = 0;
  if (query(0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (query(size, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(text.find_last_not_of(std::string("\0 ", 2)) +
              1);  // drivers pad with blanks and the final zero
  return text;
}

}  // namespace

void require_context(cl_context context, const char* operation, const std::string& argument, cl_mem memory) {
  if (memory_value<cl_context>(memory, CL_MEM_CONTEXT, operation) != context)
    plan::refuse(operation, argument, "a buffer of this context", "a buffer of another context");
}

std::string device_text(cl_device_id device, cl_device_info what) {
  return text_of([&](std::size_t size, void* value, std::size_t* got) {
    return clGetDeviceInfo(device, what, size, value, got);
  });
}

std::string platform_text(cl_platform_id platform, cl_platform_info what) {
  return text_of([&](std::size_t size, void* value, std::size_t* got) {
    return clGetPlatformInfo(platform, what, size, value, got);
  });
}

}  // namespace smem::runtime
