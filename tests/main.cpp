// The test program. Its kernels are cached in the build folder, so that tests leave the user's cache alone.
// With --selftest=quick, usual or full it knows only the test cases that `smem selftest` runs at that level.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "support/random.hpp"
#include "sweeps.hpp"

#include <cstdlib>
#include <string_view>

namespace {

/// What the selftest of a device need not show: that wrong calls are refused, and what plans do elsewhere.
constexpr const char* kNoFiles = "*/tests/plan/*,*/tests/runtime/*,*/tests/opencv/*";
#define SMEM_TEST_ELSEWHERE "bad input*,*refuse*,*nothing to do,check_segments*,*malformed*,child:*"

void choose_level(doctest::Context& context, std::string_view level) {
  context.addFilter("source-file-exclude", kNoFiles);
  if (level == "quick") context.addFilter("test-suite", "small");
  // Smaller devices than the one at hand are for --full, and what takes long.
  context.addFilter("test-case-exclude", level == "full" ? SMEM_TEST_ELSEWHERE
                                                         : SMEM_TEST_ELSEWHERE
                                             ",clamped:*," SMEM_TEST_SWEEPS);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("SMEM_CACHE_DIR", SMEM_TEST_CACHE, 0);
  setenv("SMEM_TUNING", "0", 1);  // plans are compared with what smem ships
  doctest::Context context(argc, argv);
  constexpr std::string_view kLevel = "--selftest=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with(kLevel)) choose_level(context, word.substr(kLevel.size()));
  }
  const int result = context.run();
  if (!context.shouldExit() && result != 0) {
    std::fprintf(stderr, "repeat the random data with SMEM_SEED=%llu\n",
                 static_cast<unsigned long long>(test::seed()));
  }
  return result;
}
