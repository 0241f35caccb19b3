// heat, described.
#include "operations/grids.hpp"
#include "operations/operation.hpp"

#include <smem/heat.hpp>

#include <array>

namespace smem::operations {

namespace {

// With steps of an eighth, numbers below 256 get three bits a step: float32 holds those of four steps, half
// those of one, float64 those of fourteen. Conductivities are 0 or 1, so that faces are 0, 1 or, by the
// arithmetic mean, a half.
constexpr double kTimeStep = 0.125;
constexpr double kWallValue = 8;

double relative_of(const HeatProblem& problem) {
  const auto steps = static_cast<double>(problem.steps);
  const bool exact = !problem.variable;
  switch (problem.type) {
    case Scalar::half:
      return exact && steps <= 1 ? 0 : steps * 0x1p-10;
    case Scalar::float64:
      return exact && steps <= 14 ? 0 : steps * 0x1p-44;
    default:
      return exact && steps <= 4 ? 0 : steps * 0x1p-17;
  }
}

/// Grids of one step, in double. Those of conductivities and sources are empty where there are none.
struct Plain {
  const HeatProblem& problem;
  const std::vector<double>&k, &source;

  double face(std::size_t here, std::size_t there) const {
    if (!problem.variable) return 1;
    const double a = k[here], b = k[there];
    if (problem.mean == FaceMean::arithmetic) return (a + b) / 2;
    return a + b > 0 ? 2 * a * b / (a + b) : 0;
  }

  /// Cell i, which lies at `at` in its grid.
  double after(const std::vector<double>& from, std::size_t i, const std::array<std::size_t, 3>& at) const {
    const std::array<std::size_t, 3> extent{problem.width, problem.height, problem.depth};
    const std::array<std::size_t, 3> stride{1, problem.width, problem.width * problem.height};
    double flow = source.empty() ? 0 : source[i];
    bool at_wall = false;
    for (std::size_t d = 0; d < heat_dimensions(problem); ++d) {
      for (const bool up : {false, true}) {
        const bool wall = up ? at.at(d) + 1 == extent.at(d) : at.at(d) == 0;
        at_wall = at_wall || wall;
        const std::size_t other = wall ? i : up ? i + stride.at(d) : i - stride.at(d);
        const double beyond = problem.walls == Walls::fixed ? kWallValue : from[i];
        flow += face(i, other) * ((wall ? beyond : from[other]) - from[i]);
      }
    }
    return problem.walls == Walls::held && at_wall ? from[i] : from[i] + kTimeStep * flow;
  }

  void step(const std::vector<double>& from, std::vector<double>& to) const {
    for_each_in_parallel(problem.height * problem.depth * problem.batch, [&](std::size_t row) {
      const std::size_t y = row % problem.height, z = row / problem.height % problem.depth;
      for (std::size_t x = 0; x < problem.width; ++x)
        to[row * problem.width + x] = after(from, row * problem.width + x, {x, y, z});
    });
  }
};

Case read(const Words& words) {
  HeatProblem problem;
  const GridSize size = grid_size(words);
  problem.type = words.scalar("type");
  problem.width = size.width, problem.height = size.height, problem.depth = size.depth;
  problem.batch = words.number("batch");
  problem.steps = words.number("steps");
  problem.steps_per_pass = words.number("steps-per-pass");
  problem.variable = words.flag("conductivities");
  problem.source = words.flag("source");
  problem.in_place = words.flag("in-place");
  problem.mean = words.enumerator<FaceMean>("mean");
  problem.walls = words.enumerator<Walls>("walls");
  problem.alignment =
      packed_alignment(size.height * size.depth * problem.batch, size.width * size_of(problem.type));
  Case made = case_of(
      formatted("{}, {} step{}{}{}{}{}", text_of(size, problem.type, problem.batch), problem.steps,
                problem.steps == 1 ? "" : "s", problem.variable ? ", conductivities" : "",
                problem.source ? ", source" : "",
                problem.walls == Walls::insulated ? "" : formatted(", {} walls", name_of(problem.walls)),
                problem.in_place ? ", in place" : ""),
      problem, plan_heat);
  const std::size_t cells = elements_of(size, problem.batch);
  // A read and a write of each cell for every step, which several steps of one pass save.
  made.bytes = 2.0 * static_cast<double>(cells * size_of(problem.type)) * static_cast<double>(problem.steps);
  made.relative = relative_of(problem);
  const ArrayRule grid{"in", problem.type, cells};
  (problem.in_place ? made.in_out : made.in).push_back(grid);
  if (problem.variable) made.in.push_back({"conductivities", problem.type, cells, {.most = 1}});
  if (problem.source) made.in.push_back({"source", problem.type, cells, {.most = 7}});
  if (!problem.in_place) made.out.push_back({"out", problem.type, cells});
  const std::size_t first = problem.in_place ? 0 : 1;  // of the grids beside the input
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const auto packed = [&](const PlacedArray& place) { return grid_of(place, size, problem.batch); };
    Heat heat{.steps = problem.steps, .dt = kTimeStep, .mean = problem.mean, .walls = problem.walls};
    heat.wall_value = kWallValue;
    heat.steps_per_pass = problem.steps_per_pass;
    if (problem.variable) heat.conductivities = packed(arrays.in[first]), heat.max_conductivity = 1;
    if (problem.source) heat.source = packed(arrays.in.back());
    const Grid in = packed(problem.in_place ? arrays.in_out[0] : arrays.in[0]);
    return smem::heat(context, in, problem.in_place ? in : packed(arrays.out[0]), heat, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    HostArray& to = problem.in_place ? arrays.in_out[0] : arrays.out[0];
    std::vector<double> now = numbers_of(problem.in_place ? arrays.in_out[0] : arrays.in[0]),
                        next(now.size());
    const auto k = problem.variable ? numbers_of(arrays.in[first]) : std::vector<double>();
    const auto source = problem.source ? numbers_of(arrays.in.back()) : std::vector<double>();
    const Plain plain{problem, k, source};
    for (std::size_t step = 0; step < problem.steps; ++step, std::swap(now, next))
      plain.step(now, next);
    for_each_in_parallel(now.size(), [&](std::size_t i) { to.set(i, now[i]); });
  };
  return made;
}

}  // namespace

Operation heat_operation() {
  return {
      .name = "heat",
      .summary = "Heat diffusion in grids of 1 to 3 dimensions",
      .steps = {{"naive", "one step a pass, all neighbours from global memory"},
                {"tiled", "one step a pass, neighbours from a tile in local memory"},
                {"vector", "one step a pass, vectors in registers along z"},
                {"blocked", "several steps a pass, in a tile with a wide halo"},
                {"march", "several steps a pass, a pipeline of planes in registers"},
                {"cpu", "one thread a block, several steps while the block is in the cache"}},
      .words = {grid_rule(), scalar_rule(), grids_rule(), number_rule("steps", "Steps of a call", "1"),
                or_zero(number_rule("steps-per-pass",
                                    "Most steps in one pass over memory; 0: the plan chooses", "0")),
                choice_rule("walls", "Boundary of the grid", {"insulated", "fixed", "held"}),
                flag_rule("conductivities", "Read a conductivity for each cell; bytes do not count it"),
                choice_rule("mean", "Mean of the conductivities of two cells", {"harmonic", "arithmetic"}),
                flag_rule("source", "Read a source for each cell; bytes do not count it"),
                flag_rule("in-place", "The result replaces the input")},
      .read = read,
      // GPUs: a step at 0.88 of the copy bandwidth, and of several steps each 1.8 times as fast. CPUs: 0.95
      // of C++ with two threads for one step, and 1.5 times its rate for ten, as shares of memcpy (0.80 and
      // 0.75).
      .samples = {.edges = {"1 float", "301 float --steps 5", "37x29 half --steps 3 --batch 2 --walls held",
                            "131x67 float --steps 4 --conductivities",
                            "33x17x9 double --steps 3 --source --walls fixed",
                            "40x31x20 float --steps 7 --in-place --batch 2",
                            "64x5x6 float --conductivities --mean arithmetic --steps 2"},
                  .small = {"32x32x32 float --steps 6", "128x128x128 float", "128x128x128 float --steps 12",
                            "128x128x128 half", "2048x2048 float --steps 12"},
                  .usual = {"192x192x192 float --steps 6", goal("256x256x256 float", 0.76),
                            goal("256x256x256 float --steps 10", 1.13), "256x256x256 float --conductivities",
                            "256x256x256 double", "256x256x256 double --steps 10", "256x256x256 half",
                            "256x256x256 half --steps 10", "4096x4096 float", "4096x4096 float --steps 10",
                            "4096x4096 float --steps 10 --conductivities", "16777216 float --steps 20"},
                  .large = {"512x512x512 float --steps 6", goal("512x512x512 float", 0.88),
                            goal("512x512x512 float --steps 12", 1.584), "512x512x512 float --conductivities",
                            "512x512x512 double", "512x512x512 double --steps 12", "512x512x512 half",
                            "512x512x512 half --steps 12", "16384x16384 float",
                            "16384x16384 float --steps 12", "16384x16384 float --steps 12 --conductivities",
                            "67108864 float --steps 24"},
                  .weak_usual = {goal("256x256x256 float", 0.80), goal("4096x4096 float", 0.80)}},
      .counted = "a read and a write of each cell for every step",
      .programs = {{"67108864 --steps 16", {"blocked", "cpu"}},
                   {"67108864", {"naive"}},
                   {"8192x8192", {"naive", "tiled", "vector"}},
                   {"8192x8192 --steps 16", {"blocked", "march", "cpu"}},
                   {"8192x8192 --steps 16 --conductivities", {"blocked"}},
                   {"512x512x512", {"naive", "tiled", "vector"}},
                   {"512x512x512 --steps 16", {"blocked", "march", "cpu"}},
                   {"512x512x512 --steps 16 --walls fixed --source", {"march"}},
                   {"512x512x512 --walls held --source --conductivities", {"vector"}},
                   {"512x512x512 --steps 16 --walls held --source --conductivities", {"cpu"}},
                   {"512x512x512 --steps 16 --walls held", {"march"}},
                   {"512x512x512", {"vector"}, "alignment=4"},
                   {"512x512x512 --steps 16", {"march"}, "alignment=4"},
                   {"512x512x512 half --steps 16", {"march"}, "alignment=4"},
                   {"512x512x512 half", {"vector"}},
                   {"512x512x512 half --steps 16", {"march", "cpu"}},
                   {"512x512x512 double", {"vector"}},
                   {"512x512x512 double --steps 16", {"march", "cpu"}}},
  };
}

}  // namespace smem::operations
