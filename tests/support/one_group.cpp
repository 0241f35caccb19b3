#include "support/one_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>

namespace test {

namespace {

/// The kernel's function in its program's source; empty: it came from a binary.
std::string body_of(cl_kernel handle) {
  const cl::Kernel kernel(handle, true);
  std::string name = kernel.getInfo<CL_KERNEL_FUNCTION_NAME>();
  name.resize(name.find_last_not_of('\0') + 1);
  const std::string source = kernel.getInfo<CL_KERNEL_PROGRAM>().getInfo<CL_PROGRAM_SOURCE>();
  const std::size_t begin = source.find("void " + name + "(");
  if (begin == std::string::npos) return {};
  return source.substr(begin, source.find("\nkernel ", begin) - begin);
}

/// Whether all jobs are given out by a loop that goes on by the number of work-groups: "job +=
/// get_num_groups(0)". Not where a group has a job of its own too, in another branch of the preprocessor.
bool has_grid_stride_loop(const std::string& body, std::size_t dimension) {
  const std::string group = fmt::format("get_group_id({})", dimension);
  const std::string groups = fmt::format("get_num_groups({})", dimension);
  bool found = false;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    const bool loops = line.find("for (") != std::string::npos && line.find(" += ") != std::string::npos &&
                       line.find(groups) != std::string::npos;
    if (line.find(group) != std::string::npos && !loops) return false;
    found = found || loops;
  }
  return found;
}

}  // namespace

std::array<std::size_t, 3> global_of_one_group(cl_kernel kernel, cl_uint dimensions,
                                               const std::size_t* global, const std::size_t* local) {
  std::array<std::size_t, 3> items{1, 1, 1};
  std::copy_n(global, dimensions, items.begin());
  if (local == nullptr) return items;
  const std::string body = body_of(kernel);
  for (cl_uint d = 0; d < dimensions; ++d)
    if (has_grid_stride_loop(body, d)) items[d] = local[d];
  return items;
}

}  // namespace test
