#include "cli/goals.hpp"

namespace smem::cli {

std::vector<HeatCase> heat_goals(DeviceType type, bool small) {
  // GPUs: a step at 0.88 of the copy bandwidth, and of several steps each 1.8 times as fast. CPUs: 0.95 of
  // C++ with two threads for one step, and 1.5 times its rate for ten, as shares of memcpy (0.80 and 0.75).
  const bool cpu = type == DeviceType::cpu;
  const std::size_t cube = small ? 128 : cpu ? 256 : 512, square = small ? 2048 : cpu ? 4096 : 16384;
  const std::size_t many = cpu ? 10 : 12;
  const GridSize solid{cube, cube, cube}, flat{square, square};
  using enum Scalar;
  return {{float32, solid, 1, false, cpu ? 0.76 : 0.88},
          {float32, solid, many, false, cpu ? 1.13 : 1.584},
          {float32, solid, 1, true},
          {float64, solid, 1},
          {float64, solid, many},
          {half, solid, 1},
          {half, solid, many},
          {float32, flat, 1},
          {float32, flat, many},
          {float32, flat, many, true},
          {float32, {square * 4096}, 2 * many}};
}

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

std::vector<StencilCase> stencil_goals(DeviceType type, bool small) {
  // GPUs: of an H200. CPUs: as fast as OpenCV's filter2D with two threads for float, half as fast for bytes,
  // which is judged beside it; the shares here are for information.
  const bool cpu = type == DeviceType::cpu;
  const std::size_t edge = cpu ? (small ? 2048 : 4096) : (small ? 2048 : 8192);
  const std::size_t cube = small ? 128 : cpu ? 256 : 512, line = edge * edge;
  const double three = cpu ? 0 : 0.90, five = cpu ? 0 : 0.85, bytes = cpu ? 0 : 0.80;
  using enum Scalar;
  using enum StencilShape;
  return {{float32, box, {edge, edge, 1}, {1, 1, 0}, 1, three},
          {float32, box, {edge, edge, 1}, {2, 2, 0}, 1, five},
          {uint8, box, {edge, edge, 1}, {1, 1, 0}, 4, bytes},
          {uint8, box, {edge, edge, 1}, {2, 2, 0}, 4},
          {uint8, box, {edge, edge, 1}, {1, 1, 0}},
          {uint16, box, {edge, edge, 1}, {1, 1, 0}},
          {half, box, {edge, edge, 1}, {1, 1, 0}},
          {half, box, {edge, edge, 1}, {2, 2, 0}},
          {float64, box, {edge, edge / 2, 1}, {1, 1, 0}},
          {float32, star, {edge, edge, 1}, {1, 1, 0}},
          {float32, box, {edge - 1, edge - 1, 1}, {1, 1, 0}},
          {float32, box, {edge, edge, 1}, {7, 7, 0}},
          {float32, box, {line, 1, 1}, {1, 0, 0}},
          {float32, star, {cube, cube, cube}, {1, 1, 1}},
          {float32, box, {cube, cube, cube}, {1, 1, 1}},
          {float32, star, {cube, cube, cube}, {4, 4, 4}}};
}

}  // namespace smem::cli
