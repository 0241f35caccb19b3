/// How one case of a sweep ended.
#pragma once

#include <smem/error.hpp>

#include <string>

namespace test {

struct Outcome {
  bool refused = false;  ///< the variant cannot run this problem: both the plan and the call refuse
  std::string fault;     ///< what is wrong; empty: nothing
  std::string why;       ///< why it was refused
};

inline Outcome refusal(const smem::Error& error) { return {true, {}, error.what()}; }
inline Outcome without_fp64() { return {true, {}, "the device has no fp64"}; }

}  // namespace test
