#include "cli/goals.hpp"

namespace smem::cli {

std::vector<PoolCase> pool_goals(DeviceType type, bool small) {
  const bool cpu = type == DeviceType::cpu;
  const std::size_t edge = small ? 2048 : cpu ? 4096 : 8192;
  using enum Scalar;
  using enum PoolOp;
  return {{max, float32, edge, 2, 2, cpu ? 0 : 0.90},
          {max, half, edge, 2, 2},
          {max, uint8, edge, 2, 2},
          {max, float32, edge, 3, 2},
          {average, float32, edge, 2, 2},
          {average, uint8, edge, 2, 2},
          {max, float32, 112, 3, 2, 0, (edge / 112) * (edge / 112)}};
}

std::vector<MovingMeanCase> moving_mean_goals(DeviceType type, bool small) {
  // Windows for each way to sum: in a tile, in several, and in blocks through global memory.
  const std::size_t large = std::size_t{1} << (type == DeviceType::cpu ? (small ? 22 : 24) : small ? 24 : 28);
  const std::size_t edge = small ? 1024 : 4096;
  using enum Scalar;
  return {{float32, large, 5},      {float32, large, 101}, {float32, large, 1001},
          {float32, large, 100001}, {uint8, large, 101},   {uint16, large, 101},
          {half, large, 101},       {float64, large, 101}, {float32, edge, 101, edge}};
}

}  // namespace smem::cli
