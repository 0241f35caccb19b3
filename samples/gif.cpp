#include "gif.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string_view>

namespace {

/// The variable-length codes of Lempel, Ziv and Welch as GIF has them: T. A. Welch, "A technique for
/// high-performance data compression", IEEE Computer 17, 1984. Bits come lowest first, in blocks of at most
/// 255 bytes.
class Encoder {
 public:
  explicit Encoder(unsigned bits) : clear_(1U << bits), first_bits_(bits + 1) {}

  std::vector<std::uint8_t> encode(const std::vector<std::uint8_t>& pixels) {
    start();
    unsigned known = pixels.at(0);  // the code of what was read and is not yet written
    for (std::size_t i = 1; i < pixels.size(); ++i) {
      const unsigned next = next_[known * 256U + pixels[i]];
      if (next != 0) {
        known = next;
        continue;
      }
      write(known);
      if (last_ == 4095) {
        start();
      } else {
        next_[known * 256U + pixels[i]] = static_cast<std::uint16_t>(++last_);
        if (last_ >> bits_ != 0) ++bits_;
      }
      known = pixels[i];
    }
    write(known);
    // A reader has one entry more than this writer: the code that follows may be longer.
    if (last_ < 4095 && (last_ + 1) >> bits_ != 0) ++bits_;
    write(clear_ + 1);
    if (filled_ > 0) bytes_.push_back(static_cast<std::uint8_t>(waiting_));
    return std::move(bytes_);
  }

 private:
  /// Forgets all sequences.
  void start() {
    if (bits_ == 0) bits_ = first_bits_;
    write(clear_);
    next_.assign(std::size_t{4096} * 256, 0);
    last_ = clear_ + 1;
    bits_ = first_bits_;
  }
  void write(unsigned code) {
    waiting_ |= code << filled_;
    for (filled_ += bits_; filled_ >= 8; filled_ -= 8) {
      bytes_.push_back(static_cast<std::uint8_t>(waiting_));
      waiting_ >>= 8;
    }
  }

  unsigned clear_, first_bits_, bits_ = 0, last_ = 0;
  unsigned waiting_ = 0, filled_ = 0;
  std::vector<std::uint16_t> next_;  ///< the code of a code and a pixel after it; 0: none
  std::vector<std::uint8_t> bytes_;
};

}  // namespace

GifWriter::GifWriter(const std::filesystem::path& path, std::size_t width, std::size_t height,
                     const std::vector<Colour>& colours, unsigned hundredths)
    : path_(path),
      file_(path, std::ios::binary),
      width_(width),
      height_(height),
      bits_(std::max(2U, static_cast<unsigned>(std::bit_width(colours.size() - 1)))),
      hundredths_(hundredths) {
  if (colours.empty() || colours.size() > 256 || width == 0 || width > 65535 || height == 0 || height > 65535)
    throw std::runtime_error(path.string() + ": no picture that a GIF can hold");
  file_ << "GIF89a";
  put_word(width);
  put_word(height);
  put(0xf0 | (bits_ - 1));  // a table of 2^bits colours
  put(0);
  put(0);
  for (std::size_t i = 0; i < std::size_t{1} << bits_; ++i) {
    for (const std::uint8_t part : i < colours.size() ? colours[i] : Colour{})
      put(part);
  }
  file_ << "\x21\xff\x0bNETSCAPE2.0";
  for (const unsigned byte : {3U, 1U, 0U, 0U, 0U})
    put(byte);
  check();
}

void GifWriter::add(const std::vector<std::uint8_t>& pixels) {
  if (pixels.size() != width_ * height_ || *std::max_element(pixels.begin(), pixels.end()) >> bits_ != 0) {
    throw std::runtime_error(path_.string() +
                             ": a frame of another size, or with colours that are not there");
  }
  put(0x21);
  put(0xf9);
  put(4);
  put(4);  // the frame stays until the next one
  put_word(hundredths_);
  put(0);
  put(0);
  put(0x2c);
  put_word(0);
  put_word(0);
  put_word(width_);
  put_word(height_);
  put(0);
  put(bits_);
  const std::vector<std::uint8_t> codes = Encoder(bits_).encode(pixels);
  for (std::size_t i = 0; i < codes.size(); i += 255) {
    const std::size_t length = std::min<std::size_t>(255, codes.size() - i);
    put(static_cast<unsigned>(length));
    file_.write(reinterpret_cast<const char*>(codes.data() + i), static_cast<std::streamsize>(length));
  }
  put(0);
  ++frames_;
  check();
}

void GifWriter::close() {
  put(0x3b);
  file_.close();
  check();
}

void GifWriter::check() const {
  if (!file_) throw std::runtime_error(path_.string() + ": cannot be written");
}

std::vector<Colour> heat_colours() {
  std::vector<Colour> colours;
  const auto part = [](double value) {
    return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 1.0) * 255));
  };
  for (int i = 0; i < 256; ++i) {
    const double t = i / 255.0;
    colours.push_back({part(t / 0.4), part((t - 0.35) / 0.4), part((t - 0.7) / 0.3)});
  }
  return colours;
}
