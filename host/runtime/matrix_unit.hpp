/// Whether a device's matrix unit does what the kernels for it expect.
#pragma once

#include <smem/device.hpp>
#include <smem/opencl.hpp>
#include <smem/scalar.hpp>

namespace smem::runtime {

/// Whether a kernel with the device's matrix unit compiles, runs, and multiplies a fragment of the type
/// right. \p rows: of a fragment, of units that have a choice; 0: the larger one.
bool multiplies(cl_device_id id, const Device& device, Scalar type, std::size_t rows = 0);

/// Device::matrix_unit: `expected`, if it multiplies all types. Tried once, and kept with the cached programs
/// until the driver is another one.
MatrixUnit usable_matrix_unit(cl_device_id id, Device device, MatrixUnit expected);

}  // namespace smem::runtime
