/// smem: what a device reaches, and what its compiler made of a plan.
#pragma once

#include <smem/context.hpp>
#include <smem/explain.hpp>
#include <smem/export.hpp>
#include <smem/rates_plan.hpp>

#include <cstddef>

namespace smem {

/// The device's copy bandwidth and fp32 rate, measured at the first call (a second at most, and up to 1 GiB
/// of its memory) and kept in the program cache on disk, for this device and driver; `again` measures anew.
/// Other work on the device makes them smaller. \throws Error when OpenCL fails.
SMEM_API Rates measure_rates(const Context& context, bool again = false);

/// 32-bit registers of a work-item of the plan's compiled kernel: from NVIDIA's build log, or
/// AMD's and Intel's binary. 0: not known. Compiles the kernel anew. \throws Error when it
/// does not compile.
SMEM_API std::size_t registers_of(const Context& context, const Plan& plan);

}  // namespace smem
