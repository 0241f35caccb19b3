/// Attention by plain loops in double, for tests.
#pragma once

#include "operations/data.hpp"
#include "support/case_report.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace test {

/// What the products of queries and keys are.
enum class Logits {
  usual,
  equal,         ///< all 0
  one_hot,       ///< one is far above all others
  huge,          ///< +-60000 times +-60000
  growing,       ///< the largest one so far grows and grows
  falling,       ///< the first one is the largest
  alternating,   ///< by 100, from 32 keys to the next
  not_a_number,  ///< query 1 has a NaN, query 2 infinities
  subnormal,     ///< the first one is above all others by 10, whose weights are subnormal halves
  peaks,         ///< one of each 16 is above the others by 100
};

/// Which parts of the bias there are.
enum class BiasShape { none, full, of_heads, of_keys };

struct AttentionCase {
  smem::Scalar in = smem::Scalar::float32, out = smem::Scalar::float32;
  std::size_t batch = 1, heads = 2, kv_heads = 2, queries = 5, keys = 5, head_size = 8, value_size = 8;
  bool causal = false;
  smem::AttentionWindow window = {};
  double scale = 0, soft_cap = 0;
  BiasShape bias = BiasShape::none;
  bool float_bias = false, slopes = false, sink_logits = false, lse = false;
  std::vector<std::uint32_t> lengths = {}, query_offsets = {}, key_offsets = {};
  std::size_t page = 0;
  bool tokens_first = false, gaps = false;
  Logits logits = Logits::usual;
  std::string variant = {};
  std::size_t chunk = 0;  ///< keys, fixed, of variants that split them

  bool ragged() const { return !query_offsets.empty(); }
  std::size_t sequences() const { return ragged() ? query_offsets.size() - 1 : batch; }
  std::size_t pages_of_sequence() const { return (keys + page - 1) / page; }
  /// Keys that a page table has room for, or of a view.
  std::size_t room() const { return page == 0 ? keys : pages_of_sequence() * page; }

  Tested tested() const { return {"attention", variant, fmt::format("{} to {}", name_of(in), name_of(out))}; }
  std::string text() const {
    return fmt::format(
        "{} x {}/{} heads, {} x {} x {}/{}, {} to {}, logits {}{}{}{}{}{}{}{}{}, window {}/{}/{}, cap {}, "
        "page {}, {} lengths, {} offsets, variant \"{}\", chunks of {}",
        batch, heads, kv_heads, queries, keys, head_size, value_size, name_of(in), name_of(out),
        static_cast<int>(logits), causal ? ", causal" : "", fmt::format(", bias {}", static_cast<int>(bias)),
        slopes ? ", slopes" : "", sink_logits ? ", sinks" : "", lse ? ", lse" : "",
        tokens_first ? ", tokens first" : "", gaps ? ", gaps" : "", scale != 0 ? ", scale" : "",
        static_cast<std::ptrdiff_t>(window.left), static_cast<std::ptrdiff_t>(window.right), window.sinks,
        soft_cap, page, lengths.size(), query_offsets.size(), variant, chunk);
  }
};

/// A case of a variant, of one type, with the sizes alone.
inline AttentionCase case_of_variant(std::string_view variant, smem::Scalar type, std::size_t queries,
                                     std::size_t keys, std::size_t head_size, std::size_t value_size) {
  AttentionCase c;
  c.in = c.out = type;
  c.queries = queries;
  c.keys = keys;
  c.head_size = head_size;
  c.value_size = value_size;
  c.variant = variant;
  return c;
}

/// The arrays of a case, with their views.
struct AttentionArrays {
  smem::ConstHeads q, k, v, out, bias;  ///< views without buffers
  smem::operations::HostArray q_data, k_data, v_data, bias_data;
  std::vector<float> slopes, sink_logits;
  std::vector<std::uint32_t> table;
};

inline std::size_t place_of(const smem::ConstHeads& view, std::size_t b, std::size_t h, std::size_t t) {
  const auto along = [](std::size_t extent, std::size_t i) { return extent == 1 ? 0 : i; };
  return view.offset + along(view.shape.batch, b) * view.batch_stride +
         along(view.shape.heads, h) * view.head_stride + along(view.shape.tokens, t) * view.token_stride;
}

/// What a query gets.
struct AttentionResult {
  std::vector<double> value;
  double lse = 0, largest_value = 0;
  bool is_nan = false;
};

/// Where the tokens of a sequence are.
struct AttentionRange {
  std::size_t batch, first_query, queries, first_key, keys;
};

inline AttentionRange range_of(const AttentionCase& c, std::size_t s) {
  AttentionRange at{s, 0, c.queries, 0, c.page == 0 ? c.keys : c.room()};
  const auto cut = [](const std::vector<std::uint32_t>& offsets, std::size_t i, std::size_t most) {
    return std::min<std::size_t>(offsets[i], most);
  };
  const auto length = [&](const std::vector<std::uint32_t>& offsets, std::size_t most) {
    const std::size_t begin = cut(offsets, s, most), end = cut(offsets, s + 1, most);
    return end > begin ? end - begin : 0;
  };
  if (c.ragged()) {
    at.batch = 0;
    at.first_query = cut(c.query_offsets, s, c.queries);
    at.queries = length(c.query_offsets, c.queries);
  }
  if (!c.key_offsets.empty()) {
    at.first_key = cut(c.key_offsets, s, c.keys);
    at.keys = length(c.key_offsets, c.keys);
  }
  if (!c.lengths.empty()) at.keys = std::min<std::size_t>(at.keys, c.lengths[s]);
  return at;
}

/// Query i of head h of sequence s.
inline AttentionResult attention_of(const AttentionCase& c, const AttentionArrays& a, std::size_t s,
                                    std::size_t h, std::size_t i) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const AttentionRange at = range_of(c, s);
  const std::size_t kv_head = h / (c.heads / c.kv_heads);
  const auto key_place = [&](const smem::ConstHeads& view, std::size_t j) {
    if (c.page == 0) return place_of(view, at.batch, kv_head, at.first_key + j);
    return place_of(view, a.table[s * c.pages_of_sequence() + j / c.page], kv_head, j % c.page);
  };
  const std::size_t q_place = place_of(a.q, at.batch, h, at.first_query + i);
  const double scale = c.scale == 0 ? 1 / std::sqrt(static_cast<double>(c.head_size)) : c.scale;
  const auto own = static_cast<std::ptrdiff_t>(i + at.keys) - static_cast<std::ptrdiff_t>(at.queries);
  AttentionResult result;
  result.value.assign(c.value_size, 0);
  const double sink = c.sink_logits ? a.sink_logits[h] : -kInfinity;
  std::vector<double> logits(at.keys, -kInfinity);
  double largest = sink;
  for (std::size_t j = 0; j < at.keys; ++j) {
    const auto key = static_cast<std::ptrdiff_t>(j);
    if (c.causal && key > own) continue;
    if (c.window.right != smem::AttentionWindow::kAll &&
        key > own + static_cast<std::ptrdiff_t>(c.window.right))
      continue;
    if (c.window.left < c.keys && key < own - static_cast<std::ptrdiff_t>(c.window.left) &&
        j >= c.window.sinks)
      continue;
    double x = 0;
    for (std::size_t d = 0; d < c.head_size; ++d)
      x += a.q_data.number(q_place + d) * a.k_data.number(key_place(a.k, j) + d);
    x *= scale;
    if (c.soft_cap != 0) x = c.soft_cap * std::tanh(x / c.soft_cap);
    if (c.slopes) x -= a.slopes[h] * static_cast<double>(std::abs(key - own));
    if (c.bias != BiasShape::none) x += a.bias_data.number(place_of(a.bias, s, h, i) + j);
    result.is_nan = result.is_nan || std::isnan(x) || x == kInfinity;
    logits[j] = x;
    largest = std::max(largest, x);
  }
  const double shift = std::isinf(largest) ? 0 : largest;
  double sum = std::exp(sink - shift);
  for (std::size_t j = 0; j < at.keys; ++j) {
    const double weight = std::exp(logits[j] - shift);
    if (logits[j] == -kInfinity) continue;
    sum += weight;
    for (std::size_t d = 0; d < c.value_size; ++d) {
      const double value = a.v_data.number(key_place(a.v, j) + d);
      result.largest_value = std::max(result.largest_value, std::abs(value));
      result.value[d] += weight * value;
    }
  }
  for (double& value : result.value)
    value = sum == 0 ? 0 : value / sum;
  result.lse = sum == 0 ? -kInfinity : shift + std::log(sum);
  return result;
}

}  // namespace test
