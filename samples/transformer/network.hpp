/// A transformer of two layers whose weights are written down, not trained, and its plain loop.
///
/// It reads characters and predicts the next one: what has followed the same six characters so far. A token
/// is a vector of eight slots. Slot 0 has the code of a character; codes are rows of a Hadamard matrix, so
/// that products of different ones are 0.
///
/// - Layer 1, attention: head h attends to the token h places before, by rotary positions alone, and copies
///   its code to slot h, for h from 1 to 6.
/// - Layer 1, multiplications with ReLU between them: softmax has mixed a little of the neighbours into each
///   copy; this makes codes of -1 and 1 of them again.
/// - Layer 2, attention, an induction head: a query is the last six characters (slots 0 to 5), a key is the
///   six characters before a token (slots 1 to 6), and the value is the token. Its sum is in slot 7: the
///   codes of the characters that followed, each as often as it did.
/// - The logits are the logarithms of these frequencies.
///
/// C. Olsson et al., "In-context learning and induction heads", 2022. J. Su et al., "RoFormer: Enhanced
/// transformer with rotary position embedding", 2021.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz ,.'-\n";
constexpr std::size_t kCharacters = kAlphabet.size();
constexpr std::size_t kCode = kCharacters;  // elements of a slot
constexpr std::size_t kSlots = 8, kWidth = kSlots * kCode;
constexpr std::size_t kContext = 6;                    // characters that decide
constexpr std::size_t kHeads = kSlots, kHead = kCode;  // of layer 1
constexpr std::size_t kHidden = 4 * kContext * kCode;
constexpr std::size_t kMatch = kContext * kCode;  // elements of a query and a key of layer 2
constexpr double kRotaryBase = 10000;
constexpr double kSharpness = 3;  // the logit of the token that is meant, in layer 1, above those beside it
constexpr double kMatchScale = 0.4;  // of products of layer 2: 32 for each character that is the same
constexpr double kTemperature = 0.7;
constexpr double kEpsilon = 1e-6;     // of norms
constexpr double kLeastShare = 1e-4;  // of a character that never followed

/// Row-major.
struct Weights {
  std::size_t rows, cols;
  std::vector<float> values;
  Weights(std::size_t row_count, std::size_t col_count)
      : rows(row_count), cols(col_count), values(row_count * col_count) {}
  float& at(std::size_t row, std::size_t col) { return values[row * cols + col]; }
};

struct Network {
  Weights embedding{kCharacters, kWidth};
  Weights norm1{1, kWidth}, norm2{1, kWidth}, norm3{1, kWidth};
  Weights project1{kWidth, 3 * kWidth}, bias1{1, 3 * kWidth};  // to queries, keys and values
  Weights out1{kWidth, kWidth};
  Weights up{kWidth, kHidden}, up_bias{1, kHidden}, down{kHidden, kWidth}, down_bias{1, kWidth};
  Weights project2{kWidth, 2 * kMatch + kCode};
  Weights out2{kCode, kWidth};
  Weights shares{kWidth, kCharacters};
};

Network make_network();

/// The logits of the character after each prefix of `tokens` that is at least as long as `first`.
std::vector<float> plain_logits(const Network& network, const std::vector<std::uint32_t>& tokens,
                                std::size_t first);

std::vector<std::uint32_t> tokens_of(std::string_view text);
std::string text_of(const std::vector<std::uint32_t>& tokens);
