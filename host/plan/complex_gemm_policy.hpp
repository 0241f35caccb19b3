/// The numbers of plans for products of complex matrices, by family, with their evidence.
#pragma once

#include "plan/policy.hpp"

#include <smem/device.hpp>

#include <cstddef>

namespace smem::plan::complex_gemm {

/// A tile of C, and a work-item's block of it.
struct ComplexTile {
  std::size_t m, n, k;         ///< rows and columns of C; numbers of each sum in local memory at once
  std::size_t each_m, each_n;  ///< rows and columns of a work-item's results

  std::size_t group() const { return m / each_m * (n / each_n); }
};

/// When a real product by gemm() is chosen: it takes a second launch, and temporary memory that is written
/// and read once.
struct RealProduct {
  std::size_t least_rows = 32;           ///< of C, which share an expanded number
  std::size_t least_products = 1 << 24;  ///< of complex numbers
  std::size_t least_results = 0;         ///< of each product of a batch
};

struct ComplexGemmPolicy {
  When when;
  Evidence evidence = kFromFacts;
  ComplexTile floats = {32, 64, 8, 2, 4};  ///< of "registers"
  ComplexTile doubles = {32, 32, 8, 2, 2};
  ComplexTile square = {16, 16, 16, 1, 1};  ///< of "tiled"
  RealProduct real_product = {};
  /// Of the device for each tile of "registers", from which "tiled", whose tiles are smaller, is better, and
  /// where products fill less than a quarter of these; 0: never.
  std::size_t units_a_tile = 0;
  std::size_t most_bytes = std::size_t{256} << 20;  ///< of expanded and transposed factors
  std::size_t depth_multiple = 32;                  ///< of the depth of slices along k, unless they have less
  std::size_t group = 256;                          ///< work-items of launches without tiles
  std::size_t unroll = 4;                           ///< turns of the innermost loop; 0: all
};

inline constexpr ComplexGemmPolicy kComplexGemmPolicies[] = {
    {.when = {.family = "nvidia-hopper"},
     .evidence = {.device = "H200",
                  .driver = "580.159",
                  .what = "float, ms of a real product, registers, tiled and cuBLAS",
                  .share =
                      "4096^3 11.06, 17.1, 32.7, 10.34; 1024^3 0.210, 0.287, 0.540, 0.171; 512^3 0.045, "
                      "0.057, 0.075, 0.027; 384^3 0.030, 0.043, 0.039, 0.026; 256^3 0.019 to 0.030, 0.030, "
                      "0.012 to 0.014, 0.026; 8 x 4096 x 4096 0.218, 0.719, 0.235, 0.118; 10,000 of 64^3 "
                      "0.795, 0.720, 1.452, 0.496; 100,000 of 16^3 0.454, 1.896, 0.365, 0.544; double "
                      "2048^3 1.442, 3.812, 7.914, 1.172; 256^3 0.027, 0.038, 0.019, 0.016"},
     .floats = {64, 64, 8, 4, 4},
     .doubles = {64, 32, 8, 4, 2},
     .real_product = {.least_rows = 8, .least_products = 1 << 25, .least_results = 64 * 64 + 1},
     .units_a_tile = 3,
     .unroll = 0},
    {.when = {.family = "nvidia"},
     .evidence = {.what = "no measurement: 4 x 4 sums of two numbers each in registers"},
     .floats = {64, 64, 8, 4, 4},
     .doubles = {64, 32, 8, 4, 2},
     .unroll = 0},
    {.when = {.family = "amd-cdna"},
     .evidence = {.what = "no measurement: 4 x 4 sums of two numbers each in registers"},
     .floats = {64, 64, 8, 4, 4},
     .doubles = {64, 32, 8, 4, 2}},
    {.when = {.family = "cpu"},
     .evidence = {.device = "EPYC",
                  .driver = "PoCL 3.1",
                  .what = "a real product and registers, ms: 512^3, 4 x 512 x 512, 64^3, 16^3",
                  .share = "12.6 and 204, 2.2 and 12.2, 0.25 and 0.80, 0.14 and 0.19"},
     .floats = {32, 32, 16, 4, 4},
     .doubles = {32, 32, 16, 4, 4},
     .real_product = {.least_rows = 2, .least_products = 1 << 9},
     .unroll = 1},
    {},
};

inline const ComplexGemmPolicy& policy_of(const Device& device) {
  return row_for(kComplexGemmPolicies, device);
}

}  // namespace smem::plan::complex_gemm
