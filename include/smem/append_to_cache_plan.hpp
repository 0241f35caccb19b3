/// smem: plans for appending to caches. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/fields.hpp>
#include <smem/plan.hpp>
#include <smem/rotary_plan.hpp>
#include <smem/scalar.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace smem {

/// New keys and values for a cache, without their data: all that a plan depends on. See append_to_cache.hpp.
struct AppendToCacheProblem {
  Scalar type = Scalar::float32;            ///< of keys and values: half, bfloat16, float32
  std::size_t batch = 1;                    ///< sequences
  std::size_t heads = 1;                    ///< of keys
  std::size_t tokens = 0;                   ///< of a sequence; in a ragged batch, of all sequences
  std::size_t head_size = 1;                ///< of a key
  std::size_t value_size = 1;               ///< of a value
  std::size_t rotated = 0;                  ///< elements of a key that are rotated; 0: none
  RotaryPairs pairs = RotaryPairs::halves;  ///< which of them are rotated together
  bool ragged = false;                      ///< whether sequences have offsets, and lengths of their own
  bool paged = false;                       ///< whether the cache is in pages
  /// The largest power of two, at most 16, that divides the byte addresses of the vectors of all views.
  std::size_t alignment = 16;

  /// The operation's name in `smem tune`.
  std::string_view name() const { return "append_to_cache"; }
  /// Its members, for keys, texts and tuning (see fields.hpp).
  auto fields() const {
    using namespace smem::fields;
    return list(choice("type", type), extent("batch", batch), extent("heads", heads),
                extent("tokens", tokens), choice("head_size", head_size), choice("value_size", value_size),
                choice("rotated", rotated), choice("pairs", pairs), choice("ragged", ragged),
                choice("paged", paged), aligned("alignment", alignment));
  }
};

/// The plan that append_to_cache() uses on `device`. Overrides: `variant`, and `work_items`, a power of two.
/// \throws Error when the problem or the device does not allow it, the variant is unknown or cannot run this
/// problem on this device, or another field was fixed; it names the field.
SMEM_API Plan plan_append_to_cache(const Device& device, const AppendToCacheProblem& problem,
                                   const PlanOverrides& overrides = {});

/// The names of all variants, simplest first.
SMEM_API std::vector<std::string_view> append_to_cache_variants();

}  // namespace smem
