/// smem: stencils and heat diffusion over all ranks.
#pragma once

#include <smem/distributed/data.hpp>
#include <smem/heat.hpp>
#include <smem/stencil.hpp>

#include <cstddef>

namespace smem::distributed {

/// The order in which a block's rows are computed.
enum class HaloOrder {
  automatic,    ///< the fastest by a model of the devices' facts
  edges_first,  ///< first few rows beside neighbours, sent while others are computed; more work
  whole_blocks  ///< all rows at once; then halos are sent
};

/// How often neighbours exchange halos.
struct Halo {
  /// Steps between two exchanges. Halos are this many times as wide as the stencil's radius, and some of
  /// their rows are computed twice; messages are fewer and larger. 0: the fastest number by a model of the
  /// devices' facts, at most 48; for heat up to 64 if the grid exceeds the devices' memory. Fewer if the call
  /// has fewer steps.
  std::size_t steps = 0;
  HaloOrder order = HaloOrder::automatic;  ///< if blocks are large enough to be divided
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
/// type, size and layout of `in`, and is not `in` itself. Boundary::leave is refused.
///
/// Collective, waits. A rank stores its blocks with halos: as many rows of its neighbours (or planes or
/// cells, along the slowest axis) as the steps between two exchanges need. Blocks may be thinner than halos,
/// which then come from several blocks. Temporary memory: twice the blocks with their halos; three times for
/// stencils with several steps between two exchanges. \throws Error on all ranks as smem::stencil() does, or
/// when types, sizes or layouts differ, or `in` has no values.
template <class T>
void stencil(const Grid<T>& in, Grid<T>& out, const smem::Stencil& stencil, std::size_t steps = 1,
             const Halo& halo = {}) {
  detail::check_sizes(in.session(), "distributed::stencil", in.size(), out.size());
  detail::stencil_rows(in, out, in.size(), stencil, steps, halo);
}

/// out = `in` after `heat.steps` steps of smem::heat(), with one conductivity and without sources. float32
/// and float64 give the same bits as on one device; half is rounded at each exchange. As stencil(), with a
/// halo of one row for each step. \throws Error also for grids of conductivities or sources.
template <class T>
void heat(const Grid<T>& in, Grid<T>& out, const smem::Heat& heat, const Halo& halo = {}) {
  detail::check_sizes(in.session(), "distributed::heat", in.size(), out.size());
  detail::heat_rows(in, out, in.size(), heat, halo);
}

}  // namespace smem::distributed
