// Plans for transpose: which variant, and why not the others.
#include <smem/transpose_plan.hpp>

#include "formatted.hpp"
#include "plan/transpose_variants.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace smem {

namespace {

using namespace plan;
using namespace plan::transpose;

Attempt plan_variant(const Device& device, const TransposeProblem& problem, const PlanOverrides& fixed,
                     std::string_view variant) {
  if (variant == "naive") return transpose::naive(device, problem, fixed);
  if (variant == "tiled") return square_tile(device, problem, fixed, Kind::plain);
  if (variant == "padded") return square_tile(device, problem, fixed, Kind::padded);
  if (variant == "swizzled") return square_tile(device, problem, fixed, Kind::swizzled);
  if (variant == "vector") return vector_tile(device, problem, fixed);
  if (variant == "skewed") return skewed_tile(device, problem, fixed);
  if (variant == "strips") return strips(device, problem, fixed);
  return transpose::cpu_tile(device, problem, fixed);
}

/// Up to which a side is short.
std::size_t most_short(const StripPolicy& policy, const TransposeProblem& problem) {
  const std::size_t index = size_index(problem.element_bytes);
  const bool tall = problem.cols <= problem.rows;
  if (has_words(problem, tall))
    return (tall ? policy.most_columns_of_words : policy.most_rows_of_words)[index];
  if (!tall) return policy.most_rows[index];
  return problem.in_alignment >= kWordBytes && problem.element_bytes < kWordBytes
             ? policy.most_mixed_columns
             : policy.most_columns[index];
}

/// Whether the tiles of the other variants would be nearly empty, or most of their rows unaligned.
bool prefers_strips(const TransposePolicy& policy, const TransposeProblem& problem, bool aligned) {
  const std::size_t long_side = std::max(problem.rows, problem.cols);
  const std::size_t side = std::min(problem.rows, problem.cols), tile = policy.tile_bytes / 4;
  const std::size_t square = policy.square;  // of which tiles are made
  const std::size_t small = problem.in_place ? policy.strips.small_in_place_bytes : policy.strips.small_bytes;
  const bool is_small = problem.rows * problem.cols * problem.element_bytes <= small;
  if (problem.in_place && is_small) return true;
  const bool fills = problem.rows % square == 0 && problem.cols % square == 0 && !is_small;
  if (aligned) return side <= policy.strips.aligned_thin || (long_side < 2 * tile && !fills);
  return side <= most_short(policy.strips, problem) || long_side < 2 * tile;
}

/// Whether strips take a batch of small elements better than skewed tiles: these would mostly lie outside the
/// matrices, or the strips move words.
bool prefers_strips_of_batch(const Device& device, const TransposeProblem& problem) {
  const StripPolicy& policy = transpose_policy(device).strips;
  constexpr std::size_t kLeast = 65536;  // elements: smaller matrices are read as a whole
  if (problem.element_bytes > policy.batch_bytes || problem.in_place ||
      std::max(problem.rows, problem.cols) > policy.batch_side || problem.rows * problem.cols < kLeast)
    return false;
  const Attempt strips = transpose::strips(device, problem, {}), tiles = skewed_tile(device, problem, {});
  if (!strips.plan || strips.plan->groups() < device.compute_units) return false;
  if (!tiles.plan || has_words(problem, problem.cols <= problem.rows)) return true;
  const double covered = real(tiles.plan->groups(), tiles.plan->tile_rows, tiles.plan->tile_cols);
  return covered > policy.batch_cover * real(problem.rows, problem.cols, problem.batch);
}

/// Whether strips of one row or column, which are a copy, fill the device: "naive" moves an element at a
/// time. Batches were not measured.
bool prefers_strips_of_one(const Device& device, const TransposeProblem& problem) {
  if (problem.batch > 1) return false;
  const Attempt strips = transpose::strips(device, problem, {});
  return strips.plan && strips.plan->groups() >= device.compute_units;
}

/// The variants to try, best first.
std::vector<std::string_view> preference(const Device& device, const TransposeProblem& problem) {
  if (device.type == DeviceType::cpu) return {"cpu", "swizzled"};
  const TransposePolicy& policy = transpose_policy(device);
  const std::size_t side = std::min(problem.rows, problem.cols);
  // Tiles of which only a few rows or columns are there: the cache serves the strided side as well.
  const bool is_thin = side < 8;
  const std::size_t wanted = policy.vector_bytes[size_index(problem.element_bytes)];
  const bool aligned = problem.in_alignment >= wanted && problem.out_alignment >= kSectorBytes;
  const std::size_t bytes =
      size_product(size_product(problem.rows, problem.cols), problem.batch, problem.element_bytes);
  const bool vectors = policy.least_alignment != 0 && problem.element_bytes <= policy.fitted_bytes &&
                       bytes <= policy.least_aligned_bytes &&
                       std::min(problem.in_alignment, problem.out_alignment) >= policy.least_alignment;
  std::vector<std::string_view> choices{"skewed", "swizzled"};
  if (problem.in_place || aligned || vectors) choices = {"vector", "swizzled"};
  if (is_thin) choices = {"naive"};
  const bool strips = side == 1 ? prefers_strips_of_one(device, problem)
                                : prefers_strips(policy, problem, aligned) ||
                                      (!vectors && prefers_strips_of_batch(device, problem));
  if (policy.strips.chosen && strips) choices.insert(choices.begin(), "strips");
  return choices;
}

/// Why `variant` was not chosen, against the plan that was.
std::string why_not(const Device& device, const TransposeProblem& problem, std::string_view variant,
                    const Plan& chosen) {
  const Attempt attempt = plan_variant(device, problem, {}, variant);
  if (!attempt.plan) return attempt.why_not;
  const Plan& plan = *attempt.plan;
  if (variant == "naive") {
    const std::size_t sector = at_least_1(kSectorBytes / problem.element_bytes);
    return formatted("neighbours write a whole row apart: of each {} bytes written, {} are used at a time",
                     kSectorBytes, kSectorBytes / sector);
  }
  if (chosen.variant == "strips")
    return "tiles would be nearly empty, or their rows unaligned: the matrices are small, or a side is short";
  if (chosen.variant == "naive")
    return "a tile would be nearly empty: the matrix has fewer than 8 rows or columns";
  if (plan.layout.load_degree() > chosen.layout.load_degree()) {
    return formatted("reading a column of its tile takes {} turns of the banks, the chosen one {}",
                     plan.layout.load_degree(), chosen.layout.load_degree());
  }
  if (chosen.variant == "cpu")
    return "work-items of one element each are loops on a CPU, and its tiles are short";
  if (variant == "vector") {
    return formatted(
        "rows begin at multiples of {} and {} bytes: its vectors shrink, and its stores fill "
        "sectors of {} bytes only partly",
        problem.in_alignment, problem.out_alignment, kSectorBytes);
  }
  if (variant == "strips") return "tiles are full, and their rows aligned";
  if (variant == "skewed")
    return "rows are aligned, so the windows that it shifts would only read rows twice";
  if (plan.vector_width < chosen.vector_width || chosen.variant == "skewed") {
    return formatted("it moves {} byte(s) a work-item at a time, the chosen one {}",
                     plan.vector_width * problem.element_bytes,
                     std::max(chosen.vector_width * problem.element_bytes, problem.element_bytes));
  }
  return formatted("it has no fewer conflicts, and takes {} bytes of local memory, the chosen one {}",
                   plan.local_bytes, chosen.local_bytes);
}

}  // namespace

std::vector<std::string_view> transpose_variants() {
  return {"naive", "tiled", "padded", "swizzled", "vector", "skewed", "strips", "cpu"};
}

namespace {

/// The plan on a device whose driver breaks nothing.
Plan make_plan(const Device& device, const TransposeProblem& problem, const PlanOverrides& overrides) {
  require_choice("transpose", {.variant = overrides.variant}, transpose_variants());
  require_element("transpose", problem.element_bytes);
  require_elements("transpose", "in", {problem.rows, problem.cols, problem.batch});
  if (problem.in_place && problem.rows != problem.cols) {
    refuse("transpose_in_place", "matrix", "a square matrix",
           formatted("{} x {}", problem.rows, problem.cols));
  }
  std::optional<Plan> plan;
  if (!overrides.variant.empty()) {
    Attempt attempt = plan_variant(device, problem, overrides, overrides.variant);
    if (!attempt.plan) {
      refuse("transpose", "variant", "one that can run this on " + device.name,
             formatted("\"{}\": {}", overrides.variant, attempt.why_not));
    }
    plan = std::move(attempt.plan);
  } else {
    for (const std::string_view choice : preference(device, problem)) {
      plan = plan_variant(device, problem, overrides, choice).plan;
      if (plan) break;
    }
    if (!plan) {
      plan = transpose::naive(device, problem, overrides).plan;
      plan->reason += "; " + no_tile_fits(device);
    }
  }
  note_choice(*plan, overrides, transpose_variants(),
              [device, problem](std::string_view other, const Plan& chosen) {
                return why_not(device, problem, other, chosen);
              });
  return *plan;
}

}  // namespace

Plan plan_transpose(const Device& device, const TransposeProblem& problem, const PlanOverrides& overrides) {
  return Broken(device, "transpose", formatted("{} B", problem.element_bytes))
      .plan(transpose_variants(), overrides,
            [&](const PlanOverrides& fixed) { return make_plan(device, problem, fixed); });
}

}  // namespace smem
