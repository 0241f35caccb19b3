/// Described operations on the command line: their words as options, and a case's data on a device.
#pragma once

#include "cli/measure.hpp"
#include "cli/parser.hpp"
#include "operations/operation.hpp"

#include <smem/smem.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

/// What was given of an operation's words. Options write to it, so it stays where it is.
struct WordValues {
  std::map<std::string, std::string> texts;
  std::map<std::string, bool> flags;
};

/// Adds an option, a flag or a positional argument for each word. \returns them in order.
std::vector<Option> add_words(Command command, const std::vector<operations::WordRule>& rules,
                              WordValues& values);
/// The problems that were asked for: a word with commas stands for several.
std::vector<operations::Case> cases_of(const operations::Operation& operation, const WordValues& values);

/// A case's arrays on the host, with the results that a plain loop gives.
class CaseData {
 public:
  explicit CaseData(const operations::Case& of);

  /// Of the buffer that holds the inputs, and of the one that holds the other arrays, the larger.
  std::size_t bytes() const;
  operations::CallArrays arrays(const measure::BufferPair& pair) const;
  /// Writes the inputs.
  void write_inputs(const Context& context, const measure::BufferPair& pair) const;
  /// Writes what is read and written, and bytes that a missing write leaves into the results.
  void write_others(const Context& context, const measure::BufferPair& pair) const;
  /// What is wrong with the results; empty: nothing.
  std::optional<std::string> wrong(const Context& context, const measure::BufferPair& pair) const;

 private:
  void compute() const;

  const operations::Case& case_;
  std::vector<operations::ArrayRule> others_;  ///< read and written, then results
  mutable bool is_computed_ = false;
  mutable std::vector<operations::HostArray> in_, before_, after_;  ///< inputs; the others
};

}  // namespace smem::cli
