// Plain loops over windows of grids.
#include "operations/windows.hpp"

#include <algorithm>
#include <utility>

namespace smem::operations {

namespace {

std::ptrdiff_t signed_of(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

/// The cell that stands for cell i of n; -1: none, which is 0.
std::ptrdiff_t inside(std::ptrdiff_t i, std::ptrdiff_t n, Boundary boundary) {
  if (i >= 0 && i < n) return i;
  const auto modulo = [](std::ptrdiff_t a, std::ptrdiff_t period) { return (a % period + period) % period; };
  switch (boundary) {
    case Boundary::clamp:
      return i < 0 ? 0 : n - 1;
    case Boundary::wrap:
      return modulo(i, n);
    case Boundary::reflect: {
      const std::ptrdiff_t place = modulo(i, 2 * n);
      return place < n ? place : 2 * n - 1 - place;
    }
    case Boundary::mirror: {
      if (n == 1) return 0;
      const std::ptrdiff_t place = modulo(i, 2 * n - 2);
      return place < n ? place : 2 * n - 2 - place;
    }
    default:
      return -1;
  }
}

/// The elements that taps read, most of them by fixed distances.
class Reader {
 public:
  Reader(const Windows& windows, const std::vector<double>& cells) : w_(windows), cells_(cells) {
    for (const Tap& tap : w_.taps) {
      distances_.push_back(((tap.z * signed_of(w_.in.height) + tap.y) * signed_of(w_.in.width) + tap.x) *
                           signed_of(w_.channels));
      for (const auto& [d, at] : {std::pair{0, tap.x}, {1, tap.y}, {2, tap.z}}) {
        least_.at(static_cast<std::size_t>(d)) = std::min(least_.at(static_cast<std::size_t>(d)), at);
        most_.at(static_cast<std::size_t>(d)) = std::max(most_.at(static_cast<std::size_t>(d)), at);
      }
    }
  }

  struct Place {
    std::ptrdiff_t x, y, z;  ///< of the window
    std::size_t channel, grid;
  };
  /// `take(tap, element)` for each tap.
  template <class Take>
  void read(const Place& p, const Take& take) const {
    const std::ptrdiff_t width = signed_of(w_.in.width), height = signed_of(w_.in.height),
                         depth = signed_of(w_.in.depth);
    const auto at = [&](std::ptrdiff_t x, std::ptrdiff_t y, std::ptrdiff_t z) {
      return (((signed_of(p.grid) * depth + z) * height + y) * width + x) * signed_of(w_.channels) +
             signed_of(p.channel);
    };
    if (p.x + least_[0] >= 0 && p.x + most_[0] < width && p.y + least_[1] >= 0 && p.y + most_[1] < height &&
        p.z + least_[2] >= 0 && p.z + most_[2] < depth) {
      const double* own = cells_.data() + at(p.x, p.y, p.z);
      for (std::size_t i = 0; i < distances_.size(); ++i)
        take(i, own[distances_[i]]);
      return;
    }
    for (std::size_t i = 0; i < w_.taps.size(); ++i) {
      const Tap& tap = w_.taps[i];
      const std::ptrdiff_t x = inside(p.x + tap.x, width, w_.boundary),
                           y = inside(p.y + tap.y, height, w_.boundary),
                           z = inside(p.z + tap.z, depth, w_.boundary);
      take(i, std::min({x, y, z}) < 0 ? 0 : cells_[static_cast<std::size_t>(at(x, y, z))]);
    }
  }

  /// `body(result, place)` for each result.
  template <class Body>
  void for_each_result(const Body& body) const {
    const std::size_t row = w_.out.width * w_.channels;
    for_each_in_parallel(w_.out.height * w_.out.depth * w_.batch, [&](std::size_t line) {
      const std::size_t y = line % w_.out.height, plane = line / w_.out.height;
      for (std::size_t i = 0; i < row; ++i) {
        body(line * row + i, Place{signed_of(i / w_.channels * w_.stride[0]), signed_of(y * w_.stride[1]),
                                   signed_of(plane % w_.out.depth), i % w_.channels, plane / w_.out.depth});
      }
    });
  }

 private:
  const Windows& w_;
  const std::vector<double>& cells_;
  std::vector<std::ptrdiff_t> distances_;
  std::array<std::ptrdiff_t, 3> least_{0, 0, 0}, most_{0, 0, 0};
};

}  // namespace

void for_each_window(
    const Windows& windows, const std::vector<double>& cells,
    const std::function<void(std::size_t result, const std::vector<double>& elements)>& take) {
  const Reader reader(windows, cells);
  reader.for_each_result([&](std::size_t result, const Reader::Place& place) {
    thread_local std::vector<double> elements;
    elements.resize(windows.taps.size());
    reader.read(place, [&](std::size_t i, double element) { elements[i] = element; });
    take(result, elements);
  });
}

void for_each_sum(const Windows& windows, const std::vector<double>& cells,
                  const std::function<void(std::size_t result, double sum)>& take) {
  const Reader reader(windows, cells);
  reader.for_each_result([&](std::size_t result, const Reader::Place& place) {
    double sum = 0;
    reader.read(place, [&](std::size_t i, double element) { sum += windows.taps[i].weight * element; });
    take(result, sum);
  });
}

void for_each_product(const Windows& windows, const std::vector<double>& row,
                      const std::vector<double>& column, const std::vector<double>& cells,
                      const std::function<void(std::size_t result, double sum)>& take) {
  const auto place = [](std::size_t i, std::size_t count) { return signed_of(i) - signed_of(count / 2); };
  Windows along = windows, down = windows;
  for (std::size_t i = 0; i < row.size(); ++i)
    along.taps.push_back({place(i, row.size()), 0, 0, row[i]});
  for (std::size_t i = 0; i < column.size(); ++i)
    down.taps.push_back({0, place(i, column.size()), 0, column[i]});
  std::vector<double> sums(cells.size());
  for_each_sum(along, cells, [&](std::size_t result, double sum) { sums[result] = sum; });
  for_each_sum(down, sums, take);
}

SeparableProblem blurred_grids(const Words& words) {
  const PackedGrids packed = packed_grids(words);
  SeparableProblem problem;
  problem.in = problem.out = packed.type;
  problem.boundary = boundary_of(words);
  problem.width = packed.size.width, problem.height = packed.size.height;
  problem.planes = detail::size_product(packed.size.depth, packed.batch);
  problem.channels = packed.channels;
  problem.in_alignment = problem.out_alignment = packed.alignment();
  return problem;
}

Windows planes_of(const SeparableProblem& problem) {
  const GridSize size{problem.width, problem.height};
  return {size, size, problem.channels, problem.planes, {1, 1}, problem.boundary};
}

std::array<std::size_t, 2> pair_of(const Words& words, const std::string& name) {
  const auto sizes = words.sizes(name);
  return {sizes[0], sizes.back()};
}

Case window_case(const Words& words, const WindowFilter& filter) {
  const PackedGrids packed = packed_grids(words);
  const std::size_t edge = words.number("window");
  WindowProblem problem{blurred_grids(words), filter.op};
  // Vectors lie anywhere but in medians by columns and tiles.
  if (filter.op != WindowOp::median) problem.grids.in_alignment = problem.grids.out_alignment = 64;
  problem.grids.row_taps = problem.grids.column_taps = edge;
  const SeparableProblem grids = problem.grids;
  Case made =
      case_of(formatted("{}, {} of {} x {}", packed.text(), filter.what, edge, edge), problem, plan_window);
  made.in = {packed.array("in")};
  made.out = {packed.array("out")};
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    return filter.call(context, packed.of(arrays.in[0]), packed.of(arrays.out[0]), edge,
                       {.boundary = grids.boundary}, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    Windows windows = planes_of(grids);
    const std::ptrdiff_t reach = signed_of(edge / 2);
    for (std::ptrdiff_t y = -reach; y <= reach; ++y)
      for (std::ptrdiff_t x = -reach; x <= reach; ++x)
        windows.taps.push_back({x, y});
    for_each_window(windows, numbers_of(arrays.in[0]),
                    [&](std::size_t result, const std::vector<double>& elements) {
                      store(arrays.out[0], result, filter.result(elements, edge));
                    });
  };
  return made;
}

std::vector<WordRule> window_rules() {
  return {grid_rule(),     pixel_rule(),
          grids_rule(),    choice_rule("window", "Size of the window", {"3", "5"}),
          channels_rule(), boundary_rule("mirror")};
}

double weight_of(std::size_t tap) { return static_cast<double>(tap % 3) / 64; }

WordRule boundary_rule(const std::string& usual) {
  return choice_rule("boundary", "Boundary condition", {"zero", "clamp", "reflect", "mirror", "wrap"}, usual);
}

Boundary boundary_of(const Words& words) { return words.enumerator<Boundary>("boundary"); }

WordRule pixel_rule() {
  return type_rule(WordKind::scalar, "uint8, uint16, half, float32 or float64", "float32");
}

WordRule channels_rule() { return number_rule("channels", "Interleaved channels of each cell", "1"); }

}  // namespace smem::operations
