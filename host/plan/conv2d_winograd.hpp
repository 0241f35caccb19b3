/// Convolutions of windows of 3 x 3 by Winograd's minimal filtering: their tiles, and where their matrices
/// lie in temporary memory.
#pragma once

#include <smem/conv2d_plan.hpp>

#include <cstddef>

namespace smem::plan::conv2d {

/// The tiles of a convolution: `tile` x `tile` results each, of `tile` + 2 elements of the input.
struct WinogradTiles {
  std::size_t tile = 2, across = 1, down = 1;

  std::size_t matrices() const { return (tile + 2) * (tile + 2); }  ///< of each kind
  std::size_t lines(const Conv2dProblem& p) const {
    return p.images * down;
  }  ///< rows of tiles, of all images
};
WinogradTiles winograd_tiles(const Conv2dProblem& p, std::size_t tile);

/// Matrices of one kind, which follow each other: one for each element of a tile and each group of channels,
/// groups innermost.
struct WinogradMatrices {
  std::size_t first = 0;  ///< element of temporary memory
  std::size_t rows = 0, cols = 0, pitch = 0;
  std::size_t groups = 1, elements = 0;  ///< of a tile

  /// From one matrix to the next. Those of one group of channels have a line of a cache between them, as the
  /// numbers of a tile would share a few sets of the cache where matrices are powers of two.
  std::size_t apart() const { return rows * pitch + (groups == 1 ? 16 : 0); }
  std::size_t of_element() const { return groups * apart(); }
  std::size_t end() const { return first + elements * of_element(); }
};

/// All matrices of a slice: some rows of tiles.
struct WinogradSlice {
  std::size_t tiles = 0;
  WinogradMatrices filters, input, products;

  std::size_t bytes() const { return products.end() * sizeof(float); }
};
WinogradSlice winograd_slice(const Conv2dProblem& p, const WinogradTiles& tiles, std::size_t lines);

}  // namespace smem::plan::conv2d
