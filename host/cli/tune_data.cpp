// Data of smem tune: filled, poisoned, read and compared. Whole numbers, so few and so small that all sums of
// them are exact: then every variant must give the very same results, in whatever order it adds.
#include "cli/tune_case.hpp"

#include <algorithm>
#include <cstdint>

namespace smem::cli {

namespace {

using operations::ArrayRule;
using operations::HostArray;
using operations::PlacedArray;

std::size_t byte_offset(const PlacedArray& place) { return place.first * size_of(place.type); }

/// Those of `in_out` among others().
std::size_t count_in_out(const TuneCase& of) { return of.described.in_out.size(); }

}  // namespace

std::vector<ArrayRule> TuneCase::inputs() const { return described.in; }

std::vector<ArrayRule> TuneCase::others() const {
  std::vector<ArrayRule> rules = described.in_out;
  rules.insert(rules.end(), described.out.begin(), described.out.end());
  return rules;
}

std::size_t TuneCase::bytes() const {
  return std::max(operations::bytes_of(inputs()), operations::bytes_of(others()));
}

void fill(const Context& context, const PlacedArray& place, const ArrayRule& rule, std::uint64_t seed) {
  // So many are made here, and repeated on the device, which is faster; no size of a tile divides them.
  constexpr std::size_t kPeriod = (std::size_t{1} << 22) + 15;
  ArrayRule first = rule;
  if (rule.fill.repeats()) first.elements = std::min(rule.elements, kPeriod);
  const HostArray made = operations::filled(first, seed);
  const std::size_t begin = byte_offset(place), size = size_of(rule.type);
  measure::check(clEnqueueWriteBuffer(context.queue()(), place.buffer, CL_TRUE, begin, made.bytes.size(),
                                      made.bytes.data(), 0, nullptr, nullptr),
                 "clEnqueueWriteBuffer");
  for (std::size_t there = first.elements; there < rule.elements;) {
    const std::size_t next = std::min(there, rule.elements - there);
    measure::check(clEnqueueCopyBuffer(context.queue()(), place.buffer, place.buffer, begin,
                                       begin + there * size, next * size, 0, nullptr, nullptr),
                   "clEnqueueCopyBuffer");
    there += next;
  }
}

void fill_inputs(const Context& context, const measure::BufferPair& pair, const TuneCase& of,
                 std::uint64_t seed) {
  const std::vector<ArrayRule> rules = of.inputs();
  const std::vector<PlacedArray> places = operations::place(rules, pair.in());
  for (std::size_t i = 0; i < rules.size(); ++i)
    fill(context, places[i], rules[i], seed + i);
}

void prepare_others(const Context& context, const measure::BufferPair& pair, const TuneCase& of,
                    std::uint64_t seed) {
  const std::vector<ArrayRule> rules = of.others();
  const std::vector<PlacedArray> places = operations::place(rules, pair.out());
  const cl_uint4 nothing = {{~0U, ~0U, ~0U, ~0U}};
  measure::check(clEnqueueFillBuffer(context.queue()(), pair.out(), &nothing, sizeof nothing, 0,
                                     operations::bytes_of(rules), 0, nullptr, nullptr),
                 "clEnqueueFillBuffer");
  for (std::size_t i = 0; i < count_in_out(of); ++i)
    fill(context, places[i], rules[i], seed + i);
}

std::vector<HostArray> read_others(const Context& context, const measure::BufferPair& pair,
                                   const TuneCase& of) {
  std::vector<HostArray> arrays;
  for (const PlacedArray& place : operations::place(of.others(), pair.out())) {
    arrays.push_back({place.type, std::vector<unsigned char>(place.elements * size_of(place.type))});
    measure::check(
        clEnqueueReadBuffer(context.queue()(), place.buffer, CL_TRUE, byte_offset(place),
                            arrays.back().bytes.size(), arrays.back().bytes.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  }
  return arrays;
}

std::optional<std::string> difference(const TuneCase& of, const std::vector<HostArray>& expected,
                                      const std::vector<HostArray>& got) {
  const std::vector<ArrayRule> rules = of.others();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (auto wrong = operations::difference(rules[i].name, expected[i], got[i], of.relative(), of.absolute()))
      return wrong;
  }
  return std::nullopt;
}

}  // namespace smem::cli
