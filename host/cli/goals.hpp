/// The shapes that smem's speed is judged by, and the least share of the device's copy bandwidth on each.
#pragma once

#include <smem/smem.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace smem::cli {

/// A pooling of `planes` square planes of `edge` x `edge` cells.
struct PoolCase {
  PoolOp op = PoolOp::max;
  Scalar type = Scalar::float32;
  std::size_t edge = 0;
  std::size_t size = 2, stride = 2;
  double goal = 0;  ///< least share of the copy bandwidth; 0: measured for information
  std::size_t planes = 1;
};

/// `small`: about a sixteenth of the data on a GPU and a quarter on a CPU, for a quick look; the goals were
/// set for the full sizes.
std::vector<PoolCase> pool_goals(DeviceType type, bool small);

}  // namespace smem::cli
