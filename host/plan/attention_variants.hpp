/// What the variants of attention share.
#pragma once

#include <smem/attention_plan.hpp>

#include "plan/policy.hpp"
#include "plan/variants.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace smem::plan::attention {

/// Heads of queries that share a head of keys.
inline std::size_t sharing(const AttentionProblem& p) { return p.heads / p.kv_heads; }

/// Tiles of `high` rows, of which a query has `group`, of a sequence; of all ragged ones.
inline std::size_t count_tiles(const AttentionProblem& p, std::size_t high, std::size_t group) {
  const std::size_t rows = p.queries * group;
  return p.ragged ? rows / high + p.batch : divide_up(rows, high);
}

/// A plan that reads its inputs once.
Plan base_plan(const AttentionProblem& p, std::string_view variant, const char* file, const char* entry);

/// Why groups of so many rows cannot be launched; empty: they can. Else `tiles` and groups are set.
std::string set_tiles(Plan& plan, const AttentionProblem& p, std::size_t high, std::size_t group);

/// Why its vectors are none for matrix units; empty: they are.
std::string no_vectors_of_units(const AttentionProblem& p);

/// Bytes of a vector in local memory, as units read it (cl/nvidia/attention/mma.cl, wgmma.cl).
std::size_t unit_pitch(std::size_t size);
/// Results of a store.
std::size_t results_at_once(const AttentionProblem& p);
/// What bounds matrix units that multiply, in a clock of a compute unit, `at_once` numbers and add as many:
/// products, or the exponentials of the same pairs. A capped logit takes two more such instructions.
std::string unit_bound(const AttentionProblem& p, double at_once);

/// "wgmma", of Hopper.
Attempt wgmma(const Device& device, const AttentionProblem& p);
/// "matrix_units", of AMD and Intel.
Attempt matrix_units(const Device& device, const AttentionProblem& p);
/// Whether the device has one that multiplies the type.
bool prefers_matrix_units(const Device& device, const AttentionProblem& p);
const Evidence& evidence_of_units(const Device& device);

/// "split_keys", and "split_mma".
Attempt split_keys(const Device& device, const AttentionProblem& p, const PlanOverrides& fixed);
Attempt split_mma(const Device& device, const AttentionProblem& p, const PlanOverrides& fixed);
/// Whether queries are so few, and keys so many, that it is the variant for them.
bool is_for_split_keys(const Device& device, const AttentionProblem& p);

}  // namespace smem::plan::attention
