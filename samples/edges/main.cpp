// Blurs, sharpens and draws the edges of photographs on the best OpenCL device, and writes the pictures, and
// all of them on one sheet, as PNG files.
//
//   edges [PICTURE...]     SMEM_SAMPLE_OUTPUT: the folder to write into, else ./output
#include "image.hpp"
#include "sample.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChannels = sizeof(Pixel);

/// A photograph on the device, and room for a picture made of it.
class Studio {
 public:
  Studio(const smem::Context& context, const Image& photo)
      : context_(context),
        photo_(photo),
        in_(context, bytes_of(photo)),
        out_(context, smem::Count{photo.pixels.size() * kChannels}) {}

  /// What `make` writes of the photograph, as an opaque picture.
  template <class Make>
  Image picture(const Make& make) const {
    make(grid(in_), grid(out_));
    const std::vector<std::uint8_t> bytes = out_.to_host();
    Image result(photo_.rows, photo_.cols);
    std::memcpy(result.pixels.data(), bytes.data(), bytes.size());
    for (Pixel& pixel : result.pixels)
      pixel.alpha = 255;
    return result;
  }

  /// The strength of the edges of the brightness, light on dark: its strongest hundredth is white.
  Image edges() const {
    const smem::GridSize size{photo_.cols, photo_.rows};
    std::vector<float> grey;
    grey.reserve(photo_.pixels.size());
    for (const Pixel& p : photo_.pixels)  // the weights of ITU-R BT.601
      grey.push_back(0.299F * p.red + 0.587F * p.green + 0.114F * p.blue);
    const smem::Array<float> brightness(context_, grey), smooth(context_, smem::Count{grey.size()});
    // Grain has slopes too: a small blur removes it first.
    smem::gaussian_blur(context_, brightness.grid(size), smooth.grid(size), {.sigma = 1});
    smem::sobel(context_, smooth.grid(size), brightness.grid(size));
    const std::vector<float> strength = brightness.to_host();
    std::vector<float> sorted = strength;
    const auto bright = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * 99 / 100);
    std::nth_element(sorted.begin(), bright, sorted.end());
    const float white = std::max(*bright, 1.0F);
    Image result(photo_.rows, photo_.cols);
    for (std::size_t i = 0; i < strength.size(); ++i) {
      // Most edges are weak: they are lifted a little, but grain is not.
      const auto level =
          static_cast<std::uint8_t>(std::lround(255 * std::pow(std::min(strength[i] / white, 1.0F), 0.8F)));
      result.pixels[i] = {level, level, level, 255};
    }
    return result;
  }

 private:
  static std::vector<std::uint8_t> bytes_of(const Image& image) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(image.pixels.data());
    return {bytes, bytes + image.pixels.size() * kChannels};
  }
  smem::Grid grid(const smem::Array<std::uint8_t>& array) const {
    return array.grid({photo_.cols, photo_.rows}, {.channels = kChannels});
  }

  smem::Context context_;
  const Image& photo_;
  smem::Array<std::uint8_t> in_, out_;
};

void draw(const smem::Context& context, const fs::path& file, const fs::path& folder) {
  const Image photo = read_image(file);
  const Studio studio(context, photo);
  const std::size_t far =
      std::max<std::size_t>(photo.cols / 60, 2);  // so that each picture shows as much of a blur
  const auto soft = static_cast<double>(far) / 2;
  const std::vector<Captioned> pictures{
      {"original", photo},
      {"gaussian blur", studio.picture([&](const smem::ConstGrid& in, const smem::Grid& out) {
         smem::gaussian_blur(context, in, out, {.sigma = soft});
       })},
      {"box blur", studio.picture([&](const smem::ConstGrid& in, const smem::Grid& out) {
         smem::box_blur(context, in, out, far);
       })},
      {"median 5 x 5", studio.picture([&](const smem::ConstGrid& in, const smem::Grid& out) {
         smem::median_blur(context, in, out, 5);
       })},
      {"sharpened", studio.picture([&](const smem::ConstGrid& in, const smem::Grid& out) {
         smem::unsharp_mask(context, in, out, {.window = {.sigma = 1.5}, .amount = 1.2, .threshold = 3});
       })},
      {"edges", studio.edges()}};
  const std::string name = file.stem().string();
  for (const Captioned& picture : pictures) {
    std::string what = picture.caption;
    std::replace(what.begin(), what.end(), ' ', '_');
    if (what != "original") write_png(folder / fmt::format("{}_{}.png", name, what), picture.image);
  }
  const fs::path sheet = folder / fmt::format("{}_edges_sheet.png", name);
  write_png(sheet, contact_sheet(pictures, 3));
  fmt::print("{} ({} x {}): {}\n", file.filename().string(), photo.rows, photo.cols, sheet.string());
}

}  // namespace

int main(int argc, char** argv) {
  return run_sample("edges", [&] {
    const smem::Context context;
    fmt::print("{} ({})\n", context.device().name, context.device().platform);
    for (const fs::path& file : pictures_of(argc, argv))
      draw(context, file, output_folder());
  });
}
