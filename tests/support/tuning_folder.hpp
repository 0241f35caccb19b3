/// Tuning with a folder of a test's own.
#pragma once

#include "support/environment.hpp"
#include "support/folder.hpp"

namespace test {

/// Tuning is on, with a folder of its own, for the length of a scope; no cache on disk, where the programs of
/// other processes are.
class TuningFolder : public Folder {
 private:
  Variable on_{"SMEM_TUNING", "1"};
  Variable at_{"SMEM_TUNING_DIR", string()};
  Variable no_cache_{"SMEM_CACHE", "0"};
};

}  // namespace test
