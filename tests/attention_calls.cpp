// Attention: bad input, input of nothing, slices, and what is accepted as a view.
#include <smem/smem.hpp>

#include "support/attention_run.hpp"
#include "support/broken.hpp"
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

using smem::ConstHeads;
using smem::HeadsLayout;
using smem::HeadsShape;
using smem::Scalar;

namespace {

/// Whether the variant runs on the device, with float32.
bool runs_here(const smem::Context& context, std::string_view variant) {
  const smem::Device& device = context.device();
  if (test::is_of_units(variant) || test::is_broken(device, "attention", variant)) return false;
  return variant != "cpu" || (device.type == smem::DeviceType::cpu && device.long_loops);
}

/// A call that is right, to be changed.
struct AttentionInput {
  explicit AttentionInput(const smem::Context& context)
      : numbers(context, std::vector<float>(4096, 1.0F)),
        results(context, std::vector<float>(1024, 7.0F)),
        whole(context, std::vector<std::uint32_t>(1024, 1)),
        q(numbers.buffer()(), Scalar::float32, {2, 4, 5, 8}),
        k(numbers.buffer()(), Scalar::float32, {2, 2, 6, 8}),
        v(numbers.buffer()(), Scalar::float32, {2, 2, 6, 8}) {}

  smem::Array<float> numbers, results;
  smem::Array<std::uint32_t> whole;
  ConstHeads q, k, v;
  HeadsShape out_shape{2, 4, 5, 8};
  HeadsLayout out_layout = {};
  Scalar out_type = Scalar::float32;
  cl_mem out_buffer = nullptr;  ///< null: of results
  std::size_t lse = 40;
  Scalar lse_type = Scalar::float32;
  cl_mem lse_buffer = nullptr;  ///< null: of log-sum-exps
  smem::Attention how;
  std::string variant = {};

  smem::ConstVector list(std::size_t size) const { return {whole.buffer()(), Scalar::uint32, size}; }
  smem::ConstVector floats(std::size_t size) const { return {numbers.buffer()(), Scalar::float32, size}; }
  /// The argument that the call is refused for; empty: it is not.
  template <class Change>
  static std::string refused(const smem::Context& context, const Change& change) {
    AttentionInput input(context);
    change(input);
    const cl_mem to = input.out_buffer != nullptr ? input.out_buffer : input.results.buffer()();
    const smem::Heads out(to, input.out_type, input.out_shape, input.out_layout);
    const smem::Array<float> sums(context, std::vector<float>(40, 7.0F));
    const smem::Vector lse(input.lse_buffer != nullptr ? input.lse_buffer : sums.buffer()(), input.lse_type,
                           input.lse);
    const auto error = test::failure_of([&] {
      smem::attention(context, input.q, input.k, input.v, out, lse, input.how, {.variant = input.variant});
    });
    CHECK(error.operation == "attention");
    const std::vector<float> untouched = input.results.to_host(), of_sums = sums.to_host();
    CHECK(std::count(untouched.begin(), untouched.end(), 7.0F) == 1024);
    CHECK(std::count(of_sums.begin(), of_sums.end(), 7.0F) == 40);
    return error.argument;
  }
};

}  // namespace

TEST_CASE("bad input of attention") {
  const smem::Context context;
  const auto refused = [&](const auto& change) { return AttentionInput::refused(context, change); };
  CHECK(refused([](AttentionInput& i) { i.q.shape.heads = i.out_shape.heads = 3; }) == "k");
  CHECK(refused([](AttentionInput& i) { i.k.shape.heads = i.v.shape.heads = 0; }) == "k");
  CHECK(refused([](AttentionInput& i) { i.k.shape.size = 7; }) == "k");
  CHECK(refused([](AttentionInput& i) { i.k.shape.batch = i.v.shape.batch = 1; }) == "k");
  CHECK(refused([](AttentionInput& i) { i.v.shape.tokens = 5; }) == "v");
  CHECK(refused([](AttentionInput& i) { i.k.type = Scalar::half; }) == "k");
  CHECK(refused([](AttentionInput& i) { i.q.type = i.k.type = i.v.type = Scalar::float64; }) == "q");
  CHECK(refused([](AttentionInput& i) { i.out_type = Scalar::half; }) == "out");
  CHECK(refused([](AttentionInput& i) { i.out_shape.tokens = 4; }) == "out");
  CHECK(refused([](AttentionInput& i) { i.out_layout.token_stride = 7; }) == "out");
  CHECK(refused([](AttentionInput& i) { i.out_layout = {.token_stride = 8, .head_stride = 16}; }) == "out");
  CHECK(refused([](AttentionInput& i) { i.out_layout.offset = 705; }) == "out");
  CHECK(refused([](AttentionInput& i) { i.out_buffer = i.numbers.buffer()(), i.q.offset = 300; }) == "out");
  CHECK(refused([](AttentionInput& i) { i.q.offset = 4096 - 319; }) == "q");
  CHECK(refused([](AttentionInput& i) { i.k.head_stride = SIZE_MAX; }) == "k");
  CHECK(refused([](AttentionInput& i) { i.v.buffer = nullptr; }) == "v");
  CHECK(refused([](AttentionInput& i) { i.q.shape.size = i.k.shape.size = 257; }) == "q");
  CHECK(refused([](AttentionInput& i) { i.v.shape.size = i.out_shape.size = 257; }) == "v");
  CHECK(refused([](AttentionInput& i) { i.k.shape.tokens = i.v.shape.tokens = (1 << 29) + 1; }) == "k");
  CHECK(refused([](AttentionInput& i) { i.lse = 39; }) == "lse");
  CHECK(refused([](AttentionInput& i) { i.lse_type = Scalar::float64; }) == "lse");
  CHECK(refused([](AttentionInput& i) { i.lse_buffer = i.results.buffer()(); }) == "lse");  // that of out
  CHECK(refused([](AttentionInput& i) { i.lse_buffer = i.numbers.buffer()(); }) ==
        "lse");  // that of q, k and v
  for (const double scale : {std::nan(""), 1e39, -std::numeric_limits<double>::infinity()})
    CHECK(refused([&](AttentionInput& i) { i.how.scale = scale; }) == "scale");
  for (const double cap : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK(refused([&](AttentionInput& i) { i.how.soft_cap = cap; }) == "soft_cap");
  CHECK(refused([](AttentionInput& i) { i.how.slopes = i.floats(3); }) == "slopes");
  CHECK(refused([](AttentionInput& i) { i.how.slopes = i.list(4); }) == "slopes");
  // Nothing that is read lies where results are written.
  const auto in_results = [](AttentionInput& i, std::size_t size) {
    return smem::ConstVector(i.results.buffer()(), Scalar::float32, size);
  };
  CHECK(refused([&](AttentionInput& i) { i.how.slopes = in_results(i, 4); }) == "out");
  CHECK(refused([&](AttentionInput& i) { i.how.sink_logits = in_results(i, 4); }) == "out");
  CHECK(refused([](AttentionInput& i) { i.v.buffer = i.results.buffer()(); }) == "out");
  CHECK(refused([](AttentionInput& i) {
          i.how.bias = {i.results.buffer()(), Scalar::float32, {1, 1, 1, 6}};
        }) == "out");
  CHECK(refused([](AttentionInput& i) {
          i.how.key_lengths = i.list(2);
          i.out_buffer = i.whole.buffer()();
        }) == "out");
  const smem::Context other;
  const smem::Array<float> foreign(other, std::vector<float>(4096, 1.0F));
  CHECK(refused([&](AttentionInput& i) { i.k.buffer = foreign.buffer()(); }) == "k");
  CHECK(refused([&](AttentionInput& i) {
          i.how.slopes = {foreign.buffer()(), Scalar::float32, 4};
        }) == "slopes");
  CHECK(refused([](AttentionInput& i) { i.how.sink_logits = i.list(4); }) == "sink_logits");
  const auto bias = [](const HeadsShape& shape) {
    return [shape](AttentionInput& i) { i.how.bias = {i.numbers.buffer()(), Scalar::float32, shape}; };
  };
  CHECK(refused(bias({2, 4, 5, 5})) == "bias");
  CHECK(refused(bias({2, 3, 5, 6})) == "bias");
  CHECK(refused(bias({2, 2, 2, 6})) == "bias");
  CHECK(refused([&](AttentionInput& i) {
          bias({1, 1, 5, 6})(i);
          i.how.bias.type = Scalar::half;
        }) == "bias");
  CHECK(refused([](AttentionInput& i) { i.how.key_lengths = i.list(3); }) == "key_lengths");
  CHECK(refused([](AttentionInput& i) { i.how.key_lengths = i.floats(2); }) == "key_lengths");
  const auto ragged = [](AttentionInput& i) {
    i.q.shape.batch = i.k.shape.batch = i.v.shape.batch = i.out_shape.batch = 1;
    i.how.ragged = {i.list(4), i.list(4)};
  };
  const auto refused_ragged = [&](const auto& change) {
    return refused([&](AttentionInput& i) {
      ragged(i);
      change(i);
    });
  };
  CHECK(refused_ragged([](AttentionInput& i) { i.how.ragged.keys = i.list(3); }) == "ragged.keys");
  CHECK(refused_ragged([](AttentionInput& i) { i.how.ragged.keys = {}; }) == "ragged.keys");
  CHECK(refused_ragged([](AttentionInput& i) { i.how.ragged.queries = {}; }) == "ragged.keys");
  CHECK(refused_ragged([](AttentionInput& i) { i.how.ragged.queries = i.floats(4); }) == "ragged.queries");
  CHECK(refused_ragged([](AttentionInput& i) { i.how.ragged.queries.size = 0; }) == "ragged.queries");
  CHECK(refused_ragged([](AttentionInput& i) { i.q.shape.batch = 2; }) == "q");
  CHECK(refused_ragged([&](AttentionInput& i) { bias({1, 1, 5, 6})(i); }) == "bias");
  CHECK(refused([](AttentionInput& i) {
          i.how.cache.table = {i.whole.buffer()(), Scalar::uint32, 2, 3};
        }) == "key_lengths");
  CHECK(refused([](AttentionInput& i) {
          i.how.cache.table = {i.whole.buffer()(), Scalar::uint32, 3, 3};
        }) == "cache.table");
  CHECK(refused([](AttentionInput& i) {
          i.how.cache.table = {i.numbers.buffer()(), Scalar::float32, 2, 3};
        }) == "cache.table");
  CHECK(refused([](AttentionInput& i) {
          i.how.cache.table = {i.whole.buffer()(), Scalar::uint32, 2, 3, {.batch = 2}};
        }) == "cache.table");
  CHECK(refused_ragged([](AttentionInput& i) {
          i.how.cache.table = {i.whole.buffer()(), Scalar::uint32, 3, 3};
        }) == "ragged.keys");
  CHECK(refused([](AttentionInput& i) { i.variant = "nosuch"; }) == "variant");
}

TEST_CASE("attention: numbers of lists are checked on request") {
  const smem::Context context;
  using Numbers = std::vector<std::uint32_t>;
  const auto argument = [&](const Numbers& lengths, const Numbers& table, const Numbers& queries,
                            const Numbers& keys, bool check = true) {
    const smem::Array<std::uint32_t> of_lengths(context, lengths), of_table(context, table),
        of_queries(context, queries), of_keys(context, keys);
    return AttentionInput::refused(context, [&](AttentionInput& i) {
      const auto list = [](const smem::Array<std::uint32_t>& numbers) -> smem::ConstVector {
        if (numbers.size() == 0) return {};
        return {numbers.buffer()(), Scalar::int32, numbers.size()};
      };
      i.how.check = check;
      i.how.key_lengths = list(of_lengths);
      // Where nothing is out of range, the call is refused for its variant.
      i.variant = "nosuch";
      if (!table.empty()) i.how.cache.table = {of_table.buffer()(), Scalar::uint32, 2, table.size() / 2};
      if (queries.empty()) return;
      i.q.shape.batch = i.out_shape.batch = i.k.shape.batch = i.v.shape.batch = 1;
      i.how.ragged = {list(of_queries), list(of_keys)};
    });
  };
  constexpr std::uint32_t kMinus1 = 0xffffffff;
  CHECK(argument({6, 0}, {}, {}, {}) == "variant");
  CHECK(argument({6, 7}, {}, {}, {}) == "key_lengths");
  CHECK(argument({kMinus1, 6}, {}, {}, {}) == "key_lengths");
  CHECK(argument({6, 7}, {}, {}, {}, false) == "variant");
  // Two pages of 6 keys; entries behind a length may be anything.
  CHECK(argument({6, 12}, {1, 9, 0, 1}, {}, {}) == "variant");
  CHECK(argument({7, 12}, {1, 9, 0, 1}, {}, {}) == "cache.table");
  CHECK(argument({6, 12}, {1, 9, 0, kMinus1}, {}, {}) == "cache.table");
  CHECK(argument({6, 13}, {1, 9, 0, 1}, {}, {}) == "key_lengths");
  CHECK(argument({}, {}, {0, 5, 5}, {0, 3, 6}) == "variant");
  CHECK(argument({}, {}, {0, 5, 4}, {0, 3, 6}) == "ragged.queries");
  CHECK(argument({}, {}, {0, 5, 6}, {0, 3, 6}) == "ragged.queries");
  CHECK(argument({}, {}, {0, 5, 5}, {0, 7, 6}) == "ragged.keys");
  CHECK(argument({}, {}, {0, 5, 5}, {kMinus1, 3, 6}) == "ragged.keys");
  CHECK(argument({3, 3}, {}, {0, 5, 5}, {0, 3, 6}) == "variant");
  CHECK(argument({3, 4}, {}, {0, 5, 5}, {0, 3, 6}) == "key_lengths");
}

TEST_CASE("attention: page numbers that do not exist read some other page") {
  const smem::Context context;
  constexpr std::size_t kPages = 3, kPage = 8, kSize = 8;
  const smem::Array<float> numbers(context, std::vector<float>(kPages * kPage * kSize, 0.5F));
  const smem::Array<std::uint32_t> table(context, {1, 0xffffffff, 3, 0x80000000}), lengths(context, {30});
  const smem::HeadsView<const float> q(numbers.buffer(), {1, 1, 2, kSize}),
      k(numbers.buffer(), {kPages, 1, kPage, kSize});
  for (const std::string_view variant : smem::attention_variants()) {
    if (!runs_here(context, variant)) continue;
    CAPTURE(variant);
    const smem::Array<float> out(context, std::vector<float>(2 * kSize, 7));
    smem::attention(context, q, k, k, smem::HeadsView<float>(out.buffer(), {1, 1, 2, kSize}),
                    {.key_lengths = lengths.vector(), .cache = {table.matrix(1, 4)}}, {.variant = variant});
    for (const float result : out.to_host())
      CHECK(std::abs(result - 0.5F) < 1e-6F);
  }
}

TEST_CASE("attention: nothing to do") {
  const smem::Context context;
  const smem::Array<float> in(context, std::vector<float>(64, 1)), out(context, std::vector<float>(64, 7)),
      lse(context, std::vector<float>(8, 7));
  const auto view = [](const smem::Array<float>& array, const HeadsShape& shape) {
    return smem::HeadsView<float>(array.buffer(), shape);
  };
  const auto call = [&](const HeadsShape& q, const HeadsShape& k, std::string_view variant) {
    smem::attention(context, view(in, q), view(in, k), view(in, k), view(out, q), lse.vector(), {},
                    {.variant = variant});
    return out.to_host();
  };
  for (const HeadsShape& q : {HeadsShape{0, 2, 3, 4}, {1, 2, 0, 4}}) {
    const std::vector<float> got = call(q, {q.batch, 2, 5, 4}, "");
    CHECK(std::count(got.begin(), got.end(), 7.0F) == 64);
  }
  // Without keys, results are 0.
  for (const std::string_view variant : smem::attention_variants()) {
    if (!runs_here(context, variant)) continue;
    const std::vector<float> got = call({1, 2, 3, 4}, {1, 2, 0, 4}, variant);
    CHECK(std::count(got.begin(), got.begin() + 24, 0.0F) == 24);
    CHECK(std::count(got.begin() + 24, got.end(), 7.0F) == 40);
    const std::vector<float> sums = lse.to_host();
    CHECK(std::count(sums.begin(), sums.begin() + 6, -INFINITY) == 6);
  }
}

TEST_CASE("attention: the same bits twice") {
  const smem::Context context;
  std::vector<float> host(3 * 200 * 33);
  test::Random random(7);
  for (float& x : host)
    x = static_cast<float>(random.between(0, 127)) / 32 - 2;
  const smem::Array<float> in(context, host), one(context, smem::Count{host.size()}),
      two(context, smem::Count{host.size()});
  const HeadsShape shape{1, 3, 200, 33};
  const smem::HeadsView<const float> view(in.buffer(), shape);
  for (const std::string_view variant : smem::attention_variants()) {
    if (!runs_here(context, variant)) continue;
    for (const auto* to : {&one, &two})
      smem::attention(context, view, view, view, smem::HeadsView<float>(to->buffer(), shape),
                      {.causal = true}, {.variant = variant});
    CHECK(one.to_host() == two.to_host());
  }
}

TEST_CASE("attention: the same bits twice by matrix units") {
  const test::Variable clamp("SMEM_CLAMP", "matrix_unit=wmma");  // emulated, unless it is the device's
  const smem::Context context;
  constexpr std::size_t kSize = 64;
  const HeadsShape queries{2, 4, 3, kSize}, keys{2, 2, 1000, kSize};
  const smem::AttentionProblem problem{.in = Scalar::half,
                                       .out = Scalar::half,
                                       .batch = 2,
                                       .heads = 4,
                                       .kv_heads = 2,
                                       .queries = 3,
                                       .keys = 1000,
                                       .head_size = kSize,
                                       .value_size = kSize,
                                       .right_limit = true};
  test::Random random(7);
  std::vector<smem::half> host(4 * 1000 * kSize);
  for (smem::half& x : host)
    x = smem::half(static_cast<float>(random.between(0, 127)) / 32 - 2);
  const smem::Array<smem::half> in(context, host);
  const std::vector<smem::half> poison(24 * kSize, smem::half(7.0F));
  const smem::Array<smem::half> one(context, poison), two(context, poison);
  const smem::HeadsView<const smem::half> k(in.buffer(), keys);
  for (const std::string_view variant : smem::attention_variants()) {
    try {
      smem::plan_attention(context.device(), problem, {.variant = std::string(variant)});
    } catch (const smem::Error&) {
      continue;
    }
    if (!test::is_of_units(variant)) continue;
    CAPTURE(variant);
    for (const auto* to : {&one, &two})
      smem::attention(context, smem::HeadsView<const smem::half>(in.buffer(), queries), k, k,
                      smem::HeadsView<smem::half>(to->buffer(), queries), {.causal = true},
                      {.variant = variant});
    const std::vector<smem::half> first = one.to_host(), second = two.to_host();
    CHECK(std::equal(first.begin(), first.end(), second.begin(), [](smem::half a, smem::half b) {
      return std::bit_cast<std::uint16_t>(a) == std::bit_cast<std::uint16_t>(b);
    }));
  }
}

TEST_CASE("attention: groups take turns at tiles, of which the last ones are of fewer rows") {
  const smem::Context context;
  for (const bool causal : {false, true}) {
    // Three tiles a head; sorted ones of causal sequences lie in more windows than one.
    const std::size_t heads = 4 * context.device().compute_units / 3 + 5, queries = 300, keys = 389;
    for (const std::size_t size : {64, 80, 128}) {
      const smem::AttentionProblem problem{.in = Scalar::half,
                                           .out = Scalar::half,
                                           .heads = heads,
                                           .kv_heads = heads,
                                           .queries = queries,
                                           .keys = keys,
                                           .head_size = size,
                                           .value_size = size,
                                           .right_limit = causal,
                                           .lse = true};
      const smem::Plan plan = smem::plan_attention(context.device(), problem);
      if (plan.variant != "wgmma") return;
      CAPTURE(causal);
      CAPTURE(size);
      CHECK(plan.groups() == context.device().compute_units);
      test::Random random(size);
      std::vector<smem::half> host(heads * keys * size);
      for (smem::half& x : host)
        x = smem::half(static_cast<float>(random.between(0, 255)) / 64 - 2);
      const smem::Array<smem::half> in(context, host);
      const HeadsShape of_queries{1, heads, queries, size}, of_keys{1, heads, keys, size};
      const std::size_t results = heads * queries * size;
      const smem::Array<smem::half> one(context, std::vector<smem::half>(results, smem::half(7.0F))),
          two(context, std::vector<smem::half>(results, smem::half(9.0F)));
      const smem::Array<float> lse_one(context, std::vector<float>(heads * queries, 7)),
          lse_two(context, std::vector<float>(heads * queries, 9));
      const auto call = [&](const smem::Array<smem::half>& out, const smem::Array<float>& lse,
                            std::string_view variant) {
        const smem::HeadsView<const smem::half> k(in.buffer(), of_keys);
        smem::attention(context, smem::HeadsView<const smem::half>(in.buffer(), of_queries), k, k,
                        smem::HeadsView<smem::half>(out.buffer(), of_queries), lse.vector(),
                        {.causal = causal}, {.variant = variant});
      };
      call(one, lse_one, "wgmma");
      call(two, lse_two, "mma");
      const std::vector<smem::half> a = one.to_host(), b = two.to_host();
      std::size_t apart = 0;
      for (std::size_t i = 0; i < results; ++i)
        apart += std::abs(static_cast<float>(a[i]) - static_cast<float>(b[i])) < 8e-3F ? 0 : 1;
      CHECK(apart == 0);
      const std::vector<float> x = lse_one.to_host(), y = lse_two.to_host();
      apart = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        apart += std::abs(x[i] - y[i]) < 1e-3F ? 0 : 1;
      CHECK(apart == 0);
    }
  }
}

TEST_CASE("attention: logits in slices") {
  const smem::Context context;
  constexpr std::size_t kTokens = 1501;
  const smem::AttentionProblem problem{
      .heads = 2, .kv_heads = 2, .queries = kTokens, .keys = kTokens, .right_limit = true, .lse = true};
  const smem::Plan plan = smem::plan_attention(context.device(), problem, {.variant = "naive"});
  CHECK((plan.rounds > 1 || context.device().type != smem::DeviceType::cpu));
  std::vector<float> zeros(2 * kTokens), numbers(2 * kTokens);
  for (std::size_t i = 0; i < 2 * kTokens; ++i)
    numbers[i] = static_cast<float>(i % kTokens);
  const smem::Array<float> q(context, zeros), v(context, numbers), lse(context, zeros),
      out(context, std::vector<float>(2 * kTokens, -1));
  const auto view = [](const smem::Array<float>& array) {
    return smem::HeadsView<float>(array.buffer(), {1, 2, kTokens, 1});
  };
  smem::attention(context, view(q), view(q), view(v), view(out), lse.vector(), {.causal = true},
                  {.variant = "naive"});
  const std::vector<float> got = out.to_host(), sums = lse.to_host();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < 2 * kTokens; ++i) {  // the mean of 0 to i
    const float wanted = static_cast<float>(i % kTokens) / 2;
    wrong += std::abs(got[i] - wanted) <= 1e-5F * wanted + 1e-6F ? 0 : 1;
    wrong += std::abs(sums[i] - std::log(static_cast<float>(i % kTokens + 1))) <= 1e-5F ? 0 : 1;
  }
  CHECK(wrong == 0);
}

// What is accepted as a view; an output of const elements is refused.
template <class In, class Out>
concept CanAttend = requires(const smem::Context& c, In in, Out out, const smem::Vector& lse) {
  smem::attention(c, in, in, in, out);
  smem::attention(c, in, in, in, out, {});
  smem::attention(c, in, in, in, out, {}, {});
  smem::attention(c, in, in, in, out, lse);
  smem::attention(c, in, in, in, out, lse, {});
  smem::attention(c, in, in, in, out, lse, {}, {});
};
static_assert(CanAttend<smem::HeadsView<const smem::half>, smem::HeadsView<smem::half>>);
static_assert(CanAttend<smem::HeadsView<float>, smem::HeadsView<float>>);
static_assert(CanAttend<ConstHeads, smem::Heads>);
static_assert(!CanAttend<smem::HeadsView<float>, smem::HeadsView<const float>>);
static_assert(!CanAttend<ConstHeads, ConstHeads>);
