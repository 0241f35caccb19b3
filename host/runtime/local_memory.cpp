#include "runtime/local_memory.hpp"
#include "formatted.hpp"

#include "runtime/disk_cache.hpp"
#include "runtime/programs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <mutex>
#include <numeric>

namespace smem::runtime {

namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kItems = 32;

/// Every work-item writes its words, and reads what its neighbour wrote.
constexpr const char* kSource = R"(
kernel __attribute__((reqd_work_group_size(32, 1, 1))) void hold(global uint* out) {
  local uint words[WORDS];
  const uint item = get_local_id(0);
  for (uint i = item; i < WORDS; i += 32) words[i] = i * 2654435761u;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint wrong = 0;
  for (uint i = (item + 1) % 32; i < WORDS; i += 32) wrong += words[i] != i * 2654435761u;
  out[item] = wrong;
}
)";

std::size_t number_in(const std::vector<unsigned char>& content) {
  std::size_t value = 0;
  const char* const text = reinterpret_cast<const char*>(content.data());
  const auto [end, error] = std::from_chars(text, text + content.size(), value);
  return error == std::errc() && end == text + content.size() ? value : 0;
}

}  // namespace

std::vector<std::size_t> local_sizes_to_try(const Device& device) {
  const bool nvidia = device.vendor == Vendor::nvidia && device.type == DeviceType::gpu;
  if (!nvidia || !device.architecture.starts_with("sm_") || device.local_bytes > 48 * kKiB) return {};
  // A clamp, or a driver, that says less than the 48 KiB of all of them means it.
  if (device.local_bytes_reported < 48 * kKiB) return {};
  unsigned capability = 0;
  const std::string& name = device.architecture;
  std::from_chars(name.data() + 3, name.data() + name.size(), capability);
  // Of one group; CUDA C++ programming guide, technical specifications per compute capability.
  if (capability < 80) return {};
  if (capability == 86 || capability == 89 || capability >= 120) return {99 * kKiB};
  if (capability < 90) return {163 * kKiB, 99 * kKiB};
  return {227 * kKiB, 163 * kKiB, 99 * kKiB};
}

bool runs_with_local(cl_device_id id, std::size_t bytes) {
  // All of its own, so that a failure leaves nothing behind.
  cl_int status = CL_SUCCESS;
  const cl::Context context(clCreateContext(nullptr, 1, &id, nullptr, nullptr, &status));
  if (status != CL_SUCCESS) return false;
  const cl::CommandQueue queue(clCreateCommandQueue(context(), id, 0, &status));
  if (status != CL_SUCCESS) return false;
  const char* source = kSource;
  const cl::Program program(clCreateProgramWithSource(context(), 1, &source, nullptr, &status));
  if (status != CL_SUCCESS) return false;
  const std::string options = formatted("-cl-std=CL1.2 -DWORDS={}", bytes / sizeof(cl_uint));
  if (clBuildProgram(program(), 1, &id, options.c_str(), nullptr, nullptr) != CL_SUCCESS) return false;
  const cl::Kernel kernel(clCreateKernel(program(), "hold", &status));
  if (status != CL_SUCCESS) return false;
  std::array<cl_uint, kItems> wrong;
  wrong.fill(1);
  const cl::Buffer out(clCreateBuffer(context(), CL_MEM_READ_WRITE, sizeof wrong, nullptr, &status));
  if (status != CL_SUCCESS) return false;
  const cl_mem memory = out();
  const std::size_t items = kItems;
  return clSetKernelArg(kernel(), 0, sizeof memory, &memory) == CL_SUCCESS &&
         clEnqueueNDRangeKernel(queue(), kernel(), 1, nullptr, &items, &items, 0, nullptr, nullptr) ==
             CL_SUCCESS &&
         clEnqueueReadBuffer(queue(), memory, CL_TRUE, 0, sizeof wrong, wrong.data(), 0, nullptr, nullptr) ==
             CL_SUCCESS &&
         std::accumulate(wrong.begin(), wrong.end(), cl_uint{0}) == 0;
}

std::size_t usable_local_bytes(cl_device_id id, const Device& device) {
  const std::vector<std::size_t> sizes = local_sizes_to_try(device);
  if (sizes.empty()) return device.local_bytes;
  static std::mutex mutex;
  static std::map<std::string, std::size_t> known;  // also where the disk cache is off
  const std::scoped_lock lock(mutex);
  const std::string key = device_key(device) + "fact=local_bytes\n";
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const DiskCache disk = DiskCache::from_environment();
  std::size_t bytes = 0;
  if (const DiskCache::Lookup entry = disk.load(key); entry.outcome == DiskCache::Outcome::found)
    bytes = number_in(entry.content);
  const bool is_known =
      bytes == device.local_bytes || std::find(sizes.begin(), sizes.end(), bytes) != sizes.end();
  if (!is_known) {
    const auto largest =
        std::find_if(sizes.begin(), sizes.end(), [&](std::size_t size) { return runs_with_local(id, size); });
    bytes = largest != sizes.end() ? *largest : device.local_bytes;
    const std::string text = formatted("{}", bytes);
    if (disk.enabled()) disk.store(key, {text.begin(), text.end()});
  }
  known.emplace(key, bytes);
  return bytes;
}

}  // namespace smem::runtime
