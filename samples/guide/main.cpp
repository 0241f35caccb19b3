// The guide's program: every part of README.md, one after the other. The parts themselves stand there.
#include "guide.hpp"

int main() {
  try {
    const smem::Context context;  // the best GPU, else a CPU
    for (const auto part : {why_local_memory, tiles_and_barriers, bank_conflicts, halos, reductions, scans,
                            histograms, products, double_buffering, sub_groups, look_back, portability})
      part(context);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "guide: %s\n", error.what());
    return 1;
  }
}
