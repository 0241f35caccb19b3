#include "runtime/wide_vectors.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#endif

namespace smem::runtime {

#if defined(__x86_64__) && defined(__GNUC__)

namespace {

constexpr int kRounds = 4096;

// Eight sums keep two units busy for the four cycles that each addition takes. By name, so that they are
// registers.
__attribute__((target("avx512f"), noinline)) float multiply_wide() {
  const __m512 factor = _mm512_set1_ps(0.5F);
  __m512 a = factor, b = factor, c = factor, d = factor, e = factor, f = factor, g = factor, h = factor;
  for (int round = 0; round < kRounds; ++round) {
    a = _mm512_fmadd_ps(a, factor, factor), b = _mm512_fmadd_ps(b, factor, factor);
    c = _mm512_fmadd_ps(c, factor, factor), d = _mm512_fmadd_ps(d, factor, factor);
    e = _mm512_fmadd_ps(e, factor, factor), f = _mm512_fmadd_ps(f, factor, factor);
    g = _mm512_fmadd_ps(g, factor, factor), h = _mm512_fmadd_ps(h, factor, factor);
    __asm__ volatile(""
                     : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f), "+v"(g), "+v"(h));  // eight each
  }
  const __m512 half = _mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d));
  const __m512 all = _mm512_add_ps(half, _mm512_add_ps(_mm512_add_ps(e, f), _mm512_add_ps(g, h)));
  return all[0];
}

__attribute__((target("avx2,fma"), noinline)) float multiply_narrow() {
  const __m256 factor = _mm256_set1_ps(0.5F);
  __m256 a = factor, b = factor, c = factor, d = factor, e = factor, f = factor, g = factor, h = factor;
  for (int round = 0; round < kRounds; ++round) {
    a = _mm256_fmadd_ps(a, factor, factor), b = _mm256_fmadd_ps(b, factor, factor);
    c = _mm256_fmadd_ps(c, factor, factor), d = _mm256_fmadd_ps(d, factor, factor);
    e = _mm256_fmadd_ps(e, factor, factor), f = _mm256_fmadd_ps(f, factor, factor);
    g = _mm256_fmadd_ps(g, factor, factor), h = _mm256_fmadd_ps(h, factor, factor);
    __asm__ volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f), "+x"(g), "+x"(h));
  }
  const __m256 half = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
  const __m256 all = _mm256_add_ps(half, _mm256_add_ps(_mm256_add_ps(e, f), _mm256_add_ps(g, h)));
  return all[0];
}

/// Seconds of a call, the least of some: others were disturbed, or the core was not yet at its rate.
template <class Call>
double seconds_of(const Call& call) {
  using Clock = std::chrono::steady_clock;
  double best = 1;
  volatile float kept = 0;
  for (int i = 0; i < 9; ++i) {
    const auto start = Clock::now();
    kept = call();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  (void)kept;
  return best;
}

bool measure() {
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return false;
  // The same number of instructions: each of 64 bytes does twice as much.
  constexpr double kClearly = 1.4;
  return 2 * seconds_of(multiply_narrow) > kClearly * seconds_of(multiply_wide);
}

}  // namespace

bool has_fast_wide_vectors() {
  static const bool fast = measure();
  return fast;
}

bool has_avx512_vnni() { return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl"); }

bool has_avx_vnni() {
  constexpr unsigned kFeatures = 7, kAvxVnni = 1U << 4U;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("avx2") && __get_cpuid_count(kFeatures, 1, &a, &b, &c, &d) != 0 &&
         (a & kAvxVnni) != 0;
}

#else

bool has_fast_wide_vectors() { return false; }

bool has_avx512_vnni() { return false; }

bool has_avx_vnni() { return false; }

#endif

}  // namespace smem::runtime
