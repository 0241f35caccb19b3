#include "cli/described.hpp"

#include <algorithm>

namespace smem::cli {

namespace {

void write_at(const Context& context, const operations::PlacedArray& place,
              const operations::HostArray& from) {
  const std::size_t offset = place.first * size_of(place.type);
  measure::check(clEnqueueWriteBuffer(context.queue()(), place.buffer, CL_TRUE, offset, from.bytes.size(),
                                      from.bytes.data(), 0, nullptr, nullptr),
                 "clEnqueueWriteBuffer");
}

using operations::ArrayRule;
using operations::HostArray;
using operations::WordKind;
using operations::WordRule;

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

}  // namespace

std::vector<Option> add_words(Command command, const std::vector<WordRule>& rules, WordValues& values) {
  std::vector<Option> options;
  for (const WordRule& rule : rules) {
    const std::string name = rule.positional ? rule.name : "--" + rule.name;
    if (rule.kind == WordKind::flag) {
      options.push_back(command.add_flag(name, values.flags[rule.name], rule.help));
      continue;
    }
    const std::string help = rule.usual.empty() ? rule.help : rule.help + " [" + rule.usual + "]";
    options.push_back(command.add_option(name, values.texts[rule.name], help));
    options.back().check({[rule](const std::string& text) {
                            const auto parts = parts_of(text);
                            return std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
                              return operations::fits(rule, part);
                            });
                          },
                          operations::form_of(rule),
                          rule.kind == WordKind::choice ? "not one of " + operations::form_of(rule)
                                                        : "not of the form " + operations::form_of(rule)});
  }
  return options;
}

std::vector<operations::Case> cases_of(const operations::Operation& operation, const WordValues& values) {
  std::vector<std::map<std::string, std::string>> all{{}};
  for (const auto& [name, is_given] : values.flags)
    if (is_given) all.front()[name] = "yes";
  for (const auto& [name, text] : values.texts) {
    if (text.empty()) continue;
    std::vector<std::map<std::string, std::string>> with;
    for (const auto& words : all) {
      for (const std::string& part : parts_of(text)) {
        with.push_back(words);
        with.back()[name] = part;
      }
    }
    all = std::move(with);
  }
  std::vector<operations::Case> cases;
  for (const auto& given : all)
    cases.push_back(operation.read(operations::Words(operation.name, operation.words, given)));
  return cases;
}

CaseData::CaseData(const operations::Case& of) : case_(of), others_(of.in_out) {
  others_.insert(others_.end(), of.out.begin(), of.out.end());
}

std::size_t CaseData::bytes() const {
  return std::max(operations::bytes_of(case_.in), operations::bytes_of(others_));
}

operations::CallArrays CaseData::arrays(const measure::BufferPair& pair) const {
  return operations::arrays_of(case_, pair.in(), pair.out());
}

void CaseData::compute() const {
  if (is_computed_) return;
  is_computed_ = true;
  std::uint64_t seed = 0;
  for (const ArrayRule& rule : case_.in)
    in_.push_back(operations::filled(rule, ++seed));
  for (const ArrayRule& rule : case_.in_out)
    before_.push_back(operations::filled(rule, ++seed));
  for (const ArrayRule& rule : case_.out)
    before_.push_back(operations::poisoned(rule));
  const auto results = static_cast<std::ptrdiff_t>(case_.in_out.size());
  std::vector<HostArray> in_out(before_.begin(), before_.begin() + results);
  std::vector<HostArray> out(before_.begin() + results, before_.end());
  case_.reference({in_, in_out, out});
  after_ = std::move(in_out);
  after_.insert(after_.end(), out.begin(), out.end());
}

void CaseData::write_inputs(const Context& context, const measure::BufferPair& pair) const {
  compute();
  const auto places = operations::place(case_.in, pair.in());
  for (std::size_t i = 0; i < places.size(); ++i)
    write_at(context, places[i], in_[i]);
}

void CaseData::write_others(const Context& context, const measure::BufferPair& pair) const {
  compute();
  const auto places = operations::place(others_, pair.out());
  for (std::size_t i = 0; i < places.size(); ++i)
    write_at(context, places[i], before_[i]);
}

std::optional<std::string> CaseData::wrong(const Context& context, const measure::BufferPair& pair) const {
  compute();
  const auto places = operations::place(others_, pair.out());
  for (std::size_t i = 0; i < places.size(); ++i) {
    HostArray got{after_[i].type, std::vector<unsigned char>(after_[i].bytes.size())};
    measure::check(
        clEnqueueReadBuffer(context.queue()(), pair.out(), CL_TRUE, places[i].first * size_of(places[i].type),
                            got.bytes.size(), got.bytes.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
    if (auto wrong = operations::difference(others_[i].name, after_[i], got, case_.relative, case_.absolute))
      return wrong;
  }
  return std::nullopt;
}

}  // namespace smem::cli
