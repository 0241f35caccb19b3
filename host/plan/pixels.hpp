/// Types of pixels, and their defines in the kernels of filters (cl/common/pixel.clh).
#pragma once

#include <smem/boundary.hpp>
#include <smem/device.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>

namespace smem::plan {

/// What pixels are computed with: float32, or float64 where one of the types is that.
inline Scalar pixel_value(Scalar in, Scalar out) {
  return in == Scalar::float64 || out == Scalar::float64 ? Scalar::float64 : Scalar::float32;
}

/// \throws Error naming `in`, `out` or `channels`, unless `in` is uint8, uint16, half, float32 or float64,
/// `out` one of them or int16 that `in` can become, and there are 1 to 4 channels.
void check_pixels(const char* operation, const Device& device, Scalar in, Scalar out, std::size_t channels);

/// Tells a kernel of the types, the boundary and the channels.
void define_pixels(Plan& plan, Scalar in, Scalar out, Boundary boundary, std::size_t channels);

/// Tells a kernel whether windows reach farther than one reflection or repetition of the grid goes: `across`
/// and `down` cells from the result's own place. See cl/common/boundary.clh.
void define_folds(Plan& plan, Boundary boundary, std::size_t across, std::size_t width, std::size_t down,
                  std::size_t height);

/// Rows of a band that a thread of a CPU takes at a time, when a band needs `halo` rows more than it has: a
/// few for each thread, as the threads of a busy machine do not end together, but none that is mostly halo.
std::size_t cpu_band(const Device& device, std::size_t rows, std::size_t planes, std::size_t halo);

/// Whether the results are more than the last cache holds, and should not go through it.
inline bool is_streamed(const Device& device, std::size_t bytes) {
  return device.cache_bytes > 0 && bytes > device.cache_bytes;
}

}  // namespace smem::plan
