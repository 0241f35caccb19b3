/// smem: plans for heat diffusion. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// What the walls of a grid do: its outermost cells, in every dimension that counts.
enum class Walls {
  insulated,  ///< no heat flows through them (Neumann)
  fixed,      ///< one cell beyond the outermost ones has a given, constant value (Dirichlet)
  held        ///< the outermost cells keep their values (Dirichlet, a value for each cell)
};

/// "insulated", "fixed" or "held".
SMEM_API std::string_view name_of(Walls walls);

/// The conductivity of the face between two cells, from those of the cells.
enum class FaceMean {
  harmonic,   ///< 2ab / (a + b): correct where materials meet; 0 beside an insulator
  arithmetic  ///< (a + b) / 2
};

/// "harmonic" or "arithmetic".
SMEM_API std::string_view name_of(FaceMean mean);

/// Heat diffusion without its data: all that a plan depends on.
struct HeatProblem {
  Scalar type = Scalar::float32;       ///< half, float32 or float64
  std::size_t width = 0;               ///< cells of a row
  std::size_t height = 1;              ///< rows of a plane
  std::size_t depth = 1;               ///< planes
  std::size_t dimensions = 0;          ///< 1 to 3; 0: as the extents say, see heat_dimensions()
  std::size_t batch = 1;               ///< grids
  std::size_t steps = 1;               ///< of the call
  std::size_t steps_per_pass = 0;      ///< over memory, at most; 0: the plan chooses
  Walls walls = Walls::insulated;      ///< what the outermost cells do
  bool variable = false;               ///< whether every cell has a conductivity of its own
  FaceMean mean = FaceMean::harmonic;  ///< of the conductivities of two cells
  bool source = false;                 ///< whether there is a grid of sources
  bool in_place = false;               ///< whether the result overwrites the input
  /// The largest power of two, at most 64, that divides the address of each row of every grid.
  std::size_t alignment = 64;

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "heat"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("type", type), extent("width", width), extent("height", height),
                extent("depth", depth), choice("dimensions", dimensions), extent("batch", batch),
                extent("steps", steps), choice("steps_per_pass", steps_per_pass), choice("walls", walls),
                choice("variable", variable), ignored("mean", mean), choice("source", source),
                untuned("in_place", in_place), aligned("alignment", alignment));
  }
};

/// The number of dimensions: as given, else the last one in which the grid has more than one cell, and at
/// least 1. \throws Error naming "dimensions" when it is more than 3, or the grid has more.
SMEM_API std::size_t heat_dimensions(const HeatProblem& problem);

/// The plan that heat() would use on `device`. Each launch is a pass over memory; its number "steps" says how
/// many steps it computes. The main launch is repeated for the longest passes; other passes have one step
/// less, and a pass of no steps copies. In place, the number of passes is even, unless there are no steps.
/// Overrides: `variant`; for "vector" and "march" also `tile_cols` and `tile_rows`, the cells along x and y
/// that a work-group computes. \throws Error when the problem or the device does not allow it, the variant is
/// unknown or cannot run this problem on this device, or another field was fixed; it names the field.
SMEM_API Plan plan_heat(const Device& device, const HeatProblem& problem,
                        const PlanOverrides& overrides = {});

/// The names of all variants: the steps of the ladder, simplest first, then the one for CPUs.
SMEM_API std::vector<std::string_view> heat_variants();

}  // namespace smem
