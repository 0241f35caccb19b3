// The guide's program: runs every part of README.md in order. The code of the parts is there.
#include "guide.hpp"

int main() {
  try {
    const smem::Context context;  // the best GPU, else a CPU
    for (const auto part : {why_local_memory, tiles_and_barriers, bank_conflicts, halos, reductions, scans,
                            histograms, products, double_buffering, sub_groups, look_back, portability,
                            finding_bugs, own_queue})
      part(context);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "guide: %s\n", error.what());
    return 1;
  }
}
