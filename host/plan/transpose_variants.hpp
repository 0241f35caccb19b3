/// The variants of transpose, each a plan or the reason why there is none.
#pragma once

#include <smem/transpose_plan.hpp>

#include "formatted.hpp"
#include "plan/transpose_policy.hpp"
#include "plan/variants.hpp"

#include <string_view>

namespace smem::plan::transpose {

Attempt naive(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed);
/// A square tile of single elements: the variants tiled, padded and swizzled.
Attempt square_tile(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed,
                    LocalLayout::Kind kind);
/// Vectors of elements on both sides: see transpose/vector.cl.
Attempt vector_tile(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed);
/// Windows of aligned stores: see transpose/skewed.cl.
Attempt skewed_tile(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed);
/// Contiguous runs of packed arrays with a short side: see transpose/tall.cl and transpose/wide.cl.
Attempt strips(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed);
/// Tiles of one work-item each, as large as they pay on a CPU: see transpose/cpu.cl.
Attempt cpu_tile(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed);

/// Whether both sides of a short side's runs are whole words; `tall`: of few columns, not of few rows.
bool has_words(const TransposeProblem& problem, bool tall);

// What they share.

using Kind = LocalLayout::Kind;

inline constexpr std::size_t kWordBytes = 4;     // of a bank of local memory, on every GPU that smem knows
inline constexpr std::size_t kLocalStep = 64;    // of local arrays: some compilers round them up
inline constexpr std::size_t kSectorBytes = 32;  // what memory is read and written in at least

Plan base_plan(const TransposeProblem& problem, std::string_view variant, const char* file,
               const char* entry);

/// The layout's side of a plan: what common/tile.clh reads.
void set_layout(Plan& plan, const LocalLayout& layout, std::size_t tiles_of_a_group);

/// \throws Error when the caller fixed a field that the variant has not.
void allow_only(const PlanOverrides& fixed, std::string_view variant);

}  // namespace smem::plan::transpose
