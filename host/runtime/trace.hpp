/// What SMEM_TRACE shows: lines on the error stream.
#pragma once

#include "runtime/environment.hpp"

#include <cstdio>
#include <string>

namespace smem::runtime {

/// Prints "smem: TEXT" when SMEM_TRACE is set: one write, so that lines of several threads do not mix.
inline void trace(const std::string& text) {
  if (!environment("SMEM_TRACE").empty()) std::fputs(("smem: " + text + "\n").c_str(), stderr);
}

}  // namespace smem::runtime
