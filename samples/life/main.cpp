// Conway's Game of Life on a torus, by its own kernel. A work-group reads a tile and a halo into local
// memory, computes several generations there, and writes the tile without its halo, so that global memory
// is read once for all of them. Two glider guns fire into a random soup. A plain loop checks every cell of
// every frame. The result is an animation in which dead cells fade.
//
//   life     SMEM_SAMPLE_OUTPUT: the folder to write into, else ./output
#include "gif.hpp"
#include "sample.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWidth = 200, kHeight = 160;  // cells
constexpr std::size_t kFrames = 150, kScale = 3;    // pixels of a cell
constexpr std::size_t kGenerations = 2;             // of a frame, and of a pass over memory

const char* const kLife = R"(
#include "common/tile.clh"  // TILE_AT: where a cell of the tile lies

#define EDGE (OUT + 2 * GENERATIONS)  // of the tile with its halo

// Cells are 1 or 0. Each work-item has cells GROUP apart; a tile gives OUT x OUT results.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void life(global const uchar* restrict in, global uchar* restrict out, int width, int height) {
  local uchar tiles[2][PLACES];
  const int item = get_local_id(0);
  const int x0 = get_group_id(0) * OUT - GENERATIONS, y0 = get_group_id(1) * OUT - GENERATIONS;

  // The tile and its halo; beyond an edge of the world lies its other edge.
  for (int i = item; i < EDGE * EDGE; i += GROUP) {
    const int x = (x0 + i % EDGE + GENERATIONS * width) % width, y = (y0 + i / EDGE + GENERATIONS * height) % height;
    tiles[0][TILE_AT(i / EDGE, i % EDGE)] = in[y * width + x];
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  for (int generation = 0; generation < GENERATIONS; ++generation) {
    local const uchar* from = tiles[generation % 2];
    local uchar* to = tiles[1 - generation % 2];
    for (int i = item; i < EDGE * EDGE; i += GROUP) {
      const int row = i / EDGE, col = i % EDGE;
      uchar cell = 0;  // the outermost ones do not know all their neighbours: nothing that is written needs them
      if (row > 0 && row < EDGE - 1 && col > 0 && col < EDGE - 1) {
        int around = 0;
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) around += from[TILE_AT(row + dy, col + dx)];
        const uchar alive = from[TILE_AT(row, col)];
        cell = around == 3 || (alive && around == 4);  // counted with the cell itself
      }
      to[TILE_AT(row, col)] = cell;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  for (int i = item; i < OUT * OUT; i += GROUP) {
    const int row = i / OUT + GENERATIONS, col = i % OUT + GENERATIONS;
    if (x0 + col < width && y0 + row < height)
      out[(y0 + row) * width + x0 + col] = tiles[GENERATIONS % 2][TILE_AT(row, col)];
  }
}
)";

using World = std::vector<std::uint8_t>;

/// R. W. Gosper's gun of 1970, of period 30; mirrored where `left`.
void put_gun(World& world, std::size_t row, std::size_t col, bool left) {
  constexpr std::string_view kGun[] = {
      "........................O...........", "......................O.O...........",
      "............OO......OO............OO", "...........O...O....OO............OO",
      "OO........O.....O...OO..............", "OO........O...O.OO....O.O...........",
      "..........O.....O.......O...........", "...........O...O....................",
      "............OO......................"};
  for (std::size_t y = 0; y < std::size(kGun); ++y) {
    for (std::size_t x = 0; x < kGun[y].size(); ++x) {
      const std::size_t to = left ? col + kGun[y].size() - 1 - x : col + x;
      world[(row + y) * kWidth + to] = kGun[y][x] == 'O' ? 1 : 0;
    }
  }
}

World first_world() {
  World world(kWidth * kHeight);
  std::uint64_t state = 1970;  // Knuth's linear congruential generator of 64 bits
  for (std::size_t y = 90; y < 125; ++y) {
    for (std::size_t x = 20; x < kWidth - 20; ++x) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      world[y * kWidth + x] = state >> 61 < 2 ? 1 : 0;
    }
  }
  put_gun(world, 8, 10, false);
  put_gun(world, 8, kWidth - 46, true);
  return world;
}

/// One generation by a plain loop.
World next(const World& world) {
  World after(world.size());
  for (std::size_t y = 0; y < kHeight; ++y) {
    for (std::size_t x = 0; x < kWidth; ++x) {
      int around = 0;
      for (const std::size_t dy : {kHeight - 1, std::size_t{0}, std::size_t{1}}) {
        for (const std::size_t dx : {kWidth - 1, std::size_t{0}, std::size_t{1}})
          around += world[(y + dy) % kHeight * kWidth + (x + dx) % kWidth];
      }
      after[y * kWidth + x] = around == 3 || (world[y * kWidth + x] != 0 && around == 4) ? 1 : 0;
    }
  }
  return after;
}

/// Living cells, and how those that died fade.
std::vector<Colour> life_colours() {
  std::vector<Colour> colours{{250, 250, 235}};
  for (int age = 1; age < 16; ++age) {
    const double glow = 1.0 - age / 15.0;
    const auto part = [&](double from, double to) {
      return static_cast<std::uint8_t>(to + (from - to) * glow * glow);
    };
    colours.push_back({part(40, 12), part(120, 14), part(190, 24)});
  }
  return colours;
}

void run(const smem::Context& context, const fs::path& folder) {
  // The largest tile that local memory holds twice, up to 32 x 32 cells and their halo.
  const smem::Device& device = context.device();
  std::size_t made = 32, group = std::min<std::size_t>(128, device.max_work_group);
  const auto layout_for = [&](std::size_t out) {
    const std::size_t edge = out + 2 * kGenerations;
    const smem::Tile tile{.rows = edge,
                          .cols = edge,
                          .item_bytes = 1,
                          .work_items = group,
                          .accesses = {smem::Access::rows(edge, true), smem::Access::rows(edge, false)}};
    return smem::infer_layout(device, tile);
  };
  while (made > 1 && 2 * layout_for(made).bytes() > device.local_bytes)
    made /= 2;
  const smem::LocalLayout layout = layout_for(made);
  smem::KernelSource source{.source = kLife, .entry_point = "life"};
  source.defines = {{"OUT", static_cast<long>(made)},
                    {"GENERATIONS", static_cast<long>(kGenerations)},
                    {"GROUP", static_cast<long>(group)},
                    {"PLACES", static_cast<long>(layout.items())}};
  const smem::Kernel life = context.build(source.with(layout));
  fmt::print("{}: tiles of {} x {} and a halo of {}, {} work-items a group\n", device.name, made, made,
             kGenerations, group);

  World world = first_world();
  smem::Array<std::uint8_t> from(context, world), to(context, smem::Count{world.size()});
  const auto groups = [&](std::size_t cells) { return (cells + made - 1) / made; };
  std::vector<std::uint8_t> ages(world.size(), 15);
  const fs::path path = folder / "life.gif";
  GifWriter gif(path, kWidth * kScale, kHeight * kScale, life_colours(), 5);
  for (std::size_t frame = 0; frame < kFrames; ++frame) {
    std::vector<std::uint8_t> pixels(world.size() * kScale * kScale);
    for (std::size_t i = 0; i < world.size(); ++i)
      ages[i] = world[i] != 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(std::min(15, ages[i] + 1));
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const std::size_t row = i / (kWidth * kScale) / kScale, col = i % (kWidth * kScale) / kScale;
      pixels[i] = ages[row * kWidth + col];
    }
    gif.add(pixels);

    life({.global = {groups(kWidth) * group, groups(kHeight), 1}, .work_group = {group, 1, 1}}, from, to,
         static_cast<cl_int>(kWidth), static_cast<cl_int>(kHeight));
    const World expected = [&] {
      World after = world;
      for (std::size_t i = 0; i < kGenerations; ++i)
        after = next(after);
      return after;
    }();
    world = to.to_host();  // waits
    if (world != expected)
      throw std::runtime_error(fmt::format("generation {}: a cell is wrong", (frame + 1) * kGenerations));
    std::swap(from, to);
  }
  gif.close();
  fmt::print("{} generations, {} cells alive at the end: every cell right; {}\n", kFrames * kGenerations,
             std::count(world.begin(), world.end(), 1), path.string());
}

}  // namespace

int main() {
  return run_sample("life", [] { run(smem::Context(), output_folder()); });
}
