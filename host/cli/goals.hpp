/// The shapes that smem's speed is judged by, and the least share of the device's copy bandwidth on each.
#pragma once

#include <smem/smem.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace smem::cli {

/// A vector of `cols` elements, or a matrix of `rows` x `cols`.
struct ReduceCase {
  ReduceOp op = ReduceOp::sum;
  Scalar type = Scalar::float32;
  std::size_t rows = 0;
  std::size_t cols = 0;
  double goal = 0;  ///< least share of the copy bandwidth; 0: measured for information
  bool columns = false;
  bool compensated = false;
};

/// How the elements of a histogram lie among its bins.
enum class Spread { uniform, equal, zipf };

/// A vector of `size` elements; integers of 8 bits have a bin for each value, others even bins over [0, 1) or
/// [0, 2^20).
struct HistogramCase {
  Scalar type = Scalar::float32;
  std::size_t bins = 256;
  std::size_t size = 0;
  Spread spread = Spread::uniform;
  double goal = 0;  ///< least share of the copy bandwidth; 0: measured for information
};

/// An inclusive or exclusive sum of a vector.
struct ScanCase {
  Scalar type = Scalar::float32;
  std::size_t size = 0;
  double goal = 0;  ///< least share of the copy bandwidth; 0: measured for information
  bool exclusive = false;
};

/// A selection among `size` elements, of which so many of a hundred are selected.
struct SelectCase {
  SelectOp op = SelectOp::copy_if;
  Scalar type = Scalar::float32;
  std::size_t size = 0;
  std::size_t per_cent = 50;
  double goal = 0;  ///< least share of the copy bandwidth; 0: measured for information
};

/// A pooling of `planes` square planes of `edge` x `edge` cells.
struct PoolCase {
  PoolOp op = PoolOp::max;
  Scalar type = Scalar::float32;
  std::size_t edge = 0;
  std::size_t size = 2, stride = 2;
  double goal = 0;  ///< least share of the copy bandwidth; 0: measured for information
  std::size_t planes = 1;
};

/// Moving means of `rows` rows of `size` elements. Measured for information.
struct MovingMeanCase {
  Scalar type = Scalar::float32;
  std::size_t size = 0;
  std::size_t window = 101;  ///< elements
  std::size_t rows = 1;
};

/// `small`: about a sixteenth of the data on a GPU and a quarter on a CPU, for a quick look; the goals were
/// set for the full sizes.
std::vector<ReduceCase> reduce_goals(DeviceType type, bool small);
std::vector<HistogramCase> histogram_goals(DeviceType type, bool small);
std::vector<ScanCase> scan_goals(DeviceType type, bool small);
std::vector<SelectCase> select_goals(DeviceType type, bool small);
std::vector<PoolCase> pool_goals(DeviceType type, bool small);
std::vector<MovingMeanCase> moving_mean_goals(DeviceType type, bool small);

}  // namespace smem::cli
