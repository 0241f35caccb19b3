/// What smem tune measures: for each operation a few problems at sizes that a device is used for.
#pragma once

#include "cli/measure.hpp"

#include <smem/smem.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smem::cli {

/// Whole numbers in a buffer, so few and so small that all sums of them are exact: then every variant must
/// give the very same results, in whatever order it adds.
struct TuneData {
  Scalar type = Scalar::float32;
  std::size_t elements = 0;
  unsigned most = 255;  ///< the largest number
  unsigned rare = 1;    ///< of so many elements, one is not 0
  double relative =
      0;  ///< of results: what they may differ by, where not every plan rounds at the same place
};

/// A problem, and how it is planned, called and checked.
struct TuneCase {
  std::string operation;  ///< "transpose"
  std::string label;      ///< "4096 x 4096, 4 B"
  TuningClass problems;   ///< that its outcome is for
  TuneData in, out;       ///< of `out` the type and the elements count
  std::vector<std::string_view> variants;
  std::function<Plan(const Device& device, const PlanOverrides& overrides)> plan;
  std::function<cl::Event(const Context& context, const measure::BufferPair& pair,
                          const CallOptions& options)>
      call;

  /// Of each of the two buffers.
  std::size_t bytes() const;
};

/// The operations that can be tuned.
std::vector<std::string> tune_operations();
/// Their cases. `small`: sizes for a quick look.
std::vector<TuneCase> tune_cases(const std::string& operation, const Device& device, bool small);

/// Fills a buffer with numbers that `seed` decides.
void fill(const Context& context, const cl::Buffer& buffer, const TuneData& data, std::uint64_t seed);
/// Makes every byte 0xff: floats that are no numbers, and numbers that no sum gives.
void poison(const Context& context, const cl::Buffer& buffer, const TuneData& data);
/// Reads all elements.
void read(const Context& context, const cl::Buffer& buffer, const TuneData& data,
          std::vector<unsigned char>& into);
/// The first element that is not as expected, in words.
std::optional<std::string> difference(const TuneData& data, const std::vector<unsigned char>& expected,
                                      const std::vector<unsigned char>& got);

}  // namespace smem::cli
