// Heat spreads in a plate whose conductivity is the brightness of a photograph, from three heated places.
// The walls are insulated, so the plate must hold exactly the energy that the sources add; this is checked.
// Writes an animation (GIF), and its last picture beside the photograph (PNG).
//
//   heat [PICTURE]     SMEM_SAMPLE_OUTPUT: the folder to write into, else ./output
#include "gif.hpp"
#include "image.hpp"
#include "sample.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWidest = 256;  // cells of the plate's longer side, about
constexpr std::size_t kFrames = 60;
constexpr std::size_t kStepsPerFrame = 160;  // of which several are made in one pass over memory
constexpr std::size_t kGap = 6;              // rows of the animation between the plate and the scale

/// Conductivities of 0.01 (black) to 1 (white), of squares of the photograph.
std::vector<float> conductivities_of(const Image& photo, std::size_t factor, const smem::GridSize& size) {
  std::vector<float> k;
  for (std::size_t row = 0; row < size.height; ++row) {
    for (std::size_t col = 0; col < size.width; ++col) {
      double sum = 0;
      for (std::size_t i = 0; i < factor * factor; ++i) {
        const Pixel& p = photo.at(row * factor + i / factor, col * factor + i % factor);
        sum += 0.2126 * p.red + 0.7152 * p.green + 0.0722 * p.blue;
      }
      const auto brightness = static_cast<float>(sum / (255.0 * static_cast<double>(factor * factor)));
      k.push_back(std::min(0.01F + 0.99F * brightness * brightness, 1.0F));
    }
  }
  return k;
}

/// Three discs give off heat.
std::vector<float> sources_of(const smem::GridSize& size) {
  std::vector<float> q(size.width * size.height);
  const auto width = static_cast<float>(size.width), height = static_cast<float>(size.height);
  for (const auto& [x, y] : {std::pair{0.2F, 0.25F}, {0.5F, 0.62F}, {0.82F, 0.35F}}) {
    for (std::size_t i = 0; i < q.size(); ++i) {
      const std::size_t row = i / size.width;
      const float dx = static_cast<float>(i % size.width) - x * width;
      const float dy = static_cast<float>(row) - y * height;
      if (dx * dx + dy * dy < 20) q[i] = 0.01F;
    }
  }
  return q;
}

double sum_of(const std::vector<float>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

/// Number of a colour; the root makes small temperatures visible.
std::vector<std::uint8_t> colours_of(const std::vector<float>& temperatures, float hottest) {
  std::vector<std::uint8_t> numbers(temperatures.size());
  std::transform(temperatures.begin(), temperatures.end(), numbers.begin(), [&](float t) {
    return static_cast<std::uint8_t>(std::lround(255 * std::sqrt(std::clamp(t / hottest, 0.0F, 1.0F))));
  });
  return numbers;
}

Image picture_of(const std::vector<std::uint8_t>& numbers, const smem::GridSize& size, std::size_t factor) {
  const std::vector<Colour> colours = heat_colours();
  Image picture(size.height * factor, size.width * factor);
  for (std::size_t row = 0; row < picture.rows; ++row) {
    for (std::size_t col = 0; col < picture.cols; ++col) {
      const Colour& c = colours[numbers[row / factor * size.width + col / factor]];
      picture.at(row, col) = {c[0], c[1], c[2], 255};
    }
  }
  return picture;
}

/// The temperatures that the colours stand for: 0 at the left, `hottest` at the right.
Image scale_of(std::size_t width, float hottest) {
  constexpr std::size_t kBar = 12, kMargin = 16;
  Image scale(kBar + 4 + 2 * kTextHeight, width, kPaper);
  if (width <= 2 * kMargin) return scale;
  const std::size_t length = width - 2 * kMargin;
  std::vector<std::uint8_t> numbers(length);
  for (std::size_t i = 0; i < length; ++i)
    numbers[i] = static_cast<std::uint8_t>(i * 255 / std::max<std::size_t>(1, length - 1));
  const Image line = picture_of(numbers, {length, 1}, 1);
  for (std::size_t row = 0; row < kBar; ++row)
    std::copy(line.pixels.begin(), line.pixels.end(), &scale.at(row, kMargin));
  const auto write = [&](std::size_t row, float share, const std::string& text) {
    const std::size_t room = length - std::min(length, text_width(text));
    write_text(scale, row, kMargin + static_cast<std::size_t>(share * static_cast<float>(room)), text);
  };
  // Colours follow the root of the temperature: the middle of the bar is a quarter of the hottest.
  for (const float share : {0.0F, 0.5F, 1.0F})
    write(kBar + 4, share, fmt::format("{:.2g}", share * share * hottest));
  write(kBar + 4 + kTextHeight, 0.5F, "temperature");
  return scale;
}

Image caption_of(std::size_t width, const std::string& text) {
  Image caption(kTextHeight, width, kPaper);
  write_text(caption, 0, 0, text);
  return caption;
}

/// Numbers of the colours: paper becomes black, ink white.
std::vector<std::uint8_t> numbers_of(const Image& picture) {
  const std::vector<Colour> colours = heat_colours();
  std::vector<std::uint8_t> numbers;
  numbers.reserve(picture.pixels.size());
  for (const Pixel& p : picture.pixels) {
    const auto found = std::find(colours.begin(), colours.end(), Colour{p.red, p.green, p.blue});
    numbers.push_back(p == kPaper || p == kInk ? std::uint8_t(p == kInk ? 255 : 0)
                                               : static_cast<std::uint8_t>(found - colours.begin()));
  }
  return numbers;
}

void run(const smem::Context& context, const fs::path& file, const fs::path& folder) {
  const Image photo = read_image(file);
  const std::size_t factor = std::max<std::size_t>(1, std::max(photo.rows, photo.cols) / kWidest);
  const smem::GridSize size{photo.cols / factor, photo.rows / factor};
  const std::size_t cells = size.width * size.height;
  const std::vector<float> sources = sources_of(size);
  const smem::Array<float> k(context, conductivities_of(photo, factor, size)), q(context, sources);
  const smem::Array<float> plate(context, std::vector<float>(cells));

  smem::Heat heat{
      .steps = kStepsPerFrame, .conductivities = k.grid(size), .max_conductivity = 1, .source = q.grid(size)};
  heat.dt = smem::heat_time_step_limit(heat, 2);
  const smem::HeatProblem problem{.width = size.width,
                                  .height = size.height,
                                  .steps = kStepsPerFrame,
                                  .variable = true,
                                  .source = true,
                                  .in_place = true};
  const smem::Plan plan = smem::plan_heat(context.device(), problem);
  fmt::print("{}: a plate of {} x {} cells, {} steps a pass over memory, by the variant \"{}\"\n",
             context.device().name, size.width, size.height, plan.number("steps"), plan.variant);

  std::vector<std::vector<float>> frames;
  double seconds = 0;
  for (std::size_t frame = 0; frame < kFrames; ++frame) {
    const auto start = std::chrono::steady_clock::now();
    smem::heat(context, plate.grid(size), plate.grid(size), heat);  // in place
    context.finish();
    // The first call also compiles.
    if (frame > 0) seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    frames.push_back(plate.to_host());
  }
  const double rate = static_cast<double>((kFrames - 1) * kStepsPerFrame) / seconds;
  fmt::print("{:.0f} steps a second, {:.2f} billion cells a second\n", rate,
             rate * static_cast<double>(cells) * 1e-9);

  const double given = sum_of(sources) * heat.dt * static_cast<double>(kFrames * kStepsPerFrame);
  const double energy = sum_of(frames.back());
  fmt::print("energy {:.4f}; the sources added {:.4f}\n", energy, given);
  // float32 rounds each step: the error is far below a thousandth.
  if (!(std::abs(energy - given) < 1e-3 * given)) throw std::runtime_error("energy was lost or made");

  const float hottest = *std::max_element(frames.back().begin(), frames.back().end());
  const fs::path animation = folder / fmt::format("{}_heat.gif", file.stem().string());
  const std::vector<std::uint8_t> scale = numbers_of(scale_of(size.width, hottest));
  GifWriter gif(animation, size.width, kTextHeight + size.height + kGap + scale.size() / size.width,
                heat_colours(), 6);
  for (std::size_t frame = 0; frame < kFrames; ++frame) {
    const std::string caption = fmt::format("heat: step {}", (frame + 1) * kStepsPerFrame);
    std::vector<std::uint8_t> pixels = numbers_of(caption_of(size.width, caption));
    const std::vector<std::uint8_t> plate_colours = colours_of(frames[frame], hottest);
    pixels.insert(pixels.end(), plate_colours.begin(), plate_colours.end());
    pixels.resize(pixels.size() + kGap * size.width);
    pixels.insert(pixels.end(), scale.begin(), scale.end());
    gif.add(pixels);
  }
  gif.close();
  const fs::path sheet = folder / fmt::format("{}_heat.png", file.stem().string());
  const auto shown = [&](std::size_t frame) {
    return picture_of(colours_of(frames[frame], hottest), size, factor);
  };
  const Image panes =
      contact_sheet({{"conductivity: brightness", photo},
                     {fmt::format("after {} steps", 10 * kStepsPerFrame), shown(9)},
                     {fmt::format("after {} steps", kFrames * kStepsPerFrame), shown(kFrames - 1)}},
                    3);
  write_png(sheet, stacked({panes, scale_of(panes.cols, hottest)}, 0));
  fmt::print("{} frames: {}\n{}\n", gif.frames(), animation.string(), sheet.string());
}

}  // namespace

int main(int argc, char** argv) {
  return run_sample("heat", [&] { run(smem::Context(), pictures_of(argc, argv).front(), output_folder()); });
}
