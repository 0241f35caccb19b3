#include "transformer/network.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace {

/// Element `i` of a character's code.
float code(std::size_t character, std::size_t i) {
  return std::popcount(character & i) % 2 == 0 ? 1.0F : -1.0F;
}

/// The place of element `i` of a slot.
std::size_t in_slot(std::size_t slot, std::size_t i) { return slot * kCode + i; }

/// What makes elements of -1 and 1 again of tokens that have `slots` codes.
void make_norm(Weights& norm, std::size_t slots) {
  std::fill(norm.values.begin(), norm.values.end(),
            std::sqrt(static_cast<float>(slots) / static_cast<float>(kSlots)));
}

/// Head h attends to the token h places before. A query and a key whose pairs are unit vectors have the
/// product sum over f of cos(angle_f * distance), which is largest where the distance is 0. The query is
/// turned back by h places first.
void make_layer1(Network& network) {
  double beside = 0;  // how much smaller the product is at a distance of 1
  for (std::size_t f = 0; f < kHead / 2; ++f)
    beside += 1 - std::cos(std::pow(kRotaryBase, -2.0 * static_cast<double>(f) / kHead));
  for (std::size_t h = 0; h < kHeads; ++h) {
    for (std::size_t f = 0; f < kHead / 2; ++f) {
      const double angle =
          static_cast<double>(h) * std::pow(kRotaryBase, -2.0 * static_cast<double>(f) / kHead);
      float* query = &network.bias1.at(0, in_slot(h, f));
      query[0] = static_cast<float>(kSharpness / beside * std::cos(angle));
      query[kHead / 2] = static_cast<float>(-kSharpness / beside * std::sin(angle));
      network.bias1.at(0, kWidth + in_slot(h, f)) = 1;
    }
    for (std::size_t i = 0; i < kCode; ++i) {
      network.project1.at(in_slot(0, i), 2 * kWidth + in_slot(h, i)) = 1;
      if (h >= 1 && h <= kContext) network.out1.at(in_slot(h, i), in_slot(h, i)) = 1;
    }
  }
}

/// Adds clamp(4 x, -1, 1) - x to each element x of slots 1 to 6:
/// relu(4 x + 1) - relu(4 x - 1) - 1 - relu(x) + relu(-x).
void make_cleaning(Network& network) {
  constexpr float kIn[] = {4, 4, 1, -1}, kBias[] = {1, -1, 0, 0}, kOut[] = {1, -1, -1, 1};
  for (std::size_t i = 0; i < kContext * kCode; ++i) {
    const std::size_t place = in_slot(1, i);
    for (std::size_t part = 0; part < 4; ++part) {
      network.up.at(place, 4 * i + part) = kIn[part];
      network.up_bias.at(0, 4 * i + part) = kBias[part];
      network.down.at(4 * i + part, place) = kOut[part];
    }
    network.down_bias.at(0, place) = -1;
  }
}

void make_layer2(Network& network) {
  for (std::size_t i = 0; i < kMatch; ++i) {
    network.project2.at(in_slot(0, i), i) = 1;
    network.project2.at(in_slot(1, i), kMatch + i) = 1;
  }
  for (std::size_t i = 0; i < kCode; ++i) {
    network.project2.at(in_slot(0, i), 2 * kMatch + i) = 1;
    network.out2.at(i, in_slot(kSlots - 1, i)) = 1;
    for (std::size_t c = 0; c < kCharacters; ++c)
      network.shares.at(in_slot(kSlots - 1, i), c) = code(c, i) / static_cast<float>(kCode);
  }
}

using Row = std::vector<double>;

/// x * weights + bias.
Row product(const Row& x, const Weights& weights, const Weights* bias = nullptr) {
  Row out(weights.cols);
  if (bias != nullptr) out.assign(bias->values.begin(), bias->values.end());
  for (std::size_t i = 0; i < weights.rows; ++i)
    for (std::size_t j = 0; j < weights.cols; ++j)
      out[j] += x[i] * weights.values[i * weights.cols + j];
  return out;
}

Row rms_norm(const Row& x, const Weights& weight) {
  double squares = 0;
  for (const double v : x)
    squares += v * v;
  const double factor = 1 / std::sqrt(squares / static_cast<double>(x.size()) + kEpsilon);
  Row out(x);
  for (std::size_t i = 0; i < x.size(); ++i)
    out[i] *= factor * weight.values[i];
  return out;
}

/// Rotates each head of a query or a key of layer 1.
void rotate(double* heads, std::size_t position) {
  for (std::size_t h = 0; h < kHeads; ++h) {
    for (std::size_t f = 0; f < kHead / 2; ++f) {
      const double angle =
          static_cast<double>(position) * std::pow(kRotaryBase, -2.0 * static_cast<double>(f) / kHead);
      double &x = heads[h * kHead + f], &y = heads[h * kHead + f + kHead / 2];
      const double rotated = x * std::cos(angle) - y * std::sin(angle);
      y = y * std::cos(angle) + x * std::sin(angle);
      x = rotated;
    }
  }
}

/// Where a head's vectors lie in the rows of queries, keys and values of all tokens so far.
struct HeadPlaces {
  std::size_t q, k, v, size, value_size;
};

/// The result of the last row's query, added to `out`.
void attend(const std::vector<Row>& rows, const HeadPlaces& at, double scale, double* out) {
  const Row& last = rows.back();
  std::vector<double> weights(rows.size());
  double largest = -1e300, sum = 0;
  for (std::size_t j = 0; j < rows.size(); ++j) {
    for (std::size_t d = 0; d < at.size; ++d)
      weights[j] += last[at.q + d] * rows[j][at.k + d];
    weights[j] *= scale;
    largest = std::max(largest, weights[j]);
  }
  for (double& w : weights)
    sum += w = std::exp(w - largest);
  for (std::size_t j = 0; j < rows.size(); ++j)
    for (std::size_t d = 0; d < at.value_size; ++d)
      out[d] += weights[j] / sum * rows[j][at.v + d];
}

void add(Row& x, const Row& more) {
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += more[i];
}

}  // namespace

Network make_network() {
  Network network;
  for (std::size_t c = 0; c < kCharacters; ++c)
    for (std::size_t i = 0; i < kCode; ++i)
      network.embedding.at(c, in_slot(0, i)) = code(c, i);
  make_norm(network.norm1, 1);
  make_norm(network.norm2, 1 + kContext);
  make_norm(network.norm3, 1 + kContext);
  make_layer1(network);
  make_cleaning(network);
  make_layer2(network);
  return network;
}

std::vector<float> plain_logits(const Network& network, const std::vector<std::uint32_t>& tokens,
                                std::size_t first) {
  std::vector<Row> cache1, cache2;
  std::vector<float> logits;
  for (const std::uint32_t token : tokens) {
    const float* embedded = &network.embedding.values[token * kWidth];
    Row x(embedded, embedded + kWidth);
    cache1.push_back(product(rms_norm(x, network.norm1), network.project1, &network.bias1));
    for (const std::size_t part : {std::size_t{0}, kWidth})
      rotate(&cache1.back()[part], cache1.size() - 1);
    Row heads(kWidth);
    for (std::size_t h = 0; h < kHeads; ++h) {
      const std::size_t place = h * kHead;
      attend(cache1, {place, kWidth + place, 2 * kWidth + place, kHead, kHead}, 1, &heads[place]);
    }
    add(x, product(heads, network.out1));
    Row hidden = product(rms_norm(x, network.norm2), network.up, &network.up_bias);
    for (double& v : hidden)
      v = std::max(v, 0.0);
    add(x, product(hidden, network.down, &network.down_bias));
    cache2.push_back(product(rms_norm(x, network.norm3), network.project2));
    Row next(kCode);
    attend(cache2, {0, kMatch, 2 * kMatch, kMatch, kCode}, kMatchScale, next.data());
    add(x, product(next, network.out2));
    if (cache1.size() < first) continue;
    for (const double share : product(x, network.shares))
      logits.push_back(static_cast<float>(std::log(std::max(share, kLeastShare)) / kTemperature));
  }
  return logits;
}

std::vector<std::uint32_t> tokens_of(std::string_view text) {
  std::vector<std::uint32_t> tokens;
  for (const char c : text)
    tokens.push_back(static_cast<std::uint32_t>(kAlphabet.find(c)));
  return tokens;
}

std::string text_of(const std::vector<std::uint32_t>& tokens) {
  std::string text;
  for (const std::uint32_t token : tokens)
    text += kAlphabet.at(token);
  return text;
}
