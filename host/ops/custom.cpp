#include "ops/custom.hpp"
#include "formatted.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string>
#include <utility>

namespace smem::ops {

std::array<std::uint64_t, 2> text_key(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.low64, hash.high64};
}

void rethrow(const char* operation, const Reduction& reduction, const Error& error) {
  ErrorDetails details = error.details();
  if (reduction.op != ReduceOp::custom || details.call != "clBuildProgram") throw Error(std::move(details));
  const bool in_identity = details.build_log.starts_with("identity.cl");
  details.operation = operation;
  details.argument = in_identity ? "identity" : "expression";
  details.expected = in_identity ? "a constant in OpenCL C" : "an expression of a and b in OpenCL C";
  details.got = formatted("\"{}\"", in_identity ? reduction.identity : reduction.expression);
  throw Error(std::move(details));
}

void rethrow(const char* operation, const std::string& predicate, const Error& error) {
  rethrow(operation, "predicate", "an expression of x in OpenCL C", predicate, error);
}

void rethrow(const char* operation, const char* argument, const char* expected, const std::string& text,
             const Error& error) {
  ErrorDetails details = error.details();
  if (text.empty() || details.call != "clBuildProgram") throw Error(std::move(details));
  details.operation = operation;
  details.argument = argument;
  details.expected = expected;
  details.got = formatted("\"{}\"", text);
  throw Error(std::move(details));
}

}  // namespace smem::ops
