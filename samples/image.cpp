#include "image.hpp"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_easy_font.h>
#include <stb_image.h>
#include <stb_image_write.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

namespace {

constexpr int kChannels = 4;
constexpr int kTextScale = 2;

/// Each pixel of the result is the mean of the `factor` x `factor` pixels that it stands for.
Image shrunk(const Image& image, std::size_t factor) {
  Image small(image.rows / factor, image.cols / factor);
  for (std::size_t row = 0; row < small.rows; ++row) {
    for (std::size_t col = 0; col < small.cols; ++col) {
      std::array<std::size_t, kChannels> sum{};
      for (std::size_t y = 0; y < factor; ++y) {
        for (std::size_t x = 0; x < factor; ++x) {
          const Pixel& p = image.at(row * factor + y, col * factor + x);
          sum[0] += p.red;
          sum[1] += p.green;
          sum[2] += p.blue;
          sum[3] += p.alpha;
        }
      }
      const auto mean = [&](std::size_t channel) {
        return static_cast<std::uint8_t>(sum[channel] / (factor * factor));
      };
      small.at(row, col) = {mean(0), mean(1), mean(2), mean(3)};
    }
  }
  return small;
}

void paste(Image& sheet, const Image& image, std::size_t top, std::size_t left) {
  for (std::size_t row = 0; row < image.rows; ++row)
    std::copy_n(&image.at(row, 0), image.cols, &sheet.at(top + row, left));
}

}  // namespace

Image read_image(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) throw std::runtime_error(path.string() + ": no such file");
  int width = 0, height = 0, channels_in_file = 0;
  const std::unique_ptr<stbi_uc, void (*)(void*)> data(
      stbi_load(path.c_str(), &width, &height, &channels_in_file, kChannels), stbi_image_free);
  if (!data) {
    const char* const known = stbi_failure_reason();  // of a file that ends too early: none
    const std::string reason = known ? known : "";
    throw std::runtime_error(path.string() + ": " + (reason.empty() ? "cut off or damaged" : reason));
  }
  Image image(static_cast<std::size_t>(height), static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const stbi_uc* p = data.get() + i * kChannels;
    image.pixels[i] = {p[0], p[1], p[2], p[3]};
  }
  return image;
}

void write_png(const std::filesystem::path& path, const Image& image) {
  static_assert(sizeof(Pixel) == kChannels);
  if (stbi_write_png(path.c_str(), static_cast<int>(image.cols), static_cast<int>(image.rows), kChannels,
                     image.pixels.data(), 0) == 0)
    throw std::runtime_error(path.string() + ": cannot be written");
}

void write_text(Image& picture, std::size_t top, std::size_t left, std::string text) {
  struct Corner {
    float x, y, z;
    unsigned char colour[4];
  };
  std::vector<Corner> corners(text.size() * 100);
  const int rectangles = stb_easy_font_print(0, 0, text.data(), nullptr, corners.data(),
                                             static_cast<int>(corners.size() * sizeof(Corner)));
  const auto pixel = [](float at) { return static_cast<std::size_t>(at * kTextScale); };
  for (std::size_t i = 0; i < static_cast<std::size_t>(rectangles); ++i) {
    const Corner& from = corners[4 * i];
    const Corner& to = corners[4 * i + 2];
    for (std::size_t row = top + pixel(from.y); row < std::min(picture.rows, top + pixel(to.y)); ++row) {
      for (std::size_t col = left + pixel(from.x); col < std::min(picture.cols, left + pixel(to.x)); ++col)
        picture.at(row, col) = kInk;
    }
  }
}

std::size_t text_width(std::string text) {
  return static_cast<std::size_t>(stb_easy_font_width(text.data()) * kTextScale);
}

Image stacked(const std::vector<Image>& pictures, std::size_t gap) {
  std::size_t rows = gap * (pictures.size() - 1), cols = 0, top = 0;
  for (const Image& picture : pictures) {
    rows += picture.rows;
    cols = std::max(cols, picture.cols);
  }
  Image all(rows, cols, kPaper);
  for (const Image& picture : pictures) {
    paste(all, picture, top, 0);
    top += picture.rows + gap;
  }
  return all;
}

Image contact_sheet(const std::vector<Captioned>& pictures, std::size_t columns, std::size_t widest) {
  constexpr std::size_t kGap = 16, kCaption = 28;
  std::size_t width = 1, height = 1;
  for (const Captioned& picture : pictures) {
    width = std::max(width, picture.image.cols);
    height = std::max(height, picture.image.rows);
  }
  const std::size_t factor = (width + widest - 1) / widest;
  width /= factor;
  height /= factor;

  const std::size_t lines = (pictures.size() + columns - 1) / columns;
  Image sheet(kGap + lines * (height + kCaption + kGap), kGap + columns * (width + kGap), kPaper);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const std::size_t top = kGap + i / columns * (height + kCaption + kGap);
    const std::size_t left = kGap + i % columns * (width + kGap);
    write_text(sheet, top, left, pictures[i].caption);
    paste(sheet, shrunk(pictures[i].image, factor), top + kCaption, left);
  }
  return sheet;
}
