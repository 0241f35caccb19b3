/// smem: plans for products of complex matrices. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// A product of complex matrices without its data: all that a plan depends on. All matrices are row-major
/// here; complex_gemm() converts all other problems, as gemm() does. Conjugates and alpha are not part of it:
/// every variant accepts all of them.
struct ComplexGemmProblem {
  std::size_t m = 0;              ///< rows of op(A) and C
  std::size_t n = 0;              ///< columns of op(B) and C
  std::size_t k = 0;              ///< columns of op(A), rows of op(B)
  std::size_t batch = 1;          ///< products
  Scalar part = Scalar::float32;  ///< of a complex number: float32 or float64
  bool a_along_k = true;          ///< neighbours of A in memory lie along k; else along m
  bool b_along_k = false;         ///< neighbours of B in memory lie along k; else along n
  bool one_a = false;             ///< one A is used for every product
  bool one_b = false;             ///< one B is
  bool reads_c = false;           ///< beta is not 0
  bool complex_beta = false;      ///< beta has an imaginary part
  bool conjugates = false;        ///< one factor is conjugated, and not both
  /// The largest power of two, at most 64, that divides the byte address of each row's first element.
  std::size_t a_alignment = 64;
  std::size_t b_alignment = 64;  ///< the same of B
  std::size_t c_alignment = 64;  ///< the same of C

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "complex_gemm"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(extent("m", m), extent("n", n), extent("k", k), extent("batch", batch), choice("part", part),
                choice("a_along_k", a_along_k), choice("b_along_k", b_along_k), choice("one_a", one_a),
                choice("one_b", one_b), choice("reads_c", reads_c), choice("complex_beta", complex_beta),
                choice("conjugates", conjugates), aligned("a_alignment", a_alignment),
                aligned("b_alignment", b_alignment), aligned("c_alignment", c_alignment));
  }
};

/// The plan that complex_gemm() would use on `device`. Tiles shrink until they fit; if none fits, the plan is
/// "naive" and says so.
///
/// "gemm" computes one real product by a plan of gemm(), with all its launches: in memory A is a real matrix
/// of m x 2k and C one of m x 2n, and a launch before the product expands B to 2k x 2n real numbers, [[re,
/// im], [-im, re]] for each number of B. If A lies along m, transpose() copies it first. A large product is
/// divided into slices, of the batch or along k, so that temporary memory is bounded; the plan's `rounds`
/// counts them.
///
/// Overrides: `variant`. \throws Error when the type is not float32 or float64, the device does not compute
/// with it, sizes overflow, or the variant is unknown or cannot run this problem on this device; it names the
/// field.
SMEM_API Plan plan_complex_gemm(const Device& device, const ComplexGemmProblem& problem,
                                const PlanOverrides& overrides = {});

/// The names of all variants: the steps of the ladder, simplest first.
SMEM_API std::vector<std::string_view> complex_gemm_variants();

}  // namespace smem
