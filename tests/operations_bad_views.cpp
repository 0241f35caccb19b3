// Arrays that no call can take: each is refused by name, before anything is enqueued. The calls of all
// described operations, and those that no description makes.
#include "operations/list.hpp"
#include "support/failure.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using smem::Scalar;
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

/// Each array of a call in turn: none, of another context, outside its buffer, and where the device must not
/// read or write. `call`: what refusals say was called; empty: anything.
void check_places(const smem::Context& context, const smem::Context& other, const Case& c,
                  std::string_view called = {}) {
  const Arrays arrays(context, c), foreign(other, c), read_only(context, c, CL_MEM_READ_ONLY),
      write_only(context, c, CL_MEM_WRITE_ONLY);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string name = arrays.rules[i].name;
    CAPTURE(name);
    const auto refusal = [&](const auto& change) {
      CallArrays call = arrays.call;
      change(arrays.at(call, i));
      const smem::ErrorDetails error = refusal_of(context, c, call);
      if (!called.empty()) {
        CHECK(error.operation == called);
        CHECK(error.argument == name);
      }
      return error;
    };
    if (!is_optional(name))
      CHECK(refusal([&](PlacedArray& array) { array.buffer = nullptr; }).got == "an empty handle");
    CHECK(test::contains(refusal([&](PlacedArray& array) { array.buffer = foreign.buffers[i](); }).expected,
                         "context"));
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

/// Each output begins in the last element of each other array, and each other array in that of each output.
void check_overlaps(const smem::Context& context, const Case& c) {
  const Arrays arrays(context, c);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    for (std::size_t j = 0; j < arrays.size(); ++j) {
      if (i == j || (!arrays.is_output[i] && !arrays.is_output[j])) continue;
      const std::string first = arrays.rules[i].name, second = arrays.rules[j].name;
      CAPTURE(first);
      CAPTURE(second);
      // The second begins in the last element of the first.
      const std::size_t size = size_of(arrays.rules[j].type), begin = (arrays.rules[i].bytes() - 1) / size;
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

using Call = std::function<cl::Event(const smem::Context&, const CallArrays&)>;
/// A call that no description makes. `call` may wait, and return no event.
struct Other {
  std::string name;
  std::vector<ArrayRule> in, out;
  Call call;

  Case as_case() const {
    Case made;
    made.in = in;
    made.out = out;
    made.call = [run = call](const smem::Context& context, const CallArrays& arrays,
                             const smem::CallOptions&) { return run(context, arrays); };
    return made;
  }
};

smem::Grid picture(const PlacedArray& array) {
  return {array.buffer, array.type, {10, 9}, {.offset = array.first}};
}

/// Calls that return an event.
std::vector<Other> other_calls() {
  using Arguments = const CallArrays&;
  using Context = const smem::Context&;
  constexpr auto kFloat = Scalar::float32;
  constexpr auto kPlace = Scalar::uint32;
  return {
      {"dot",
       {{"a", kFloat, 100}, {"b", kFloat, 100}},
       {{"out", kFloat, 1}},
       [](Context context, Arguments a) {
         return smem::dot(context, a.in[0].vector(), a.in[1].vector(), a.out[0].vector());
       }},
      {"gather",
       {{"in", kFloat, 100}, {"places", kPlace, 60}},
       {{"out", kFloat, 60}},
       [](Context context, Arguments a) {
         return smem::gather(context, a.in[0].vector(), a.in[1].vector(), a.out[0].vector());
       }},
      {"scatter",
       {{"in", kFloat, 60}, {"places", kPlace, 60}},
       {{"out", kFloat, 100}},
       [](Context context, Arguments a) {
         return smem::scatter(context, a.in[0].vector(), a.in[1].vector(), a.out[0].vector());
       }},
      {"permute_rows",
       {{"in", kFloat, 70}, {"places", kPlace, 10}},
       {{"out", kFloat, 70}},
       [](Context context, Arguments a) {
         return smem::permute_rows(context, a.in[0].matrix(10, 7), a.in[1].vector(), a.out[0].matrix(10, 7));
       }},
      {"top_k",
       {{"in", kFloat, 100}},
       {{"values", kFloat, 8}, {"places", kPlace, 8}},
       [](Context context, Arguments a) {
         return smem::top_k(context, a.in[0].vector(), a.out[0].vector(), a.out[1].vector());
       }},
      {"nth_element",
       {{"in", kFloat, 100}},
       {{"out", kFloat, 1}},
       [](Context context, Arguments a) {
         return smem::nth_element(context, a.in[0].vector(), a.out[0].vector(), {.n = 5});
       }},
      {"sort_columns",
       {{"keys", kFloat, 45}},
       {{"out", kFloat, 45}},
       [](Context context, Arguments a) {
         return smem::sort_columns(context, a.in[0].matrix(9, 5), a.out[0].matrix(9, 5));
       }},
      {"sort_pairs_columns",
       {{"keys", kFloat, 45}, {"values", kFloat, 45}},
       {{"out_keys", kFloat, 45}, {"out_values", kFloat, 45}},
       [](Context context, Arguments a) {
         return smem::sort_pairs_columns(context, a.in[0].matrix(9, 5), a.in[1].matrix(9, 5),
                                         a.out[0].matrix(9, 5), a.out[1].matrix(9, 5));
       }},
      {"argsort_columns",
       {{"keys", kFloat, 45}},
       {{"places", kPlace, 45}},
       [](Context context, Arguments a) {
         return smem::argsort_columns(context, a.in[0].matrix(9, 5), a.out[0].matrix(9, 5));
       }},
      {"median_blur",
       {{"in", kFloat, 90}},
       {{"out", kFloat, 90}},
       [](Context context, Arguments a) {
         return smem::median_blur(context, picture(a.in[0]), picture(a.out[0]), 3);
       }},
      {"unsharp_mask",
       {{"in", kFloat, 90}},
       {{"out", kFloat, 90}},
       [](Context context, Arguments a) {
         return smem::unsharp_mask(context, picture(a.in[0]), picture(a.out[0]));
       }},
      {"partition_flagged_reversed",
       {{"in", kFloat, 50}, {"flags", Scalar::uint8, 50}},
       {{"out", kFloat, 50}, {"count", kPlace, 1}},
       [](Context context, Arguments a) {
         return smem::partition_flagged_reversed(context, a.in[0].vector(), a.in[1].vector(),
                                                 a.out[0].vector(), a.out[1].vector());
       }},
  };
}

/// Calls that wait for the device.
std::vector<Other> waiting_calls() {
  using Arguments = const CallArrays&;
  using Context = const smem::Context&;
  constexpr auto kFloat = Scalar::float32;
  constexpr auto kPlace = Scalar::uint32;
  return {
      {"is_sorted",
       {{"keys", kFloat, 100}},
       {},
       [](Context context, Arguments a) {
         smem::is_sorted(context, a.in[0].vector());
         return cl::Event();
       }},
      {"check_places",
       {{"places", kPlace, 60}},
       {},
       [](Context context, Arguments a) {
         smem::check_places(context, a.in[0].vector(), 100);
         return cl::Event();
       }},
      {"check_segments",
       {{"offsets", kPlace, 60}},
       {},
       [](Context context, Arguments a) {
         smem::check_segments(context, a.in[0].vector(), 100);
         return cl::Event();
       }},
      {"check_edges",
       {{"edges", kFloat, 60}},
       {},
       [](Context context, Arguments a) {
         smem::check_edges(context, a.in[0].vector());
         return cl::Event();
       }},
      {"histogram",
       {{"in", kFloat, 60}},
       {},
       [](Context context, Arguments a) {
         smem::histogram(context, a.in[0].vector(), smem::Bins{.count = 4, .low = 0, .high = 1});
         return cl::Event();
       }},
      {"reduce",
       {{"in", kFloat, 60}},
       {},
       [](Context context, Arguments a) {
         smem::sum(context, smem::VectorView<const float>(a.in[0].buffer, 60, a.in[0].first));
         return cl::Event();
       }},
      {"unique",
       {{"in", kFloat, 50}},
       {{"out", kFloat, 50}},
       [](Context context, Arguments a) {
         smem::unique(context, a.in[0].vector(), a.out[0].vector());
         return cl::Event();
       }},
      {"run_length_encode",
       {{"in", kFloat, 50}},
       {{"values", kFloat, 50}, {"lengths", kPlace, 50}},
       [](Context context, Arguments a) {
         smem::run_length_encode(context, a.in[0].vector(), a.out[0].vector(), a.out[1].vector());
         return cl::Event();
       }},
      {"reduce_by_key",
       {{"keys", kPlace, 50}, {"in", kFloat, 50}},
       {{"unique_keys", kPlace, 50}, {"out", kFloat, 50}},
       [](Context context, Arguments a) {
         smem::reduce_by_key(context, a.in[0].vector(), a.in[1].vector(), a.out[0].vector(),
                             a.out[1].vector());
         return cl::Event();
       }},
  };
}

}  // namespace

TEST_CASE("bad input of operations: arrays that are none, of another context, or end outside their buffer") {
  const smem::Context context, other;
  for (const smem::operations::Operation& operation : smem::operations::all()) {
    CAPTURE(operation.name);
    for (const auto& [words, c] : small_cases(context, operation)) {
      CAPTURE(words);
      check_places(context, other, c);
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
      check_overlaps(context, c);
    }
  }
}

TEST_CASE("bad input of operations: the same of calls that no description makes, and those that wait") {
  const smem::Context context, other;
  for (const std::vector<Other>& calls : {other_calls(), waiting_calls()}) {
    for (const Other& call : calls) {
      CAPTURE(call.name);
      const Case c = call.as_case();
      check_places(context, other, c, call.name);
      check_overlaps(context, c);
    }
  }
}
