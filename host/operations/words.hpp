/// What a problem is described by on a command line: "16001x15999 float --batch 3".
#pragma once

#include <smem/scalar.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smem::operations {

/// What a word of a problem must be like.
enum class WordKind {
  number,   ///< a whole number, 1 or more; with `zero` 0 too
  real,     ///< any number
  sizes,    ///< such numbers with an x between them: 1024x768
  element,  ///< an element's type, also a vector's as uchar4, or its bytes
  scalar,   ///< a type that operations compute with
  choice,   ///< one of some words
  flag      ///< there or not
};

/// A word that a problem may have.
struct WordRule {
  std::string name;  ///< "batch"; of an option or a flag without its dashes
  WordKind kind = WordKind::number;
  std::string help;                       ///< "Number of matrices"
  std::string usual = {};                 ///< default; empty: required, unless a flag
  bool positional = false;                ///< given by position, not by name
  std::string form = {};                  ///< of sizes: "ROWSxCOLS"
  std::size_t least = 1, most = 1;        ///< of sizes: how many numbers
  std::vector<std::string> choices = {};  ///< of a choice
  bool zero = false;                      ///< whether numbers may be 0
};

// Rules by their kinds. The default of a choice is its first one, or `usual`; sizes without one
// are required, and positional.
WordRule number_rule(std::string name, std::string help, std::string usual);
WordRule choice_rule(std::string name, std::string help, std::vector<std::string> choices,
                     std::string usual = {});
WordRule flag_rule(std::string name, std::string help);
struct SizeCounts {
  std::size_t least, most;
};
WordRule sizes_rule(std::string name, std::string help, std::string form, SizeCounts counts,
                    std::string usual = {});
/// The type of elements, a positional word.
WordRule type_rule(WordKind kind, std::string help, std::string usual, std::vector<std::string> choices = {});
/// The rule, of numbers that may be 0.
WordRule or_zero(WordRule rule);

/// Whether the text fits the rule.
bool fits(const WordRule& rule, const std::string& text);
/// What the help calls such a value: "ROWSxCOLS".
std::string form_of(const WordRule& rule);

/// The words of one problem. All are present and fit their rules.
class Words {
 public:
  /// `given`: texts by names. \throws Error naming the word that is wrong or missing.
  Words(std::string_view operation, const std::vector<WordRule>& rules,
        const std::map<std::string, std::string>& given);
  /// Reads "16001x15999 float --batch 3". \throws Error naming the word that is wrong.
  static Words parse(std::string_view operation, const std::vector<WordRule>& rules, std::string_view text);

  const std::string& text(const std::string& name) const { return values_.at(name); }
  bool flag(const std::string& name) const { return !values_.at(name).empty(); }
  std::size_t number(const std::string& name) const;
  double real(const std::string& name) const;
  std::vector<std::size_t> sizes(const std::string& name) const;
  std::size_t element_bytes(const std::string& name) const;
  Scalar scalar(const std::string& name) const;
  /// The enumerator that name_of() calls so.
  template <class Enum>
  Enum enumerator(const std::string& name) const {
    int value = 0;
    while (text(name) != name_of(static_cast<Enum>(value)))
      ++value;
    return static_cast<Enum>(value);
  }

 private:
  std::map<std::string, std::string> values_;
};

/// The names of all enumerators up to `last`.
template <class Enum>
std::vector<std::string> names_to(Enum last) {
  std::vector<std::string> names;
  for (int value = 0; value <= static_cast<int>(last); ++value)
    names.emplace_back(name_of(static_cast<Enum>(value)));
  return names;
}

/// "3 of " of a batch; of one, nothing.
std::string batch_text(std::size_t batch);

/// \throws Error. What every word that does not fit ends with.
[[noreturn]] void refuse(std::string_view operation, const std::string& word, std::string expected,
                         std::string got);

/// Weights that a description makes. \throws Error naming the word when there are more than it can hold.
void check_weights(std::string_view operation, const std::string& word, const std::vector<std::size_t>& taps);

/// Bytes of a scalar's name, as "uint8", of an OpenCL type's, as "float" or "uchar4", or of a number of
/// bytes; empty when unknown.
std::optional<std::size_t> parse_element(const std::string& text);
/// "float32", or OpenCL C's "float"; empty when unknown.
std::optional<Scalar> parse_scalar(const std::string& text);

}  // namespace smem::operations
