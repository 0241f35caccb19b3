/// smem: stencils and heat diffusion over all ranks.
#pragma once

#include <smem/distributed/data.hpp>
#include <smem/heat.hpp>
#include <smem/stencil.hpp>

#include <cstddef>

namespace smem::distributed {

/// The order in which a block's rows are computed.
enum class HaloOrder {
  automatic,    ///< the one that takes least by a model of the devices' facts
  edges_first,  ///< few rows beside neighbours first, which travel while the others are computed; more in all
  halves_first,  ///< the same with as many rows beside each neighbour as the others are
  whole_blocks   ///< all at once; then halos travel
};

/// How often neighbours exchange halos.
struct Halo {
  /// Steps that are made between two exchanges, with halos of so many times the stencil's radius, of which
  /// some rows are computed twice: fewer and larger messages. 0: as many as take least by a model of the
  /// devices' facts, at most 48; of heat up to 64 where the grid does not lie in the devices' memory. Fewer
  /// where there are fewer steps.
  std::size_t steps = 0;
  HaloOrder order = HaloOrder::automatic;  ///< where blocks are large enough to be divided
};

namespace detail {
SMEM_DISTRIBUTED_API void stencil_rows(const Rows& in, Rows& out, const GridSize& size,
                                       const smem::Stencil& stencil, std::size_t steps, const Halo& halo);
SMEM_DISTRIBUTED_API void heat_rows(const Rows& in, Rows& out, const GridSize& size, const smem::Heat& heat,
                                    const Halo& halo);
/// \throws Error on all ranks unless the sizes are equal.
SMEM_DISTRIBUTED_API void check_sizes(const Session& session, const char* operation, const GridSize& in,
                                      const GridSize& out);
}  // namespace detail

/// out = `in` after `steps` steps of smem::stencil(), with the same bits as on one device. `out` has the
/// type, size and layout of `in`, and is other data. Boundary::leave is refused.
///
/// Collective, waits. A rank keeps its blocks with halos: rows of its neighbours (planes, cells: along the
/// slowest axis) as far as the steps between two exchanges reach. Blocks may be thinner than halos, which
/// then come from several. Temporary memory: twice the blocks with their halos, three times where
/// stencils make several steps between two exchanges. \throws Error on all ranks as
/// smem::stencil() does, or when types, sizes or layouts differ, or `in` has no values.
template <class T>
void stencil(const Grid<T>& in, Grid<T>& out, const smem::Stencil& stencil, std::size_t steps = 1,
             const Halo& halo = {}) {
  detail::check_sizes(in.session(), "distributed::stencil", in.size(), out.size());
  detail::stencil_rows(in, out, in.size(), stencil, steps, halo);
}

/// out = `in` after `heat.steps` steps of smem::heat(), of one conductivity and without sources; of float32
/// and float64 with the same bits as on one device, of half with a rounding at each exchange. As stencil(),
/// with a halo of one row a step. \throws Error also for grids of conductivities or of sources.
template <class T>
void heat(const Grid<T>& in, Grid<T>& out, const smem::Heat& heat, const Halo& halo = {}) {
  detail::check_sizes(in.session(), "distributed::heat", in.size(), out.size());
  detail::heat_rows(in, out, in.size(), heat, halo);
}

}  // namespace smem::distributed
