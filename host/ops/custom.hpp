/// A caller's own operation on its way to the compiler.
#pragma once

#include <smem/error.hpp>
#include <smem/reduce_plan.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace smem::ops {

/// A text as numbers for a key of a plan.
std::array<std::uint64_t, 2> text_key(std::string_view text);

/// Throws the error on; where the compiler refused the caller's own text, in the caller's terms.
[[noreturn]] void rethrow(const char* operation, const Reduction& reduction, const Error& error);

/// The same for a predicate of `x`, which its plan has put into "predicate.cl".
[[noreturn]] void rethrow(const char* operation, const std::string& predicate, const Error& error);

/// The same for any text, empty when there is none: `argument` is its name, `expected` what it should be.
[[noreturn]] void rethrow(const char* operation, const char* argument, const char* expected,
                          const std::string& text, const Error& error);

}  // namespace smem::ops
