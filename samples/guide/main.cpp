// The guide's program: runs every part of README.md in order. The code of the parts is there.
//
//   guide [--measure]     --measure: larger inputs, and the speed of the kernels
#include "guide.hpp"

int main(int argc, char** argv) {
  try {
    measuring = argc > 1 && std::string(argv[1]) == "--measure";
    const smem::Context context;  // the best GPU, else a CPU
    for (const auto part : {why_local_memory, tiles_and_barriers, bank_conflicts, halos, reductions, scans,
                            histograms, products, double_buffering, sub_groups, look_back, sorting,
                            portability, finding_bugs, own_queue, attention})
      part(context);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "guide: %s\n", error.what());
    return 1;
  }
}
