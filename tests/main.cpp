// The test program. Its kernels are cached in the build folder, so that tests leave the user's cache alone.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "support/random.hpp"

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("SMEM_CACHE_DIR", SMEM_TEST_CACHE, 0);
  setenv("SMEM_TUNING", "0", 1);  // plans are compared with what smem ships
  doctest::Context context(argc, argv);
  const int result = context.run();
  if (!context.shouldExit() && result != 0) {
    std::fprintf(stderr, "repeat the random data with SMEM_SEED=%llu\n",
                 static_cast<unsigned long long>(test::seed()));
  }
  return result;
}
