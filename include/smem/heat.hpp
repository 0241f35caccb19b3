/// smem: heat diffusion.
#pragma once

#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/heat_plan.hpp>
#include <smem/options.hpp>

#include <cstddef>

namespace smem {

/// The parameters of a diffusion. Lengths and times have units of the caller's choice. A conductivity k is a
/// diffusivity, in length squared per time: the thermal conductivity divided by the heat capacity.
struct Heat {
  std::size_t steps = 1;    ///< 0: a copy; at most 2^32
  double dt = 0;            ///< of a step, at most heat_time_step_limit()
  double dx = 1;            ///< from cell to cell along a row
  double dy = 1;            ///< from row to row
  double dz = 1;            ///< from plane to plane
  double conductivity = 1;  ///< of all cells, unless `conductivities` is given
  /// A conductivity for each cell, of the type and extents of `in`: a grid for each grid of the batch, or one
  /// for all. Without a buffer: none.
  ConstGrid conductivities = {};
  /// The largest of `conductivities`. It must be given with them, because they lie on the device and the call
  /// does not wait to read them. It must be above 0; if all conductivities are 0, use any positive number.
  double max_conductivity = 0;
  FaceMean mean = FaceMean::harmonic;  ///< of `conductivities`
  /// What is added to each cell in a unit of time; like `conductivities`. Without a buffer: none.
  ConstGrid source = {};
  Walls walls = Walls::insulated;  ///< of the outermost cells
  double wall_value = 0;           ///< of Walls::fixed
  std::size_t dimensions = 0;      ///< 1 to 3; 0: the last one in which the grid has more than one cell
  /// The most steps in one pass over memory; a variant that computes fewer computes as many as it can. 0: the
  /// plan chooses. For half this affects rounding: see heat().
  std::size_t steps_per_pass = 0;
};

/// The longest stable step: 1 / (2k/dx^2 + 2k/dy^2 + 2k/dz^2), over as many dimensions as there are, where k
/// is the conductivity or the largest one. Infinity if k is 0. \throws Error as heat() does for these
/// numbers.
SMEM_API double heat_time_step_limit(const Heat& heat, std::size_t dimensions);

/// out = in after `heat.steps` explicit steps (forward in time, centred in space) of u_t = div(k grad u) + q:
///
///   u'(i) = u(i) + dt * (sum over the faces of cell i: k(face) * (u(neighbour) - u(i)) / d^2 + q(i))
///
/// where d is the spacing in the direction of the face. A dimension with a single cell counts if a later one
/// has more cells (or `dimensions` says so); it has walls on both sides. At walls: with Walls::insulated the
/// neighbour has the value of the cell itself; with Walls::fixed it has `wall_value`, at the distance d, and
/// the face has the conductivity of the cell; with Walls::held the cell keeps its value, whatever its
/// neighbours and source are. The scheme is of second order in space and first order in time. It is stable if
/// dt * sum(2k/d^2) <= 1; without sources, values then stay between the least and the largest of the step
/// before.
///
/// Elements are half, float32 or float64, with one channel, any extents, pitches and batches. What flows out
/// of one cell flows into the other, so insulated walls preserve the sum up to rounding. float32 and float64
/// give the same bits in every variant and for any number of steps in a pass, because each cell is computed
/// by the same operations in the same order.
///
/// half is only storage, also of `conductivities` and `source`: a pass computes its steps in float32 and
/// rounds once, to nearest, ties to even, when it writes. So results depend on the number of steps in a pass,
/// which Heat::steps_per_pass limits and the plan states. For the same number every variant gives the same
/// bits. (Otherwise the plan, a variant, or a tuned plan determine it.) A change of a cell in one pass by
/// less than half a unit in its last place, about 2^-12 of the cell, is lost, however often it occurs: near
/// equilibrium nothing changes any more, and insulated walls preserve the sum only to that accuracy. Use half
/// for pictures and previews, not for physics. Values beyond 65504 become infinity.
///
/// `out` may be `in` itself; otherwise they must not overlap. Each pass over memory computes several steps if
/// the plan says so, in overlapped tiles in local memory. More than one pass needs temporary memory of the
/// size of `in` (Plan::scratch_bytes), and uses `out` between passes. O(cells * steps). No host wait.
///
/// \returns the event that completes with the result. \throws Error when dt is not stable (it states the
/// limit), not finite or negative, a spacing is not positive, a conductivity is negative or not finite or its
/// largest value is missing, shapes or types differ, a view exceeds its buffer, overlaps `out` or belongs to
/// another context, the type is float64 and the device has no fp64, or the variant cannot run. The error
/// names the argument, and nothing is enqueued.
///
/// Sources: R. Courant, K. Friedrichs and H. Lewy, 1928, for the limit; S. V. Patankar, "Numerical Heat
/// Transfer and Fluid Flow", 1980, for the mean at faces; P. Micikevicius, GPGPU 2009, A. Nguyen et al., SC
/// 2010, and J. Holewinski et al., ICS 2012, for the kernels (cl/heat/).
SMEM_API cl::Event heat(const Context& context, const ConstGrid& in, const Grid& out, const Heat& heat,
                        const CallOptions& options = {});

}  // namespace smem
