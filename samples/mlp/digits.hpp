/// Pictures of digits that nobody had to collect: a bitmap font, shifted, turned, scaled and noisy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

constexpr std::size_t kEdge = 16;  // pixels of a picture's side
constexpr std::size_t kPixels = kEdge * kEdge;
constexpr std::size_t kDigits = 10;

struct Digits {
  std::vector<float> pixels;         ///< kPixels for each picture, about 0 to 1
  std::vector<std::int32_t> labels;  ///< 0 to 9
};

/// The same pictures for the same seed.
Digits draw_digits(std::size_t count, std::uint32_t seed);
