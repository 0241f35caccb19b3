// Arrays that no call of a described operation can take: each is refused by name, before anything is
// enqueued.
#include "operations/list.hpp"
#include "support/failure.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using smem::operations::ArrayRule;
using smem::operations::CallArrays;
using smem::operations::Case;
using smem::operations::PlacedArray;
using smem::operations::Sample;
using smem::operations::Scale;

constexpr std::size_t kMostBytes = std::size_t{1} << 22;

/// All arrays of a case, each in a buffer of its own that ends where it ends.
struct Arrays {
  Arrays(const smem::Context& context, const Case& c, cl_mem_flags flags = CL_MEM_READ_WRITE) {
    const auto add = [&](const std::vector<ArrayRule>& of, std::vector<PlacedArray>& to, bool written) {
      for (const ArrayRule& rule : of) {
        cl_int status = CL_SUCCESS;
        const std::vector<unsigned char> poison(std::max<std::size_t>(rule.bytes(), 1), 77);
        cl::Buffer buffer(clCreateBuffer(context.cl_context()(), flags | CL_MEM_COPY_HOST_PTR, poison.size(),
                                         const_cast<unsigned char*>(poison.data()), &status));
        REQUIRE(status == CL_SUCCESS);
        to.push_back({buffer(), rule.type, 0, rule.elements});
        buffers.push_back(buffer);
        rules.push_back(rule);
        is_output.push_back(written);
      }
    };
    add(c.in, call.in, false);
    add(c.in_out, call.in_out, true);
    add(c.out, call.out, true);
  }
  std::size_t size() const { return rules.size(); }
  PlacedArray& at(CallArrays& arrays, std::size_t i) const {
    for (std::vector<PlacedArray>* places : {&arrays.in, &arrays.in_out, &arrays.out}) {
      if (i < places->size()) return (*places)[i];
      i -= places->size();
    }
    throw std::out_of_range("no such array");
  }
  bool is_untouched(const smem::Context& context) const {
    for (std::size_t i = 0; i < size(); ++i) {
      std::vector<unsigned char> now(rules[i].bytes());
      if (now.empty()) continue;
      smem::read_buffer(context, buffers[i], now.data(), now.size());
      if (std::any_of(now.begin(), now.end(), [](unsigned char byte) { return byte != 77; })) return false;
    }
    return true;
  }

  std::vector<cl::Buffer> buffers;
  std::vector<ArrayRule> rules;
  std::vector<bool> is_output;
  CallArrays call;
};

/// The small samples of an operation whose arrays have several elements each.
std::vector<std::pair<std::string, Case>> small_cases(const smem::Context& context,
                                                      const smem::operations::Operation& operation) {
  std::vector<std::pair<std::string, Case>> cases;
  for (const Sample& sample : operation.at(Scale::edges)) {
    Case c = operation.parse(sample.words);
    if (!can_compute(context.device(), c)) continue;
    std::size_t bytes = 0, least = SIZE_MAX;
    for (const std::vector<ArrayRule>* rules : {&c.in, &c.in_out, &c.out}) {
      for (const ArrayRule& rule : *rules) {
        bytes += rule.bytes();
        least = std::min(least, rule.elements);
      }
    }
    if (bytes <= kMostBytes && least > 1) cases.emplace_back(sample.words, std::move(c));
  }
  return cases;
}

/// Whether there are calls without this array.
bool is_optional(std::string_view name) {
  constexpr std::string_view kOptional[] = {
      "bias",          "conductivities", "key_offsets", "lengths", "list",   "offsets", "positions",
      "query_offsets", "residual",       "sink_logits", "slopes",  "source", "table",   "weight"};
  return std::find(std::begin(kOptional), std::end(kOptional), name) != std::end(kOptional);
}

/// What calls name an array of the case.
std::string name_in_calls(const std::string& name, const Case& c) {
  if (name == "query_offsets") return "ragged.queries";
  if (name == "key_offsets") return "ragged.keys";
  const bool is_sorted_in_place = name == "keys" && !c.in_out.empty() && c.in_out.front().name == name;
  return is_sorted_in_place ? "out" : name;
}

/// What the call says, which must be an Error with an argument; "" where it is none.
smem::ErrorDetails refusal_of(const smem::Context& context, const Case& c, const CallArrays& arrays) {
  try {
    c.call(context, arrays, {}).wait();
  } catch (const smem::Error& error) {
    CHECK_FALSE(error.details().argument.empty());
    return error.details();
  }
  return {};
}

}  // namespace

TEST_CASE("bad input of operations: arrays that are none, of another context, or end outside their buffer") {
  const smem::Context context, other;
  for (const smem::operations::Operation& operation : smem::operations::all()) {
    CAPTURE(operation.name);
    for (const auto& [words, c] : small_cases(context, operation)) {
      CAPTURE(words);
      const Arrays arrays(context, c), foreign(other, c), read_only(context, c, CL_MEM_READ_ONLY),
          write_only(context, c, CL_MEM_WRITE_ONLY);
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        const std::string name = arrays.rules[i].name;
        CAPTURE(name);
        const auto refusal = [&](const auto& change) {
          CallArrays call = arrays.call;
          change(arrays.at(call, i));
          return refusal_of(context, c, call);
        };
        if (!is_optional(name))
          CHECK(refusal([&](PlacedArray& array) { array.buffer = nullptr; }).got == "an empty handle");
        CHECK(test::contains(
            refusal([&](PlacedArray& array) { array.buffer = foreign.buffers[i](); }).expected, "context"));
        // Elements of views may be several of an array's.
        for (const std::size_t first : {arrays.rules[i].elements, std::size_t{1} << 58}) {
          CAPTURE(first);
          CHECK(test::contains(refusal([&](PlacedArray& array) { array.first = first; }).expected,
                               "inside its buffer"));
        }
        if (arrays.is_output[i]) {
          CHECK(refusal([&](PlacedArray& array) { array.buffer = read_only.buffers[i](); }).got ==
                "one of CL_MEM_READ_ONLY");
        } else {
          CHECK(refusal([&](PlacedArray& array) { array.buffer = write_only.buffers[i](); }).got ==
                "one of CL_MEM_WRITE_ONLY");
        }
      }
      CHECK(arrays.is_untouched(context));
    }
  }
}

TEST_CASE("bad input of operations: outputs that share an element with any other array") {
  const smem::Context context;
  for (const smem::operations::Operation& operation : smem::operations::all()) {
    CAPTURE(operation.name);
    for (const auto& [words, c] : small_cases(context, operation)) {
      CAPTURE(words);
      if (test::contains(words, "--list")) continue;  // offsets on the device say which elements are used
      const Arrays arrays(context, c);
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        for (std::size_t j = 0; j < arrays.size(); ++j) {
          if (i == j || (!arrays.is_output[i] && !arrays.is_output[j])) continue;
          const std::string first = arrays.rules[i].name, second = arrays.rules[j].name;
          CAPTURE(first);
          CAPTURE(second);
          // The second begins in the last element of the first.
          const std::size_t size = size_of(arrays.rules[j].type),
                            begin = (arrays.rules[i].bytes() - 1) / size;
          const std::vector<unsigned char> poison(begin * size + arrays.rules[j].bytes(), 77);
          const cl::Buffer both = smem::make_buffer(context, poison.size());
          smem::write_buffer(context, both, poison.data(), poison.size());
          CallArrays call = arrays.call;
          arrays.at(call, i).buffer = arrays.at(call, j).buffer = both();
          arrays.at(call, j).first = begin;
          const smem::ErrorDetails error = refusal_of(context, c, call);
          CHECK(test::contains(error.expected, "not overlap"));
          const std::string text = error.argument + " " + error.expected;
          CHECK(test::contains(text, name_in_calls(first, c)));
          CHECK(test::contains(text, name_in_calls(second, c)));
          std::vector<unsigned char> now(poison.size());
          smem::read_buffer(context, both, now.data(), now.size());
          CHECK(now == poison);
        }
      }
      CHECK(arrays.is_untouched(context));
    }
  }
}
