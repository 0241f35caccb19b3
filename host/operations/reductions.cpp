// What descriptions of reductions and scans share.
#include "operations/reductions.hpp"

#include "formatted.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace smem::operations {

std::string Extents::text() const {
  return formatted("{}{}{}", batch_text(batch), is_matrix ? formatted("{} x ", rows) : "", cols);
}

std::vector<WordRule> extent_rules(const std::vector<WordRule>& more) {
  std::vector<WordRule> rules{
      sizes_rule("shape", "Elements of a vector, or ROWSxCOLS of a matrix", "ELEMENTS or ROWSxCOLS", {1, 2}),
      scalar_rule(), batch_rule()};
  rules.insert(rules.end(), more.begin(), more.end());
  return rules;
}

Extents extents_of(std::string_view operation, const Words& words) {
  const std::vector<std::size_t> sizes = words.sizes("shape");
  const Extents extents{sizes.size() == 2, sizes.size() == 2 ? sizes[0] : 1, sizes.back(),
                        words.number("batch")};
  if (!extents.is_matrix && extents.batch != 1)
    refuse(operation, "batch", "1 for a vector", words.text("batch"));
  return extents;
}

WordRule reduction_rule(ReduceOp last) { return choice_rule("op", "The reduction", names_to(last)); }

Scalar usual_result(ReduceOp op, Scalar in) {
  switch (op) {
    case ReduceOp::argmin:
    case ReduceOp::argmax:
      return Scalar::uint64;
    case ReduceOp::any:
    case ReduceOp::all:
      return Scalar::uint8;
    case ReduceOp::sum:
    case ReduceOp::product:
      if (!is_float(in)) return is_signed(in) ? Scalar::int64 : Scalar::uint64;
      return in == Scalar::float64 ? in : Scalar::float32;
    case ReduceOp::mean:
    case ReduceOp::norm:
      return in == Scalar::float64 ? in : Scalar::float32;
    default:
      return in;
  }
}

Fill fill_for(ReduceOp op, Scalar type, std::size_t count) {
  constexpr std::size_t kExact = std::size_t{1} << 22;  // half of a float's whole numbers, and its signs
  const auto rare = [](std::size_t of) {
    return static_cast<unsigned>(std::clamp<std::size_t>(of, 1, 1U << 30));
  };
  const bool negative = is_float(type) || is_signed(type);
  switch (op) {
    case ReduceOp::product:
      return {.least = 1, .most = 2, .rare = rare(count / 8)};
    case ReduceOp::bit_and:
    case ReduceOp::bit_or:
      return {.least = 64, .most = 127};
    case ReduceOp::any:
      return {.most = 1, .rare = rare(count)};
    case ReduceOp::sum:
    case ReduceOp::mean:
    case ReduceOp::dot:
    case ReduceOp::norm: {
      const bool many = count > (1U << 16);  // 15 * 15 * 2^14 are exact
      return {.most = many                 ? 1U
                      : count > (1U << 14) ? 7U
                                           : 15U,
              .rare = rare(count / (kExact / 2)),
              .negative = negative};
    }
    default:
      return {.most = 100, .negative = negative};
  }
}

Fill runs_of(double mean) {
  const double q = 1 - std::sqrt(1 - 1 / mean);
  Fill fill;
  fill.number = [q](std::uint64_t random) {
    return static_cast<double>(random >> 40) * 0x1p-24 < q ? static_cast<double>(1 + random % 99) : 0.0;
  };
  return fill;
}

double combined(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::product:
      return a * b;
    case ReduceOp::min:
      return std::fmin(a, b);
    case ReduceOp::max:
      return std::fmax(a, b);
    case ReduceOp::bit_and:
      return static_cast<double>(static_cast<std::int64_t>(a) & static_cast<std::int64_t>(b));
    case ReduceOp::bit_or:
      return static_cast<double>(static_cast<std::int64_t>(a) | static_cast<std::int64_t>(b));
    case ReduceOp::any:
      return a != 0 || b != 0 ? 1 : 0;
    case ReduceOp::all:
      return a != 0 && b != 0 ? 1 : 0;
    default:
      return a + b;
  }
}

std::vector<Step> reduction_steps() {
  return {{"interleaved", "a tree in local memory; distances double in each step"},
          {"sequential", "active work-items are adjacent: no idle sub-groups, no bank conflicts"},
          {"first_add", "each work-item adds two elements before the tree"},
          {"several", "many elements a work-item, read in vectors, before the tree"},
          {"sub_group", "sub-group functions in place of the last levels"},
          {"shuffle", "NVIDIA's shuffles instead of local memory"},
          {"short", "short vectors: one group with few instructions"},
          {"short_rows", "short rows: loaded as one run, several whole rows in a tile"},
          {"balanced", "segments by their elements: neighbours in a tile, long ones in parts"},
          {"cpu", "one thread a chunk, vector registers"}};
}

std::vector<std::string> reduction_variants(ReduceOp op, Scalar type) {
  constexpr const char* kTrees[] = {"interleaved", "sequential", "first_add"};
  return {kTrees[(static_cast<int>(op) + static_cast<int>(type)) % 3], "several", "sub_group", "shuffle",
          "cpu"};
}

}  // namespace smem::operations
