/// Animations as GIF files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

/// Red, green and blue.
using Colour = std::array<std::uint8_t, 3>;

/// Writes frames of colour numbers, which are shown for ever, one after the other. Format: CompuServe,
/// "Graphics Interchange Format, Version 89a", 1990, with the loop that Netscape added.
class GifWriter {
 public:
  /// `hundredths`: of a second, how long a frame is shown. \throws std::runtime_error when the file cannot be
  /// written.
  GifWriter(const std::filesystem::path& path, std::size_t width, std::size_t height,
            const std::vector<Colour>& colours, unsigned hundredths);
  /// width * height numbers of colours, row by row. \throws std::runtime_error when it cannot be written.
  void add(const std::vector<std::uint8_t>& pixels);
  /// Ends the file. \throws std::runtime_error when it cannot be written.
  void close();
  std::size_t frames() const { return frames_; }

 private:
  void put(unsigned byte) { file_.put(static_cast<char>(byte)); }
  void put_word(std::size_t value) {
    put(value & 0xff);
    put(value >> 8 & 0xff);
  }
  void check() const;

  std::filesystem::path path_;
  std::ofstream file_;
  std::size_t width_, height_, frames_ = 0;
  unsigned bits_, hundredths_;
};

/// From black over red and yellow to white: 256 colours.
std::vector<Colour> heat_colours();
