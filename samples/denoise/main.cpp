// Removes noise from photographs by non-local means on the best OpenCL device. Writes a PNG file with the
// photograph, the same with noise, the denoised one, and the difference of these two.
//
// Each pixel becomes the mean of the pixels around it, weighted by exp(-distance^2), where the distance is
// that of the patches around the two pixels. This is attention: queries and keys are patches, values are
// pixels. For patches q and k, |q - k|^2 = |q|^2 - 2 q.k + |k|^2, and |q|^2 is the same for all keys of a
// query, so that softmax leaves it out. A key has |k|^2 as one more element, and a query -1/2: the logit is
// their product, q.k - |k|^2 / 2, times a scale.
//
// The photograph is cut into blocks of pixels. Each is a page of keys and values. A row of the page table
// names the block and those around it, in which its pixels search: no patch is stored twice.
//
// A. Buades, B. Coll and J.-M. Morel, "A non-local algorithm for image denoising", CVPR 2005.
//
//   denoise [PICTURE...]     SMEM_SAMPLE_OUTPUT: the folder to write into, else ./output
#include "image.hpp"
#include "sample.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr double kNoise = 25;     // its standard deviation, in levels of 255
constexpr double kBandwidth = 1;  // the difference of two colours that counts as 1, in kNoise
constexpr std::size_t kEdge = 3, kBlock = 8, kNeighbours = 9;
constexpr std::size_t kColours = 3, kPatch = kEdge * kEdge * kColours;
constexpr std::size_t kHead = kPatch + 1;  // elements of a query and of a key

struct Photo {
  std::size_t rows = 0, cols = 0;
  std::vector<float> levels;  // of kColours

  /// Beyond its edges the photograph is mirrored.
  const float* at(std::size_t row, std::size_t col) const {
    return &levels[(mirrored(row, rows) * cols + mirrored(col, cols)) * kColours];
  }
  float* at(std::size_t row, std::size_t col) { return &levels[(row * cols + col) * kColours]; }
  /// A number before 0 is one that has wrapped around.
  static std::size_t mirrored(std::size_t at, std::size_t size) {
    const auto period = 2 * static_cast<std::ptrdiff_t>(size);
    const auto place = (static_cast<std::ptrdiff_t>(at) % period + period) % period;
    return static_cast<std::size_t>(std::min(place, period - 1 - place));
  }
};

Photo levels_of(const Image& image) {
  Photo photo{image.rows, image.cols, {}};
  for (const Pixel& p : image.pixels)
    for (const std::uint8_t level : {p.red, p.green, p.blue})
      photo.levels.push_back(level);
  return photo;
}

Image picture_of(const Photo& photo) {
  Image image(photo.rows, photo.cols);
  const auto level = [](float x) {
    return static_cast<std::uint8_t>(std::lround(std::clamp(x, 0.0F, 255.0F)));
  };
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const float* p = &photo.levels[i * kColours];
    image.pixels[i] = {level(p[0]), level(p[1]), level(p[2]), 255};
  }
  return image;
}

Photo with_noise(Photo photo) {
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, kNoise);
  for (float& x : photo.levels)
    x += noise(random);
  return photo;
}

/// Peak signal-to-noise ratio, in decibels.
double psnr(const Photo& a, const Photo& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.levels.size(); ++i)
    sum += std::pow(static_cast<double>(a.levels[i]) - b.levels[i], 2);
  return 10 * std::log10(255 * 255 * static_cast<double>(a.levels.size()) / sum);
}

/// Patches and pixels, block after block.
struct Blocks {
  std::size_t down, across;
  std::vector<float> queries, keys, values;
  std::vector<std::uint32_t> table, lengths;  // pages of each block, and the number of their pixels

  explicit Blocks(const Photo& photo)
      : down((photo.rows + kBlock - 1) / kBlock), across((photo.cols + kBlock - 1) / kBlock) {
    for (std::size_t row = 0; row < down; ++row) {
      for (std::size_t col = 0; col < across; ++col) {
        for (std::size_t i = 0; i < kBlock * kBlock; ++i)
          add_pixel(photo, row * kBlock + i / kBlock, col * kBlock + i % kBlock);
        add_neighbours(row, col);
      }
    }
  }
  std::size_t size() const { return down * across; }

 private:
  void add_pixel(const Photo& photo, std::size_t row, std::size_t col) {
    float squares = 0;
    for (std::size_t i = 0; i < kEdge * kEdge; ++i) {
      const float* pixel = photo.at(row + i / kEdge - kEdge / 2, col + i % kEdge - kEdge / 2);
      keys.insert(keys.end(), pixel, pixel + kColours);
      for (std::size_t c = 0; c < kColours; ++c)
        squares += pixel[c] * pixel[c];
    }
    queries.insert(queries.end(), keys.end() - static_cast<std::ptrdiff_t>(kPatch), keys.end());
    queries.push_back(-0.5F);
    keys.push_back(squares);
    values.insert(values.end(), photo.at(row, col), photo.at(row, col) + kColours);
  }
  void add_neighbours(std::size_t row, std::size_t col) {
    const std::size_t before = table.size();
    for (std::size_t r = row - std::min<std::size_t>(row, 1); r < std::min(row + 2, down); ++r)
      for (std::size_t c = col - std::min<std::size_t>(col, 1); c < std::min(col + 2, across); ++c)
        table.push_back(static_cast<std::uint32_t>(r * across + c));
    lengths.push_back(static_cast<std::uint32_t>((table.size() - before) * kBlock * kBlock));
    table.resize(before + kNeighbours);
  }
};

/// The noisy photograph after attention.
struct Denoised {
  Photo photo;
  double seconds = 0;
};

/// The scale of (q.k - |k|^2 / 2), for weights of exp(-|q - k|^2 / (kPatch bandwidth^2)).
constexpr double kScale = 2 / (kPatch * kNoise * kNoise * kBandwidth * kBandwidth);

Denoised denoised(const smem::Context& context, const Photo& noisy) {
  const Blocks blocks(noisy);
  const smem::Array<float> queries(context, blocks.queries), keys(context, blocks.keys),
      values(context, blocks.values), results(context, smem::Count{blocks.values.size()});
  const smem::Array<std::uint32_t> table(context, blocks.table), lengths(context, blocks.lengths);
  const smem::HeadsShape patches{blocks.size(), 1, kBlock * kBlock, kHead};
  const smem::HeadsShape pixels{blocks.size(), 1, kBlock * kBlock, kColours};
  const smem::HeadsView<const float> q(queries.buffer(), patches), k(keys.buffer(), patches),
      v(values.buffer(), pixels);
  const smem::HeadsView<float> out(results.buffer(), pixels);
  const smem::Attention how{
      .scale = kScale, .key_lengths = lengths, .cache = {table.matrix(blocks.size(), kNeighbours)}};
  smem::attention(context, q, k, v, out, how);  // builds the kernel
  context.finish();
  const auto start = std::chrono::steady_clock::now();
  smem::attention(context, q, k, v, out, how);
  context.finish();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  const std::vector<float> levels = results.to_host();
  Denoised result{noisy, seconds.count()};
  for (std::size_t row = 0; row < noisy.rows; ++row) {
    for (std::size_t col = 0; col < noisy.cols; ++col) {
      const std::size_t block = row / kBlock * blocks.across + col / kBlock;
      const std::size_t place = (block * kBlock + row % kBlock) * kBlock + col % kBlock;
      std::copy_n(&levels[place * kColours], kColours, result.photo.at(row, col));
    }
  }
  return result;
}

/// The definition: a pixel of the result by a plain loop.
std::array<double, kColours> plain(const Photo& noisy, std::size_t row, std::size_t col) {
  const auto range = [](std::size_t at, std::size_t size) {
    const std::size_t block = at / kBlock, blocks = (size + kBlock - 1) / kBlock;
    return std::pair{block == 0 ? 0 : (block - 1) * kBlock, std::min(block + 2, blocks) * kBlock};
  };
  const auto [top, bottom] = range(row, noisy.rows);
  const auto [left, right] = range(col, noisy.cols);
  std::array<double, kColours> sum{};
  double weights = 0;
  for (std::size_t r = top; r < bottom; ++r) {
    for (std::size_t c = left; c < right; ++c) {
      double squares = 0;
      for (std::size_t i = 0; i < kPatch; ++i) {
        const std::size_t y = i / kColours / kEdge - kEdge / 2, x = i / kColours % kEdge - kEdge / 2;
        const double apart = static_cast<double>(noisy.at(row + y, col + x)[i % kColours]) -
                             noisy.at(r + y, c + x)[i % kColours];
        squares += apart * apart;
      }
      const double weight = std::exp(-squares * kScale / 2);
      weights += weight;
      for (std::size_t i = 0; i < kColours; ++i)
        sum[i] += weight * noisy.at(r, c)[i];
    }
  }
  for (double& x : sum)
    x /= weights;
  return sum;
}

/// Compares some hundred pixels with the plain loop.
void check(const Photo& noisy, const Photo& clean) {
  const std::size_t pixels = noisy.rows * noisy.cols;
  for (std::size_t i = 0; i < pixels; i += pixels / 400 + 1) {
    const std::array<double, kColours> expected = plain(noisy, i / noisy.cols, i % noisy.cols);
    for (std::size_t c = 0; c < kColours; ++c) {
      if (!(std::abs(expected[c] - clean.levels[i * kColours + c]) < 0.05))
        throw std::runtime_error(fmt::format("row {}, column {} is wrong", i / noisy.cols, i % noisy.cols));
    }
  }
}

/// What was taken away, twice as strong, on grey.
Photo difference(const Photo& noisy, const Photo& clean) {
  Photo taken = noisy;
  for (std::size_t i = 0; i < taken.levels.size(); ++i)
    taken.levels[i] = 128 + 2 * (noisy.levels[i] - clean.levels[i]);
  return taken;
}

/// The upper middle, not shrunk: the mean of neighbours would take noise away as well.
Image detail(const Photo& photo) {
  constexpr std::size_t kWidest = 256;
  const Image all = picture_of(photo);
  Image part(std::min(photo.rows, kWidest), std::min(photo.cols, kWidest));
  for (std::size_t row = 0; row < part.rows; ++row)
    std::copy_n(&all.at(row, (all.cols - part.cols) / 2), part.cols, &part.at(row, 0));
  return part;
}

void clean(const smem::Context& context, const fs::path& file, const fs::path& folder) {
  const Photo photo = levels_of(read_image(file));
  const Photo noisy = with_noise(photo);
  const Denoised result = denoised(context, noisy);
  check(noisy, result.photo);
  const double before = psnr(photo, noisy), after = psnr(photo, result.photo);
  fmt::print("{} ({} x {}): {:.1f} dB with noise, {:.1f} dB denoised, gained {:.1f} dB in {:.3f} s\n",
             file.filename().string(), photo.rows, photo.cols, before, after, after - before, result.seconds);
  const fs::path whole = folder / fmt::format("{}_denoised.png", file.stem().string()),
                 sheet = folder / fmt::format("{}_denoise_sheet.png", file.stem().string());
  write_png(whole, picture_of(result.photo));
  write_png(sheet, contact_sheet({{"photograph", detail(photo)},
                                  {fmt::format("with noise: {:.1f} dB", before), detail(noisy)},
                                  {fmt::format("denoised: {:.1f} dB", after), detail(result.photo)},
                                  {"taken away, x 2", detail(difference(noisy, result.photo))}},
                                 4));
  fmt::print("  {}\n", sheet.string());
}

}  // namespace

int main(int argc, char** argv) {
  return run_sample("denoise", [&] {
    const smem::Context context;
    fmt::print("{} ({})\n", context.device().name, context.device().platform);
    for (const fs::path& file : pictures_of(argc, argv))
      clean(context, file, output_folder());
  });
}
