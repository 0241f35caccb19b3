/// smem: plans for matrix products. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace smem {

/// What is applied to each result; see gemm.hpp.
enum class Activation {
  none,
  relu,  ///< 0 for what is less than 0
  /// x / 2 (1 + erf(x / sqrt(2))): of float within 2 units in the last place, where that is a normal number;
  /// -0 of -infinity; not of integers
  gelu
};

/// "none", "relu" or "gelu".
SMEM_API std::string_view name_of(Activation activation);

/// A product without its data: all that a plan depends on. All matrices are row-major here; gemm() converts
/// all other problems: a column-major matrix is the row-major matrix of its transpose.
struct GemmProblem {
  std::size_t m = 0;                         ///< rows of op(A) and C
  std::size_t n = 0;                         ///< columns of op(B) and C
  std::size_t k = 0;                         ///< columns of op(A), rows of op(B)
  std::size_t batch = 1;                     ///< products
  Scalar in = Scalar::float32;               ///< of A and B
  Scalar out = Scalar::float32;              ///< of C
  bool a_along_k = true;                     ///< neighbours of A in memory lie along k; else along m
  bool b_along_k = false;                    ///< neighbours of B in memory lie along k; else along n
  bool reads_c = false;                      ///< beta is not 0
  bool listed = false;                       ///< a list holds the offsets of the matrices of the batch
  bool epilogue = false;                     ///< whether an epilogue follows alpha and beta
  bool row_bias = false;                     ///< a number for each row is added
  bool column_bias = false;                  ///< a number for each column is added
  bool residual = false;                     ///< a matrix is added
  bool residual_is_c = false;                ///< and this matrix is C itself
  Activation activation = Activation::none;  ///< of the epilogue
  std::string expression = {};               ///< the caller's own: OpenCL C, of `x`, `row` and `col`
  bool mixed = false;                        ///< fp8: A has type `in`, and B the other fp8 type
  bool tf32 = false;                         ///< float32 may be truncated to TF32 before it is multiplied
  bool turned = false;  ///< of a column-major C: its rows are columns here, and A and B are exchanged
  /// The largest power of two, at most 64, that divides the byte address of each row's first element.
  std::size_t a_alignment = 64;
  std::size_t b_alignment = 64;  ///< the same of B
  std::size_t c_alignment = 64;  ///< the same of C
  /// Of a list, whose offsets may be any: the alignment of all three if offsets are multiples of 64 bytes.
  std::size_t list_alignment = 64;

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "gemm"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(extent("m", m), extent("n", n), extent("k", k), extent("batch", batch), choice("in", in),
                choice("out", out), choice("a_along_k", a_along_k), choice("b_along_k", b_along_k),
                choice("reads_c", reads_c), choice("listed", listed), choice("epilogue", epilogue),
                ignored("row_bias", row_bias), ignored("column_bias", column_bias),
                ignored("residual", residual), ignored("residual_is_c", residual_is_c),
                ignored("activation", activation), untuned("expression", expression), choice("mixed", mixed),
                choice("tf32", tf32), ignored("turned", turned), aligned("a_alignment", a_alignment),
                aligned("b_alignment", b_alignment), aligned("c_alignment", c_alignment),
                aligned("list_alignment", list_alignment));
  }
};

/// The plan that gemm() would use on `device`. Tiles shrink until they fit; if none fits, the plan is "naive"
/// and says so.
///
/// If sums are computed in parts, a launch after the main one adds the parts: always for "split_k" and
/// "stream_k", and for NVIDIA's own variants if C has few tiles and the sums are long. For large products by
/// "wgmma" on NVIDIA's Hopper, a launch before the main one copies factors with unaligned rows to aligned
/// temporary memory; for int8, and for float32 by TF32, also factors that do not lie along k. Small products
/// may be computed by float32 vectors even if TF32 is allowed. For large products of float32, "packed" copies
/// A, B or both to aligned rows across k, unless they already lie so; "multistage" reads all factors as they
/// lie.
///
/// fp8: variants with tiles in local memory, and "naive", convert each number that they read. "wgmma"
/// multiplies fp8 directly. Before "mma", "matrix_units" and "cpu" a launch ("widen") writes both
/// factors to temporary memory as half ("cpu": float32), which represents all their values exactly. These
/// four do not take listed products of fp8.
///
/// "matrix_units", for half, bfloat16 and int8, is chosen on every AMD or Intel device that has such a unit
/// (Device::matrix_unit). No variant was measured there, but the unit performs several times as many
/// operations a second as vector instructions. It may compute sums in parts, as "split_k" does.
///
/// Overrides: `variant`; for variants with vector instructions and tiles, "tiled" to "stream_k", `tile_rows`
/// and `tile_cols` (of C, powers of two from 4 to 256), `work_items` (a power of two; a work-item then has
/// tile_rows * tile_cols / work_items results) and, but for "async", `layout`, of both tiles; for NVIDIA's
/// own, "multistage" to "wgmma", `tile_rows` and `tile_cols` of one of their tiles. Fixed fields are never
/// shrunk. \throws Error when the types do not
/// fit each other or the device, the variant is unknown or cannot run this problem on this device, or what
/// was fixed contradicts itself or does not fit; it names the field.
SMEM_API Plan plan_gemm(const Device& device, const GemmProblem& problem,
                        const PlanOverrides& overrides = {});

/// A plan, and its time as predicted by the model that chooses among plans.
struct GemmCandidate {
  Plan plan;           ///< made with its overrides
  double seconds = 0;  ///< predicted
  std::string text;    ///< "wgmma, 128 x 256 in 3 parts"
};

/// The plans among which the model of shapes chooses, one for each variant and tile size, in the order of
/// their predicted times; empty on devices without a model. `variant`: only plans of this variant; empty: of
/// all. \throws Error as plan_gemm().
SMEM_API std::vector<GemmCandidate> gemm_candidates(const Device& device, const GemmProblem& problem,
                                                    std::string_view variant = {});

/// The names of all variants: the steps of the ladder, simplest first.
SMEM_API std::vector<std::string_view> gemm_variants();

/// What the variant adds to the one before it in gemm_variants(), in one clause.
SMEM_API std::string_view gemm_step(std::string_view variant);

}  // namespace smem
