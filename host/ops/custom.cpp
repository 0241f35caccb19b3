#include "ops/custom.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string>
#include <utility>

namespace smem::ops {

std::array<std::uint64_t, 2> text_key(const Reduction& reduction) {
  if (reduction.op != ReduceOp::custom) return {};
  const std::string both =
      fmt::format("{}:{}{}", reduction.expression.size(), reduction.expression, reduction.identity);
  const XXH128_hash_t hash = XXH3_128bits(both.data(), both.size());
  return {hash.low64, hash.high64};
}

void rethrow(const char* operation, const Reduction& reduction, const Error& error) {
  ErrorDetails details = error.details();
  if (reduction.op != ReduceOp::custom || details.call != "clBuildProgram") throw Error(std::move(details));
  const bool in_identity = details.build_log.starts_with("identity.cl");
  details.operation = operation;
  details.argument = in_identity ? "identity" : "expression";
  details.expected = in_identity ? "a constant in OpenCL C" : "an expression of a and b in OpenCL C";
  details.got = fmt::format("\"{}\"", in_identity ? reduction.identity : reduction.expression);
  throw Error(std::move(details));
}

}  // namespace smem::ops
