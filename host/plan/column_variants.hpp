/// The variants of operations along columns: where columns are kept between the two times that their elements
/// are needed. Their kernels are alike: <family>/naive.cl, online.cl, tiled.cl and cpu.cl.
#pragma once

#include "plan/column_policy.hpp"
#include "plan/variants.hpp"

#include <smem/device.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace smem::plan {

/// What plans know of an operation along columns. "Values": numbers of the type that columns are computed in.
struct ColumnWork {
  const char* operation;    ///< as the called function is named
  std::string_view family;  ///< of the kernels: "softmax_columns"
  Scalar in, out;
  std::size_t rows, cols, batch;
  std::vector<Define> defines;       ///< of the operation, for all kernels
  std::size_t tree_values = 1;       ///< that a work-item combines with others' in "tiled"
  std::size_t part_values = 2;       ///< of the statistics of a part of a column
  std::size_t column_values = 3;     ///< that "cpu" keeps of a column besides
  std::size_t block_values = 0;      ///< and of each block of its rows
  std::size_t narrow_tiles = 1;      ///< of "cpu" for narrow matrices (common/narrow_columns.clh)
  std::size_t narrow_values = 2;     ///< that it keeps of a place, and
  std::size_t narrow_columns = 2;    ///< of a column
  double naive_readings = 3;         ///< of each element by "naive"
  double element_read = 0;           ///< bytes, each time that an element is read; 0: an element's
  double read_once = 0;              ///< bytes besides
  double element_written = 0;        ///< bytes of results, for each element; 0: none
  double column_written = 0;         ///< the same for each column
  double operations = 1;             ///< for each element
  double local_passes = 4;           ///< over a column in local memory
  std::string_view statistics = {};  ///< that a pass finds: "the largest element and the sum"
};

/// The names of all variants, slowest idea first; the one for CPUs last.
std::vector<std::string_view> column_variants();

/// A variant's plan, or why there is none.
Attempt plan_column_variant(const Device& device, const ColumnWork& work, const PlanOverrides& fixed,
                            std::string_view variant);

/// Variants, best first.
std::vector<std::string_view> column_preference(const Device& device, const ColumnWork& work,
                                                const PlanOverrides& fixed);

/// Why a variant that runs was not chosen.
std::string why_not_column_variant(std::string_view variant, const Plan& chosen);

/// \throws Error naming "in" or "out" unless the types and sizes are ones of columns.
void check_columns(const char* operation, const Device& device, Scalar in, Scalar out, std::size_t rows,
                   std::size_t cols, std::size_t batch);

/// An operation along columns, of which `kWorkOf` says what plans must know.
template <class Problem, ColumnWork (*kWorkOf)(const Problem&)>
constexpr Operation<Problem> column_operation(const char* (*name)(const Problem&),
                                              std::vector<std::string_view> (*variants)(),
                                              void (*check)(const Device&, const Problem&)) {
  return {.what = "column operation",
          .name = name,
          .variants = variants,
          .check = check,
          .preference =
              [](const Device& device, const Problem& problem, const PlanOverrides& fixed) {
                return column_preference(device, kWorkOf(problem), fixed);
              },
          .attempt =
              [](const Device& device, const Problem& problem, const PlanOverrides& fixed,
                 std::string_view variant) {
                return plan_column_variant(device, kWorkOf(problem), fixed, variant);
              },
          .why_not = [](const Device& /*device*/, const Problem& /*problem*/, std::string_view variant,
                        const Plan& chosen) { return why_not_column_variant(variant, chosen); },
          .evidence = [](const Device& device, const Problem& /*problem*/,
                         const Plan& /*plan*/) -> const Evidence& { return column_policy(device).evidence; },
          .one_work_item = "a thread has a block of columns"};
}

}  // namespace smem::plan
