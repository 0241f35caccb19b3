// Words of problems: read, and checked against their rules.
#include "operations/words.hpp"

#include "formatted.hpp"

#include <smem/error.hpp>
#include <smem/sizes.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <sstream>

namespace smem::operations {

namespace {

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Whether a rule takes the number.
bool takes(const WordRule& rule, std::optional<std::size_t> number) {
  return number && (rule.zero || *number != 0);
}

std::vector<std::size_t> parse_sizes(std::string_view text) {
  std::vector<std::size_t> sizes;
  for (;;) {
    const std::size_t x = text.find('x');
    const auto number = parse_number(text.substr(0, x));
    if (!number) return {};
    sizes.push_back(*number);
    if (x == std::string_view::npos) return sizes;
    text.remove_prefix(x + 1);
  }
}

std::optional<double> parse_real(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  return value;
}

}  // namespace

WordRule number_rule(std::string name, std::string help, std::string usual) {
  return {std::move(name), WordKind::number, std::move(help), std::move(usual)};
}

WordRule choice_rule(std::string name, std::string help, std::vector<std::string> choices,
                     std::string usual) {
  if (usual.empty()) usual = choices.front();
  return {.name = std::move(name),
          .kind = WordKind::choice,
          .help = std::move(help),
          .usual = std::move(usual),
          .choices = std::move(choices)};
}

WordRule flag_rule(std::string name, std::string help) {
  return {std::move(name), WordKind::flag, std::move(help)};
}

WordRule sizes_rule(std::string name, std::string help, std::string form, SizeCounts counts,
                    std::string usual) {
  const bool positional = usual.empty();
  return {std::move(name), WordKind::sizes, std::move(help), std::move(usual),
          positional,      std::move(form), counts.least,    counts.most};
}

WordRule type_rule(WordKind kind, std::string help, std::string usual, std::vector<std::string> choices) {
  return {.name = "type",
          .kind = kind,
          .help = std::move(help),
          .usual = std::move(usual),
          .positional = true,
          .choices = std::move(choices)};
}

WordRule or_zero(WordRule rule) {
  rule.zero = true;
  return rule;
}

std::string batch_text(std::size_t batch) { return batch == 1 ? "" : formatted("{} of ", batch); }

void refuse(std::string_view operation, const std::string& word, std::string expected, std::string got) {
  throw Error({.operation = std::string(operation),
               .argument = word,
               .expected = std::move(expected),
               .got = std::move(got)});
}

void check_weights(std::string_view operation, const std::string& word,
                   const std::vector<std::size_t>& taps) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  std::size_t weights = 1;
  for (const std::size_t count : taps)
    weights = detail::size_product(weights, count);
  if (weights <= kMost) return;
  std::string got;
  for (const std::size_t count : taps)
    got += (got.empty() ? "" : " x ") + std::to_string(count);
  refuse(operation, word, "at most " + std::to_string(kMost) + " weights", got);
}

std::optional<std::size_t> parse_element(const std::string& text) {
  if (const auto type = parse_scalar(text)) return size_of(*type);  // int8 is no vector of 32 bytes
  static const std::map<std::string, std::size_t> scalars{
      {"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2}, {"half", 2},  {"int", 4},
      {"uint", 4}, {"float", 4}, {"long", 8},  {"ulong", 8},  {"double", 8}};
  std::size_t bytes = 0;
  if (const auto number = parse_number(text)) {
    bytes = *number;
  } else {
    const std::size_t digits = text.find_first_of("0123456789");
    const auto scalar = scalars.find(text.substr(0, digits));
    const auto width = digits == std::string::npos ? 1 : parse_number(std::string_view(text).substr(digits));
    if (scalar == scalars.end() || !width || *width > 16) return std::nullopt;
    bytes = scalar->second * *width;
  }
  if (!std::has_single_bit(bytes) || bytes > 16) return std::nullopt;
  return bytes;
}

std::optional<Scalar> parse_scalar(const std::string& text) {
  for (int i = 0; i <= static_cast<int>(Scalar::e5m2); ++i) {
    if (text == name_of(static_cast<Scalar>(i)) || text == opencl_name_of(static_cast<Scalar>(i)))
      return static_cast<Scalar>(i);
  }
  return std::nullopt;
}

bool fits(const WordRule& rule, const std::string& text) {
  switch (rule.kind) {
    case WordKind::number:
      return takes(rule, parse_number(text));
    case WordKind::real:
      return parse_real(text).has_value();
    case WordKind::sizes: {
      const std::vector<std::size_t> sizes = parse_sizes(text);
      return sizes.size() >= rule.least && sizes.size() <= rule.most &&
             std::all_of(sizes.begin(), sizes.end(), [&](std::size_t size) { return takes(rule, size); });
    }
    case WordKind::element:
      return parse_element(text).has_value();
    case WordKind::scalar:
      return parse_scalar(text).has_value();
    case WordKind::choice:
      return std::find(rule.choices.begin(), rule.choices.end(), text) != rule.choices.end();
    case WordKind::flag:
      return true;
  }
  return false;
}

std::string form_of(const WordRule& rule) {
  switch (rule.kind) {
    case WordKind::sizes:
      return rule.form;
    case WordKind::element:
    case WordKind::scalar:
      return "TYPE";
    case WordKind::choice:
      return joined(std::vector<std::string_view>(rule.choices.begin(), rule.choices.end()));
    default:
      return "NUMBER";
  }
}

Words::Words(std::string_view operation, const std::vector<WordRule>& rules,
             const std::map<std::string, std::string>& given) {
  for (const WordRule& rule : rules) {
    const auto said = given.find(rule.name);
    const bool is_said = said != given.end() && !said->second.empty();
    if (!is_said && rule.usual.empty() && rule.kind != WordKind::flag)
      refuse(operation, rule.name, form_of(rule), "nothing");
    if (is_said && !fits(rule, said->second)) refuse(operation, rule.name, form_of(rule), said->second);
    values_[rule.name] = is_said ? said->second : rule.usual;
  }
  for (const auto& [name, value] : given)
    if (values_.find(name) == values_.end()) refuse(operation, name, "a word that it knows", value);
}

Words Words::parse(std::string_view operation, const std::vector<WordRule>& rules, std::string_view text) {
  std::map<std::string, std::string> given;
  std::istringstream words{std::string(text)};
  auto place = rules.begin();
  for (std::string word; words >> word;) {
    if (!word.starts_with("--")) {
      place = std::find_if(place, rules.end(), [](const WordRule& rule) { return rule.positional; });
      if (place == rules.end()) refuse(operation, word, "no more words", word);
      given[(place++)->name] = word;
      continue;
    }
    const std::string name = word.substr(2);
    const auto rule =
        std::find_if(rules.begin(), rules.end(), [&](const WordRule& r) { return r.name == name; });
    if (rule != rules.end() && rule->kind == WordKind::flag) {
      given[name] = "yes";
    } else {
      words >> given[name];
    }
  }
  return {operation, rules, given};
}

std::size_t Words::number(const std::string& name) const { return parse_number(text(name)).value(); }
double Words::real(const std::string& name) const { return parse_real(text(name)).value(); }
std::vector<std::size_t> Words::sizes(const std::string& name) const { return parse_sizes(text(name)); }
std::size_t Words::element_bytes(const std::string& name) const { return parse_element(text(name)).value(); }
Scalar Words::scalar(const std::string& name) const { return parse_scalar(text(name)).value(); }

}  // namespace smem::operations
