#include "cli/goals.hpp"

namespace smem::cli {

std::vector<ReduceCase> reduce_goals(DeviceType type, bool small) {
  // Shares of the copy bandwidth, which counts reads and writes: a reduction only reads. Of 2^20 floats: 1.5
  // times the 8.0 us that CUB takes on an H200 in a queue of many, beside a copy kernel's 6.9 us.
  const bool cpu = type == DeviceType::cpu;
  const std::size_t large = std::size_t{1} << (small ? 22 : cpu ? 26 : 28);
  const std::size_t edge = small ? 2048 : cpu ? 8192 : 16384;
  using enum Scalar;
  return {{ReduceOp::sum, float32, 0, large, 0.85},
          {ReduceOp::sum, float32, 0, std::size_t{1} << 20, cpu ? 0 : 0.289},
          {ReduceOp::sum, float32, edge, edge, 0.85},
          {ReduceOp::sum, float32, edge, edge, 0.85, true},
          {ReduceOp::sum, float32, 0, large, 0, false, true},
          {ReduceOp::sum, int8, 0, 4 * large},
          {ReduceOp::sum, half, 0, 2 * large},
          {ReduceOp::min, float32, 0, large},
          {ReduceOp::minmax, float32, 0, large},
          {ReduceOp::argmin, float32, 0, large},
          {ReduceOp::norm, float32, 0, large},
          {ReduceOp::max, uint8, 0, 4 * large}};
}

std::vector<HistogramCase> histogram_goals(DeviceType type, bool small) {
  // GPUs: 0.95 of what CUB does with floats on an H200, and 1.5 times its rate with bytes, as shares of the
  // copy bandwidth measured beside it (CUB 3873, 4214, 2194 GB/s; copy 4252). CPUs: 0.9 of C++ with two
  // threads and four tables each, as shares of memcpy (0.28 and 0.23).
  const bool cpu = type == DeviceType::cpu;
  const std::size_t size = std::size_t{1} << (small ? 22 : cpu ? 24 : 28);
  const double floats = cpu ? 0.25 : 0.865, equal = cpu ? 0.25 : 0.94, bytes = cpu ? 0.20 : 0.774;
  using enum Scalar;
  return {{float32, 256, size, Spread::uniform, floats},
          {float32, 256, size, Spread::equal, equal},
          {float32, 256, size, Spread::zipf, floats},
          {uint8, 256, size, Spread::uniform, bytes},
          {uint8, 256, size, Spread::equal, bytes},
          {uint8, 256, size, Spread::zipf, bytes},
          {int32, 256, size, Spread::uniform},
          {float32, 4096, size, Spread::uniform},
          {float32, 4096, size, Spread::equal},
          {float32, 4096, size, Spread::zipf},
          {float32, 65536, size, Spread::zipf},
          {float32, std::size_t{1} << 20, size, Spread::uniform},
          {float32, std::size_t{1} << 20, size, Spread::equal},
          {float32, std::size_t{1} << 20, size, Spread::zipf}};
}

std::vector<ScanCase> scan_goals(DeviceType type, bool small) {
  // CUB's inclusive scan of 2^28 elements has 0.74 of an H200's copy bandwidth; smem aims at 0.90.
  const bool cpu = type == DeviceType::cpu;
  const std::size_t large = std::size_t{1} << (small ? 22 : cpu ? 24 : 28);
  const double goal = cpu ? 0 : 0.74;
  using enum Scalar;
  return {{float32, large, goal},
          {uint32, large, goal},
          {int32, large, 0, true},
          {uint64, large / 2},
          {float32, std::size_t{1} << 20}};
}

std::vector<SelectCase> select_goals(DeviceType type, bool small) {
  // CUB's DeviceSelect::If takes 0.608 ms on an H200 for 2^28 floats of which half are selected: 0.62 of the
  // copy bandwidth, by the bytes that must be moved.
  const bool cpu = type == DeviceType::cpu;
  const std::size_t large = std::size_t{1} << (small ? 22 : cpu ? 24 : 28);
  using enum Scalar;
  return {{SelectOp::copy_if, float32, large, 50, cpu ? 0 : 0.63},
          {SelectOp::copy_if, float32, large, 1},
          {SelectOp::copy_if, float32, large, 99},
          {SelectOp::copy_if, uint8, large, 50},
          {SelectOp::copy_flagged, float32, large, 50},
          {SelectOp::partition, float32, large, 50},
          {SelectOp::unique, float32, large, 50},
          {SelectOp::unique, int32, large, 5},
          {SelectOp::run_length_encode, float32, large, 5}};
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
