/// smem: plans for attention. Includes no OpenCL header.
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

/// Attention without its data: all that a plan depends on. See attention.hpp.
struct AttentionProblem {
  Scalar in = Scalar::float32;   ///< type of queries, keys and values
  Scalar out = Scalar::float32;  ///< type of the results
  std::size_t batch = 1;         ///< sequences
  std::size_t heads = 1;         ///< of a query
  std::size_t kv_heads = 1;      ///< of a key; divides `heads`
  std::size_t queries = 0;       ///< of a sequence; in a ragged batch, of all sequences
  std::size_t keys = 0;          ///< the same; in a paged cache, the capacity of a row of the page table
  std::size_t head_size = 1;     ///< of a query and a key
  std::size_t value_size = 1;    ///< of a value and a result
  bool right_limit = false;      ///< whether keys after a query's own are masked: causal or by a window
  bool left_limit = false;       ///< whether keys before it are masked: by a window
  bool soft_cap = false;         ///< whether logits are capped
  bool lse = false;              ///< whether log-sum-exp is written
  bool bias = false;             ///< whether something is added to logits
  Scalar bias_type = Scalar::float32;  ///< its type: float32 or `in`
  bool slopes = false;                 ///< whether heads have slopes
  bool sink_logits = false;            ///< whether heads have sink logits
  bool key_lengths = false;            ///< whether sequences have lengths of their own
  bool ragged = false;                 ///< whether offsets say where sequences begin
  bool paged = false;                  ///< whether a table says where keys and values are
  /// The largest power of two, at most 16, that divides the byte addresses of the vectors of q, k and v.
  std::size_t alignment = 16;
  /// The same of the results.
  std::size_t out_alignment = 16;

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "attention"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("in", in), choice("out", out), extent("batch", batch), extent("heads", heads),
                extent("kv_heads", kv_heads), extent("queries", queries), extent("keys", keys),
                choice("head_size", head_size), choice("value_size", value_size),
                choice("right_limit", right_limit), choice("left_limit", left_limit),
                choice("soft_cap", soft_cap), choice("lse", lse), choice("bias", bias),
                choice("bias_type", bias_type), choice("slopes", slopes), choice("sink_logits", sink_logits),
                choice("key_lengths", key_lengths), choice("ragged", ragged), choice("paged", paged),
                aligned("alignment", alignment), aligned("out_alignment", out_alignment));
  }
};

/// The plan that attention() uses on `device`. If it is "naive", launches before the main one write logits
/// and weights to temporary memory, in several rounds if they are many. Overrides: `variant`; for
/// "split_keys" and "split_mma" also `work_items`, and `tile_cols`: keys are shared in multiples of this
/// number.
///
/// "matrix_units", for half and bfloat16, is chosen on every AMD or Intel device that has such a unit
/// (Device::matrix_unit), unless there are so few queries that "split_keys" is chosen. No variant was
/// measured there, but the unit performs several times as many operations a second as vector instructions.
/// \throws Error when the problem or the device does not allow it, the variant is unknown or cannot run this
/// problem on this device, or another field was fixed; it names the field.
SMEM_API Plan plan_attention(const Device& device, const AttentionProblem& problem,
                             const PlanOverrides& overrides = {});

/// The names of all variants, simplest first; the one for CPUs last.
SMEM_API std::vector<std::string_view> attention_variants();

}  // namespace smem
