// Rotations and flips: every variant against plain loops.
#include <smem/smem.hpp>

#include "support/sweep.hpp"

#include <doctest/doctest.h>

#include <vector>

using test::Operation;

namespace {

void everything(Operation operation) {
  const smem::Context context;
  for (const std::size_t element_bytes : {1, 2, 4, 8, 16})
    test::run_everything(context, operation, element_bytes);
}

/// The quarter turns launch the kernels of transpose, whose shapes are tested there: here, a few.
void quarter_turn(Operation operation) {
  const smem::Context context;
  test::Sweep sweep(context, 10);
  for (const std::string_view variant : test::variants_of(operation)) {
    if (test::tile_of(context, operation, variant, 4).first == 0) {
      MESSAGE("variant " << variant << " does not run on " << context.device().name);
      continue;
    }
    for (const std::size_t element_bytes : {1, 2, 4, 8, 16}) {
      const auto [r, c] = test::tile_of(context, operation, variant, element_bytes);
      if (r == 0) continue;
      for (const auto& [rows, cols] :
           {test::Shape{0, 3}, {1, 1}, {1, 9}, {9, 1}, {r + 1, c + 1}, {2 * r, c}, {61, 127}})
        test::run_layouts(sweep, {operation, std::string(variant), element_bytes, rows, cols, {}, {}});
    }
    CHECK_MESSAGE(sweep.ran() > 0, "no case of variant " << variant << " ran");
  }
}

}  // namespace

TEST_CASE("rotate: by 90 degrees with every variant") { quarter_turn(Operation::rotate_90); }
TEST_CASE("rotate: by 270 degrees with every variant") { quarter_turn(Operation::rotate_270); }
TEST_CASE("rotate: by 180 degrees with every variant") { everything(Operation::rotate_180); }
TEST_CASE("flip: horizontal with every variant") { everything(Operation::flip_horizontal); }
TEST_CASE("flip: vertical with every variant") { everything(Operation::flip_vertical); }

TEST_CASE("flip: packs of rows of any length and alignment") {
  const smem::Context context;
  test::Sweep sweep(context);
  for (const Operation operation :
       {Operation::flip_horizontal, Operation::flip_vertical, Operation::rotate_180}) {
    for (const std::size_t element_bytes : {1, 2, 4, 8}) {
      for (const std::size_t row_bytes :
           {1, 3, 7, 15, 16, 17, 33, 62, 63, 64, 65, 80, 100, 303, 5001, 9000}) {
        if (row_bytes < element_bytes) continue;
        const std::size_t cols = row_bytes / element_bytes;
        for (const std::size_t rows : {std::size_t{1}, std::size_t{2}, 20000 / row_bytes + 1})
          test::run_layouts(sweep, {operation, "packs", element_bytes, rows, cols, {}, {}});
      }
    }
  }
  CHECK(sweep.ran() > 0);
}

TEST_CASE("rotate: clockwise is what a person sees") {
  const smem::Context context;
  const smem::Array<int> in(context, {1, 2, 3,  //
                                      4, 5, 6});
  const smem::Array<int> tall(context, smem::Count{6}), wide(context, smem::Count{6});
  smem::rotate(context, in.matrix(2, 3), tall.matrix(3, 2), smem::Rotation::by_90);
  CHECK(tall.to_host() == std::vector<int>{4, 1,  //
                                           5, 2,  //
                                           6, 3});
  smem::rotate(context, in.matrix(2, 3), tall.matrix(3, 2), smem::Rotation::by_270);
  CHECK(tall.to_host() == std::vector<int>{3, 6,  //
                                           2, 5,  //
                                           1, 4});
  smem::rotate(context, in.matrix(2, 3), wide.matrix(2, 3), smem::Rotation::by_180);
  CHECK(wide.to_host() == std::vector<int>{6, 5, 4,  //
                                           3, 2, 1});
  smem::flip(context, in.matrix(2, 3), wide.matrix(2, 3), smem::Flip::horizontal);
  CHECK(wide.to_host() == std::vector<int>{3, 2, 1,  //
                                           6, 5, 4});
  smem::flip(context, in.matrix(2, 3), wide.matrix(2, 3), smem::Flip::vertical);
  CHECK(wide.to_host() == std::vector<int>{4, 5, 6,  //
                                           1, 2, 3});
}
