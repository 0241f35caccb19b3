// Bank conflicts of cases that are known from the literature and easy to count by hand, and the layouts that
// are inferred from them.
#include <smem/error.hpp>
#include <smem/layout.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace {

using smem::Access;
using smem::LocalLayout;
using Kind = smem::LocalLayout::Kind;

/// A wave whose work-item k reads `bytes` at address(k).
template <class Address>
smem::Conflicts wave_of(const smem::Device& device, std::size_t bytes, const Address& address) {
  std::vector<std::size_t> addresses;
  for (std::size_t k = 0; k < device.sub_group_width; ++k)
    addresses.push_back(address(k));
  return smem::find_conflicts(device, addresses, bytes);
}

std::size_t strided(const smem::Device& device, std::size_t stride, std::size_t bytes) {
  return wave_of(device, bytes, [&](std::size_t k) { return k * stride; }).degree;
}

/// The degree of a column of a rows x cols tile, one item a work-item.
std::size_t column(const smem::Device& device, const LocalLayout& layout) {
  return wave_of(device, layout.item_bytes,
                 [&](std::size_t k) {
                   return layout.address_of({k % layout.rows, k / layout.rows % layout.cols});
                 })
      .degree;
}

smem::Tile transposing(std::size_t rows, std::size_t cols, std::size_t bytes, std::size_t work_items = 256) {
  return {rows, cols, bytes, work_items, {Access::rows(cols, true), Access::columns(rows, false)}};
}

smem::Device banks(std::size_t count, std::size_t bytes, std::size_t wave) {
  smem::Device device = test::targets::gpu("banks", smem::Vendor::other, wave, 1024, 65536);
  device.local_banks = count;
  device.local_bank_bytes = bytes;
  return device;
}

/// What the search minimises before bytes.
std::pair<std::size_t, double> cost(const LocalLayout& layout) {
  double slowdown = 0;
  for (const smem::AccessCost& access : layout.accesses)
    slowdown += access.slowdown;
  return {std::max(layout.load_degree(), layout.store_degree()), slowdown};
}

/// Every item of the tile has a place of its own inside the layout's memory.
void check_places(const LocalLayout& layout) {
  std::set<std::size_t> places;
  for (std::size_t row = 0; row < layout.rows; ++row) {
    for (std::size_t col = 0; col < layout.cols; ++col) {
      const std::size_t address = layout.address_of({row, col});
      CHECK(address + layout.item_bytes <= layout.bytes());
      CHECK(places.insert(address).second);
    }
  }
}

}  // namespace

TEST_CASE("layout: strides of words on 32 banks") {
  const smem::Device device = test::targets::nvidia("sm_90");
  const std::size_t expected[][2] = {{1, 1},   {2, 2}, {4, 4},  {8, 8}, {16, 16},
                                     {32, 32}, {3, 1}, {33, 1}, {24, 8}};
  for (const auto& [stride, degree] : expected) {
    CAPTURE(stride);
    CHECK(strided(device, stride * 4, 4) == degree);
  }
  CHECK(strided(device, 0, 4) == 1);   // the same word for all: a broadcast, although tutorials call it 32
  CHECK(strided(device, 1, 1) == 1);   // bytes of the same words: also
  CHECK(strided(device, 2, 2) == 1);   // pairs of fp16 in one bank
  CHECK(strided(device, 32, 1) == 8);  // a column of a 32 x 32 tile of bytes
  CHECK(strided(device, 36, 1) == 1);
  CHECK(strided(device, 64, 2) == 16);                                               // of 16-bit elements
  CHECK(wave_of(device, 4, [](std::size_t k) { return k % 2 * 128; }).degree == 2);  // two words of one bank
  CHECK(wave_of(device, 4, [](std::size_t k) { return (31 - k) * 4; }).degree == 1);
}

TEST_CASE("layout: wide accesses go in phases") {
  const smem::Device device = test::targets::nvidia("sm_90");
  CHECK(strided(device, 8, 8) == 1);  // 16 work-items at once
  CHECK(strided(device, 16, 16) == 1);
  CHECK(strided(device, 32 * 8, 8) == 16);
  CHECK(strided(device, 33 * 8, 8) == 1);
  CHECK(strided(device, 32 * 16, 16) == 8);
  const smem::Conflicts words = wave_of(device, 4, [](std::size_t k) { return k * 4; });
  CHECK(words == smem::Conflicts{1, 1, 1});
  CHECK(wave_of(device, 8, [](std::size_t k) { return k * 8; }) == smem::Conflicts{1, 2, 2});
  CHECK(wave_of(device, 16, [](std::size_t k) { return k * 16; }) == smem::Conflicts{1, 4, 4});
  // Only the second half conflicts: the first takes 1 turn, the second 16.
  const smem::Conflicts half =
      wave_of(device, 8, [](std::size_t k) { return k < 16 ? k * 8 : (k - 16) * 256; });
  CHECK(half == smem::Conflicts{16, 2, 17});
  CHECK(half.slowdown() == doctest::Approx(8.5));
  // NVIDIA joins two phases when neighbours, or every other work-item, share an address; others do not.
  const auto neighbours = [](std::size_t k) { return k / 2 * 8; };
  CHECK(wave_of(device, 8, neighbours) == smem::Conflicts{1, 2, 1});
  CHECK(wave_of(device, 8, [](std::size_t k) { return (k & ~std::size_t{2}) * 4; }) ==
        smem::Conflicts{1, 2, 1});
  CHECK(wave_of(device, 8, [](std::size_t k) { return k % 16 * 8; }) == smem::Conflicts{1, 2, 2});
  CHECK(wave_of(device, 16, [](std::size_t) { return std::size_t{0}; }) == smem::Conflicts{1, 4, 2});
  CHECK(wave_of(test::targets::gpu("gfx1030", smem::Vendor::amd, 32, 1024, 65536), 8, neighbours) ==
        smem::Conflicts{1, 2, 2});
}

TEST_CASE("layout: other numbers of banks, waves in halves, and a CPU") {
  const smem::Device intel = test::targets::gpu("dg2", smem::Vendor::intel, 16, 1024, 65536);
  CHECK(intel.local_banks == 16);
  CHECK(strided(intel, 64, 4) == 16);
  CHECK(strided(intel, 68, 4) == 1);
  CHECK(strided(test::targets::cpu(), 4096, 4) == 1);
  CHECK(smem::find_conflicts(intel, {}, 4) == smem::Conflicts{});
  // A wave of 64 on 32 banks issues in halves, each with its own conflicts.
  const smem::Device amd = test::targets::gpu("gfx90a", smem::Vendor::amd, 64, 1024, 65536);
  CHECK(wave_of(amd, 4, [](std::size_t k) { return k * 4; }) == smem::Conflicts{1, 2, 2});
  CHECK(wave_of(amd, 4, [](std::size_t k) { return k * 128; }) == smem::Conflicts{32, 2, 64});
  CHECK(wave_of(amd, 4, [](std::size_t k) { return k % 32 * 4; }) == smem::Conflicts{1, 2, 2});
  // 64 banks of 8 bytes.
  const smem::Device wide = banks(64, 8, 64);
  CHECK(strided(wide, 8, 8) == 1);
  CHECK(strided(wide, 4, 4) == 1);
  CHECK(strided(wide, 512, 8) == 64);
  CHECK(strided(wide, 512, 4) == 64);
  CHECK(strided(wide, 520, 8) == 1);
  for (const std::size_t bytes : {0, 3, 32})
    CHECK(test::failure_of([&] { smem::find_conflicts(wide, {}, bytes); }).operation == "find_conflicts");
}

TEST_CASE("layout: the column of a 32 x 32 tile, plain, padded and swizzled") {
  const smem::Device device = test::targets::nvidia("sm_90");
  const smem::Tile tile = transposing(32, 32, 4);
  const LocalLayout plain = infer_layout(device, tile, {.kind = Kind::plain});
  CHECK(plain.load_degree() == 32);
  CHECK(plain.store_degree() == 1);
  CHECK(plain.bytes() == 4096);
  const LocalLayout padded = infer_layout(device, tile, {.kind = Kind::padded});
  CHECK(padded.stride == 33);
  CHECK(padded.load_degree() == 1);
  const LocalLayout swizzled = infer_layout(device, tile, {.kind = Kind::swizzled});
  CHECK(swizzled.swizzle_mask == 31);
  CHECK(swizzled.load_degree() == 1);
  CHECK(swizzled.store_degree() == 1);
  CHECK(swizzled.bytes() == 4096);
  // Both are free of conflicts; the swizzle takes fewer bytes.
  CHECK(infer_layout(device, tile) == swizzled);
  CHECK(column(device, plain) == 32);
  CHECK(column(device, padded) == 1);
  CHECK(column(device, swizzled) == 1);
}

TEST_CASE("layout: inferred ones are free of conflicts for every size of element, tile and bank") {
  for (const smem::Device& device : {banks(32, 4, 32), banks(32, 4, 64), banks(16, 4, 16), banks(16, 4, 8),
                                     banks(64, 4, 64), banks(32, 8, 32)}) {
    for (const std::size_t bytes : {1, 2, 4, 8, 16}) {
      for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{32, 32},
                                       {64, 16},
                                       {16, 64},
                                       {8, 8},
                                       {24, 40},
                                       {33, 7},
                                       {1, 64}}) {
        CAPTURE(device.local_banks);
        CAPTURE(device.sub_group_width);
        CAPTURE(bytes);
        CAPTURE(rows);
        CAPTURE(cols);
        const smem::Tile tile = transposing(rows, cols, bytes);
        const LocalLayout best = infer_layout(device, tile);
        check_places(best);
        const LocalLayout plain = infer_layout(device, tile, {.kind = Kind::plain});
        CHECK(best.load_degree() <= plain.load_degree());
        // Phases that are whole rows and whole columns, or parts of one.
        if (rows >= 8 && cols >= 8 && std::has_single_bit(rows) && std::has_single_bit(cols)) {
          CHECK(best.load_degree() == 1);
          CHECK(best.store_degree() == 1);
        }
        // No padding of fewer bytes is as good.
        for (std::size_t padding = 1; cols + padding < best.stride; ++padding)
          CHECK(cost(infer_layout(device, tile, {.padding = padding})) > cost(best));
      }
    }
  }
}

TEST_CASE("layout: vectors stay together and aligned") {
  const smem::Device device = banks(32, 4, 32);
  for (const std::size_t width : {2, 4}) {
    CAPTURE(width);
    smem::Tile tile{32, 64, 4, 256, {Access::rows(64, true, width), Access::columns(32, false)}};
    for (const auto& choice : {smem::LayoutChoice{}, smem::LayoutChoice{.kind = Kind::padded},
                               smem::LayoutChoice{.kind = Kind::swizzled}}) {
      const LocalLayout layout = infer_layout(device, tile, choice);
      check_places(layout);
      CHECK(layout.stride % width == 0);
      for (std::size_t row = 0; row < layout.rows; ++row) {
        for (std::size_t col = 0; col < layout.cols; col += width) {
          const std::size_t first = layout.address_of({row, col});
          CHECK(first % (4 * width) == 0);
          for (std::size_t k = 1; k < width; ++k)
            CHECK(layout.address_of({row, col + k}) == first + 4 * k);
        }
      }
      CHECK(layout.accesses[0].bytes == 4 * width);
      CHECK(layout.store_degree() == 1);
    }
    // A column of words through swizzled vectors: as many words of a vector as it is wide share a bank group.
    CHECK(infer_layout(device, tile).load_degree() <= width);
  }
}

TEST_CASE("layout: a unit of items that is wider than an access stays together too") {
  const smem::Device device = banks(32, 4, 32);
  for (const auto kind : {smem::LocalLayout::Kind::padded, smem::LocalLayout::Kind::swizzled}) {
    smem::Tile tile;
    tile.rows = 16;
    tile.cols = 64;
    tile.item_bytes = 8;
    tile.accesses = {smem::Access::rows(64, true, 2)};
    tile.unit = 4;
    const smem::LocalLayout layout = smem::infer_layout(device, tile, {.kind = kind});
    for (std::size_t row = 0; row < tile.rows; ++row) {
      for (std::size_t col = 0; col < tile.cols; col += 4) {
        CHECK(layout.address_of({row, col}) % 32 == 0);
        CHECK(layout.address_of({row, col + 3}) == layout.address_of({row, col}) + 24);
      }
    }
    tile.unit = 3;
    CHECK(test::failure_of([&] { smem::infer_layout(device, tile, {}); }).argument == "tile.unit");
  }
}

TEST_CASE("layout: diagonals, and accesses that a plain tile serves") {
  const smem::Device device = banks(32, 4, 32);
  const smem::Tile rows_only{32, 32, 4, 256, {Access::rows(32, true), Access::rows(32, false)}};
  CHECK(infer_layout(device, rows_only).kind == Kind::plain);
  smem::Tile diagonal = transposing(32, 32, 4);
  diagonal.accesses.push_back(Access::diagonal(32, 32, false));
  const LocalLayout layout = infer_layout(device, diagonal);
  CHECK(layout.load_degree() <= 2);
  check_places(layout);
  // On a plain tile the diagonal is free, padded by one it is not: 34 words apart.
  const auto diagonal_only = [&](const smem::LayoutChoice& choice) {
    return infer_layout(device, {32, 32, 4, 32, {Access::diagonal(32, 32, false)}}, choice).load_degree();
  };
  CHECK(diagonal_only({.kind = Kind::plain}) == 1);
  CHECK(diagonal_only({.padding = 1}) == 2);
}

TEST_CASE("layout: memory that is a cache needs neither padding nor swizzle") {
  const smem::Device cpu = test::targets::cpu();
  CHECK(infer_layout(cpu, transposing(32, 32, 4)).kind == Kind::plain);
  const LocalLayout padded = infer_layout(cpu, transposing(32, 32, 4), {.kind = Kind::padded});
  CHECK(padded.stride == 33);  // the same kernel as on a GPU
  CHECK(padded.load_degree() == 1);
  CHECK(infer_layout(cpu, transposing(32, 32, 4), {.kind = Kind::swizzled}).swizzle_mask == 31);
}

TEST_CASE("layout: fixed by hand, in whole or in part") {
  const smem::Device device = banks(32, 4, 32);
  const smem::Tile tile = transposing(32, 32, 4);
  CHECK(infer_layout(device, tile, {.padding = 5}).stride == 37);
  CHECK(infer_layout(device, tile, {.padding = 2}).load_degree() == 2);
  const LocalLayout mask = infer_layout(device, tile, {.swizzle_mask = 7});
  CHECK(mask.kind == Kind::swizzled);
  CHECK(mask.swizzle_mask == 7);
  CHECK(mask.load_degree() == 4);

  const auto field = [&](const smem::LayoutChoice& choice, const smem::Tile& of) {
    return test::failure_of([&] { infer_layout(device, of, choice); }).argument;
  };
  CHECK(field({.kind = Kind::none}, tile) == "layout.kind");
  CHECK(field({.kind = Kind::plain, .padding = 1}, tile) == "layout.padding");
  CHECK(field({.kind = Kind::swizzled, .padding = 1}, tile) == "layout.padding");
  CHECK(field({.kind = Kind::padded, .swizzle_mask = 3}, tile) == "layout.swizzle_mask");
  CHECK(field({.padding = 1, .swizzle_mask = 3}, tile) == "layout.swizzle_mask");
  CHECK(field({.padding = 0}, tile) == "layout.padding");
  CHECK(field({.padding = 5000}, tile) == "layout.padding");
  CHECK(field({.swizzle_mask = 0}, tile) == "layout.swizzle_mask");
  CHECK(field({.swizzle_mask = 6}, tile) == "layout.swizzle_mask");
  CHECK(field({.swizzle_mask = 63}, tile) == "layout.swizzle_mask");
  CHECK(field({.kind = Kind::swizzled}, transposing(32, 24, 4)) == "layout.kind");
  CHECK(field({.kind = Kind::swizzled}, transposing(32, 1, 4)) == "layout.kind");
  CHECK(field({}, transposing(0, 1, 4)) == "tile.rows");
  CHECK(field({}, transposing(1, 0, 4)) == "tile.cols");
  CHECK(field({}, transposing(1, 1, 4, 0)) == "tile.work_items");
  CHECK(field({}, transposing(1, 1, 3)) == "element size");
  smem::Tile vectors = tile;
  vectors.accesses[0].width = 8;  // 32 bytes
  CHECK(field({}, vectors) == "tile.accesses");
  vectors.accesses[0].width = 2;
  CHECK(field({.padding = 1}, vectors) == "layout.padding");
  vectors.accesses[0].first = nullptr;
  CHECK(field({}, vectors) == "tile.accesses");
}

TEST_CASE("layout: as text") {
  CHECK(smem::parse_layout("plain") == smem::LayoutChoice{.kind = Kind::plain});
  CHECK(smem::parse_layout("padded") == smem::LayoutChoice{.kind = Kind::padded});
  CHECK(smem::parse_layout("padded:3") == smem::LayoutChoice{.kind = Kind::padded, .padding = 3});
  CHECK(smem::parse_layout("swizzled:31") == smem::LayoutChoice{.kind = Kind::swizzled, .swizzle_mask = 31});
  for (const char* bad : {"", "none", "pad", "padded:", "padded:x", "padded:1x", "plain:1", "swizzled:-1"}) {
    CAPTURE(bad);
    const auto error = test::failure_of([&] { smem::parse_layout(bad); });
    CHECK(error.argument == "layout");
    CHECK(test::contains(error.got, bad));
  }
}
