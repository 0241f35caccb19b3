// Turns and mirrors photographs on the best OpenCL device, checks every picture against a plain loop, writes
// them as PNG files, and shows how fast each variant of the transpose was, and why.
//
//   rotate_photo [PICTURE...]     SMEM_SAMPLE_OUTPUT: the folder to write into, else ./output
#include "image.hpp"
#include "sample.hpp"
#include "variants.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// One way to turn a picture: on the device, and where a pixel of the result comes from.
struct Turn {
  const char* name;
  bool swaps_sides;  // whether a picture of rows x cols becomes one of cols x rows
  std::function<void(const smem::Context&, const smem::ConstMatrix& in, const smem::Matrix& out)> on_device;
  std::function<Pixel(const Image& in, std::size_t row, std::size_t col)> source;
};

std::vector<Turn> turns() {
  using namespace smem;
  return {
      {"transposed", true,
       [](const Context& c, const ConstMatrix& in, const Matrix& out) { transpose(c, in, out); },
       [](const Image& in, std::size_t r, std::size_t c) { return in.at(c, r); }},
      {"rotated_90", true,
       [](const Context& c, const ConstMatrix& in, const Matrix& out) {
         rotate(c, in, out, Rotation::by_90);
       },
       [](const Image& in, std::size_t r, std::size_t c) { return in.at(in.rows - 1 - c, r); }},
      {"rotated_180", false,
       [](const Context& c, const ConstMatrix& in, const Matrix& out) {
         rotate(c, in, out, Rotation::by_180);
       },
       [](const Image& in, std::size_t r, std::size_t c) { return in.at(in.rows - 1 - r, in.cols - 1 - c); }},
      {"rotated_270", true,
       [](const Context& c, const ConstMatrix& in, const Matrix& out) {
         rotate(c, in, out, Rotation::by_270);
       },
       [](const Image& in, std::size_t r, std::size_t c) { return in.at(c, in.cols - 1 - r); }},
      {"flipped_horizontal", false,
       [](const Context& c, const ConstMatrix& in, const Matrix& out) { flip(c, in, out, Flip::horizontal); },
       [](const Image& in, std::size_t r, std::size_t c) { return in.at(r, in.cols - 1 - c); }},
      {"flipped_vertical", false,
       [](const Context& c, const ConstMatrix& in, const Matrix& out) { flip(c, in, out, Flip::vertical); },
       [](const Image& in, std::size_t r, std::size_t c) { return in.at(in.rows - 1 - r, c); }},
      // The last of the eight ways in which a rectangle can lie: over the other diagonal, in two calls. The
      // second follows the first on the queue, and OpenCL keeps the buffer between them until it is done with
      // it.
      {"transverse", true,
       [](const Context& c, const ConstMatrix& in, const Matrix& out) {
         const Array<Pixel> between(c, smem::Count{in.rows * in.cols});
         transpose(c, in, between.matrix(out.rows, out.cols));
         rotate(c, between.matrix(out.rows, out.cols), out, Rotation::by_180);
       },
       [](const Image& in, std::size_t r, std::size_t c) { return in.at(in.rows - 1 - c, in.cols - 1 - r); }},
  };
}

/// Runs one turn on the device. The picture goes there, is turned, and comes back.
Image turned(const smem::Context& context, const Turn& turn, const Image& in) {
  Image out = turn.swaps_sides ? Image(in.cols, in.rows) : Image(in.rows, in.cols);
  const smem::Array<Pixel> device_in(context, in.pixels);
  const smem::Array<Pixel> device_out(context, smem::Count{out.pixels.size()});
  turn.on_device(context, device_in.matrix(in.rows, in.cols), device_out.matrix(out.rows, out.cols));
  out.pixels = device_out.to_host();  // waits
  return out;
}

void check(const Turn& turn, const Image& in, const Image& out) {
  for (std::size_t row = 0; row < out.rows; ++row) {
    for (std::size_t col = 0; col < out.cols; ++col) {
      if (out.at(row, col) != turn.source(in, row, col))
        throw std::runtime_error(fmt::format("{}: wrong pixel at row {}, column {}", turn.name, row, col));
    }
  }
}

void turn_photo(const smem::Context& context, const fs::path& file, const Image& photo,
                const fs::path& folder) {
  const std::string stem = file.stem().string();
  std::vector<Captioned> sheet{{"original", photo}};
  for (const Turn& turn : turns()) {
    Image out = turned(context, turn, photo);
    check(turn, photo, out);
    write_png(folder / fmt::format("{}_{}.png", stem, turn.name), out);
    std::string caption = turn.name;
    std::replace(caption.begin(), caption.end(), '_', ' ');
    sheet.push_back({caption, std::move(out)});
  }
  const fs::path sheet_file = folder / fmt::format("{}_sheet.png", stem);
  write_png(sheet_file, contact_sheet(sheet, 4));
  fmt::print("{} ({} x {}): {} pictures, every pixel right; all of them in {}\n", file.filename().string(),
             photo.rows, photo.cols, turns().size(), sheet_file.string());
}

void run(const std::vector<fs::path>& files, const fs::path& folder) {
  const smem::Context context({.profiling = true});  // events will be asked for times
  fmt::print("{} ({})\n", context.device().name, context.device().platform);
  Image photo;
  for (const fs::path& file : files) {
    photo = read_image(file);
    turn_photo(context, file, photo, folder);
  }
  print_variants(context, files.back().filename().string(), photo.rows, photo.cols);
}

}  // namespace

int main(int argc, char** argv) {
  return run_sample("rotate_photo", [&] { run(pictures_of(argc, argv), output_folder()); });
}
