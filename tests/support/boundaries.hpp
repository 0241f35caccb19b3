/// All boundaries of grids, for sweeps.
#pragma once

#include <smem/boundary.hpp>

namespace test {

inline constexpr smem::Boundary kBoundaries[] = {
    smem::Boundary::zero,   smem::Boundary::constant, smem::Boundary::clamp, smem::Boundary::reflect,
    smem::Boundary::mirror, smem::Boundary::wrap,     smem::Boundary::leave};

}  // namespace test
