/// Plain loops over the windows of packed grids, for the references of filters.
#pragma once

#include "operations/grids.hpp"
#include "operations/operation.hpp"
#include "operations/words.hpp"

#include <smem/blur.hpp>
#include <smem/boundary.hpp>
#include <smem/separable_plan.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace smem::operations {

/// A weight of a window, and where its cell lies from the window's place.
struct Tap {
  std::ptrdiff_t x = 0, y = 0, z = 0;
  double weight = 1;
};

/// Windows of packed grids.
struct Windows {
  GridSize in, out;
  std::size_t channels = 1, batch = 1;
  std::array<std::size_t, 2> stride{1, 1};  ///< cells and rows from one window to the next
  Boundary boundary = Boundary::zero;
  std::vector<Tap> taps = {};
};

/// `take(result, elements)`: the elements under the taps of each result, in order; beyond the edges as the
/// boundary says.
void for_each_window(
    const Windows& windows, const std::vector<double>& cells,
    const std::function<void(std::size_t result, const std::vector<double>& elements)>& take);
/// `take(result, sum)`: the weighted sum of each window.
void for_each_sum(const Windows& windows, const std::vector<double>& cells,
                  const std::function<void(std::size_t result, double sum)>& take);

/// The same of a row and a column of weights, whose middle ones are the result's own.
void for_each_product(const Windows& windows, const std::vector<double>& row,
                      const std::vector<double>& column, const std::vector<double>& cells,
                      const std::function<void(std::size_t result, double sum)>& take);

/// The packed grids of a blur's words: size, type, batch, channels and boundary.
SeparableProblem blurred_grids(const Words& words);
/// Windows of its planes, as many as its results.
Windows planes_of(const SeparableProblem& problem);

/// Weights that are whole numbers of 64ths, for sums that are exact: of integers a mean that seldom
/// saturates.
double weight_of(std::size_t tap);

/// "3" or "3x2": across and down.
std::array<std::size_t, 2> pair_of(const Words& words, const std::string& name);

/// What sums of products of weights that are no fractions of a power of two may differ by.
inline double filter_tolerance(Scalar type) {
  return type == Scalar::float64 ? 0x1p-40 : type == Scalar::float32 ? 0x1p-16 : 0x1p-10;
}

/// A filter with windows of 3 x 3 or 5 x 5 cells.
struct WindowFilter {
  WindowOp op;
  std::string_view what;  ///< "median"
  double (*result)(const std::vector<double>& window, std::size_t edge);
  cl::Event (*call)(const Context&, const ConstGrid& in, const Grid& out, std::size_t edge, const Edges&,
                    const CallOptions&);
};
Case window_case(const Words& words, const WindowFilter& filter);
/// The words of such a filter.
std::vector<WordRule> window_rules();

/// `usual`: the default boundary.
WordRule boundary_rule(const std::string& usual);
Boundary boundary_of(const Words& words);
WordRule pixel_rule();
WordRule channels_rule();

}  // namespace smem::operations
