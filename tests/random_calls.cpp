// Random calls of all described operations: words, variants, plans of the models, unaligned arrays, one
// work-group for all jobs. Elements around each array must stay as they are, and a second call must give the
// same bits.
#include "operations/list.hpp"
#include "support/one_group.hpp"
#include "support/random_cases.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace {

using smem::operations::ArrayRule;
using smem::operations::CallArrays;
using smem::operations::Case;
using smem::operations::HostArray;
using DescribedOperation = smem::operations::Operation;
using smem::operations::PlacedArray;
using smem::operations::WordKind;
using smem::operations::WordRule;
using test::one_of;
using test::Outcome;
using test::Random;

constexpr double kMostOperations = 1e7;
constexpr std::size_t kMostElements = 60000;

/// From 1 to `most`, small numbers as often as large ones, with a liking for powers of two and their
/// neighbours.
std::size_t some_number(Random& random, std::size_t most) {
  const double part = static_cast<double>(random.next() >> 11) * 0x1p-53;
  auto number = static_cast<std::size_t>(std::exp(part * std::log(static_cast<double>(most) + 0.9)));
  if (random.chance(3)) {
    std::size_t power = 1;
    while (2 * power <= number)
      power *= 2;
    number = power + random.between(0, 2) - 1;
  }
  return std::clamp<std::size_t>(number, 1, most);
}

/// Of an extent: the product of all is at most kMostElements. Heads have the sizes of heads.
std::vector<std::size_t> some_extents(Random& random, std::string_view operation, const WordRule& rule) {
  std::vector<std::size_t> sizes(random.between(rule.least, rule.most));
  if (sizes.size() == 4) {
    return {random.between(1, 3), random.between(1, 6), some_number(random, 200),
            random.chance(3) ? some_number(random, 256) : 64 * random.between(1, 3)};
  }
  for (std::size_t& size : sizes)
    size = some_number(random, sizes.size() == 1 ? kMostElements : 3000);
  if (operation == "rotary") sizes[2] = 2 * some_number(random, 80);
  const bool product = operation == "gemm" || operation == "complex_gemm";
  const double most = product ? kMostOperations / 2 : static_cast<double>(kMostElements);
  for (;;) {
    double all = 1;
    for (const std::size_t size : sizes)
      all *= static_cast<double>(size);
    if (all <= most) return sizes;
    *std::max_element(sizes.begin(), sizes.end()) /= 2;
  }
}

std::string text_of(const std::vector<std::size_t>& sizes) {
  std::string text;
  for (const std::size_t size : sizes)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

/// A value that the rule takes; many do not fit those of other words.
std::string some_value(Random& random, const DescribedOperation& operation, const WordRule& rule) {
  switch (rule.kind) {
    case WordKind::number: {
      const bool many = rule.name == "bins" || rule.name == "count" || rule.name == "segments";
      if (rule.zero && random.chance(3)) return "0";
      return std::to_string(some_number(random, many ? 5000 : rule.name == "batch" ? 5 : 70));
    }
    case WordKind::real:
      return one_of<const char*>(random, {"1", "2"});  // calls refuse others, which plans do not read
    case WordKind::sizes: {
      if (rule.positional) return text_of(some_extents(random, operation.name, rule));
      std::vector<std::size_t> sizes(random.between(rule.least, rule.most));
      for (std::size_t& size : sizes)
        size = random.between(rule.zero ? 0 : 1, random.chance(4) ? 20 : 4);
      return text_of(sizes);
    }
    case WordKind::element:
      return one_of<const char*>(random, {"uchar", "ushort", "float", "double", "float4"});
    case WordKind::scalar:
      return std::string(smem::name_of(
          static_cast<smem::Scalar>(random.between(0, static_cast<std::size_t>(smem::Scalar::e5m2)))));
    case WordKind::choice:
      return one_of(random, rule.choices);
    case WordKind::flag:
      break;
  }
  return "yes";
}

/// Words of a problem. `kept`: those that are not extents are as they were there.
using Values = std::vector<std::string>;
Values some_values(Random& random, const DescribedOperation& operation, const Values* kept = nullptr) {
  Values values;
  const std::size_t one_in = random.between(1, 6);
  for (std::size_t i = 0; i < operation.words.size(); ++i) {
    const WordRule& rule = operation.words[i];
    const bool is_extent = rule.positional && rule.kind != WordKind::scalar &&
                           rule.kind != WordKind::choice && rule.kind != WordKind::element;
    if (kept != nullptr && !is_extent) {
      values.push_back((*kept)[i]);
    } else {
      values.push_back(rule.positional || random.chance(one_in) ? some_value(random, operation, rule) : "");
    }
  }
  return values;
}
std::string text_of(const DescribedOperation& operation, const Values& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const WordRule& rule = operation.words[i];
    if (values[i].empty()) continue;
    if (!rule.positional) text += "--" + rule.name + " ";
    if (rule.kind != WordKind::flag) text += values[i] + " ";
  }
  return text;
}

/// An array in a buffer, at any element, between bytes that must stay.
struct Placed {
  Placed(const smem::Context& c, HostArray array, std::size_t offset) : context(c), host(std::move(array)) {
    constexpr std::size_t kAround = 256;
    const std::size_t size = smem::size_of(host.type);
    first = kAround + offset * size;
    all.assign(first + host.bytes.size() + kAround, 0xff);
    std::copy(host.bytes.begin(), host.bytes.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
    buffer = smem::make_buffer(context, all.size());
    restore();
    place = {buffer(), host.type, first / size, host.size()};
  }
  void restore() const { smem::write_buffer(context, buffer, all.data(), all.size()); }
  /// What the array is now; nothing where the bytes around it have changed.
  std::optional<HostArray> now() const {
    std::vector<unsigned char> got(all.size());
    smem::read_buffer(context, buffer, got.data(), got.size());
    const auto begin = got.begin() + static_cast<std::ptrdiff_t>(first),
               end = begin + static_cast<std::ptrdiff_t>(host.bytes.size());
    const auto untouched = [](unsigned char byte) { return byte == 0xff; };
    if (!std::all_of(got.begin(), begin, untouched) || !std::all_of(end, got.end(), untouched)) return {};
    return HostArray{host.type, {begin, end}};
  }

  const smem::Context& context;
  HostArray host;
  std::size_t first = 0;
  std::vector<unsigned char> all;
  cl::Buffer buffer;
  PlacedArray place;
};

/// Arrays of one role in a call.
struct PlacedArrays {
  std::vector<Placed> arrays;
  std::vector<HostArray> expected;
  std::vector<std::vector<unsigned char>> before;  // of the call before

  std::string wrong(const std::vector<ArrayRule>& rules, double relative, double absolute) {
    std::vector<std::vector<unsigned char>> got;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const auto now = arrays[i].now();
      if (!now) return "written around " + rules[i].name;
      const auto text = difference(rules[i].name, expected[i], *now, relative, absolute);
      if (text) return *text;
      got.push_back(now->bytes);
    }
    if (!before.empty() && before != got) return "not the same bits twice";
    before = got;
    return {};
  }
};

/// How a case is called.
struct How {
  std::string variant;
  std::optional<std::size_t> candidate;  ///< of the model's plans
  bool one_group = false;
};

/// Whether elements of views may be several of an array's: they begin where four do.
bool has_wide_elements(const DescribedOperation& operation) {
  return operation.name == "complex_gemm" || operation.name == "sort_by" ||
         std::any_of(operation.words.begin(), operation.words.end(),
                     [](const WordRule& rule) { return rule.kind == WordKind::element; });
}

Outcome run(const smem::Context& context, const DescribedOperation& operation, const Case& c, const How& how,
            Random& random) {
  std::vector<smem::operations::Candidate> candidates;
  if (how.candidate && c.candidates) candidates = c.candidates(context.device(), how.variant);
  const bool is_fixed = !candidates.empty(), is_aligned = is_fixed || random.chance(3);
  const std::size_t step = has_wide_elements(operation) ? 4 : 1;
  PlacedArrays in, in_out, out;
  CallArrays arrays;
  const auto add = [&](PlacedArrays& to, std::vector<PlacedArray>& places, HostArray host) {
    to.expected.push_back(host);
    to.arrays.emplace_back(context, std::move(host), is_aligned ? 0 : step * random.between(0, 17));
    places.push_back(to.arrays.back().place);
  };
  for (const ArrayRule& rule : c.in)
    add(in, arrays.in, filled(rule, random.next()));
  for (const ArrayRule& rule : c.in_out)
    add(in_out, arrays.in_out, filled(rule, random.next()));
  for (const ArrayRule& rule : c.out)
    add(out, arrays.out, poisoned(rule));
  c.reference({in.expected, in_out.expected, out.expected});
  smem::CallOptions options;
  if (is_fixed) {
    options.plan = &candidates[*how.candidate % candidates.size()].plan;
  } else {
    options.variant = how.variant;
  }
  for (int turn = 0; turn < 2; ++turn) {
    try {
      std::optional<test::OneGroup> one_group;
      if (how.one_group) one_group.emplace();
      c.call(context, arrays, options).wait();
    } catch (const smem::Error& error) {
      if (options.variant.empty() || error.details().argument != "variant") throw;
      return test::refusal(error);
    }
    for (const std::string& text : {out.wrong(c.out, c.relative, c.absolute),
                                    in_out.wrong(c.in_out, c.relative, c.absolute), in.wrong(c.in, 0, 0)})
      if (!text.empty()) return {false, text, {}};
    for (const PlacedArrays* written : {&in_out, &out})
      for (const Placed& array : written->arrays)
        array.restore();
  }
  return {};
}

/// The case of words that the operation and the device take.
std::optional<Case> case_of(const smem::Context& context, const DescribedOperation& operation,
                            const std::string& words) {
  try {
    Case c = operation.parse(words);
    std::size_t bytes = 0;
    for (const auto* rules : {&c.in, &c.in_out, &c.out})
      for (const ArrayRule& rule : *rules)
        bytes += rule.bytes();
    if (!can_compute(context.device(), c) || c.operations > kMostOperations || bytes > 64 * kMostElements)
      return {};
    c.plan(context.device(), {});
    return c;
  } catch (const smem::Error& error) {
    CHECK_FALSE(error.details().argument.empty());
    return {};
  }
}

}  // namespace

TEST_CASE("random: calls of all operations") {
  const smem::Context context;
  test::run_random("calls", 47, [&](Random& random) -> test::RandomCase {
    const std::vector<DescribedOperation>& all = smem::operations::all();
    const DescribedOperation& operation = all[random.between(0, all.size() - 1)];
    How how;
    how.variant = test::some_variant(random, operation.variants());
    if (random.chance(3)) how.candidate = random.between(0, 50);
    Values values;
    do {
      values = some_values(random, operation);
    } while (!case_of(context, operation, text_of(operation, values)));
    try {
      operation.parse(text_of(operation, values)).plan(context.device(), {.variant = how.variant});
    } catch (const smem::Error&) {
      how.variant.clear();
    }
    return [&context, &operation, how, values](Random& r, std::string& text) mutable -> Outcome {
      const Values with = some_values(r, operation, &values);
      std::string words = text_of(operation, with);
      std::optional<Case> c = case_of(context, operation, words);
      if (!c) c = case_of(context, operation, words = text_of(operation, values));
      how.one_group = r.chance(4);
      text = fmt::format("{} {}by \"{}\"{}{}", operation.name, words, how.variant,
                         how.candidate ? fmt::format(", plan {}", *how.candidate) : "",
                         how.one_group ? ", in one group" : "");
      return run(context, operation, *c, how, r);
    };
  });
}
