// Attention: every variant against plain loops.
#include <smem/smem.hpp>

#include "support/attentions.hpp"
#include "support/broken.hpp"
#include "support/case_sweep.hpp"
#include "support/failure.hpp"
#include "support/random_cases.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using smem::ConstHeads;
using smem::HeadsLayout;
using smem::HeadsShape;
using smem::Scalar;
using smem::operations::HostArray;
using test::AttentionArrays;
using test::AttentionCase;
using test::BiasShape;
using test::Logits;
using test::place_of;
using test::range_of;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::size_t size_in_buffer(const ConstHeads& view) {
  return place_of(view, view.shape.batch - 1, view.shape.heads - 1, view.shape.tokens - 1) + view.shape.size +
         3;
}

ConstHeads view_of(const AttentionCase& c, Scalar type, const HeadsShape& shape) {
  if (!c.gaps && !c.tokens_first) return {nullptr, type, shape};
  const std::size_t gap = c.gaps ? 3 : 0;
  if (c.tokens_first) {
    HeadsLayout layout = tokens_before_heads(shape, gap);
    if (!c.gaps) return {nullptr, type, shape, layout};
    layout.head_stride = shape.size + gap;
    layout.token_stride = shape.heads * layout.head_stride + 1;
    layout.batch_stride = shape.tokens * layout.token_stride + 5;
    return {nullptr, type, shape, layout};
  }
  return {nullptr, type, shape, {.offset = 4, .token_stride = shape.size + gap}};
}

HostArray array_of(const ConstHeads& view) {
  HostArray array{*view.type.scalar, {}};
  array.bytes.resize(size_in_buffer(view) * view.type.bytes);
  for (std::size_t i = 0; i < array.size(); ++i)
    array.set(i, std::nan(""));  // gaps do not reach results
  return array;
}

double usual(test::Random& random) { return static_cast<double>(random.between(0, 127)) / 32 - 2; }

/// The first element of a query or a key; the others are 0.
double first_of_query(Logits logits, std::size_t i) {
  if (logits == Logits::huge) return i % 2 == 0 ? 60000 : -60000;
  return logits == Logits::equal ? 0 : 1;
}
double first_of_key(Logits logits, std::size_t j, std::size_t keys) {
  switch (logits) {
    case Logits::one_hot:
      return j == keys / 2 ? 10000 : 0;
    case Logits::huge:
      return j % 3 == 0 ? 60000 : j % 3 == 1 ? -60000 : 0;
    case Logits::growing:
      return std::floor(64.0 * static_cast<double>(j) / static_cast<double>(keys)) - 30;
    case Logits::falling:
      return -std::floor(64.0 * static_cast<double>(j) / static_cast<double>(keys));
    case Logits::alternating:
      return j / 32 % 2 == 0 ? 100 : 0;
    default:
      return 1;
  }
}

void set_vectors(const AttentionCase& c, AttentionArrays& a, test::Random& random) {
  const bool is_usual = c.logits == Logits::usual || c.logits == Logits::not_a_number;
  const auto fill = [&](HostArray& data, const ConstHeads& view, const auto& element) {
    for (std::size_t b = 0; b < view.shape.batch; ++b)
      for (std::size_t h = 0; h < view.shape.heads; ++h)
        for (std::size_t t = 0; t < view.shape.tokens; ++t)
          for (std::size_t d = 0; d < view.shape.size; ++d)
            data.set(place_of(view, b, h, t) + d, element(t, d));
  };
  fill(a.q_data, a.q, [&](std::size_t i, std::size_t d) {
    if (c.logits == Logits::not_a_number && d == 0 && (i == 1 || i == 2))
      return static_cast<double>(i == 1 ? std::bit_cast<float>(0x7fc00001u) : kInfinity);
    return is_usual ? usual(random) : d == 0 ? first_of_query(c.logits, i) : 0;
  });
  fill(a.k_data, a.k, [&](std::size_t j, std::size_t d) {
    return is_usual ? usual(random) : d == 0 ? first_of_key(c.logits, j, c.keys) : 0;
  });
  fill(a.v_data, a.v, [&](std::size_t, std::size_t) { return usual(random); });
}

/// Keys behind the lengths of their sequences, and pages that no sequence has, are NaN.
void poison_padding(const AttentionCase& c, AttentionArrays& a) {
  if (c.lengths.empty()) return;
  std::vector<bool> used(a.k.shape.batch * a.k.shape.tokens);
  const std::size_t tokens = a.k.shape.tokens;
  for (std::size_t s = 0; s < c.sequences(); ++s) {
    const test::AttentionRange at = range_of(c, s);
    for (std::size_t j = 0; j < at.keys; ++j) {
      const std::size_t page = c.page == 0 ? at.batch : a.table[s * c.pages_of_sequence() + j / c.page];
      used[page * tokens + (c.page == 0 ? at.first_key + j : j % c.page)] = true;
    }
  }
  for (std::size_t n = 0; n < used.size(); ++n) {
    if (used[n]) continue;
    for (std::size_t h = 0; h < c.kv_heads; ++h) {
      for (std::size_t d = 0; d < c.head_size; ++d)
        a.k_data.set(place_of(a.k, n / tokens, h, n % tokens) + d, std::nan(""));
      for (std::size_t d = 0; d < c.value_size; ++d)
        a.v_data.set(place_of(a.v, n / tokens, h, n % tokens) + d, d % 2 == 0 ? std::nan("") : kInfinity);
    }
  }
}

void set_bias(const AttentionCase& c, AttentionArrays& a, test::Random& random) {
  const std::size_t room = c.room();
  HeadsShape shape{c.batch, c.heads, c.queries, room};
  if (c.bias == BiasShape::of_heads) shape.batch = shape.tokens = 1;
  if (c.bias == BiasShape::of_keys) shape = {1, 1, 1, room};
  a.bias = view_of(c, c.float_bias ? Scalar::float32 : c.in, shape);
  a.bias_data = array_of(a.bias);
  for (std::size_t b = 0; b < shape.batch; ++b) {
    for (std::size_t h = 0; h < shape.heads; ++h) {
      for (std::size_t i = 0; i < shape.tokens; ++i) {
        for (std::size_t j = 0; j < room; ++j) {
          // Rows take turns: some keys are hidden, all of the first tiles, all.
          const std::size_t turn = (b + h + i) % 4;
          const bool hidden = turn == 1   ? j % 3 == 0
                              : turn == 2 ? j < room * 3 / 4
                                          : turn == 3 && c.bias == BiasShape::full;
          a.bias_data.set(place_of(a.bias, b, h, i) + j, hidden ? -kInfinity : usual(random));
        }
      }
    }
  }
}

AttentionArrays arrays_of(const AttentionCase& c, test::Random& random) {
  AttentionArrays a;
  const std::size_t sequences = c.sequences();
  HeadsShape keys{c.batch, c.kv_heads, c.keys, c.head_size};
  if (c.page != 0) {
    const std::size_t pages = sequences * c.pages_of_sequence();
    keys.batch = pages + 2;
    keys.tokens = c.page;
    for (std::size_t i = 0; i < pages; ++i)
      a.table.push_back(static_cast<std::uint32_t>(pages - i));  // neither the first page nor the last one
  }
  HeadsShape values = keys;
  values.size = c.value_size;
  a.q = view_of(c, c.in, {c.batch, c.heads, c.queries, c.head_size});
  a.k = view_of(c, c.in, keys);
  a.v = view_of(c, c.in, values);
  a.out = view_of(c, c.out, {c.batch, c.heads, c.queries, c.value_size});
  a.q_data = array_of(a.q);
  a.k_data = array_of(a.k);
  a.v_data = array_of(a.v);
  set_vectors(c, a, random);
  poison_padding(c, a);
  if (c.bias != BiasShape::none) set_bias(c, a, random);
  for (std::size_t h = 0; h < c.heads; ++h) {
    a.slopes.push_back(std::exp2(-static_cast<float>(h % 8)) / 2);
    a.sink_logits.push_back(h == 1 ? -kInfinity : static_cast<float>(usual(random)));
  }
  return a;
}

/// Whether the variant is one of NVIDIA's matrix units, for half and bfloat16.
bool is_of_units(std::string_view variant) { return variant.ends_with("mma"); }

/// What a result may differ by. On matrix units, which a plan of its own may choose, the weights are rounded.
double tolerance(const AttentionCase& c, const test::AttentionResult& wanted, double value) {
  const bool may_round = is_of_units(c.variant) || c.variant.empty();
  const double weights = may_round && c.in == Scalar::half       ? 2e-3
                         : may_round && c.in == Scalar::bfloat16 ? 1.6e-2
                                                                 : 1e-5;
  const double rounding = c.out == Scalar::half ? 0x1p-11 : c.out == Scalar::bfloat16 ? 0x1p-8 : 0;
  return weights * wanted.largest_value + rounding * std::abs(value) + 0x1p-24;
}

/// What is wrong with the results; empty: nothing.
std::string fault_of(const AttentionCase& c, const AttentionArrays& a, const HostArray& got,
                     const std::vector<float>& lse) {
  std::vector<bool> is_result(got.size()), is_lse(lse.size());
  for (std::size_t s = 0; s < c.sequences(); ++s) {
    const test::AttentionRange at = range_of(c, s);
    for (std::size_t h = 0; h < c.heads; ++h) {
      for (std::size_t i = 0; i < at.queries; ++i) {
        const test::AttentionResult wanted = attention_of(c, a, s, h, i);
        const std::size_t first = place_of(a.out, at.batch, h, at.first_query + i);
        for (std::size_t d = 0; d < c.value_size; ++d) {
          is_result[first + d] = true;
          const double value = got.number(first + d);
          const bool right = wanted.is_nan
                                 ? std::isnan(value)
                                 : std::abs(value - wanted.value[d]) <= tolerance(c, wanted, wanted.value[d]);
          if (!right) {
            return fmt::format("sequence {}, head {}, query {}, element {}: expected {}, got {}", s, h, i, d,
                               wanted.is_nan ? std::nan("") : wanted.value[d], value);
          }
        }
        if (!c.lse) continue;
        const std::size_t n = (at.batch * c.heads + h) * c.queries + at.first_query + i;
        is_lse[n] = true;
        const double value = lse[n];
        const bool right = wanted.is_nan ? !std::isfinite(value)
                           : std::isinf(wanted.lse)
                               ? value == wanted.lse
                               : std::abs(value - wanted.lse) <= 4e-6 * (4 + std::abs(wanted.lse));
        if (!right)
          return fmt::format("log-sum-exp of head {}, query {}: expected {}, got {}", h, i, wanted.lse,
                             value);
      }
    }
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t bytes = size_of(c.out);
    if (!is_result[i] && std::any_of(got.bytes.begin() + static_cast<std::ptrdiff_t>(i * bytes),
                                     got.bytes.begin() + static_cast<std::ptrdiff_t>((i + 1) * bytes),
                                     [](unsigned char byte) { return byte != 0x5a; }))
      return fmt::format("element {} of the buffer, outside of the results, has changed", i);
  }
  for (std::size_t i = 0; i < lse.size(); ++i)
    if (!is_lse[i] && lse[i] != 7) return fmt::format("log-sum-exp {} has changed", i);
  return {};
}

}  // namespace

namespace test {

/// Where CaseSweep finds it.
static Outcome run(const smem::Context& context, const AttentionCase& c, Random& random) {
  const AttentionArrays a = arrays_of(c, random);
  std::vector<smem::Array<unsigned char>> buffers;
  buffers.reserve(16);
  const auto place = [&](ConstHeads view, const std::vector<unsigned char>& bytes) {
    buffers.emplace_back(context, bytes);
    view.buffer = buffers.back().buffer()();
    return view;
  };
  const auto list = [&](const auto& numbers, Scalar type) -> smem::ConstVector {
    if (numbers.empty()) return {};
    const auto* bytes = reinterpret_cast<const unsigned char*>(numbers.data());
    buffers.emplace_back(context, std::vector<unsigned char>(bytes, bytes + numbers.size() * 4));
    return {buffers.back().buffer()(), type, numbers.size()};
  };
  HostArray got{c.out, std::vector<unsigned char>(size_in_buffer(a.out) * size_of(c.out), 0x5a)};
  smem::Array<unsigned char> results(context, got.bytes);
  smem::Array<float> lse(context, std::vector<float>(c.batch * c.heads * c.queries + 3, 7));
  const smem::Heads out(results.buffer()(), c.out, a.out.shape,
                        {a.out.offset, a.out.token_stride, a.out.head_stride, a.out.batch_stride});
  smem::Attention how{.scale = c.scale, .causal = c.causal, .window = c.window, .soft_cap = c.soft_cap};
  if (c.bias != BiasShape::none) how.bias = place(a.bias, a.bias_data.bytes);
  how.key_lengths = list(c.lengths, Scalar::uint32);
  how.ragged = {list(c.query_offsets, Scalar::int32), list(c.key_offsets, Scalar::uint32)};
  if (c.slopes) how.slopes = list(a.slopes, Scalar::float32);
  if (c.sink_logits) how.sink_logits = list(a.sink_logits, Scalar::float32);
  if (c.page != 0) {
    how.cache.table = {list(a.table, Scalar::int32).buffer, Scalar::int32, c.sequences(),
                       c.pages_of_sequence()};
  }
  try {
    const ConstHeads q = place(a.q, a.q_data.bytes), k = place(a.k, a.k_data.bytes),
                     v = place(a.v, a.v_data.bytes);
    const smem::PlanOverrides fixed{.variant = c.variant, .tile_cols = c.chunk};
    const smem::CallOptions options{.overrides = &fixed};
    if (c.lse)
      smem::attention(context, q, k, v, out, lse.vector(), how, options);
    else
      smem::attention(context, q, k, v, out, how, options);
  } catch (const smem::Error& error) {
    if (error.details().argument == "variant" && !c.variant.empty()) return refusal(error);
    return {false, fmt::format("the call failed: {}", error.what())};
  }
  got.bytes = results.to_host();
  const std::string fault = fault_of(c, a, got, lse.to_host());
  return {false, fault};
}

}  // namespace test

namespace {

using AttentionSweep = test::CaseSweep<AttentionCase>;

bool runs_here(const smem::Context& context, const AttentionCase& c) {
  const smem::Device& device = context.device();
  if (test::is_broken(device, "attention", c.variant)) return false;
  if (is_of_units(c.variant)) {
    if (c.gaps || c.head_size % 8 != 0 || c.value_size % 8 != 0) return false;  // pieces of 16 bytes
    smem::AttentionProblem one{
        .in = c.in, .out = c.out, .head_size = c.head_size, .value_size = c.value_size};
    one.heads = one.kv_heads = one.queries = one.keys = 1;
    try {
      smem::plan_attention(device, one, {.variant = c.variant});
    } catch (const smem::Error&) {
      return false;
    }
    return true;
  }
  return c.variant != "cpu" || (device.type == smem::DeviceType::cpu && device.long_loops);
}

/// Runs the case in every variant, and counts.
void run_all(AttentionSweep& sweep, AttentionCase c) {
  for (const std::string_view variant : smem::attention_variants()) {
    c.variant = variant;
    CAPTURE(variant);
    sweep.run(c);
    CHECK(sweep.ran() == (runs_here(sweep.context(), c) ? 1 : 0));
    if (!variant.starts_with("split") || !runs_here(sweep.context(), c)) continue;
    for (const std::size_t splits : {2, 7}) {
      c.chunk = std::max<std::size_t>((c.keys + splits - 1) / splits, 1);
      sweep.run(c);
    }
    CHECK(sweep.ran() == 2);
    c.chunk = 0;
  }
}

}  // namespace

TEST_CASE("small: attention" * doctest::test_suite("small")) {
  const smem::Context context;
  AttentionSweep sweep(context);
  for (const std::string_view variant : smem::attention_variants()) {
    CAPTURE(variant);
    AttentionCase c;
    c.variant = variant;
    c.heads = 4;
    c.queries = 17;
    c.keys = 70;
    c.head_size = c.value_size = 16;
    c.causal = c.lse = true;
    if (is_of_units(variant)) c.in = c.out = Scalar::half;
    if (variant.starts_with("split")) c.chunk = 30;
    sweep.run(c);
    CHECK(sweep.ran() == (runs_here(context, c) ? 1 : 0));
  }
}

TEST_CASE("attention: sizes around those of tiles, shared heads") {
  const smem::Context context;
  AttentionSweep sweep(context);
  const std::pair<std::size_t, std::size_t> kSizes[] = {{1, 1},    {2, 1},   {15, 17}, {33, 31},  {64, 65},
                                                        {63, 129}, {1, 193}, {7, 200}, {131, 96}, {200, 1}};
  for (const auto& [queries, keys] : kSizes) {
    AttentionCase c;
    c.batch = 2;
    c.heads = 6;
    c.kv_heads = queries % 2 == 0 ? 3 : 6;
    c.queries = queries;
    c.keys = keys;
    c.head_size = c.value_size = 40;
    c.lse = true;
    run_all(sweep, c);
    c.in = c.out = Scalar::half;
    if (context.device().type == smem::DeviceType::gpu) run_all(sweep, c);  // matrix units
  }
}

TEST_CASE("attention: sizes of heads") {
  const smem::Context context;
  AttentionSweep sweep(context);
  const std::pair<std::size_t, std::size_t> kSizes[] = {{1, 1}, {3, 130}, {96, 31}, {256, 256}};
  for (const auto& [head, value] : kSizes) {
    AttentionCase c;
    c.heads = 7;
    c.kv_heads = 1;
    c.queries = 12;
    c.keys = 70;
    c.head_size = head;
    c.value_size = value;
    c.scale = 0.25;
    c.tokens_first = head % 2 == 0;
    run_all(sweep, c);
  }
}

TEST_CASE("attention: types, strides and gaps") {
  const smem::Context context;
  AttentionSweep sweep(context);
  std::size_t turn = 0;
  for (const auto& [in, out] : {std::pair{Scalar::half, Scalar::half},
                                {Scalar::half, Scalar::float32},
                                {Scalar::bfloat16, Scalar::bfloat16},
                                {Scalar::bfloat16, Scalar::float32}}) {
    AttentionCase c;
    c.in = in;
    c.out = out;
    c.batch = 2;
    c.heads = 4;
    c.queries = 37;
    c.keys = 75;
    c.head_size = 24;
    c.value_size = 20;
    c.gaps = turn % 2 == 0;
    c.tokens_first = turn / 2 % 2 == 0;
    c.causal = turn % 2 == 1;
    run_all(sweep, c);
    ++turn;
  }
}

TEST_CASE("attention: causal and windows, with fewer, as many and more keys than queries") {
  const smem::Context context;
  AttentionSweep sweep(context);
  for (const std::size_t keys : {40, 90, 161}) {
    AttentionCase c;
    c.heads = 4;
    c.queries = 90;
    c.keys = keys;
    c.head_size = c.value_size = 16;
    c.lse = c.causal = true;
    run_all(sweep, c);  // with 40 keys, 50 queries see none
    c.window = {.left = 0};
    run_all(sweep, c);
    c.window = {.left = 17, .sinks = 5};
    run_all(sweep, c);
    c.causal = false;
    c.window = {.left = 9, .right = 20};
    run_all(sweep, c);
    c.window = {.left = 1000, .right = 1000, .sinks = 3};
    run_all(sweep, c);
  }
}

TEST_CASE("attention: logits that are equal, huge, growing, falling, infinite or no numbers") {
  const smem::Context context;
  AttentionSweep sweep(context);
  for (const Logits logits : {Logits::equal, Logits::one_hot, Logits::huge, Logits::growing, Logits::falling,
                              Logits::alternating, Logits::not_a_number}) {
    AttentionCase c;
    c.in = c.out = logits == Logits::huge || logits == Logits::one_hot ? Scalar::half : Scalar::float32;
    c.queries = 9;
    c.keys = 300;
    c.head_size = c.value_size = 16;
    c.scale = 1;
    c.lse = true;
    c.logits = logits;
    run_all(sweep, c);
  }
  // With a negative scale, the least product is the largest logit; hidden keys stay hidden.
  AttentionCase c;
  c.in = c.out = Scalar::half;
  c.queries = c.keys = 70;
  c.head_size = c.value_size = 16;
  c.scale = -0.5;
  c.causal = c.lse = true;
  run_all(sweep, c);
}

TEST_CASE("attention: soft caps, biases, slopes and sink logits") {
  const smem::Context context;
  AttentionSweep sweep(context);
  AttentionCase c;
  c.batch = 2;
  c.heads = 6;
  c.queries = 21;
  c.keys = 140;
  c.head_size = c.value_size = 32;
  c.lse = true;
  AttentionCase capped = c;
  for (const double cap : {1e-3, 2.0, 1e4}) {
    capped.soft_cap = cap;
    run_all(sweep, capped);
  }
  AttentionCase biased = c;
  for (const BiasShape shape : {BiasShape::full, BiasShape::of_heads}) {
    biased.bias = shape;
    run_all(sweep, biased);
  }
  biased.in = biased.out = Scalar::half;
  biased.gaps = biased.float_bias = true;
  biased.bias = BiasShape::of_keys;
  run_all(sweep, biased);
  c.slopes = c.sink_logits = c.causal = true;
  c.kv_heads = 3;
  c.queries = 150;
  run_all(sweep, c);
  c.causal = false;
  c.soft_cap = 3;
  c.bias = BiasShape::full;
  c.window.left = 50;
  run_all(sweep, c);
}

TEST_CASE("attention: lengths of keys, behind which everything is NaN") {
  const smem::Context context;
  AttentionSweep sweep(context);
  AttentionCase c;
  c.heads = 4;
  c.queries = 3;
  c.keys = 170;
  c.batch = 4;
  c.head_size = c.value_size = 32;
  c.lse = true;
  c.lengths = {1, 170, 17, 0};
  run_all(sweep, c);
  c.lengths = {2, 1u << 31, 65, 128};
  run_all(sweep, c);
  // Pages, the last of which is not full; also of shared heads and half.
  c.causal = true;
  c.page = 16;
  c.lengths = {40, 170, 33, 0};
  c.kv_heads = 2;
  run_all(sweep, c);
  c.in = Scalar::half;
  c.tokens_first = c.gaps = true;
  c.page = 7;
  run_all(sweep, c);
}

TEST_CASE("attention: ragged batches") {
  const smem::Context context;
  AttentionSweep sweep(context);
  AttentionCase c;
  c.heads = 4;
  c.queries = 150;
  c.keys = 220;
  c.head_size = c.value_size = 24;
  c.lse = true;
  c.query_offsets = {0, 1, 1, 90, 107, 150};
  c.key_offsets = {0, 130, 140, 140, 181, 220};
  c.causal = true;
  c.kv_heads = 2;
  c.tokens_first = true;
  run_all(sweep, c);
  // Tokens that are of no sequence, and offsets behind the views.
  c.query_offsets = {3, 20, 60, 60, 1000, 4000000000u};
  c.key_offsets = {10, 20, 100, 215, 300, 4000000000u};
  run_all(sweep, c);
  // Queries of various numbers, and pages.
  c.query_offsets = {0, 5, 5, 60, 150};
  c.key_offsets = {};
  c.page = 32;
  c.lengths = {100, 7, 220, 3};
  run_all(sweep, c);
}

TEST_CASE("random: attention") {
  const smem::Context context;
  test::run_random("attention", 313, [&](test::Random& random) -> test::RandomCase {
    AttentionCase drawn;
    drawn.variant = test::some_variant(random, smem::attention_variants());
    drawn.in = test::one_of(random, {Scalar::float32, Scalar::half, Scalar::bfloat16});
    drawn.out = drawn.in != Scalar::float32 && random.chance(2) ? Scalar::float32 : drawn.in;
    drawn.head_size = random.chance(2) ? 8 * random.between(1, 16) : random.between(1, 256);
    drawn.value_size = random.chance(2) ? drawn.head_size : random.between(1, 128);
    drawn.causal = random.chance(2);
    if (random.chance(3)) {
      drawn.window.left = random.between(0, 60);
      drawn.window.sinks = random.chance(2) ? random.between(1, 9) : 0;
    }
    if (!drawn.causal && random.chance(4)) drawn.window.right = random.between(0, 60);
    drawn.soft_cap = random.chance(4) ? 3 : 0;
    drawn.slopes = random.chance(4);
    drawn.sink_logits = random.chance(4);
    drawn.lse = random.chance(2);
    drawn.gaps = random.chance(3);
    drawn.tokens_first = random.chance(2);
    const std::size_t sequences =
        random.between(0, 3);  // 0, 1: as many tokens; 2: of other lengths; 3: ragged
    const bool pages = sequences >= 2 && random.chance(2);
    if (sequences != 3) drawn.bias = static_cast<BiasShape>(random.chance(2) ? 0 : random.between(0, 3));
    drawn.float_bias = drawn.in == Scalar::float32 || random.chance(2);
    return [=, &context](test::Random& more, std::string& text) {
      AttentionCase c = drawn;
      c.kv_heads = more.between(1, 3);
      c.heads = c.kv_heads * more.between(1, 3);
      c.queries = more.between(1, more.chance(2) ? 6 : 90);
      c.keys = more.between(1, more.chance(2) ? 40 : 250);
      c.batch = sequences == 3 ? 1 : more.between(1, 3);
      c.logits = more.chance(2) ? Logits::usual : static_cast<Logits>(more.between(0, 7));
      // What is added to logits of 10^10 vanishes in float.
      if (c.logits == Logits::huge) c.bias = BiasShape::none, c.slopes = false;
      if (pages) c.page = more.between(1, 40);
      const std::size_t count = sequences == 3 ? more.between(1, 4) : c.batch;
      const auto offsets = [&](std::size_t tokens) {
        std::vector<std::uint32_t> all{0};
        for (std::size_t s = 0; s < count; ++s)
          all.push_back(all.back() + static_cast<std::uint32_t>(more.between(0, 2 * tokens / count)));
        return all;
      };
      if (sequences == 3) c.query_offsets = offsets(c.queries);
      if (sequences == 3 && !pages) c.key_offsets = offsets(c.keys);
      if (sequences == 2 || pages)
        for (std::size_t s = 0; s < count; ++s)
          c.lengths.push_back(static_cast<std::uint32_t>(more.between(0, c.keys + 2)));
      text = c.text();
      return test::run(context, c, more);
    };
  });
}
