#include "digits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string_view>

namespace {

constexpr std::size_t kFontRows = 7, kFontCols = 5;

// Each digit's rows, from the top.
constexpr std::array<std::array<std::string_view, kFontRows>, kDigits> kFont{{
    {" ### ", "#   #", "#  ##", "# # #", "##  #", "#   #", " ### "},
    {"  #  ", " ##  ", "  #  ", "  #  ", "  #  ", "  #  ", " ### "},
    {" ### ", "#   #", "    #", "   # ", "  #  ", " #   ", "#####"},
    {" ### ", "#   #", "    #", "  ## ", "    #", "#   #", " ### "},
    {"   # ", "  ## ", " # # ", "#  # ", "#####", "   # ", "   # "},
    {"#####", "#    ", "#### ", "    #", "    #", "#   #", " ### "},
    {"  ## ", " #   ", "#    ", "#### ", "#   #", "#   #", " ### "},
    {"#####", "    #", "   # ", "  #  ", "  #  ", "  #  ", "  #  "},
    {" ### ", "#   #", "#   #", " ### ", "#   #", "#   #", " ### "},
    {" ### ", "#   #", "#   #", " ####", "    #", "   # ", " ##  "},
}};

/// The font's ink at (row, col), between its points in straight lines.
float ink(std::size_t digit, float row, float col) {
  const auto at = [&](long r, long c) {
    const bool inside =
        r >= 0 && c >= 0 && r < static_cast<long>(kFontRows) && c < static_cast<long>(kFontCols);
    return inside && kFont[digit][static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] == '#' ? 1.0F
                                                                                                   : 0.0F;
  };
  const float top = std::floor(row), left = std::floor(col);
  const auto r = static_cast<long>(top), c = static_cast<long>(left);
  const float down = row - top, right = col - left;
  return (1 - down) * ((1 - right) * at(r, c) + right * at(r, c + 1)) +
         down * ((1 - right) * at(r + 1, c) + right * at(r + 1, c + 1));
}

}  // namespace

Digits draw_digits(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> turn(-0.25F, 0.25F), shift(-1.5F, 1.5F), size(1.6F, 2.1F);
  std::normal_distribution<float> noise(0, 0.25F);
  Digits digits;
  digits.pixels.reserve(count * kPixels);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t digit = random() % kDigits;
    digits.labels.push_back(static_cast<std::int32_t>(digit));
    const float angle = turn(random), down = shift(random), right = shift(random), scale = size(random);
    const float cosine = std::cos(angle) / scale, sine = std::sin(angle) / scale;
    constexpr float kMiddle = (kEdge - 1) / 2.0F;
    for (std::size_t r = 0; r < kEdge; ++r) {
      for (std::size_t c = 0; c < kEdge; ++c) {
        const float y = static_cast<float>(r) - kMiddle - down, x = static_cast<float>(c) - kMiddle - right;
        const float row = cosine * y - sine * x + (kFontRows - 1) / 2.0F;
        const float col = sine * y + cosine * x + (kFontCols - 1) / 2.0F;
        digits.pixels.push_back(ink(digit, row, col) + noise(random));
      }
    }
  }
  return digits;
}
