/// smem: heat diffusion.
#pragma once

#include <smem/context.hpp>
#include <smem/grid.hpp>
#include <smem/heat_plan.hpp>
#include <smem/options.hpp>

#include <cstddef>

namespace smem {

/// What diffuses, how, and for how long. Lengths and times are in units of the caller's choice; a
/// conductivity k is in length squared a time (what is divided by the heat capacity, the diffusivity).
struct Heat {
  std::size_t steps = 1;    ///< 0: a copy; at most 2^32
  double dt = 0;            ///< of a step, at most heat_time_step_limit()
  double dx = 1;            ///< from cell to cell along a row
  double dy = 1;            ///< from row to row
  double dz = 1;            ///< from plane to plane
  double conductivity = 1;  ///< of all cells, where there is no grid of them
  /// One conductivity for each cell, of the type and extents of `in`: for every grid of the batch its own, or
  /// one for all. None: without a buffer.
  ConstGrid conductivities = {};
  /// The largest of `conductivities`, as the caller knows it: they lie on the device, where a call that does
  /// not wait cannot look. Above 0: 0 is what is not given, and refused. Of conductivities that are all 0,
  /// any positive number.
  double max_conductivity = 0;
  FaceMean mean = FaceMean::harmonic;  ///< of `conductivities`
  /// What comes to each cell a unit of time, as `conductivities`. None: without a buffer.
  ConstGrid source = {};
  Walls walls = Walls::insulated;  ///< what its outermost cells do
  double wall_value = 0;           ///< of Walls::fixed
  std::size_t dimensions = 0;      ///< 1 to 3; 0: the last one in which the grid has more than one cell
  /// Over memory, at most: a variant that makes fewer makes as many as it can. 0: the plan chooses. Of half
  /// it rounds: see heat().
  std::size_t steps_per_pass = 0;
};

/// The longest step that is stable: 1 / (2k/dx^2 + 2k/dy^2 + 2k/dz^2), over as many dimensions, k being the
/// conductivity or the largest one. Infinity where nothing is conducted. \throws Error as heat() does for the
/// numbers.
SMEM_API double heat_time_step_limit(const Heat& heat, std::size_t dimensions);

/// out = in after `heat.steps` explicit steps (forward in time, centred in space) of u_t = div(k grad u) + q:
///
///   u'(i) = u(i) + dt * (sum over the faces of cell i: k(face) * (u(neighbour) - u(i)) / d^2 + q(i))
///
/// with the spacing d of the face's direction. A dimension in which the grid has one cell counts where a
/// later one has more (or `dimensions` says so): it has walls on both sides. At walls: Walls::insulated, the
/// neighbour has the cell's own value; Walls::fixed, it has `wall_value`, at the distance d, and the face the
/// cell's own conductivity; Walls::held, the cell keeps its value, whatever its neighbours and source are.
/// Second order in space, first in time; dt * sum(2k/d^2) <= 1 keeps it stable, and each value between the
/// largest and the least of before where there is no source.
///
/// half, float32 or float64, one channel, any extents, pitches and batches. What flows out of one cell flows
/// into the other, so that insulated walls keep the sum to rounding. Of float32 and float64 the same bits in
/// every variant and for any number of steps a pass: each cell is made by the same operations in the same
/// order.
///
/// half is storage, of `conductivities` and `source` too: a pass makes its steps in float32 and rounds once,
/// to the nearest, ties to even, when it writes. So results depend on the number of steps a pass, which
/// Heat::steps_per_pass limits and the plan states; for the same number every variant has the same bits.
/// (The plan, a variant, and what `smem tune` has measured choose it elsewhere.) What a pass changes in a
/// cell by less than half a unit in its last place, 2^-12 of the cell or so, vanishes, however often it
/// happens: near equilibrium nothing moves any more, and insulated walls keep the sum only that well. For
/// pictures and previews, not for physics. Beyond 65504 is infinity.
///
/// `out` may be `in`, exactly; else they share no element. Each pass over memory makes several steps where
/// the plan says so, through overlapped tiles in local memory. More than one pass takes temporary memory of
/// the size of `in` (Plan::scratch_bytes) and uses `out` between passes. O(cells * steps). No host wait.
///
/// \returns the event after which the result is there. \throws Error naming the argument when dt is not
/// stable, not finite or negative (it says the limit), a spacing is not positive, a conductivity is negative
/// or not finite or its largest value is missing, shapes or types differ, a view leaves its buffer or
/// overlaps `out`, or belongs to another context, the device has no fp64 and the type is float64, or the
/// variant cannot run; nothing is enqueued then.
///
/// Sources: R. Courant, K. Friedrichs and H. Lewy, 1928, for the limit; S. V. Patankar, "Numerical Heat
/// Transfer and Fluid Flow", 1980, for the mean at faces; P. Micikevicius, GPGPU 2009, A. Nguyen et al., SC
/// 2010, and J. Holewinski et al., ICS 2012, for the kernels (cl/heat/).
SMEM_API cl::Event heat(const Context& context, const ConstGrid& in, const Grid& out, const Heat& heat,
                        const CallOptions& options = {});

}  // namespace smem
