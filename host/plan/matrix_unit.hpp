/// The matrix units of AMD and Intel by cl/common/matrix_unit.clh: the defines of
/// kernels that use one.
#pragma once

#include <smem/device.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace smem::plan {

/// As cl/common/matrix_unit.clh counts them.
inline constexpr std::array<std::string_view, 7> kMatrixUnits{"none",       "mfma",  "mfma_cdna3", "wmma",
                                                              "wmma_rdna4", "dpas8", "dpas16"};

/// The fragments that an instruction multiplies.
struct UnitShape {
  std::size_t lanes = 0;  ///< work-items that hold a fragment
  std::size_t m = 0;      ///< rows of A
  std::size_t n = 0;      ///< columns of B
  std::size_t k = 0;      ///< numbers of each sum
  /// Bytes of local memory that the emulation takes for a sub-group.
  std::size_t emulated_bytes = 0;
};

/// Whether matrix units have the type.
inline bool unit_multiplies(Scalar type) {
  return type == Scalar::half || type == Scalar::bfloat16 || type == Scalar::int8;
}

/// \p wanted_m: rows of a fragment, of units that have a choice (MFMA: 16 and 32); 0: the larger one.
inline UnitShape shape_of(MatrixUnit unit, Scalar type, std::size_t wanted_m = 0) {
  const bool bytes = type == Scalar::int8;
  switch (unit) {
    case MatrixUnit::mfma:
    case MatrixUnit::mfma_cdna3: {
      const std::size_t m = wanted_m == 16 ? 16 : 32;
      const bool is_short = bytes && unit == MatrixUnit::mfma;  // takes 4 bytes of a work-item, others 8
      return {64, m, m, 64 / m * (bytes ? 16 : 8), std::size_t{64} * (is_short ? 8 : 16)};
    }
    case MatrixUnit::wmma:
      return {32, 16, 16, 16, std::size_t{32} * (bytes ? 32 : 64)};
    case MatrixUnit::wmma_rdna4:
      return {32, 16, 16, bytes ? std::size_t{32} : 16, std::size_t{32} * (bytes ? 16 : 32)};
    case MatrixUnit::dpas8:
      return {8, 8, 8, bytes ? std::size_t{32} : 16, std::size_t{8} * (32 + 32)};
    case MatrixUnit::dpas16:
      return {16, 8, 16, bytes ? std::size_t{32} : 16, std::size_t{16} * (16 + 32)};
    case MatrixUnit::none:
      break;
  }
  return {};
}

/// Counts a plan's operations as those of matrix units.
inline void count_for_matrix_units(Prediction& prediction) {
  prediction.matrix_operations = prediction.operations;
  prediction.operations = 0;
}

/// The count of a call's operations whose main launch is this product of matrices: of matrix units where they
/// multiply it.
inline double& operations_of_product(Prediction& product) {
  return product.matrix_operations > 0 ? product.matrix_operations : product.operations;
}

/// Tells a kernel which unit it has.
inline void define_unit(const Device& device, const UnitShape& shape, Launch& launch) {
  launch.defines.emplace_back("UNIT", static_cast<long>(device.matrix_unit));
  launch.defines.emplace_back("EMULATED_UNIT", device.emulated_unit ? 1 : 0);
  const bool has_choice =
      device.matrix_unit == MatrixUnit::mfma || device.matrix_unit == MatrixUnit::mfma_cdna3;
  if (has_choice) launch.defines.emplace_back("UNIT_M", static_cast<long>(shape.m));
  const bool is_dpas = device.matrix_unit == MatrixUnit::dpas8 || device.matrix_unit == MatrixUnit::dpas16;
  if (is_dpas && !device.emulated_unit)
    launch.defines.emplace_back("INTEL_SUB_GROUP", static_cast<long>(shape.lanes));
}

/// The unit that a device should have, by its platform and architecture. \p dpas_lanes: of Intel's extension
/// for matrices, the work-items of the narrowest sub-group; 0: it is not there. Compilers that go through
/// SPIR-V (rusticl) do not take a unit's instructions.
MatrixUnit expected_matrix_unit(const Device& device, std::size_t dpas_lanes);

}  // namespace smem::plan
