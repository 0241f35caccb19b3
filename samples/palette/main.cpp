// Sorts the colours of photographs on the best OpenCL device, finds the palette of each, checks both against
// plain loops, and writes photograph, sorted colours and palette on one sheet, as a PNG file.
//
//   palette [PICTURE...]     SMEM_SAMPLE_OUTPUT: the folder to write into, else ./output
//
// Sorted colours: pixels by hue, without greys, which come first (argsort, gather); then each column of the
// picture by brightness (sort_pairs_rows, transpose). Palette: pixels by the cell of their colour
// (sort_pairs), the weight of each cell (reduce_by_key), and the cells of the greatest weights (top_k).
// Colourful pixels weigh more; otherwise black would win.
#include "image.hpp"
#include "sample.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSwatches = 10;

/// A colour as the eye compares it: lightness, and on two axes how far from grey. B. Ottosson, "A perceptual
/// color space for image processing", 2020 (Oklab).
struct Oklab {
  float lightness, a, b;
  float chroma() const { return std::hypot(a, b); }
};

Oklab oklab_of(const Pixel& pixel) {
  const auto linear = [](std::uint8_t level) {  // IEC 61966-2-1, sRGB
    const float x = static_cast<float>(level) / 255.0F;
    return x <= 0.04045F ? x / 12.92F : std::pow((x + 0.055F) / 1.055F, 2.4F);
  };
  const float r = linear(pixel.red), g = linear(pixel.green), b = linear(pixel.blue);
  const float l = std::cbrt(0.4122214708F * r + 0.5363325363F * g + 0.0514459929F * b);
  const float m = std::cbrt(0.2119034982F * r + 0.6806995451F * g + 0.1073969566F * b);
  const float s = std::cbrt(0.0883024619F * r + 0.2817188376F * g + 0.6299787005F * b);
  return {0.2104542553F * l + 0.7936177850F * m - 0.0040720468F * s,
          1.9779984951F * l - 2.4285922050F * m + 0.4505937099F * s,
          0.0259040371F * l + 0.7827717662F * m - 0.8086757660F * s};
}

/// The keys that the device sorts: one for each pixel.
struct Colours {
  std::vector<std::uint32_t> pixels;   ///< as they are
  std::vector<float> hues;             ///< 0 to 1, from pink on; -1 for grey
  std::vector<float> lightness;        ///< 0 to 1
  std::vector<std::uint32_t> cells;    ///< of the colour, among some thousands
  std::vector<std::uint32_t> weights;  ///< in the palette
};

Colours colours_of(const Image& photo) {
  constexpr float kGrey = 0.03F, kDark = 0.2F;  // chroma and lightness whose hue nobody sees
  constexpr float kTurn = 2 * std::numbers::pi_v<float>;
  const auto step = [](float value, float steps) {
    return static_cast<std::uint32_t>(std::clamp(std::floor(value * steps), 0.0F, 255.0F));
  };
  Colours all;
  for (const Pixel& pixel : photo.pixels) {
    const Oklab lab = oklab_of(pixel);
    const float hue = std::atan2(lab.b, lab.a) / kTurn;
    std::uint32_t word = 0;
    std::memcpy(&word, &pixel, sizeof word);
    all.pixels.push_back(word);
    const bool is_grey = lab.chroma() < kGrey || lab.lightness < kDark;
    all.hues.push_back(is_grey ? -1.0F : hue < 0 ? hue + 1 : hue);
    all.lightness.push_back(lab.lightness);
    all.cells.push_back(step(lab.lightness, 6) << 16 | step(lab.a + 0.5F, 14) << 8 | step(lab.b + 0.5F, 14));
    all.weights.push_back(is_grey ? 1 : 20 + static_cast<std::uint32_t>(5000 * lab.chroma() * lab.chroma()));
  }
  return all;
}

void require(bool right, const char* what) {
  if (!right) throw std::runtime_error(std::string(what) + " is wrong");
}

/// The coloured pixels by hue from left to right, and the brightest of each column at its top. As wide as the
/// photograph: each column is drawn as often as it takes.
Image sorted(const smem::Context& context, const Image& photo, const Colours& colours) {
  const std::size_t count = colours.pixels.size(), rows = photo.rows;
  const smem::Array<std::uint32_t> pixels(context, colours.pixels), places(context, smem::Count{count});
  const smem::Array<float> hues(context, colours.hues), lightness(context, colours.lightness);
  smem::argsort(context, hues.vector(), places.vector());

  std::vector<std::uint32_t> expected(count);
  std::iota(expected.begin(), expected.end(), 0U);
  std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t one, std::uint32_t other) {
    return colours.hues[one] < colours.hues[other];
  });
  require(places.to_host() == expected, "the order of hues");

  // As many pixels as a column has become a row, whose columns a transpose makes.
  auto greys = static_cast<std::size_t>(std::count(colours.hues.begin(), colours.hues.end(), -1.0F));
  if (count - greys < rows) greys = 0;  // a grey photograph
  const std::size_t cols = (count - greys) / rows, kept = cols * rows;
  const smem::Array<std::uint32_t> by_hue(context, smem::Count{kept}), picture(context, smem::Count{kept});
  const smem::Array<float> lightness_by_hue(context, smem::Count{kept});
  smem::gather(context, pixels.vector(), places.vector(greys, kept), by_hue.vector());
  smem::gather(context, lightness.vector(), places.vector(greys, kept), lightness_by_hue.vector());
  smem::sort_pairs_rows(context, lightness_by_hue.matrix(cols, rows), by_hue.matrix(cols, rows),
                        lightness_by_hue.matrix(cols, rows), by_hue.matrix(cols, rows), {.descending = true});
  smem::transpose(context, by_hue.matrix(cols, rows), picture.matrix(rows, cols));
  const std::vector<std::uint32_t> words = picture.to_host();
  Image result(rows, photo.cols);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < photo.cols; ++col) {
      Pixel& pixel = result.at(row, col);
      std::memcpy(&pixel, &words[row * cols + col * cols / photo.cols], sizeof pixel);
      pixel.alpha = 255;
    }
  }
  return result;
}

struct Swatch {
  Pixel colour{};    ///< the mean of its pixels
  double share = 0;  ///< of the palette
};

/// The cells of colour with the greatest weights, the greatest first.
std::vector<Swatch> palette(const smem::Context& context, const Image& photo, const Colours& colours) {
  const std::size_t count = colours.pixels.size();
  const smem::Array<std::uint32_t> cells(context, colours.cells), sorted_cells(context, smem::Count{count}),
      unique_cells(context, smem::Count{count});
  const smem::Array<std::uint32_t> weights(context, colours.weights),
      sorted_weights(context, smem::Count{count});
  const smem::Array<std::uint64_t> sums(context, smem::Count{count});
  smem::sort_pairs(context, cells.vector(), weights.vector(), sorted_cells.vector(), sorted_weights.vector());
  const std::size_t found = smem::reduce_by_key(context, sorted_cells.vector(), sorted_weights.vector(),
                                                unique_cells.vector(), sums.vector());

  std::map<std::uint32_t, std::uint64_t> expected;
  for (std::size_t i = 0; i < count; ++i)
    expected[colours.cells[i]] += colours.weights[i];
  require(found == expected.size(), "the number of cells");
  const std::vector<std::uint32_t> unique = unique_cells.to_host();
  const std::vector<std::uint64_t> weight_of = sums.to_host();
  for (std::size_t i = 0; i < found; ++i)
    require(expected.at(unique[i]) == weight_of[i], "the weight of a cell");

  const std::size_t k = std::min(kSwatches, found);
  const smem::Array<std::uint64_t> greatest(context, smem::Count{k});
  const smem::Array<std::uint32_t> which(context, smem::Count{k});
  smem::top_k(context, sums.vector(0, found), greatest.vector(), which.vector());
  const std::vector<std::uint64_t> top = greatest.to_host();
  const std::vector<std::uint32_t> cell_places = which.to_host();
  const double whole = std::accumulate(top.begin(), top.end(), 0.0);
  std::vector<Swatch> swatches;
  for (std::size_t i = 0; i < k; ++i) {
    std::array<std::size_t, 3> sum{};
    std::size_t members = 0;
    for (std::size_t p = 0; p < count; ++p) {
      if (colours.cells[p] != unique[cell_places[i]]) continue;
      const Pixel& pixel = photo.pixels[p];
      sum[0] += pixel.red;
      sum[1] += pixel.green;
      sum[2] += pixel.blue;
      ++members;
    }
    const auto mean = [&](std::size_t channel) { return static_cast<std::uint8_t>(sum[channel] / members); };
    swatches.push_back({{mean(0), mean(1), mean(2), 255}, static_cast<double>(top[i]) / whole});
  }
  return swatches;
}

/// The palette as a strip, each colour with its name and its share below.
Image strip_of(const std::vector<Swatch>& swatches, std::size_t cols) {
  constexpr std::size_t kGap = 16, kHeight = 112;
  Image strip(kTextHeight + kHeight + 2 * kTextHeight + kGap, cols, kPaper);
  write_text(strip, 0, kGap, "palette, by how much there is and how colourful");
  const std::size_t width = (cols - kGap) / swatches.size() - kGap;
  std::size_t left = kGap;
  for (const Swatch& swatch : swatches) {
    const Pixel& c = swatch.colour;
    for (std::size_t row = kTextHeight + 4; row < kTextHeight + kHeight; ++row)
      std::fill_n(&strip.at(row, left), width, c);
    write_text(strip, kTextHeight + kHeight + 8, left,
               fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue));
    write_text(strip, 2 * kTextHeight + kHeight + 8, left, fmt::format("{:.0f} %", 100 * swatch.share));
    left += width + kGap;
  }
  return strip;
}

void draw(const smem::Context& context, const fs::path& file, const fs::path& folder) {
  const Image photo = read_image(file);
  const Colours colours = colours_of(photo);
  const std::vector<Swatch> swatches = palette(context, photo, colours);
  constexpr std::size_t kWidest = 512;
  const Image above = contact_sheet(
      {{"photograph", photo}, {"its colours, by hue and brightness", sorted(context, photo, colours)}}, 2,
      kWidest);
  const fs::path sheet = folder / fmt::format("{}_palette.png", file.stem().string());
  write_png(sheet, stacked({above, strip_of(swatches, above.cols)}, 0));
  std::string names;
  for (const Swatch& swatch : swatches)
    names += fmt::format(" {:02x}{:02x}{:02x}", swatch.colour.red, swatch.colour.green, swatch.colour.blue);
  fmt::print("{} ({} x {}): every pixel and every weight right;{}; {}\n", file.filename().string(),
             photo.rows, photo.cols, names, sheet.string());
}

}  // namespace

int main(int argc, char** argv) {
  return run_sample("palette", [&] {
    const smem::Context context;
    fmt::print("{} ({})\n", context.device().name, context.device().platform);
    for (const fs::path& file : pictures_of(argc, argv))
      draw(context, file, output_folder());
  });
}
