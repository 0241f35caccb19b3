#include "cli/goals.hpp"

namespace smem::cli {

std::vector<BlurCase> blur_goals(DeviceType type, bool small) {
  // GPUs: what fused passes should leave of the copy bandwidth. CPUs: the time of OpenCV's filters with two
  // threads (floats: Gaussian 5 x 5 15 ms, 15 x 15 45 ms, box 3 x 3 29 ms; bytes: at half their
  // speed 7.2, 22.6 and 23.7 ms) as shares of a memcpy of 24.9 GB/s.
  const bool cpu = type == DeviceType::cpu;
  const std::size_t edge = small ? 2048 : cpu ? 4096 : 8192;
  using enum Scalar;
  using enum BlurKind;
  return {{gaussian, float32, edge, 5, cpu ? 0.36 : 0},
          {gaussian, float32, edge, 15, cpu ? 0.12 : 0.75},
          {gaussian, uint8, edge, 5, cpu ? 0.19 : 0},
          {gaussian, uint8, edge, 15, cpu ? 0.06 : 0},
          {gaussian, uint8, edge / 2, 5, 0, 4},
          {gaussian, half, edge, 15},
          {gaussian, uint16, edge, 15},
          {box, float32, edge, 3, cpu ? 0.19 : 0},
          {box, uint8, edge, 3, cpu ? 0.057 : 0},
          {box, float32, edge, 101, cpu ? 0 : 0.5},
          {box, float32, edge, 31},
          {box, float32, edge, 401},
          {box, uint8, edge, 101},
          {box, uint16, edge, 101},
          {median, float32, edge, 3},
          {median, float32, edge, 5},
          {median, uint8, edge, 3},
          {median, uint8, edge, 5},
          {gradient, float32, edge, 3},
          {gradient, uint8, edge, 3},
          {unsharp, float32, edge, 9},
          {unsharp, uint8, edge, 9}};
}

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
