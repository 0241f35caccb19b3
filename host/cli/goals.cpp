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

}  // namespace smem::cli
