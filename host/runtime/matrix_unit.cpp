#include "runtime/matrix_unit.hpp"
#include "formatted.hpp"
#include "plan/matrix_unit.hpp"

#include "runtime/disk_cache.hpp"
#include "runtime/programs.hpp"
#include "runtime/sources.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace smem::runtime {

namespace {

/// Small whole numbers: no two rows, and no two columns, are alike.
int number_of_a(std::size_t row, std::size_t k) {
  return static_cast<int>(((row * 7 + k * 3) ^ (row * k)) % 13) - 6;
}
int number_of_b(std::size_t col, std::size_t k) {
  return static_cast<int>(((col * 5 + k * 11) ^ (col * k + col)) % 11) - 5;
}

/// A number's bytes in memory.
void put(std::vector<unsigned char>& bytes, Scalar type, int number) {
  if (type == Scalar::int8) {
    bytes.push_back(static_cast<unsigned char>(number));
    return;
  }
  const auto real = static_cast<float>(number);
  const std::uint16_t bits = type == Scalar::half ? std::bit_cast<std::uint16_t>(half(real))
                                                  : std::bit_cast<std::uint16_t>(bfloat16(real));
  bytes.push_back(static_cast<unsigned char>(bits & 0xff));
  bytes.push_back(static_cast<unsigned char>(bits >> 8));
}

template <class Number>
std::vector<unsigned char> rows_of(std::size_t rows, std::size_t depth, Scalar type, const Number& number) {
  std::vector<unsigned char> bytes;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t k = 0; k < depth; ++k)
      put(bytes, type, number(row, k));
  }
  return bytes;
}

/// The trial's launch: its options alone.
Launch trial_of(const Device& device, const plan::UnitShape& shape, Scalar type) {
  Launch launch;
  plan::define_unit(device, shape, launch);
  launch.defines.emplace_back("UNIT_TYPE", type == Scalar::half ? 0 : type == Scalar::bfloat16 ? 1 : 2);
  return launch;
}

}  // namespace

bool multiplies(cl_device_id id, const Device& device, Scalar type, std::size_t rows) {
  const plan::UnitShape shape = plan::shape_of(device.matrix_unit, type, rows);
  if (shape.lanes == 0 || shape.lanes > device.max_work_group) return false;
  // All of its own, so that a failure leaves nothing behind.
  cl_int status = CL_SUCCESS;
  const cl::Context context(clCreateContext(nullptr, 1, &id, nullptr, nullptr, &status));
  if (status != CL_SUCCESS) return false;
  const cl::CommandQueue queue(clCreateCommandQueue(context(), id, 0, &status));
  if (status != CL_SUCCESS) return false;
  const std::string text = kernel_source("unit_trial.cl");
  const char* source = text.c_str();
  const cl::Program program(clCreateProgramWithSource(context(), 1, &source, nullptr, &status));
  if (status != CL_SUCCESS) return false;
  const std::string options = "-cl-std=CL1.2 " + trial_of(device, shape, type).build_options();
  if (clBuildProgram(program(), 1, &id, options.c_str(), nullptr, nullptr) != CL_SUCCESS) return false;
  const cl::Kernel kernel(clCreateKernel(program(), "unit_trial", &status));
  if (status != CL_SUCCESS) return false;

  auto a = rows_of(shape.m, shape.k, type, number_of_a), b = rows_of(shape.n, shape.k, type, number_of_b);
  std::vector<std::uint32_t> sums(shape.m * shape.n, 0);
  const std::size_t sum_bytes = sums.size() * sizeof sums[0];
  const auto buffer = [&](std::size_t bytes, void* content) {
    return cl::Buffer(
        clCreateBuffer(context(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, content, &status));
  };
  const std::array<cl::Buffer, 3> buffers{buffer(a.size(), a.data()), buffer(b.size(), b.data()),
                                          buffer(sum_bytes, sums.data())};
  for (cl_uint i = 0; i < buffers.size(); ++i) {
    const cl_mem memory = buffers[i]();
    if (memory == nullptr || clSetKernelArg(kernel(), i, sizeof memory, &memory) != CL_SUCCESS) return false;
  }
  if (clEnqueueNDRangeKernel(queue(), kernel(), 1, nullptr, &shape.lanes, &shape.lanes, 0, nullptr,
                             nullptr) != CL_SUCCESS ||
      clEnqueueReadBuffer(queue(), buffers[2](), CL_TRUE, 0, sum_bytes, sums.data(), 0, nullptr, nullptr) !=
          CL_SUCCESS)
    return false;
  for (std::size_t i = 0; i < shape.m; ++i) {
    for (std::size_t j = 0; j < shape.n; ++j) {
      int sum = 1;
      for (std::size_t k = 0; k < shape.k; ++k)
        sum += number_of_a(i, k) * number_of_b(j, k);
      const auto bits = type == Scalar::int8 ? static_cast<std::uint32_t>(sum)
                                             : std::bit_cast<std::uint32_t>(static_cast<float>(sum));
      if (sums[i * shape.n + j] != bits) return false;
    }
  }
  return true;
}

MatrixUnit usable_matrix_unit(cl_device_id id, Device device, MatrixUnit expected) {
  if (expected == MatrixUnit::none) return expected;
  static std::mutex mutex;
  static std::map<std::string, bool> known;  // also where the disk cache is off
  const std::scoped_lock lock(mutex);
  const std::string key = device_key(device) + formatted("fact=matrix_unit {}\n", name_of(expected));
  if (const auto found = known.find(key); found != known.end())
    return found->second ? expected : MatrixUnit::none;
  const DiskCache disk = DiskCache::from_environment();
  const std::vector<unsigned char> yes{'y', 'e', 's'}, no{'n', 'o'};
  const DiskCache::Lookup entry = disk.load(key);
  bool works = entry.outcome == DiskCache::Outcome::found && entry.content == yes;
  if (!works && !(entry.outcome == DiskCache::Outcome::found && entry.content == no)) {
    device.matrix_unit = expected;
    device.emulated_unit = false;
    works = true;
    for (const auto& [type, rows] : {std::pair{Scalar::half, 0},
                                     {Scalar::bfloat16, 0},
                                     {Scalar::int8, 0},
                                     {Scalar::half, 16},
                                     {Scalar::bfloat16, 16},
                                     {Scalar::int8, 16}})
      works = works && multiplies(id, device, type, static_cast<std::size_t>(rows));
    if (disk.enabled()) disk.store(key, works ? yes : no);
  }
  known.emplace(key, works);
  return works ? expected : MatrixUnit::none;
}

}  // namespace smem::runtime
