/// What smem tune measures: for each operation a few problems at sizes that a device is used for.
#pragma once

#include "cli/measure.hpp"
#include "operations/operation.hpp"

#include <smem/smem.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem::cli {

/// A problem, and how it is planned, called and checked.
struct TuneCase {
  std::string operation;  ///< "transpose"
  std::string label;      ///< "4096 x 4096, 4 B"
  TuningClass problems;   ///< that its outcome is for
  operations::Case described;
  std::vector<std::string_view> variants;
  std::function<Plan(const Device& device, const PlanOverrides& overrides)> plan;
  std::function<cl::Event(const Context& context, const measure::BufferPair& pair,
                          const CallOptions& options)>
      call;

  /// In the first buffer.
  std::vector<operations::ArrayRule> inputs() const;
  /// In the second one: arrays that are read and written, then results.
  std::vector<operations::ArrayRule> others() const;
  /// What results may differ by.
  double relative() const { return described.relative; }
  double absolute() const { return described.absolute; }
  /// Of each of the two buffers.
  std::size_t bytes() const;
};

/// The operations that can be tuned.
std::vector<std::string> tune_operations();
/// Their cases. `small`: sizes for a quick look.
std::vector<TuneCase> tune_cases(const std::string& operation, const Device& device, bool small);

/// Fills an array at the start of a buffer, or where it is placed, with numbers that `seed` decides.
void fill(const Context& context, const operations::PlacedArray& place, const operations::ArrayRule& rule,
          std::uint64_t seed);
/// Fills the inputs.
void fill_inputs(const Context& context, const measure::BufferPair& pair, const TuneCase& of,
                 std::uint64_t seed);
/// Fills what is read and written, and makes every byte of the results 0xff: floats that are no numbers, and
/// numbers that no sum gives.
void prepare_others(const Context& context, const measure::BufferPair& pair, const TuneCase& of,
                    std::uint64_t seed);
/// Reads what is read and written, and the results.
std::vector<operations::HostArray> read_others(const Context& context, const measure::BufferPair& pair,
                                               const TuneCase& of);
/// The first element that is not as expected, in words.
std::optional<std::string> difference(const TuneCase& of, const std::vector<operations::HostArray>& expected,
                                      const std::vector<operations::HostArray>& got);

}  // namespace smem::cli
