// Equalises photographs by the histogram of their brightness on the best OpenCL device, checks every count
// against a plain loop, and writes the pictures above their histograms as a PNG file. Without PICTURE it
// looks at a photograph through haze, which leaves a fifth of the levels.
//
//   equalise [PICTURE...]     SMEM_SAMPLE_OUTPUT: the folder to write into, else ./output
#include "image.hpp"
#include "sample.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChannels = sizeof(Pixel);
constexpr std::size_t kLevels = 256;
using Counts = std::vector<std::uint64_t>;

/// Of each pixel, by the weights of ITU-R BT.601 in 256ths.
std::vector<std::uint8_t> brightness(const Image& image) {
  std::vector<std::uint8_t> grey;
  grey.reserve(image.pixels.size());
  for (const Pixel& p : image.pixels)
    grey.push_back(static_cast<std::uint8_t>((77 * p.red + 150 * p.green + 29 * p.blue) >> 8));
  return grey;
}

/// Counts bytes on the device, and compares with a plain loop.
Counts counted(const smem::Context& context, const std::vector<std::uint8_t>& values, std::size_t channels) {
  const smem::Array<std::uint8_t> array(context, values);
  smem::Bins bins = smem::Bins::of_values();
  bins.channels = channels;
  Counts counts = smem::histogram(context, array.matrix(1, values.size()), bins);
  Counts expected(kLevels * channels);
  for (std::size_t i = 0; i < values.size(); ++i)
    ++expected[i % channels * kLevels + values[i]];
  if (counts != expected) throw std::runtime_error("the histogram is wrong");
  return counts;
}

/// The new level of each level, the share of pixels up to it: so all become about equally frequent.
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

/// Each pixel changes as much as its brightness; its colour stays.
Image equalised(const Image& image, const std::vector<std::uint8_t>& grey,
                const std::array<std::uint8_t, kLevels>& levels) {
  Image result = image;
  for (std::size_t i = 0; i < grey.size(); ++i) {
    const int change = levels[grey[i]] - grey[i];
    for (std::uint8_t Pixel::*channel : {&Pixel::red, &Pixel::green, &Pixel::blue}) {
      std::uint8_t& value = result.pixels[i].*channel;
      value = static_cast<std::uint8_t>(std::clamp(value + change, 0, 255));
    }
  }
  return result;
}

/// The picture's histograms of red, green and blue, each in its own colour, as wide as the picture.
Image drawn(const smem::Context& context, const Image& image) {
  const std::size_t rows = image.rows / 4;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(image.pixels.data());
  const Counts counts = counted(context, {bytes, bytes + image.pixels.size() * kChannels}, kChannels);
  const auto end = counts.begin() + 3 * kLevels;  // without alpha
  const double highest =
      static_cast<double>(std::max<std::uint64_t>(1, *std::max_element(counts.begin(), end)));
  Image plot(rows, image.cols, {16, 16, 16, 255});
  std::size_t first = 0;
  for (std::uint8_t Pixel::*channel : {&Pixel::red, &Pixel::green, &Pixel::blue}) {
    for (std::size_t col = 0; col < plot.cols; ++col) {
      const std::uint64_t count = counts[first + col * kLevels / plot.cols];
      // The root, because few levels have most of the pixels.
      const auto height = static_cast<std::size_t>(std::sqrt(static_cast<double>(count) / highest) *
                                                   static_cast<double>(rows));
      for (std::size_t row = rows - height; row < rows; ++row)
        plot.at(row, col).*channel = 230;
    }
    first += kLevels;
  }
  return plot;
}

/// As through haze: all levels between 110 and 166.
Image hazed(Image image) {
  for (Pixel& p : image.pixels) {
    for (std::uint8_t Pixel::*channel : {&Pixel::red, &Pixel::green, &Pixel::blue})
      p.*channel = static_cast<std::uint8_t>(110 + p.*channel * 56 / 255);
  }
  return image;
}

/// How uneven the levels are: the largest difference between the share of pixels up to a level and that of a
/// picture in which all levels are equally frequent.
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

void equalise(const smem::Context& context, const std::string& name, const Captioned& photo,
              std::vector<Captioned> beside, const fs::path& folder) {
  const Image& image = photo.image;
  const std::vector<std::uint8_t> grey = brightness(image);
  const Counts counts = counted(context, grey, 1);
  const Image result = equalised(image, grey, levels_for(counts));
  const Counts after = counted(context, brightness(result), 1);

  const auto with_histogram = [&](const Image& shown) {
    return stacked({shown, drawn(context, shown)}, shown.rows / 50);
  };
  std::vector<Captioned> panes{{photo.caption, with_histogram(image)}, {"equalised", with_histogram(result)}};
  for (const Captioned& other : beside)
    panes.push_back({other.caption, with_histogram(other.image)});
  const fs::path path = folder / fmt::format("{}_equalised.png", name);
  write_png(path, contact_sheet(panes, panes.size()));
  fmt::print("{}, {} ({} x {}): every count right; {:.3f} from equal brightness before, {:.3f} after; {}\n",
             name, photo.caption, image.rows, image.cols, unevenness(counts), unevenness(after),
             path.string());
}

}  // namespace

int main(int argc, char** argv) {
  return run_sample("equalise", [&] {
    const smem::Context context;
    fmt::print("{} ({})\n", context.device().name, context.device().platform);
    std::vector<fs::path> files = pictures_of(argc, argv);
    if (argc == 1) files.resize(1);  // the portrait
    for (const fs::path& file : files) {
      const Image photo = read_image(file);
      const std::string name = file.stem().string();
      if (argc > 1) {
        equalise(context, name, {"original", photo}, {}, output_folder());
      } else {
        equalise(context, name, {"in haze", hazed(photo)}, {{"without haze", photo}}, output_folder());
      }
    }
  });
}
