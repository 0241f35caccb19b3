#include "cli/described.hpp"

#include "operations/list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <utility>

namespace smem::cli {

namespace {

/// `begin`: elements of the place before those written.
void write_at(const Context& context, const operations::PlacedArray& place, const operations::HostArray& from,
              std::size_t begin = 0) {
  if (from.bytes.empty()) return;
  const std::size_t offset = (place.first + begin) * size_of(place.type);
  measure::check(clEnqueueWriteBuffer(context.queue()(), place.buffer, CL_TRUE, offset, from.bytes.size(),
                                      from.bytes.data(), 0, nullptr, nullptr),
                 "clEnqueueWriteBuffer");
}

void write_all(const Context& context, const std::vector<operations::PlacedArray>& places,
               const std::vector<operations::HostArray>& from) {
  for (std::size_t i = 0; i < places.size(); ++i)
    write_at(context, places[i], from[i]);
}

using operations::ArrayRule;
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

std::vector<CLI::Option*> add_words(CLI::App* command, const std::vector<WordRule>& rules,
                                    WordValues& values) {
  std::vector<CLI::Option*> options;
  for (const WordRule& rule : rules) {
    const std::string name = rule.positional ? rule.name : "--" + rule.name;
    if (rule.kind == WordKind::flag) {
      options.push_back(command->add_flag(name, values.flags[rule.name], rule.help));
      continue;
    }
    options.push_back(command->add_option(name, values.texts[rule.name], rule.help));
    options.back()->default_str(rule.usual);
    const std::string form = operations::form_of(rule);
    const auto fault_of = [rule, form](const std::string& text) {
      const auto parts = parts_of(text);
      const auto fits = [&](const std::string& part) { return operations::fits(rule, part); };
      if (std::all_of(parts.begin(), parts.end(), fits)) return std::string();
      if (rule.kind == WordKind::scalar || rule.kind == WordKind::element)
        return fmt::format("not a type, such as {}: {}", rule.usual.empty() ? "float" : rule.usual, text);
      if (rule.kind == WordKind::number)
        return fmt::format("not a whole number from {} on: {}", rule.zero ? 0 : 1, text);
      return fmt::format("not {} {}: {}", rule.kind == WordKind::choice ? "one of" : "of the form", form,
                         text);
    };
    const std::string taken =
        rule.kind == WordKind::choice ? fmt::format("{{{}}}", fmt::join(rule.choices, ",")) : form;
    options.back()->check(CLI::Validator(fault_of, taken));
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

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const operations::Operation& operation : operations::all())
    names.emplace_back(operation.name);
  return names;
}

bool is_asked(std::string_view name, const std::vector<std::string>& asked) {
  return asked.empty() || std::find(asked.begin(), asked.end(), name) != asked.end();
}

std::vector<SampleCase> samples_of(const operations::Operation& operation, const Device& device,
                                   operations::Scale scale) {
  std::vector<SampleCase> cases;
  for (const operations::Sample& sample : operation.at(scale)) {
    cases.push_back({operation.parse(sample.words), sample.goal});
    if (!can_compute(device, cases.back().one)) cases.pop_back();
  }
  return cases;
}

CaseData::CaseData(const operations::Case& of, std::uint64_t seed)
    : case_(of), others_(of.in_out), seed_(seed) {
  others_.insert(others_.end(), of.out.begin(), of.out.end());
}

std::size_t CaseData::bytes() const {
  return std::max(operations::bytes_of(case_.in), operations::bytes_of(others_));
}

operations::CallArrays CaseData::arrays(const measure::BufferPair& pair) const {
  return operations::arrays_of(case_, pair.in(), pair.out());
}

void CaseData::fill() const {
  if (!before_.empty()) return;
  std::uint64_t seed = seed_;
  for (const ArrayRule& rule : case_.in)
    in_.push_back(operations::filled(rule, ++seed));
  for (const ArrayRule& rule : case_.in_out)
    before_.push_back(operations::filled(rule, ++seed));
  for (const ArrayRule& rule : case_.out)
    before_.push_back(operations::poisoned(rule));
}

void CaseData::write(const Context& context, const measure::BufferPair& pair) const {
  fill();
  write_all(context, operations::place(case_.in, pair.in()), in_);
  write_others(context, pair);
}

void CaseData::write_others(const Context& context, const measure::BufferPair& pair) const {
  fill();
  write_all(context, operations::place(others_, pair.out()), before_);
}

void CaseData::write_pieces(const Context& context, const measure::BufferPair& pair,
                            const std::function<double(Scalar, std::uint64_t bits)>& number) const {
  std::uint64_t seed = seed_;
  const auto write = [&](const std::vector<ArrayRule>& rules,
                         const std::vector<operations::PlacedArray>& places) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      ArrayRule rule = rules[i];
      if (rule.fill.repeats()) {
        const std::size_t period = std::max<std::size_t>(rule.fill.period, 1);
        if (period <= kPiece && !rule.fill.draws_all)
          rule.elements = std::min(rule.elements, kPiece / period * period);
        if (number)
          rule.fill = {
              .number = [&number, type = rule.type](std::uint64_t bits) { return number(type, bits); }};
      }
      operations::HostArray piece = operations::filled(rule, ++seed);
      for (std::size_t begin = 0; begin < places[i].elements; begin += rule.elements) {
        const std::size_t left = (places[i].elements - begin) * size_of(rule.type);
        if (left < piece.bytes.size()) piece.bytes.resize(left);
        write_at(context, places[i], piece, begin);
      }
    }
  };
  write(case_.in, operations::place(case_.in, pair.in()));
  write(case_.in_out, operations::place(case_.in_out, pair.out()));
}

void CaseData::write_offsets(const Context& context, const measure::BufferPair& pair) const {
  const auto places = operations::place(case_.in, pair.in());
  for (std::size_t i = 0; i < places.size(); ++i)
    if (!case_.in[i].fill.repeats()) write_at(context, places[i], operations::filled(case_.in[i], 1));
}

CaseData::Arrays CaseData::read(const Context& context, const measure::BufferPair& pair) const {
  Arrays arrays;
  for (const operations::PlacedArray& place : operations::place(others_, pair.out())) {
    arrays.push_back({place.type, std::vector<unsigned char>(place.elements * size_of(place.type))});
    if (arrays.back().bytes.empty()) continue;
    measure::check(
        clEnqueueReadBuffer(context.queue()(), pair.out(), CL_TRUE, place.first * size_of(place.type),
                            arrays.back().bytes.size(), arrays.back().bytes.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  }
  return arrays;
}

void CaseData::expect(const Context& context, const measure::BufferPair& pair) {
  after_ = read(context, pair);
}

std::optional<std::string> CaseData::wrong(const Context& context, const measure::BufferPair& pair) const {
  if (after_.empty()) {
    fill();
    const auto results = before_.begin() + static_cast<std::ptrdiff_t>(case_.in_out.size());
    Arrays in_out(before_.begin(), results), out(results, before_.end());
    case_.reference({in_, in_out, out});
    after_ = std::move(in_out);
    after_.insert(after_.end(), out.begin(), out.end());
  }
  const Arrays got = read(context, pair);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (auto wrong =
            operations::difference(others_[i].name, after_[i], got[i], case_.relative, case_.absolute))
      return wrong;
  }
  return std::nullopt;
}

}  // namespace smem::cli
