/// What descriptions of operations with an activation share.
#pragma once

#include "operations/words.hpp"

#include <smem/gemm_plan.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace smem::operations {

inline WordRule activation_rule(std::string help) {
  return choice_rule("activation", std::move(help), {"none", "relu", "gelu"});
}

inline Activation activation_of(const Words& words) { return words.enumerator<Activation>("activation"); }

inline double activated(Activation activation, double x) {
  if (activation == Activation::gelu) return x / 2 * std::erfc(-x / std::sqrt(2.0));
  return activation == Activation::relu ? std::max(x, 0.0) : x;
}

}  // namespace smem::operations
