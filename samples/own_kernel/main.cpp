// A kernel of your own, built from smem's building blocks: photographs as panes of stained glass. Every tile
// is folded over its diagonal in local memory, in the layout that smem infers for it, and mixed with its mean
// colour, which is a reduction by the work-group. A plain loop checks every pixel.
//
//   own_kernel [PICTURE...]     SMEM_SAMPLE_OUTPUT: the folder to write into, else ./output
#include "image.hpp"
#include "sample.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const char* const kPanes = R"(
#include "common/tile.clh"        // TILE_AT: where an item of the tile lies
#include "common/work_group.clh"  // DEFINE_TEAM_REDUCE: a reduction by a work-group, of any type and operation

#define ADD(a, b) ((a) + (b))
DEFINE_TEAM_REDUCE(team_sum, uint4, ADD)

kernel __attribute__((reqd_work_group_size(EDGE, EDGE, 1)))
void panes(global const uchar4* restrict in, global uchar4* restrict out, uint rows, uint cols) {
  local uchar4 tile[PLACES];
  local uint4 scratch[EDGE * EDGE];
  const uint row = get_local_id(1), col = get_local_id(0), item = row * EDGE + col;
  const uint y = get_global_id(1), x = get_global_id(0);
  const int inside = y < rows && x < cols;

  // The tile goes into local memory by rows; beyond the picture it is black.
  const uchar4 pixel = inside ? in[y * cols + x] : (uchar4)(0);
  tile[TILE_AT(row, col)] = pixel;

  // Its mean colour: all work-items of the group call the function, also those beyond the picture.
  uint4 sum = convert_uint4(pixel);
  team_sum(&sum, scratch, item, EDGE * EDGE);  // holds barriers, so the tile is complete after it

  // Above the diagonal each pixel is that of the place below it: a column of the tile, without bank conflicts.
  const uchar4 folded = col > row ? tile[TILE_AT(col, row)] : pixel;
  if (inside) out[y * cols + x] = convert_uchar4((convert_uint4(folded) + sum / (EDGE * EDGE)) / 2);
}
)";

/// The same by plain loops.
Image expected(const Image& in, std::size_t edge) {
  Image out(in.rows, in.cols);
  const auto pixel = [&](std::size_t row, std::size_t col) {
    return row < in.rows && col < in.cols ? in.at(row, col) : Pixel{};
  };
  for (std::size_t top = 0; top < in.rows; top += edge) {
    for (std::size_t left = 0; left < in.cols; left += edge) {
      std::array<std::size_t, 4> sum{};
      for (std::size_t i = 0; i < edge * edge; ++i) {
        const Pixel p = pixel(top + i / edge, left + i % edge);
        sum[0] += p.red, sum[1] += p.green, sum[2] += p.blue, sum[3] += p.alpha;
      }
      for (std::size_t row = 0; row < edge && top + row < in.rows; ++row) {
        for (std::size_t col = 0; col < edge && left + col < in.cols; ++col) {
          const Pixel p = pixel(top + std::max(row, col), left + std::min(row, col));
          const auto mixed = [&](std::size_t channel, std::uint8_t value) {
            return static_cast<std::uint8_t>((value + sum[channel] / (edge * edge)) / 2);
          };
          out.at(top + row, left + col) = {mixed(0, p.red), mixed(1, p.green), mixed(2, p.blue),
                                           mixed(3, p.alpha)};
        }
      }
    }
  }
  return out;
}

void run(const smem::Context& context, const std::vector<fs::path>& files, const fs::path& folder) {
  // The largest square work-group that the device has, up to 16 x 16.
  const smem::Device& device = context.device();
  std::size_t edge = 16;
  while (edge * edge > device.max_work_group)
    edge /= 2;
  const smem::Tile tile{.rows = edge,
                        .cols = edge,
                        .item_bytes = sizeof(Pixel),
                        .work_items = edge * edge,
                        .accesses = {smem::Access::rows(edge, true), smem::Access::columns(edge, false)}};
  const smem::LocalLayout layout = smem::infer_layout(device, tile);
  smem::KernelSource source{.source = kPanes, .entry_point = "panes"};
  source.defines = {{"EDGE", static_cast<long>(edge)}, {"PLACES", static_cast<long>(layout.items())}};
  const smem::Kernel panes = context.build(source.with(layout));
  fmt::print("{}: tiles of {} x {}, {} in local memory, conflict degree {}\n", device.name, edge, edge,
             name_of(layout.kind), layout.load_degree());

  for (const fs::path& file : files) {
    const Image photo = read_image(file);
    const smem::Array<Pixel> in(context, photo.pixels), out(context, smem::Count{photo.pixels.size()});
    const auto whole = [&](std::size_t size) { return (size + edge - 1) / edge * edge; };
    panes({.global = {whole(photo.cols), whole(photo.rows), 1}, .work_group = {edge, edge, 1}}, in, out,
          static_cast<cl_uint>(photo.rows), static_cast<cl_uint>(photo.cols));
    Image result(photo.rows, photo.cols);
    result.pixels = out.to_host();  // waits
    if (result.pixels != expected(photo, edge).pixels)
      throw std::runtime_error(fmt::format("{}: a pixel is wrong", file.string()));
    const fs::path path = folder / fmt::format("{}_panes.png", file.stem().string());
    write_png(path, result);
    fmt::print("{} ({} x {}): every pixel right; {}\n", file.filename().string(), photo.rows, photo.cols,
               path.string());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run_sample("own_kernel", [&] { run(smem::Context(), pictures_of(argc, argv), output_folder()); });
}
