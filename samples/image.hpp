/// Photographs in host memory, from files and to files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// Four channels of a byte. It has no arithmetic: to smem it is an element of 4 bytes.
struct Pixel {
  std::uint8_t red, green, blue, alpha;
  friend bool operator==(const Pixel&, const Pixel&) = default;
};

/// Row-major, the first row at the top.
struct Image {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<Pixel> pixels;

  Image() = default;
  Image(std::size_t row_count, std::size_t col_count, Pixel fill = {})
      : rows(row_count), cols(col_count), pixels(row_count * col_count, fill) {}
  Pixel& at(std::size_t row, std::size_t col) { return pixels[row * cols + col]; }
  const Pixel& at(std::size_t row, std::size_t col) const { return pixels[row * cols + col]; }
};

/// \throws std::runtime_error when the file is no picture that can be read.
Image read_image(const std::filesystem::path& path);
/// \throws std::runtime_error when the file cannot be written.
void write_png(const std::filesystem::path& path, const Image& image);

/// What sheets and strips are painted with.
constexpr Pixel kPaper{32, 34, 38, 255};
constexpr Pixel kInk{236, 236, 232, 255};

/// Letters twice as large as those of stb_easy_font, whose upper left corner is at `top`, `left`. What leaves
/// the picture is cut off.
void write_text(Image& picture, std::size_t top, std::size_t left, std::string text);
/// Pixels that write_text() needs for it.
std::size_t text_width(std::string text);
constexpr std::size_t kTextHeight = 24;  ///< of a line

/// The pictures from top to bottom, with `gap` rows between them, on paper.
Image stacked(const std::vector<Image>& pictures, std::size_t gap);

struct Captioned {
  std::string caption;
  Image image;
};

/// All pictures side by side, at one scale, at most `widest` pixels wide, with their captions, in rows of
/// `columns`.
Image contact_sheet(const std::vector<Captioned>& pictures, std::size_t columns, std::size_t widest = 256);
