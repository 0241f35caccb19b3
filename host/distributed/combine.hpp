/// Reduces a few numbers on the host: a call of a device takes longer than all of them.
#pragma once

#include "distributed/transport.hpp"

#include <smem/reduce_plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <optional>

namespace smem::distributed::detail {

/// `numbers` of the type `from` reduced to one of the type `to`, or to two by minmax, as smem::reduce() does,
/// in their order; a single number is that number, with the same bits. None where a device has to: custom
/// operations, places, types that have less than float32, more than 4096 numbers, or no number.
std::optional<Bytes> combined_on_host(const Bytes& numbers, Scalar from, Scalar to, ReduceOp op);

}  // namespace smem::distributed::detail
