/// Runs a case of attention on a device and compares every element with plain loops.
#pragma once

#include "support/attentions.hpp"
#include "support/failure.hpp"
#include "support/outcome.hpp"
#include "support/random.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace test {

inline std::size_t size_in_buffer(const smem::ConstHeads& view) {
  return place_of(view, view.shape.batch - 1, view.shape.heads - 1, view.shape.tokens - 1) + view.shape.size +
         3;
}

inline smem::ConstHeads view_of(const AttentionCase& c, smem::Scalar type, const smem::HeadsShape& shape) {
  if (!c.gaps && !c.tokens_first) return {nullptr, type, shape};
  const std::size_t gap = c.gaps ? 3 : 0;
  if (c.tokens_first) {
    smem::HeadsLayout layout = smem::tokens_before_heads(shape, gap);
    if (!c.gaps) return {nullptr, type, shape, layout};
    layout.head_stride = shape.size + gap;
    layout.token_stride = shape.heads * layout.head_stride + 1;
    layout.batch_stride = shape.tokens * layout.token_stride + 5;
    return {nullptr, type, shape, layout};
  }
  return {nullptr, type, shape, {.offset = 4, .token_stride = shape.size + gap}};
}

inline smem::operations::HostArray array_of(const smem::ConstHeads& view) {
  smem::operations::HostArray array{*view.type.scalar, {}};
  array.bytes.resize(size_in_buffer(view) * view.type.bytes);
  for (std::size_t i = 0; i < array.size(); ++i)
    array.set(i, std::nan(""));  // gaps do not reach results
  return array;
}

inline double usual_number(Random& random) { return static_cast<double>(random.between(0, 127)) / 32 - 2; }

/// The first element of a query or a key; the others are 0.
inline double first_of_query(Logits logits, std::size_t i) {
  if (logits == Logits::huge) return i % 2 == 0 ? 60000 : -60000;
  return logits == Logits::equal ? 0 : 1;
}
inline double first_of_key(Logits logits, std::size_t j, std::size_t keys) {
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
    case Logits::subnormal:
      return j == 0 ? 10 : 0;
    case Logits::peaks:
      return j % 16 == 13 ? 100 : 0;
    default:
      return 1;
  }
}

inline void set_vectors(const AttentionCase& c, AttentionArrays& a, Random& random) {
  const bool is_usual = c.logits == Logits::usual || c.logits == Logits::not_a_number;
  const auto fill = [&](smem::operations::HostArray& data, const smem::ConstHeads& view,
                        const auto& element) {
    for (std::size_t b = 0; b < view.shape.batch; ++b)
      for (std::size_t h = 0; h < view.shape.heads; ++h)
        for (std::size_t t = 0; t < view.shape.tokens; ++t)
          for (std::size_t d = 0; d < view.shape.size; ++d)
            data.set(place_of(view, b, h, t) + d, element(t, d));
  };
  fill(a.q_data, a.q, [&](std::size_t i, std::size_t d) {
    if (c.logits == Logits::not_a_number && d == 0 && (i == 1 || i == 2))
      return static_cast<double>(i == 1 ? std::bit_cast<float>(0x7fc00001u)
                                        : std::numeric_limits<float>::infinity());
    return is_usual ? usual_number(random) : d == 0 ? first_of_query(c.logits, i) : 0;
  });
  fill(a.k_data, a.k, [&](std::size_t j, std::size_t d) {
    return is_usual ? usual_number(random) : d == 0 ? first_of_key(c.logits, j, c.keys) : 0;
  });
  fill(a.v_data, a.v, [&](std::size_t t, std::size_t) {
    // So that the many small weights show in the results.
    return c.logits == Logits::subnormal ? t == 0 ? -2 : 2 : usual_number(random);
  });
}

/// Keys beyond the lengths of their sequences, and pages of no sequence, are NaN.
inline void poison_padding(const AttentionCase& c, AttentionArrays& a) {
  if (c.lengths.empty()) return;
  std::vector<bool> used(a.k.shape.batch * a.k.shape.tokens);
  const std::size_t tokens = a.k.shape.tokens;
  for (std::size_t s = 0; s < c.sequences(); ++s) {
    const AttentionRange at = range_of(c, s);
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
        a.v_data.set(place_of(a.v, n / tokens, h, n % tokens) + d,
                     d % 2 == 0 ? std::nan("") : std::numeric_limits<float>::infinity());
    }
  }
}

inline void set_bias(const AttentionCase& c, AttentionArrays& a, Random& random) {
  const std::size_t room = c.room();
  smem::HeadsShape shape{c.batch, c.heads, c.queries, room};
  if (c.bias == BiasShape::of_heads) shape.batch = shape.tokens = 1;
  if (c.bias == BiasShape::of_keys) shape = {1, 1, 1, room};
  a.bias = view_of(c, c.float_bias ? smem::Scalar::float32 : c.in, shape);
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
          a.bias_data.set(place_of(a.bias, b, h, i) + j,
                          hidden ? -std::numeric_limits<float>::infinity() : usual_number(random));
        }
      }
    }
  }
}

inline AttentionArrays arrays_of(const AttentionCase& c, Random& random) {
  AttentionArrays a;
  const std::size_t sequences = c.sequences();
  smem::HeadsShape keys{c.batch, c.kv_heads, c.keys, c.head_size};
  if (c.page != 0) {
    const std::size_t pages = sequences * c.pages_of_sequence();
    keys.batch = pages + 2;
    keys.tokens = c.page;
    for (std::size_t i = 0; i < pages; ++i)
      a.table.push_back(static_cast<std::uint32_t>(pages - i));  // neither the first page nor the last one
  }
  smem::HeadsShape values = keys;
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
    a.sink_logits.push_back(h == 1 ? -std::numeric_limits<float>::infinity()
                                   : static_cast<float>(usual_number(random)));
  }
  return a;
}

/// Whether the variant is one of matrix units, for half and bfloat16.
inline bool is_of_units(std::string_view variant) {
  return variant.ends_with("mma") || variant == "matrix_units";
}

/// What a result may differ by. On matrix units, which a plan of its own may choose, the weights are rounded.
inline double attention_tolerance(const AttentionCase& c, const AttentionResult& wanted, double value) {
  const bool may_round = is_of_units(c.variant) || c.variant.empty();
  const double weights = may_round && c.in == smem::Scalar::half       ? 2e-3
                         : may_round && c.in == smem::Scalar::bfloat16 ? 1.6e-2
                                                                       : 1e-5;
  const double rounding = c.out == smem::Scalar::half       ? 0x1p-11
                          : c.out == smem::Scalar::bfloat16 ? 0x1p-8
                                                            : 0;
  return weights * wanted.largest_value + rounding * std::abs(value) + 0x1p-24;
}

/// What is wrong with the results; empty: nothing.
inline std::string fault_of(const AttentionCase& c, const AttentionArrays& a,
                            const smem::operations::HostArray& got, const std::vector<float>& lse) {
  std::vector<bool> is_result(got.size()), is_lse(lse.size());
  for (std::size_t s = 0; s < c.sequences(); ++s) {
    const AttentionRange at = range_of(c, s);
    for (std::size_t h = 0; h < c.heads; ++h) {
      for (std::size_t i = 0; i < at.queries; ++i) {
        const AttentionResult wanted = attention_of(c, a, s, h, i);
        const std::size_t first = place_of(a.out, at.batch, h, at.first_query + i);
        for (std::size_t d = 0; d < c.value_size; ++d) {
          is_result[first + d] = true;
          const double value = got.number(first + d);
          const bool right = wanted.is_nan ? std::isnan(value)
                                           : std::abs(value - wanted.value[d]) <=
                                                 attention_tolerance(c, wanted, wanted.value[d]);
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
    const std::size_t bytes = smem::size_of(c.out);
    if (!is_result[i] && std::any_of(got.bytes.begin() + static_cast<std::ptrdiff_t>(i * bytes),
                                     got.bytes.begin() + static_cast<std::ptrdiff_t>((i + 1) * bytes),
                                     [](unsigned char byte) { return byte != 0x5a; }))
      return fmt::format("element {} of the buffer, outside of the results, has changed", i);
  }
  for (std::size_t i = 0; i < lse.size(); ++i)
    if (!is_lse[i] && lse[i] != 7) return fmt::format("log-sum-exp {} has changed", i);
  return {};
}

/// Where CaseSweep finds it.
inline Outcome run(const smem::Context& context, const AttentionCase& c, Random& random) {
  const AttentionArrays a = arrays_of(c, random);
  std::vector<smem::Array<unsigned char>> buffers;
  buffers.reserve(16);
  const auto place = [&](smem::ConstHeads view, const std::vector<unsigned char>& bytes) {
    buffers.emplace_back(context, bytes);
    view.buffer = buffers.back().buffer()();
    return view;
  };
  constexpr std::size_t kBefore = 3;  // elements before lists and log-sum-exps, which are not theirs
  const auto list = [&](const auto& numbers, smem::Scalar type) -> smem::ConstVector {
    if (numbers.empty()) return {};
    std::vector<unsigned char> all((kBefore + numbers.size()) * 4, 0xff);
    std::memcpy(all.data() + kBefore * 4, numbers.data(), numbers.size() * 4);
    buffers.emplace_back(context, all);
    return {buffers.back().buffer()(), type, numbers.size(), kBefore};
  };
  smem::operations::HostArray got{
      c.out, std::vector<unsigned char>(size_in_buffer(a.out) * smem::size_of(c.out), 0x5a)};
  smem::Array<unsigned char> results(context, got.bytes);
  const std::size_t sums = c.batch * c.heads * c.queries;
  smem::Array<float> lse(context, std::vector<float>(kBefore + sums + 3, 7));
  const smem::Heads out(results.buffer()(), c.out, a.out.shape,
                        {a.out.offset, a.out.token_stride, a.out.head_stride, a.out.batch_stride});
  smem::Attention how{.scale = c.scale, .causal = c.causal, .window = c.window, .soft_cap = c.soft_cap};
  if (c.bias != BiasShape::none) how.bias = place(a.bias, a.bias_data.bytes);
  how.key_lengths = list(c.lengths, smem::Scalar::uint32);
  how.ragged = {list(c.query_offsets, smem::Scalar::int32), list(c.key_offsets, smem::Scalar::uint32)};
  if (c.slopes) how.slopes = list(a.slopes, smem::Scalar::float32);
  if (c.sink_logits) how.sink_logits = list(a.sink_logits, smem::Scalar::float32);
  if (c.page != 0) {
    const std::size_t cols = c.pages_of_sequence();
    std::vector<std::uint32_t> rows;  // with a gap between them
    for (std::size_t i = 0; i < a.table.size(); ++i) {
      rows.push_back(a.table[i]);
      if ((i + 1) % cols == 0) rows.push_back(0xffffffff);
    }
    const smem::ConstVector all = list(rows, smem::Scalar::int32);
    how.cache.table = {
        all.buffer, smem::Scalar::int32, c.sequences(), cols, {.offset = all.offset, .pitch = cols + 1}};
  }
  try {
    const smem::ConstHeads q = place(a.q, a.q_data.bytes), k = place(a.k, a.k_data.bytes),
                           v = place(a.v, a.v_data.bytes);
    const smem::PlanOverrides fixed{.variant = c.variant, .tile_cols = c.chunk};
    const smem::CallOptions options{.overrides = &fixed};
    if (c.lse)
      smem::attention(context, q, k, v, out, lse.vector(kBefore, sums), how, options);
    else
      smem::attention(context, q, k, v, out, how, options);
  } catch (const smem::Error& error) {
    if (error.details().argument == "variant" && !c.variant.empty()) return refusal(error);
    return {false, fmt::format("the call failed: {}", error.what())};
  }
  got.bytes = results.to_host();
  std::vector<float> got_lse = lse.to_host();
  if (std::count(got_lse.begin(), got_lse.begin() + kBefore, 7.0F) != kBefore)
    return {false, "what is before the log-sum-exps has changed"};
  got_lse.erase(got_lse.begin(), got_lse.begin() + kBefore);
  return {false, fault_of(c, a, got, got_lse)};
}

}  // namespace test
