/// Filling the program cache.
#pragma once

#include <string>
#include <vector>

namespace smem::cli {

struct WarmOptions {
  std::string device;
  std::vector<std::string> operations;  ///< all, when empty
};

/// What can be named.
std::vector<std::string> warm_operations();

/// Calls operations on little data, with the plans' own choices, so that their programs are built and kept.
/// Prints how many were, and the time. \returns the exit code.
int warm_cache(const WarmOptions& options);

}  // namespace smem::cli
