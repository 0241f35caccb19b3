/// Runs one heat diffusion on one grid and layout, and compares every byte of the output buffer with what
/// plain loops in float64 give; of half, in float32 with its roundings.
#pragma once

#include "support/case_sweep.hpp"
#include "support/matrices.hpp"
#include "support/random.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace test {

/// Whether the device's driver breaks a variant of heat, for all types.
inline bool breaks_heat(const smem::Device& device, std::string_view variant) {
  return std::any_of(device.broken.begin(), device.broken.end(), [&](const smem::BrokenVariant& broken) {
    return broken.operation == "heat" && broken.variant == variant && broken.type.empty();
  });
}

struct HeatCase {
  smem::Scalar type = smem::Scalar::float32;
  std::string variant;
  smem::GridSize size;
  std::size_t dimensions = 0, batch = 1;
  std::size_t steps = 1, steps_per_pass = 0;
  smem::Walls walls = smem::Walls::insulated;
  bool variable = false, source = false, in_place = false;
  bool shared = false;  ///< one grid of conductivities and of sources for the whole batch
  smem::FaceMean mean = smem::FaceMean::harmonic;
  std::size_t offset = 0, gap = 0;  ///< elements before the grids, and after each row, plane and grid

  smem::GridLayout layout(std::size_t grids) const {
    smem::GridLayout l{.offset = offset, .pitch = size.width + gap, .batch = grids};
    l.plane = size.height * l.pitch + gap;
    l.batch_stride = size.depth * l.plane + gap;
    return l;
  }
  smem::HeatProblem problem() const {
    smem::HeatProblem p{.type = type, .width = size.width, .height = size.height, .depth = size.depth};
    p.dimensions = dimensions;
    p.batch = batch;
    p.steps = steps;
    p.steps_per_pass = steps_per_pass;
    p.walls = walls;
    p.variable = variable;
    p.mean = mean;
    p.source = source;
    p.in_place = in_place;
    return p;
  }
  Tested tested() const { return {"heat", variant, std::string(smem::name_of(type))}; }
  std::string text() const {
    return fmt::format(
        "{} {} x {} x {} ({} dimensions), variant \"{}\", {} steps ({} a pass), {} walls{}{}{}{}, batch {}, "
        "offset {} "
        "gap {}; SMEM_SEED={}",
        smem::name_of(type), size.width, size.height, size.depth, dimensions, variant, steps, steps_per_pass,
        smem::name_of(walls), variable ? fmt::format(", {} mean", smem::name_of(mean)) : "",
        source ? ", sources" : "", in_place ? ", in place" : "", shared ? ", shared" : "", batch, offset, gap,
        seed());
  }
};

template <class T>
T number_as(double value) {
  return static_cast<T>(static_cast<std::conditional_t<std::is_same_v<T, smem::half>, float, T>>(value));
}
template <class T>
double as_double(T value) {
  if constexpr (std::is_same_v<T, smem::half>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

/// A grid in host memory, its layout and its gaps.
template <class T>
struct HostGrid {
  smem::GridSize size;
  smem::Grid place;
  std::vector<T> elements;

  /// `make()` for every cell; NaN in the gaps and around.
  template <class Make>
  HostGrid(const smem::GridSize& cells, const smem::GridLayout& layout, const Make& make)
      : size(cells), place(nullptr, smem::scalar_of<T>, cells, layout) {
    elements.resize(place.offset + place.batch * place.batch_stride + 3,
                    number_as<T>(std::numeric_limits<double>::quiet_NaN()));
    for_each([&](T& cell, auto...) { cell = number_as<T>(make()); });
  }
  std::size_t index(std::size_t x, std::size_t y, std::size_t z, std::size_t b) const {
    const std::size_t grid = place.batch == 1 ? 0 : b;
    return place.offset + grid * place.batch_stride + z * place.plane + y * place.pitch + x;
  }
  template <class Work>
  void for_each(const Work& work) {
    for (std::size_t b = 0; b < place.batch; ++b)
      for (std::size_t z = 0; z < size.depth; ++z)
        for (std::size_t y = 0; y < size.height; ++y)
          for (std::size_t x = 0; x < size.width; ++x)
            work(elements[index(x, y, z, b)], x, y, z, b);
  }
};

/// One step by plain loops, in float64.
template <class T>
void plain_step(const HeatCase& c, const smem::Heat& heat, std::size_t dimensions, const HostGrid<T>& k,
                const HostGrid<T>& q, const HostGrid<double>& from, HostGrid<double>& to) {
  const std::array<std::size_t, 3> extent{c.size.width, c.size.height, c.size.depth};
  const std::array<double, 3> spacing{heat.dx, heat.dy, heat.dz};
  to.for_each([&](double& cell, std::size_t x, std::size_t y, std::size_t z, std::size_t b) {
    const std::array<std::size_t, 3> at{x, y, z};
    const double u = from.elements[from.index(x, y, z, b)];
    double flow = 0;
    bool at_wall = false;
    for (std::size_t d = 0; d < dimensions; ++d) {
      for (const bool up : {false, true}) {
        const bool wall = up ? at[d] + 1 == extent[d] : at[d] == 0;
        at_wall = at_wall || wall;
        std::array<std::size_t, 3> other = at;
        if (!wall) other[d] += up ? 1 : std::size_t(-1);
        const double beyond = c.walls == smem::Walls::fixed ? heat.wall_value : u;
        const double neighbour = wall ? beyond : from.elements[from.index(other[0], other[1], other[2], b)];
        double face = heat.conductivity;
        if (c.variable) {
          const double here = as_double(k.elements[k.index(x, y, z, b)]);
          const double there = as_double(k.elements[k.index(other[0], other[1], other[2], b)]);
          face = c.mean == smem::FaceMean::arithmetic ? (here + there) / 2
                 : here + there > 0                   ? 2 * here * there / (here + there)
                                                      : 0;
        }
        flow += face * (neighbour - u) / (spacing[d] * spacing[d]);
      }
    }
    if (c.source) flow += as_double(q.elements[q.index(x, y, z, b)]);
    cell = c.walls == smem::Walls::held && at_wall ? u : u + heat.dt * flow;
  });
}

/// One step by plain loops in float32, with the roundings that cl/heat/step.clh has.
template <class T>
void rounded_step(const HeatCase& c, const smem::Heat& heat, std::size_t dimensions, const HostGrid<T>& k,
                  const HostGrid<T>& q, const HostGrid<double>& from, HostGrid<double>& to) {
  const std::array<std::size_t, 3> extent{c.size.width, c.size.height, c.size.depth};
  const std::array<double, 3> spacing{heat.dx, heat.dy, heat.dz};
  const auto wall_value = static_cast<float>(heat.wall_value);
  const auto face = [&](float a, float b) {
    if (c.mean == smem::FaceMean::arithmetic) return 0.5F * (a + b);
    return std::min(a, b) * (2 * std::max(a, b) / std::max(a + b, std::numeric_limits<float>::min()));
  };
  to.for_each([&](double& cell, std::size_t x, std::size_t y, std::size_t z, std::size_t b) {
    const std::array<std::size_t, 3> at{x, y, z};
    const auto u = static_cast<float>(from.elements[from.index(x, y, z, b)]);
    float sum = u;
    bool at_wall = false;
    for (std::size_t d = 0; d < dimensions; ++d) {
      std::array<float, 2> neighbour{}, difference_of{};
      float flow_before = 0, face_after = 0;
      for (const std::size_t up : {0, 1}) {
        const bool wall = up == 1 ? at[d] + 1 == extent[d] : at[d] == 0;
        at_wall = at_wall || wall;
        std::array<std::size_t, 3> other = at;
        if (!wall) other[d] += up == 1 ? 1 : std::size_t(-1);
        neighbour[up] = static_cast<float>(from.elements[from.index(other[0], other[1], other[2], b)]);
        if (wall && c.walls == smem::Walls::fixed) neighbour[up] = wall_value;
        difference_of[up] = neighbour[up] - u;
        if (!c.variable) continue;
        const float between =
            face(static_cast<float>(as_double(k.elements[k.index(x, y, z, b)])),
                 static_cast<float>(as_double(k.elements[k.index(other[0], other[1], other[2], b)])));
        (up == 1 ? face_after : flow_before) = up == 1 ? between : between * difference_of[0];
      }
      const auto rate =
          static_cast<float>(heat.dt * (c.variable ? 1 : heat.conductivity) / (spacing[d] * spacing[d]));
      const float flow = c.variable ? std::fma(face_after, difference_of[1], flow_before)
                                    : std::fma(-2.0F, u, neighbour[0] + neighbour[1]);
      sum = std::fma(rate, flow, sum);
    }
    if (c.source) {
      sum = std::fma(static_cast<float>(heat.dt),
                     static_cast<float>(as_double(q.elements[q.index(x, y, z, b)])), sum);
    }
    cell = static_cast<double>(c.walls == smem::Walls::held && at_wall ? u : sum);
  });
}

/// All steps; of half a pass at a time, after which cells are rounded.
template <class T>
void plain_steps(const smem::Context& context, const HeatCase& c, const smem::Heat& heat,
                 std::size_t dimensions, const HostGrid<T>& k, const HostGrid<T>& q,
                 HostGrid<double>& cells) {
  HostGrid<double> next = cells;
  if constexpr (std::is_same_v<T, smem::half>) {
    const smem::Plan plan =
        smem::plan_heat(context.device(), c.problem(), {.variant = std::string(c.variant)});
    for (const smem::Launch* launch : plan.launches()) {
      for (std::size_t pass = 0; pass < launch->repeats; ++pass) {
        for (std::size_t step = 0; step < launch->number("steps"); ++step) {
          rounded_step<T>(c, heat, dimensions, k, q, cells, next);
          std::swap(cells, next);
        }
        cells.for_each([](double& cell, auto...) { cell = as_double(number_as<T>(cell)); });
      }
    }
  } else {
    for (std::size_t step = 0; step < c.steps; ++step) {
      plain_step<T>(c, heat, dimensions, k, q, cells, next);
      std::swap(cells, next);
    }
  }
}

/// How far a cell may be from what plain loops give.
template <class T>
double heat_tolerance(const HeatCase& c) {
  if constexpr (std::is_same_v<T, smem::half>) {
    // Bit for bit, but for the division of harmonic means, which devices need not round to nearest: then a
    // pass may round to the other neighbour, among numbers below 4.
    return c.variable && c.mean == smem::FaceMean::harmonic ? static_cast<double>(c.steps) * 0x1p-9 : 0;
  } else {
    // A step rounds some ten times, numbers of at most 4; what it adds up it does not make larger.
    return static_cast<double>(c.steps) * 40 * static_cast<double>(std::numeric_limits<T>::epsilon());
  }
}

template <class T>
Outcome run_heat(const smem::Context& context, const HeatCase& c, Random& random) {
  const auto part = [&] { return static_cast<double>(random.next() >> 11) * 0x1p-53; };
  HostGrid<T> input(c.size, c.layout(c.batch), [&] { return 4 * part() - 1; });
  const std::size_t grids = c.shared ? 1 : c.batch;
  // Some cells conduct nothing.
  HostGrid<T> k(c.size, c.layout(grids), [&] { return random.chance(9) ? 0 : 0.01 + part(); });
  HostGrid<T> q(c.size, c.layout(grids), [&] { return part() - 0.5; });
  smem::Heat heat{.steps = c.steps, .dx = 0.5, .dy = 0.75, .dz = 1.25, .conductivity = 0.8};
  heat.max_conductivity = 1.01;
  heat.mean = c.mean;
  heat.walls = c.walls;
  heat.wall_value = 1.75;
  heat.dimensions = c.dimensions;
  heat.steps_per_pass = c.steps_per_pass;
  const std::size_t dimensions = smem::heat_dimensions(c.problem());

  const smem::Array<T> in_array(context, input.elements), k_array(context, k.elements),
      q_array(context, q.elements);
  const auto view = [&](const HostGrid<T>& grid, const cl::Buffer& buffer) {
    smem::Grid placed = grid.place;
    placed.buffer = buffer();
    return placed;
  };
  if (c.variable) heat.conductivities = view(k, k_array.buffer());
  if (c.source) heat.source = view(q, q_array.buffer());
  heat.dt = 0.9 * smem::heat_time_step_limit(heat, dimensions);

  // The result lies elsewhere than the input, with other gaps.
  HeatCase to = c;
  if (!c.in_place) to.offset += 5, to.gap += 4;
  HostGrid<T> output(c.size, to.layout(c.batch), [&] { return part(); });
  if (c.in_place) output = input;
  const smem::Array<T> out_array(context, output.elements);
  const smem::Array<T>& start = c.in_place ? out_array : in_array;
  try {
    const cl::Event event = smem::heat(context, view(input, start.buffer()), view(output, out_array.buffer()),
                                       heat, {.variant = c.variant});
    if (event() == nullptr) return {false, "the call returned no event"};
  } catch (const smem::Error& error) {
    if (error.details().argument != "variant" && error.details().argument != "steps_per_pass")
      return {false, fmt::format("the call failed: {}", error.what())};
    return refusal(error);
  }

  HostGrid<double> from(c.size, c.layout(c.batch), [] { return 0; });
  from.for_each([&](double& cell, std::size_t x, std::size_t y, std::size_t z, std::size_t b) {
    cell = as_double(input.elements[input.index(x, y, z, b)]);
  });
  plain_steps<T>(context, c, heat, dimensions, k, q, from);
  const double tolerance = heat_tolerance<T>(c);
  std::size_t off = 0, cells = 0;
  std::vector<T> got = out_array.to_host();
  std::string fault;
  output.for_each([&](T& before, std::size_t x, std::size_t y, std::size_t z, std::size_t b) {
    T& cell = got[output.index(x, y, z, b)];
    const double wanted = from.elements[from.index(x, y, z, b)];
    ++cells;
    if (as_double(cell) != wanted) ++off;
    if (fault.empty() && !(std::abs(as_double(cell) - wanted) <= tolerance))
      fault =
          fmt::format("cell ({}, {}, {}) of grid {} is {}, expected {}", x, y, z, b, as_double(cell), wanted);
    cell = before;
  });
  if (fault.empty() && std::is_same_v<T, smem::half> && 10 * off > cells)
    fault = fmt::format("{} of {} cells are rounded otherwise than expected", off, cells);
  if (!fault.empty()) return {false, fault};
  const auto same = [](const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
  };
  if (!same(got, output.elements)) return {false, "the output buffer has changed outside the grids"};
  if (!c.in_place && !same(in_array.to_host(), input.elements)) return {false, "the input has changed"};
  if (!same(k_array.to_host(), k.elements) || !same(q_array.to_host(), q.elements))
    return {false, "conductivities or sources have changed"};
  return {};
}

inline Outcome run(const smem::Context& context, const HeatCase& c, Random& random) {
  if (c.type == smem::Scalar::float32) return run_heat<float>(context, c, random);
  if (c.type == smem::Scalar::half) return run_heat<smem::half>(context, c, random);
  if (!context.device().fp64) return without_fp64();
  return run_heat<double>(context, c, random);
}

using HeatSweep = CaseSweep<HeatCase>;

}  // namespace test
