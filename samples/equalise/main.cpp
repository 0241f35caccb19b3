// Equalises photographs by the histogram of their brightness on the best OpenCL device, checks every count
// against a plain loop, and writes both pictures above their histograms as a PNG file.
//
//   equalise [PICTURE...]     SMEM_SAMPLE_OUTPUT: the folder to write into, else ./output
#include <smem/smem.hpp>

#include <fmt/format.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image.h>
#include <stb_image_write.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChannels = 3;
constexpr std::size_t kLevels = 256;
using Counts = std::vector<std::uint64_t>;

/// Red, green and blue bytes; the first row at the top.
struct Image {
  std::size_t rows = 0, cols = 0;
  std::vector<std::uint8_t> bytes;

  Image(std::size_t row_count, std::size_t col_count)
      : rows(row_count), cols(col_count), bytes(row_count * col_count * kChannels) {}
  std::uint8_t* at(std::size_t row, std::size_t col) { return bytes.data() + (row * cols + col) * kChannels; }
};

Image read_image(const fs::path& path) {
  int width = 0, height = 0, channels_in_file = 0;
  const std::unique_ptr<stbi_uc, void (*)(void*)> data(
      stbi_load(path.c_str(), &width, &height, &channels_in_file, static_cast<int>(kChannels)),
      stbi_image_free);
  if (!data) throw std::runtime_error(fmt::format("{}: {}", path.string(), stbi_failure_reason()));
  Image image(static_cast<std::size_t>(height), static_cast<std::size_t>(width));
  std::copy_n(data.get(), image.bytes.size(), image.bytes.begin());
  return image;
}

/// Of each pixel, by the weights of ITU-R BT.601 in 256ths.
std::vector<std::uint8_t> brightness(const Image& image) {
  std::vector<std::uint8_t> grey(image.rows * image.cols);
  for (std::size_t i = 0; i < grey.size(); ++i) {
    const std::uint8_t* p = image.bytes.data() + i * kChannels;
    grey[i] = static_cast<std::uint8_t>((77 * p[0] + 150 * p[1] + 29 * p[2]) >> 8);
  }
  return grey;
}

/// Counts bytes on the device, and compares with a plain loop.
Counts counted(const smem::Context& context, const std::vector<std::uint8_t>& values, std::size_t channels) {
  const smem::Array<std::uint8_t> array(context, values);
  Counts counts = smem::histogram(context, array.matrix(1, values.size()), smem::Bins::of_values(), channels);
  Counts expected(kLevels * channels);
  for (std::size_t i = 0; i < values.size(); ++i)
    ++expected[i % channels * kLevels + values[i]];
  if (counts != expected) throw std::runtime_error("the histogram is wrong");
  return counts;
}

/// The level that each level becomes, so that all are about as frequent: the share of pixels up to it.
std::array<std::uint8_t, kLevels> levels_for(const Counts& counts) {
  std::array<std::uint8_t, kLevels> levels{};
  std::uint64_t all = 0, darkest = 0, below = 0;
  for (const std::uint64_t count : counts) {
    if (all == 0) darkest = count;
    all += count;
  }
  for (std::size_t i = 0; i < kLevels; ++i) {
    below += counts[i];
    if (below > darkest && all > darkest) {
      const double share = static_cast<double>(below - darkest) / static_cast<double>(all - darkest);
      levels[i] = static_cast<std::uint8_t>(std::lround(255 * share));
    }
  }
  return levels;
}

/// Each pixel becomes as much lighter or darker as its brightness does; its colour stays.
Image equalised(const Image& image, const std::vector<std::uint8_t>& grey,
                const std::array<std::uint8_t, kLevels>& levels) {
  Image result = image;
  for (std::size_t i = 0; i < result.bytes.size(); ++i) {
    const int level = grey[i / kChannels];
    result.bytes[i] = static_cast<std::uint8_t>(
        std::clamp(image.bytes[i] + levels[static_cast<std::size_t>(level)] - level, 0, 255));
  }
  return result;
}

/// The histograms of red, green and blue, each in its own colour, `rows` high.
void draw(Image& sheet, const Counts& counts, std::size_t top, std::size_t left, std::size_t rows,
          std::size_t cols) {
  const double highest =
      static_cast<double>(std::max<std::uint64_t>(1, *std::max_element(counts.begin(), counts.end())));
  for (std::size_t col = 0; col < cols; ++col) {
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      const std::uint64_t count = counts[channel * kLevels + col * kLevels / cols];
      // The root, since few levels have most of the pixels.
      const auto height = static_cast<std::size_t>(std::sqrt(static_cast<double>(count) / highest) *
                                                   static_cast<double>(rows));
      for (std::size_t row = rows - height; row < rows; ++row)
        sheet.at(top + row, left + col)[channel] = 230;
    }
  }
}

/// How far the levels are from being equally frequent: the largest distance of the share of pixels up to a
/// level from that of a picture where they are.
double unevenness(const Counts& counts) {
  double all = 0, below = 0, most = 0;
  for (const std::uint64_t count : counts)
    all += static_cast<double>(count);
  for (std::size_t i = 0; i < kLevels; ++i) {
    below += static_cast<double>(counts[i]);
    most = std::max(most, std::abs(below / all - static_cast<double>(i + 1) / kLevels));
  }
  return most;
}

void equalise(const smem::Context& context, const fs::path& file, const fs::path& folder) {
  const Image photo = read_image(file);
  const std::vector<std::uint8_t> grey = brightness(photo);
  const Counts counts = counted(context, grey, 1);
  const Image result = equalised(photo, grey, levels_for(counts));
  const Counts after = counted(context, brightness(result), 1);

  constexpr std::size_t kGap = 16, kPlot = 160;
  Image sheet(photo.rows + kPlot + 3 * kGap, 2 * photo.cols + 3 * kGap);
  std::fill(sheet.bytes.begin(), sheet.bytes.end(), std::uint8_t{32});
  for (const bool right : {false, true}) {
    const Image& shown = right ? result : photo;
    const std::size_t left = kGap + (right ? photo.cols + kGap : 0);
    for (std::size_t row = 0; row < shown.rows; ++row) {
      std::copy_n(shown.bytes.data() + row * shown.cols * kChannels, shown.cols * kChannels,
                  sheet.at(kGap + row, left));
    }
    draw(sheet, counted(context, shown.bytes, kChannels), photo.rows + 2 * kGap, left, kPlot, photo.cols);
  }
  const fs::path path = folder / fmt::format("{}_equalised.png", file.stem().string());
  if (stbi_write_png(path.c_str(), static_cast<int>(sheet.cols), static_cast<int>(sheet.rows),
                     static_cast<int>(kChannels), sheet.bytes.data(), 0) == 0)
    throw std::runtime_error(fmt::format("{}: cannot be written", path.string()));
  fmt::print("{} ({} x {}): every count right; from equal brightness {:.3f} away before, {:.3f} after; {}\n",
             file.filename().string(), photo.rows, photo.cols, unevenness(counts), unevenness(after),
             path.string());
}

int run(int argc, char** argv) {
  const fs::path data = SMEM_SAMPLE_DATA;
  std::vector<fs::path> files(argv + 1, argv + argc);
  if (files.empty()) files = {data / "astronaut.png", data / "hubble_deep_field.jpg"};
  const char* wanted = std::getenv("SMEM_SAMPLE_OUTPUT");
  const fs::path folder = wanted != nullptr && *wanted != '\0' ? wanted : "output";
  fs::create_directories(folder);
  const smem::Context context;
  fmt::print("{} ({})\n", context.device().name, context.device().platform);
  for (const fs::path& file : files)
    equalise(context, file, folder);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "equalise: {}\n", error.what());
    return 1;
  }
}
