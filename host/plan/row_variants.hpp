/// The variants of operations along rows: where a row is kept between the two times that its elements are
/// needed. Their kernels are alike: <family>/naive.cl, online.cl, tiled.cl, short_rows.cl, registers.cl,
/// ahead.cl, cooperative.cl and cpu.cl.
#pragma once

#include "plan/row_policy.hpp"
#include "plan/sizes.hpp"
#include "plan/variants.hpp"

#include <smem/device.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace smem::plan {

/// What plans know of an operation along rows. "Values": numbers of the type that rows are computed in.
struct RowWork {
  const char* operation;    ///< as the called function is named
  std::string_view family;  ///< of the kernels: "softmax"
  const RowPolicy& policy;
  Scalar in, out;
  std::size_t rows, cols, batch;
  std::size_t alignment, row_alignment;  ///< of all buffers, and of every row of the input: in bytes
  bool packed;                           ///< whether rows follow each other, of the input and of results
  std::vector<Define> defines;           ///< of the operation, for all kernels
  std::size_t tree_values = 1;           ///< that a work-item combines with others' in "tiled", "registers"
  std::size_t part_values = 2;           ///< of the statistics of a part of a row
  std::size_t published_values = 2;      ///< of those, which groups publish
  std::size_t weights_bytes = 0;         ///< of the vectors that results are weighted by, for each element
  bool weights_are_elements = false;     ///< whether they have the type of the input
  bool has_second_input = false;         ///< which is added to the first one
  bool has_persistent_parts = false;     ///< whether there is a kernel for teams that stay and share rows
  bool has_row_rings = false;            ///< whether rows of "persistent" pass through rings of pieces
  bool cpu_keeps_values = true;          ///< whether "cpu" has a tile of them in local memory
  bool guards_partial_groups = false;    ///< whether "registers" looks for teams without a row
  std::size_t naive_readings = 3;        ///< of each element by "naive": 2 or 3
  double element_read = 0;               ///< bytes, each time that an element is read
  double read_once = 0;                  ///< bytes besides
  double element_written = 0;            ///< bytes of results, for each element; 0: none
  double row_written = 0;                ///< the same for each row
  double operations = 1;                 ///< for each element
  double local_passes = 4;               ///< over a row in local memory
  std::string_view statistics;           ///< that a pass finds: "the largest element and the sum"
};

/// What every problem along rows says; an operation adds the rest.
template <class Problem>
RowWork row_work(const Problem& p, const char* operation, std::string_view family, const RowPolicy& policy) {
  return {.operation = operation,
          .family = family,
          .policy = policy,
          .in = p.in,
          .out = p.out,
          .rows = p.rows,
          .cols = p.cols,
          .batch = p.batch,
          .alignment = p.alignment,
          .row_alignment = p.row_alignment,
          .packed = p.packed,
          .element_read = real(size_of(p.in))};
}

/// The names of all variants, slowest idea first; the one for CPUs last.
std::vector<std::string_view> row_variants();

/// A variant's plan, or why there is none.
Attempt plan_row_variant(const Device& device, const RowWork& work, const PlanOverrides& fixed,
                         std::string_view variant);

/// Variants, best first.
std::vector<std::string_view> row_preference(const Device& device, const RowWork& work,
                                             const PlanOverrides& fixed);

/// Why a variant that runs was not chosen.
std::string why_not_row_variant(const RowWork& work, std::string_view variant, const Plan& chosen);

/// An operation along rows, of which `kWorkOf` says what plans must know.
template <class Problem, RowWork (*kWorkOf)(const Device&, const Problem&)>
constexpr Operation<Problem> row_operation(const char* (*name)(const Problem&),
                                           std::vector<std::string_view> (*variants)(),
                                           void (*check)(const Device&, const Problem&)) {
  return {
      .what = "row operation",
      .name = name,
      .variants = variants,
      .check = check,
      .preference =
          [](const Device& device, const Problem& problem, const PlanOverrides& fixed) {
            return row_preference(device, kWorkOf(device, problem), fixed);
          },
      .attempt =
          [](const Device& device, const Problem& problem, const PlanOverrides& fixed,
             std::string_view variant) {
            return plan_row_variant(device, kWorkOf(device, problem), fixed, variant);
          },
      .why_not =
          [](const Device& device, const Problem& problem, std::string_view variant, const Plan& chosen) {
            return why_not_row_variant(kWorkOf(device, problem), variant, chosen);
          },
      .evidence = [](const Device& device, const Problem& problem, const Plan& /*plan*/) -> const Evidence& {
        return kWorkOf(device, problem).policy.evidence;
      },
      .one_work_item = "a thread has a row",
      .with_tile = {"cooperative", "persistent"}};
}

}  // namespace smem::plan
