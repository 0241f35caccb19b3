/// What rotate shares with transpose.
#pragma once

#include "ops/views.hpp"

#include <smem/options.hpp>

namespace smem::ops {

/// Which side is walked from its last row to its first.
struct Backwards {
  bool in = false;
  bool out = false;
};

/// Checks and launches a transpose with one or both sides backwards: a quarter turn, or a mirror on a
/// diagonal.
cl::Event turn(const Context& context, const char* operation, const ConstMatrix& in, const Matrix& out,
               Backwards backwards, const CallOptions& options);

}  // namespace smem::ops
