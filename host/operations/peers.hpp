/// Goals of operations whose peers are measured by floating-point operations.
#pragma once

namespace smem::operations {

/// Parts of what a peer's matrix units reached on an H200, as shares of the 66.4 TFLOP/s that its fp32 rate
/// was measured as.
constexpr double part(double of, double tflops) { return of * tflops / 66.4; }

}  // namespace smem::operations
