// A small transformer on the best OpenCL device. It reads a nursery rhyme and writes new verses. It uses
// only operations of the library: products, norms, rotary positions, attention with
// a cache of keys and values, softmax and selection. network.hpp says how it works, and why it needs no
// training. Everything is checked against a plain loop.
//
//   transformer [CHARACTERS]     how many to write
#include "sample.hpp"
#include "transformer/network.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// Weights on the device.
class DeviceWeights {
 public:
  DeviceWeights(const smem::Context& context, const Weights& weights)
      : rows_(weights.rows), cols_(weights.cols), values_(context, weights.values) {}
  operator smem::ConstMatrix() const { return values_.matrix(rows_, cols_); }
  smem::ConstVector vector() const { return values_.vector(); }

 private:
  std::size_t rows_, cols_;
  smem::Array<float> values_;
};

/// The network, its caches and the text so far, on the device. Nothing waits for the host: the token that a
/// step chooses is read by the next one.
class Transformer {
 public:
  Transformer(const smem::Context& context, const Network& network, std::size_t capacity)
      : context_(context),
        capacity_(capacity),
        embedding_(context, network.embedding),
        norm1_(context, network.norm1),
        norm2_(context, network.norm2),
        norm3_(context, network.norm3),
        project1_(context, network.project1),
        bias1_(context, network.bias1),
        out1_(context, network.out1),
        up_(context, network.up),
        up_bias_(context, network.up_bias),
        down_(context, network.down),
        down_bias_(context, network.down_bias),
        project2_(context, network.project2),
        out2_(context, network.out2),
        shares_(context, network.shares),
        tokens_(context, smem::Count{capacity}),
        numbers_(context, numbers(capacity + 1)),
        x_(context, smem::Count{capacity * kWidth}),
        normed_(context, smem::Count{capacity * kWidth}),
        projected_(context, smem::Count{capacity * 3 * kWidth}),
        attended_(context, smem::Count{capacity * kWidth}),
        hidden_(context, smem::Count{capacity * kHidden}),
        keys1_(context, smem::Count{capacity * kWidth}),
        values1_(context, smem::Count{capacity * kWidth}),
        keys2_(context, smem::Count{capacity * kMatch}),
        values2_(context, smem::Count{capacity * kCode}) {}

  /// Reads a text.
  void read(const std::vector<std::uint32_t>& text) {
    tokens_.write(text);
    forward(text.size());
  }

  /// The logits of the next character, plus `noise`.
  void predict(const smem::Matrix& logits, const smem::ConstMatrix& noise) const {
    const std::string logarithm = fmt::format("log(fmax(x, {}f)) / {}f", kLeastShare, kTemperature);
    smem::gemm(context_, x_.matrix(1, kWidth, {.offset = last_ * kWidth}), shares_, logits,
               {.epilogue = {.expression = logarithm, .residual = noise}});
  }

  /// Writes the character with the largest logit, and reads it.
  void write(const smem::ConstVector& logits) {
    smem::reduce(context_, logits, tokens_.vector(past_, 1), {smem::ReduceOp::argmax});
    forward(1);
  }

  std::vector<std::uint32_t> tokens() const {
    std::vector<std::uint32_t> all = tokens_.to_host();
    all.resize(past_);
    return all;
  }

 private:
  /// The next `count` tokens.
  void forward(std::size_t count) {
    const auto rows = [&](const smem::Array<float>& array, std::size_t cols) {
      return array.matrix(count, cols);
    };
    const auto x = rows(x_, kWidth), normed = rows(normed_, kWidth), attended = rows(attended_, kWidth);
    smem::gather_rows(context_, embedding_, tokens_.vector(past_, count), x);

    smem::rms_norm(context_, x, normed, {.epsilon = kEpsilon, .weight = norm1_.vector()});
    smem::gemm(context_, normed, project1_, rows(projected_, 3 * kWidth),
               {.epilogue = {.bias = bias1_.vector()}});
    const smem::Rotary rotary{.head_size = kHead, .base = kRotaryBase};
    smem::Rotary from_here = rotary;
    from_here.first_position = static_cast<std::int64_t>(past_);
    const auto queries = projected_.matrix(count, kWidth, {.pitch = 3 * kWidth});
    smem::rotary(context_, queries, queries, from_here);
    attend(count, {kHeads, kHead, kHead, 3 * kWidth, keys1_, values1_, rotary, 1});
    smem::gemm(context_, attended, out1_, x, {.epilogue = {.residual = x}});

    smem::rms_norm(context_, x, normed, {.epsilon = kEpsilon, .weight = norm2_.vector()});
    smem::gemm(context_, normed, up_, rows(hidden_, kHidden),
               {.epilogue = {.bias = up_bias_.vector(), .activation = smem::Activation::relu}});
    smem::gemm(context_, rows(hidden_, kHidden), down_, x,
               {.epilogue = {.bias = down_bias_.vector(), .residual = x}});

    smem::rms_norm(context_, x, normed, {.epsilon = kEpsilon, .weight = norm3_.vector()});
    smem::gemm(context_, normed, project2_, rows(projected_, 2 * kMatch + kCode));
    attend(count, {1, kMatch, kCode, 2 * kMatch + kCode, keys2_, values2_, {}, kMatchScale});
    smem::gemm(context_, rows(attended_, kCode), out2_, x, {.epilogue = {.residual = x}});
    past_ += count;
    last_ = count - 1;
  }

  struct AttentionLayer {
    std::size_t heads, size, value_size, width;  // width: of a row of queries, keys and values
    const smem::Array<float>&keys, &values;
    std::optional<smem::Rotary> rotary;
    double scale;
  };
  /// New keys and values go into the cache; queries attend to all that is there.
  void attend(std::size_t count, const AttentionLayer& layer) {
    const auto part = [&](std::size_t size, std::size_t first) {
      return smem::HeadsView<float>(projected_.buffer(), {1, layer.heads, count, size},
                                    {first, layer.width, size});
    };
    const std::size_t queries = layer.heads * layer.size;
    const smem::HeadsView<float> keys(layer.keys.buffer(), {1, layer.heads, capacity_, layer.size}),
        values(layer.values.buffer(), {1, layer.heads, capacity_, layer.value_size});
    smem::append_to_cache(context_, part(layer.size, queries), part(layer.value_size, 2 * queries), keys,
                          values, {.lengths = numbers_.vector(past_, 1), .rotary = layer.rotary});
    const smem::HeadsShape shape{1, layer.heads, count, layer.value_size};
    const smem::HeadsView<float> out(attended_.buffer(), shape, smem::tokens_before_heads(shape));
    smem::attention(context_, part(layer.size, 0), keys, values, out,
                    {.scale = layer.scale, .causal = true, .key_lengths = numbers_.vector(past_ + count, 1)});
  }

  static std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> all(count);
    for (std::size_t i = 0; i < count; ++i)
      all[i] = static_cast<std::uint32_t>(i);
    return all;
  }

  smem::Context context_;
  std::size_t capacity_, past_ = 0, last_ = 0;
  DeviceWeights embedding_, norm1_, norm2_, norm3_, project1_, bias1_, out1_, up_, up_bias_, down_,
      down_bias_, project2_, out2_, shares_;
  smem::Array<std::uint32_t> tokens_, numbers_;
  smem::Array<float> x_, normed_, projected_, attended_, hidden_, keys1_, values1_, keys2_, values2_;
};

/// "The house that Jack built", a nursery rhyme of the 18th century.
std::string rhyme() {
  constexpr std::string_view kParts[] = {"the house that jack built.\n",
                                         "the malt that lay in ",
                                         "the rat that ate ",
                                         "the cat that killed ",
                                         "the dog that worried ",
                                         "the cow with the crumpled horn that tossed ",
                                         "the maiden all forlorn that milked ",
                                         "the man all tattered and torn that kissed ",
                                         "the priest all shaven and shorn that married "};
  std::string text;
  for (std::size_t verse = 0; verse < std::size(kParts); ++verse) {
    text += "this is ";
    for (std::size_t part = verse + 1; part-- > 0;)
      text += kParts[part];
  }
  return text;
}

/// Of the Gumbel distribution: the largest of logits and noise is a sample of their softmax.
std::vector<float> noise(std::size_t count) {
  std::mt19937 random(1);
  std::vector<float> values(count);
  for (float& x : values)
    x = static_cast<float>(-std::log(-std::log((static_cast<double>(random()) + 0.5) / 4294967296)));
  return values;
}

/// Prints the characters that are most likely to be next.
void print_guesses(const smem::Context& context, const smem::Array<float>& logits) {
  constexpr std::size_t kGuesses = 5;
  const smem::Array<float> likely(context, smem::Count{kCharacters}), best(context, smem::Count{kGuesses});
  const smem::Array<std::uint32_t> which(context, smem::Count{kGuesses});
  smem::softmax(context, logits.matrix(1, kCharacters), likely.matrix(1, kCharacters));
  smem::top_k(context, likely, best, which);
  const std::vector<float> shares = best.to_host();
  const std::vector<std::uint32_t> characters = which.to_host();
  for (std::size_t i = 0; i < kGuesses; ++i)
    fmt::print(" {} {:.0f} %{}", kAlphabet[characters[i]], 100 * shares[i], i + 1 < kGuesses ? "," : "\n\n");
}

/// \throws std::runtime_error unless logits are those of the plain loop, and tokens the largest of them.
void check(const std::vector<float>& logits, const std::vector<float>& plain, const std::vector<float>& noise,
           const std::vector<std::uint32_t>& tokens, std::size_t first) {
  for (std::size_t step = 0; first + step < tokens.size(); ++step) {
    std::size_t largest = 0;
    std::vector<float> sums(kCharacters);
    for (std::size_t c = 0; c < kCharacters; ++c) {
      const std::size_t i = step * kCharacters + c;
      sums[c] = plain[i] + noise[i];
      if (sums[c] > sums[largest]) largest = c;
      if (!(std::abs(sums[c] - logits[i]) < 0.01))
        throw std::runtime_error(
            fmt::format("logit {} of character {} is {}, not {}", c, step, logits[i], sums[c]));
    }
    if (tokens[first + step] != largest)
      throw std::runtime_error(fmt::format("character {} differs from that of the plain loop", step));
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run(std::size_t count) {
  const smem::Context context;
  fmt::print("{} ({})\n", context.device().name, context.device().platform);
  const Network network = make_network();
  const std::string heard = rhyme(), begin = "this is the ";
  const std::vector<std::uint32_t> prompt = tokens_of(heard + begin);
  const smem::Array<float> logits(context, smem::Count{count * kCharacters}),
      first(context, smem::Count{kCharacters}), none(context, std::vector<float>(kCharacters));
  const std::vector<float> random = noise(count * kCharacters);
  const smem::Array<float> gumbel(context, random);

  Transformer transformer(context, network, prompt.size() + count);
  auto start = std::chrono::steady_clock::now();
  transformer.read(prompt);
  transformer.predict(first.matrix(1, kCharacters), none.matrix(1, kCharacters));
  context.finish();
  fmt::print("{} characters of \"The house that Jack built\" read: {:.2f} s with building kernels\n\n",
             prompt.size(), seconds_since(start));
  fmt::print("after \"{}\" it expects", begin);
  print_guesses(context, first);

  start = std::chrono::steady_clock::now();
  for (std::size_t step = 0; step < count; ++step) {
    const smem::Extent row{.offset = step * kCharacters};
    transformer.predict(logits.matrix(1, kCharacters, row), gumbel.matrix(1, kCharacters, row));
    transformer.write(logits.vector(row.offset, kCharacters));
  }
  context.finish();
  const double seconds = seconds_since(start);
  const std::vector<std::uint32_t> tokens = transformer.tokens();
  const std::string text = text_of(tokens);
  fmt::print("{}\n\n", text.substr(heard.size()));
  fmt::print("{} characters written: {:.0f} a second\n", count, static_cast<double>(count) / seconds);

  check(logits.to_host(), plain_logits(network, tokens, prompt.size()), random, tokens, prompt.size());
  fmt::print("all {} are those of a plain loop, and so are their logits\n", count);
  // What the weights promise.
  for (std::size_t i = heard.size(); i + kContext < text.size(); ++i) {
    const std::string part = text.substr(i, kContext + 1);
    if (heard.find(part) == std::string::npos)
      throw std::runtime_error(fmt::format("\"{}\" is not in the rhyme", part));
  }
  fmt::print("each {} characters in a row are in the rhyme\n", kContext + 1);
}

}  // namespace

int main(int argc, char** argv) {
  return run_sample("transformer", [&] {
    const long count = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 400;
    run(static_cast<std::size_t>(std::clamp(count, 1L, 10000L)));
  });
}
