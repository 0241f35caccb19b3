#include "runtime/matrix_unit.hpp"
#include "formatted.hpp"
#include "plan/matrix_unit.hpp"

#include "runtime/trial.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
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
  std::vector<std::uint32_t> sums(shape.m * shape.n, 0);
  std::vector<std::vector<unsigned char>> contents{
      rows_of(shape.m, shape.k, type, number_of_a), rows_of(shape.n, shape.k, type, number_of_b),
      std::vector<unsigned char>(sums.size() * sizeof sums[0], 0)};
  const Trial trial{.file = "unit_trial.cl",
                    .entry_point = "unit_trial",
                    .options = "-cl-std=CL1.2 " + trial_of(device, shape, type).build_options(),
                    .work_items = shape.lanes};
  if (!run_trial(id, trial, contents)) return false;
  std::memcpy(sums.data(), contents[2].data(), contents[2].size());
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
  const auto multiplies_all = [&] {
    device.matrix_unit = expected;
    device.emulated_unit = false;
    bool works = true;
    for (const auto& [type, rows] : {std::pair{Scalar::half, 0},
                                     {Scalar::bfloat16, 0},
                                     {Scalar::int8, 0},
                                     {Scalar::half, 16},
                                     {Scalar::bfloat16, 16},
                                     {Scalar::int8, 16}})
      works = works && multiplies(id, device, type, static_cast<std::size_t>(rows));
    return works;
  };
  const bool works = kept_answer(device, formatted("matrix_unit {}", name_of(expected)), multiplies_all);
  return works ? expected : MatrixUnit::none;
}

}  // namespace smem::runtime
