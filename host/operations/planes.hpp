/// What descriptions of operations on packed planes share.
#pragma once

#include "operations/grids.hpp"
#include "operations/words.hpp"

#include <string>
#include <utility>

namespace smem::operations {

/// "WIDTH" or "WIDTHxHEIGHT".
inline WordRule plane_rule(std::string help) {
  return sizes_rule("shape", std::move(help) + ": WIDTH or WIDTHxHEIGHT", "WIDTH or WIDTHxHEIGHT", {1, 2});
}
inline GridSize plane_of(const Words& words) {
  const auto sizes = words.sizes("shape");
  return {sizes[0], sizes.size() > 1 ? sizes[1] : 1};
}
/// Of results: the input's type, or float32.
inline WordRule results_rule() {
  return choice_rule("out", "Type of the results: that of the input, or float32", {"same", "float32"});
}
inline Scalar results_of(const Words& words) {
  return words.text("out") == "same" ? words.scalar("type") : Scalar::float32;
}

/// What a mean may differ by: integers not at all, floats by the last roundings of sum and quotient.
inline double mean_tolerance(Scalar in, Scalar out) {
  if (!is_float(in)) return 0;
  return out == Scalar::half ? 0x1p-10 : out == Scalar::float64 ? 0x1p-50 : 0x1p-21;
}

}  // namespace smem::operations
