#include "runtime/trial.hpp"
#include "formatted.hpp"

#include "runtime/disk_cache.hpp"
#include "runtime/programs.hpp"
#include "runtime/sources.hpp"

#include <map>
#include <mutex>

namespace smem::runtime {

bool run_trial(cl_device_id id, const Trial& trial, std::vector<std::vector<unsigned char>>& contents) {
  // All of its own, so that a failure leaves nothing behind.
  cl_int status = CL_SUCCESS;
  const cl::Context context(clCreateContext(nullptr, 1, &id, nullptr, nullptr, &status));
  if (status != CL_SUCCESS) return false;
  const cl::CommandQueue queue(clCreateCommandQueue(context(), id, 0, &status));
  if (status != CL_SUCCESS) return false;
  const std::string text = kernel_source(trial.file);
  const char* source = text.c_str();
  const cl::Program program(clCreateProgramWithSource(context(), 1, &source, nullptr, &status));
  if (status != CL_SUCCESS) return false;
  if (clBuildProgram(program(), 1, &id, trial.options.c_str(), nullptr, nullptr) != CL_SUCCESS) return false;
  const cl::Kernel kernel(clCreateKernel(program(), trial.entry_point.c_str(), &status));
  if (status != CL_SUCCESS) return false;

  std::vector<cl::Buffer> buffers;
  for (std::vector<unsigned char>& content : contents) {
    buffers.emplace_back(clCreateBuffer(context(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, content.size(),
                                        content.data(), &status));
    const cl_mem memory = buffers.back()();
    const auto place = static_cast<cl_uint>(buffers.size() - 1);
    if (memory == nullptr || clSetKernelArg(kernel(), place, sizeof memory, &memory) != CL_SUCCESS)
      return false;
  }
  if (clEnqueueNDRangeKernel(queue(), kernel(), 1, nullptr, &trial.work_items, &trial.work_items, 0, nullptr,
                             nullptr) != CL_SUCCESS)
    return false;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (clEnqueueReadBuffer(queue(), buffers[i](), CL_TRUE, 0, contents[i].size(), contents[i].data(), 0,
                            nullptr, nullptr) != CL_SUCCESS)
      return false;
  }
  return true;
}

bool kept_answer(const Device& device, const std::string& fact, const std::function<bool()>& trial) {
  static std::mutex mutex;
  static std::map<std::string, bool> known;  // also where the disk cache is off
  const std::scoped_lock lock(mutex);
  const std::string key = device_key(device) + formatted("fact={}\n", fact);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const DiskCache disk = DiskCache::from_environment();
  const std::vector<unsigned char> yes{'y', 'e', 's'}, no{'n', 'o'};
  const DiskCache::Lookup entry = disk.load(key);
  bool works = entry.outcome == DiskCache::Outcome::found && entry.content == yes;
  if (!works && !(entry.outcome == DiskCache::Outcome::found && entry.content == no)) {
    works = trial();
    if (disk.enabled()) disk.store(key, works ? yes : no);
  }
  known.emplace(key, works);
  return works;
}

}  // namespace smem::runtime
