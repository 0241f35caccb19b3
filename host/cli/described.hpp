/// Described operations on the command line: their words as options, and a case's data on a device.
#pragma once

#include "cli/cli11.hpp"

#include "measure/measure.hpp"
#include "operations/operation.hpp"

#include <smem/smem.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smem::cli {

/// What was given of an operation's words. Options write to it, so it stays where it is.
struct WordValues {
  std::map<std::string, std::string> texts;
  std::map<std::string, bool> flags;
};

/// Adds an option, a flag or a positional argument for each word. \returns them in order.
std::vector<CLI::Option*> add_words(CLI::App* command, const std::vector<operations::WordRule>& rules,
                                    WordValues& values);
/// The problems that were asked for: a word with commas stands for several.
std::vector<operations::Case> cases_of(const operations::Operation& operation, const WordValues& values);

/// The names of all operations.
std::vector<std::string> operation_names();

/// Whether a name is one of those asked for, or none is.
bool is_asked(std::string_view name, const std::vector<std::string>& asked);

/// A sample of an operation, read.
struct SampleCase {
  operations::Case one;
  double goal = 0;
};
/// Those for a device, but for types that it does not compute with. `small`: sizes for a quick look.
std::vector<SampleCase> samples_of(const operations::Operation& operation, const Device& device,
                                   operations::Scale scale);

/// A case's arrays on the host, and the results that a plain loop gives; both made when they are first asked
/// for.
class CaseData {
 public:
  static constexpr std::size_t kPiece = std::size_t{1} << 22;  ///< elements of write_pieces()

  /// `seed`: of the arrays' numbers.
  explicit CaseData(const operations::Case& of, std::uint64_t seed = 0);

  /// Of the buffer that holds the inputs, and of the one that holds the other arrays, the larger.
  std::size_t bytes() const;
  operations::CallArrays arrays(const measure::BufferPair& pair) const;
  /// Writes the inputs, and all others.
  void write(const Context& context, const measure::BufferPair& pair) const;
  /// Writes what is read and written, and bytes that a missing write leaves into the results.
  void write_others(const Context& context, const measure::BufferPair& pair) const;
  /// Writes what a call reads, faster: where not all elements must be drawn, by copies of a piece. `number`:
  /// of random bits, instead of the rules' numbers there.
  void write_pieces(const Context& context, const measure::BufferPair& pair,
                    const std::function<double(Scalar, std::uint64_t bits)>& number = {}) const;
  /// Writes only inputs that are offsets, which could keep a kernel busy where they are none.
  void write_offsets(const Context& context, const measure::BufferPair& pair) const;
  /// What is on the device now are the results to expect, not those of a plain loop.
  void expect(const Context& context, const measure::BufferPair& pair);
  /// What is wrong with the results; empty: nothing.
  std::optional<std::string> wrong(const Context& context, const measure::BufferPair& pair) const;

 private:
  using Arrays = std::vector<operations::HostArray>;
  void fill() const;
  Arrays read(const Context& context, const measure::BufferPair& pair) const;

  const operations::Case& case_;
  std::vector<operations::ArrayRule> others_;  ///< read and written, then results
  std::uint64_t seed_;
  mutable Arrays in_, before_, after_;  ///< inputs; the others
};

}  // namespace smem::cli
