// Plans for products of complex matrices: tiles of complex numbers, or one real product.
#include <smem/complex_gemm_plan.hpp>

#include "formatted.hpp"
#include "plan/complex_gemm_policy.hpp"
#include "plan/complex_gemm_variants.hpp"
#include "plan/gemm_variants.hpp"
#include "plan/matrix_unit.hpp"

#include <smem/gemm_plan.hpp>
#include <smem/transpose_plan.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace smem::plan::complex_gemm {

void define_numbers(const ComplexGemmProblem& p, Launch& launch) {
  define(launch, {{"PART_DOUBLE", p.part == Scalar::float64 ? 1 : 0},
                  {"A_ALONG_K", p.a_along_k ? 1 : 0},
                  {"B_ALONG_K", p.b_along_k ? 1 : 0}});
}

void predict_product(const ComplexGemmProblem& p, Plan& plan) {
  const double of_a = real(p.m, p.k, p.one_a ? 1 : p.batch), of_b = real(p.k, p.n, p.one_b ? 1 : p.batch);
  const double of_c = real(p.m, p.n, p.batch), bytes = real(2 * size_of(p.part));
  operations_of_product(plan.prediction) = 8 * of_c * real(p.k);
  plan.prediction.bytes_read = bytes * (of_a + of_b + (p.reads_c ? of_c : 0));
  plan.prediction.bytes_written = bytes * of_c;
}

namespace {

/// Loops of a work-item on devices that do not run them to their end, as gemm's.
constexpr std::size_t kShortLoops = 32768;
/// Numbers of a matrix: the four parts of each when it is expanded can be counted as any other elements.
constexpr std::size_t kMostNumbers = kMostElements / 4;

using Problem = ComplexGemmProblem;

std::size_t number_bytes(const ComplexGemmProblem& p) { return 2 * size_of(p.part); }

Attempt one_by_one(const Device& device, const Problem& p) {
  if (!device.long_loops && p.k > kShortLoops)
    return formatted("its loop of {} is longer than this device runs it", p.k);
  Plan plan = named_plan(kName, "naive", "complex_gemm/naive.cl", "complex_gemm_naive");
  define_numbers(p, plan);
  // One group for all shapes, so that one program serves them.
  plan.work_group = shape_group(device, policy_of(device).group, 16, {16, 16, 1});
  plan.global = global_size({p.n, p.m, p.batch}, plan.work_group);
  plan.tile_rows = plan.work_group[1];
  plan.tile_cols = plan.work_group[0];
  define_group(plan);
  predict_product(p, plan);
  plan.reason = "one result after the other, without local memory";
  return plan;
}

/// The layout of a factor's tile. `first(item)`: the first row or column of C that a work-item has.
template <class First>
LocalLayout layout_of_factor(const Device& device, const ComplexTile& tile, std::size_t width, bool along_k,
                             std::size_t item_bytes, const char* name, const First& first) {
  const Access store{"from global memory", true, 1, [=, depth = tile.k](std::size_t item) {
                       const std::size_t at = item % (depth * width);
                       return along_k ? Item{at % depth, at / depth} : Item{at / width, at % width};
                     }};
  const Access load{"numbers of its results", false, 1, [=](std::size_t item) {
                      return Item{0, first(item)};
                    }};
  // Waves are alike: the cost of all follows from two of them.
  const std::size_t seen = std::min(tile.group(), 2 * std::max<std::size_t>(device.sub_group_width, 32));
  LocalLayout layout = infer_layout(device, {tile.k, width, item_bytes, seen, {store, load}});
  for (AccessCost& access : layout.accesses)
    access.name.insert(0, name);
  return layout;
}

/// The next smaller tile; false: there is none.
bool halve(ComplexTile& tile, bool group_too_large) {
  const std::size_t down = tile.m / tile.each_m, across = tile.n / tile.each_n;
  if (tile.k > 4 && !group_too_large) {
    tile.k /= 2;
    return true;
  }
  if (down * across > 1) {
    (down > across ? tile.m : tile.n) /= 2;
    return true;
  }
  if (tile.each_m * tile.each_n > 1) {
    (tile.each_m > tile.each_n ? tile.m : tile.n) /= 2;
    tile.each_m = tile.m, tile.each_n = tile.n;
    return true;
  }
  tile.k /= 2;
  return tile.k > 0;
}

Attempt through_tiles(const Device& device, const Problem& p, std::string_view variant) {
  const ComplexGemmPolicy& policy = policy_of(device);
  const std::size_t item_bytes = number_bytes(p);
  ComplexTile tile = variant == "tiled"          ? policy.square
                     : p.part == Scalar::float64 ? policy.doubles
                                                 : policy.floats;
  for (bool more = true; more;) {
    const bool group_too_large = tile.group() > std::min(device.max_work_group, device.max_work_items[0]);
    if (!group_too_large) {
      const std::size_t across = tile.n / tile.each_n;
      const LocalLayout a = layout_of_factor(device, tile, tile.m, p.a_along_k, item_bytes,
                                             "A: ", [=](std::size_t item) { return item / across; });
      const LocalLayout b = layout_of_factor(device, tile, tile.n, p.b_along_k, item_bytes,
                                             "B: ", [=](std::size_t item) { return item % across; });
      if (a.bytes() + b.bytes() <= local_room(device)) {
        const std::size_t tiles =
            size_product(size_product(divide_up(p.m, tile.m), divide_up(p.n, tile.n)), p.batch);
        if (tiles > kMaxTiles) return formatted("{} tiles are more than a launch can have", tiles);
        Plan plan = named_plan(kName, variant, "complex_gemm/tiled.cl", "complex_gemm_tiled");
        define_numbers(p, plan);
        set_groups(plan, tile.group(), tiles);
        define(plan, {{"TILE_M", tile.m},
                      {"TILE_N", tile.n},
                      {"TILE_K", tile.k},
                      {"EACH_M", tile.each_m},
                      {"EACH_N", tile.each_n}});
        if (policy.unroll != 0) define(plan, "UNROLL", std::min(policy.unroll, tile.k));
        for (const auto& [prefix, layout] : {std::pair{"A_", &a}, {"B_", &b}}) {
          for (const auto& [name, value] : layout_defines(*layout))
            plan.defines.emplace_back(prefix + name, value);
        }
        define_sub_group(device, plan);
        plan.tile_rows = tile.m;
        plan.tile_cols = tile.n;
        plan.items_per_work_item = tile.each_m * tile.each_n;
        plan.local_bytes = a.bytes() + b.bytes();
        plan.layout = a;
        plan.layout.accesses.insert(plan.layout.accesses.end(), b.accesses.begin(), b.accesses.end());
        predict_product(p, plan);
        // Each number of the tiles is written once, and a work-item reads those of its results.
        const double numbers = real(tile.m + tile.n) + real(tile.group(), tile.each_m + tile.each_n);
        plan.prediction.local_bytes = real(tiles, round_up(p.k, tile.k)) * numbers * real(item_bytes);
        plan.reason = formatted(
            "a work-group shares tiles of complex numbers in local memory; {} x {} results a work-item",
            tile.each_m, tile.each_n);
        return plan;
      }
    }
    more = halve(tile, group_too_large);
  }
  return no_tile_fits(device);
}

/// How "gemm" cuts its work so that temporary memory has a bound.
struct ComplexSlices {
  std::size_t products = 1;       ///< of the batch
  std::size_t depth = 1;          ///< along k: less than all only where `products` is 1
  std::size_t expanded = 0;       ///< bytes of the expanded B of a slice
  std::size_t bytes = 0;          ///< of it and the transposed A
  std::size_t transposed_at = 0;  ///< bytes before the transposed A

  std::size_t count(const Problem& p) const {
    return at_least_1(divide_up(p.batch, products) * divide_up(p.k, depth));
  }
};

ComplexSlices cut_product(const Device& device, const Problem& p) {
  const ComplexGemmPolicy& policy = policy_of(device);
  const std::size_t most = device.max_allocation == 0
                               ? policy.most_bytes
                               : std::min(policy.most_bytes, std::bit_floor(device.max_allocation));
  const std::size_t room = most - std::min(most, kFactorAlignment);
  const std::size_t of_b = size_product(2 * number_bytes(p), p.n);  // bytes for each k
  const std::size_t of_a = p.a_along_k ? 0 : size_product(number_bytes(p), p.m);
  const std::size_t all = size_product(of_a + of_b, p.k);
  ComplexSlices s{.products = at_least_1(p.batch), .depth = at_least_1(p.k)};
  // What one product needs for itself.
  const std::size_t own = size_product((p.one_a ? 0 : of_a) + (p.one_b ? 0 : of_b), p.k);
  if (all > room) {
    s.products = 1;
    const std::size_t depth = at_least_1(room / at_least_1(of_a + of_b));
    const std::size_t multiple = depth < policy.depth_multiple ? 1 : policy.depth_multiple;
    // Slices of the same depth, as far as multiples go.
    const std::size_t slices = divide_up(p.k, depth / multiple * multiple);
    s.depth = std::min(p.k, round_up(divide_up(p.k, slices), multiple));
  } else if (own > 0) {
    s.products = std::min(s.products, 1 + (room - all) / own);
  }
  s.expanded = of_b * s.depth * (p.one_b ? 1 : s.products);
  s.bytes = s.expanded;
  if (!p.a_along_k) {
    s.transposed_at = round_up(s.expanded, kFactorAlignment);
    s.bytes = s.transposed_at + of_a * s.depth * (p.one_a ? 1 : s.products);
  }
  return s;
}

/// The largest power of two, at most 64, that divides so many bytes.
std::size_t alignment_in(std::size_t bytes) { return std::size_t{1} << std::countr_zero(64 | bytes); }

/// What a real product makes of one slice.
GemmProblem real_product(const Problem& p, const ComplexSlices& s) {
  GemmProblem g;
  g.in = g.out = p.part;
  g.m = p.m;
  g.n = 2 * p.n;
  g.k = 2 * s.depth;
  g.batch = s.products;
  g.b_along_k = p.b_along_k;
  g.reads_c = p.reads_c || s.depth < p.k;
  g.a_alignment = p.a_along_k ? p.a_alignment : alignment_in(s.depth * number_bytes(p));
  g.b_alignment = alignment_in((p.b_along_k ? s.depth : p.n) * number_bytes(p));
  g.c_alignment = p.c_alignment;
  return g;
}

/// A launch over the numbers of matrices, each as it lies.
Launch each_number(const Device& device, const Problem& p, std::string_view variant, const char* file,
                   const char* entry, const std::array<std::size_t, 3>& extent) {
  Launch launch = named_plan(kName, variant, file, entry);
  define_numbers(p, launch);
  launch.work_group = shape_group(device, policy_of(device).group, 64, {64, 64, 1});
  launch.global = global_size(extent, launch.work_group);
  launch.tile_rows = launch.work_group[1];
  launch.tile_cols = launch.work_group[0];
  define_group(launch);
  return launch;
}

Launch expand(const Device& device, const Problem& p, const ComplexSlices& s) {
  const std::size_t matrices = p.one_b ? 1 : s.products;
  const std::array<std::size_t, 3> extent = p.b_along_k ? std::array<std::size_t, 3>{s.depth, p.n, matrices}
                                                        : std::array<std::size_t, 3>{p.n, s.depth, matrices};
  Launch launch = each_number(device, p, "expand", "complex_gemm/expand.cl", kExpand, extent);
  launch.prediction.bytes_read = real(s.expanded) / 2;
  launch.prediction.bytes_written = real(s.expanded);
  launch.reason = "writes B to temporary memory as real numbers, [[re, im], [-im, re]] for each of its own";
  return launch;
}

Launch scale(const Device& device, const Problem& p) {
  Launch launch = each_number(device, p, "scale", "complex_gemm/scale.cl", kScale, {p.n, p.m, p.batch});
  launch.prediction.bytes_read = launch.prediction.bytes_written = real(p.m, p.n, p.batch, number_bytes(p));
  launch.reason = "multiplies C by beta, which has an imaginary part";
  return launch;
}

/// The launches of one slice. The call makes each real product by gemm(), which has plans of its own for the
/// last slice, which may be smaller.
Attempt by_real_product(const Device& device, const Problem& p) {
  if (p.k == 0) return "there is nothing to multiply";
  const ComplexSlices s = cut_product(device, p);
  if (device.max_allocation > 0 && std::bit_ceil(s.bytes) > device.max_allocation)
    return formatted("the factors of a slice take {} bytes, more than a buffer", s.bytes);
  Plan plan = plan_gemm(device, real_product(p, s));
  plan.reason = formatted("{} x {} x {} real numbers by gemm / {}: {}", p.m, 2 * p.n, 2 * s.depth,
                          plan.variant, plan.reason);
  plan.operation = kName;
  plan.variant = "gemm";
  plan.in_place_of.clear();
  plan.rounds = s.count(p);
  plan.numbers.insert(plan.numbers.begin(), {{"products", s.products},
                                             {"depth", s.depth},
                                             {"expanded", s.expanded},
                                             {"transposed_at", s.transposed_at}});
  std::vector<Launch> before;
  if (!p.a_along_k) {
    const Plan transposed = plan_transpose(device, {.element_bytes = number_bytes(p),
                                                    .rows = s.depth,
                                                    .cols = p.m,
                                                    .batch = p.one_a ? 1 : s.products,
                                                    .in_alignment = p.a_alignment,
                                                    .out_alignment = alignment_in(s.depth * number_bytes(p)),
                                                    .out_packed = true});
    for (const Launch* launch : transposed.launches())
      before.push_back(*launch);
  }
  before.push_back(expand(device, p, s));
  if (p.complex_beta) before.push_back(scale(device, p));
  plan.before.insert(plan.before.begin(), before.begin(), before.end());
  add_scratch(plan, s.bytes);
  predict_product(p, plan);
  // The factors are written and read once.
  const double written = real(s.bytes, plan.rounds);
  plan.prediction.bytes_read += written;
  plan.prediction.bytes_written += written;
  return plan;
}

/// Nanoseconds that it takes on NVIDIA's GPUs, by gemm's model.
double time_of_real_product(const Device& device, const Problem& p) {
  const ComplexSlices s = cut_product(device, p);
  const std::vector<gemm::Choice> choices = gemm::nvidia_choices(device, real_product(p, s));
  if (choices.empty()) return std::numeric_limits<double>::infinity();
  const RealProduct& policy = policy_of(device).real_product;
  const double launches = p.a_along_k ? 1 : 2;
  // B has half of the bytes that it is expanded to; others are read and written.
  const double moved = 1.5 * real(s.expanded) + 2 * real(s.bytes - s.expanded);
  return real(s.count(p)) * (choices.front().nanoseconds + launches * policy.launch + moved / policy.memory);
}

/// Whether a real product is worth its launches.
bool prefers_real_product(const Device& device, const Problem& p) {
  const RealProduct& policy = policy_of(device).real_product;
  const std::size_t products = size_product(size_product(p.m, p.n), size_product(p.k, p.batch));
  return p.m >= policy.least_rows && products >= policy.least_products &&
         size_product(p.m, p.n) >= policy.least_results;
}

/// Whether tiles of "registers" would leave most of the device idle, or be empty for the most part.
bool prefers_small_tiles(const Device& device, const Problem& p) {
  const ComplexGemmPolicy& policy = policy_of(device);
  const ComplexTile& tile = p.part == Scalar::float64 ? policy.doubles : policy.floats;
  const std::size_t tiles =
      size_product(size_product(divide_up(p.m, tile.m), divide_up(p.n, tile.n)), p.batch);
  if (policy.units_a_tile == 0) return false;
  const bool few = size_product(tiles, policy.units_a_tile) < device.compute_units;
  return few || 4 * real(p.m, p.n, p.batch) < real(tiles, tile.m, tile.n);
}

std::vector<std::string_view> choices_in_order(const Device& device, const Problem& p,
                                               const PlanOverrides& /*fixed*/) {
  if (p.k == 0) return {"naive"};
  if (const auto choices = nvidia_choices(device, p); !choices.empty()) {
    const std::string_view variant = nvidia_variant(p.part);
    if (choices.front().nanoseconds > time_of_real_product(device, p)) return {"gemm", variant, "naive"};
    return {variant, "gemm", "naive"};
  }
  if (prefers_real_product(device, p)) return {"gemm", "registers", "tiled", "naive"};
  if (device.type == DeviceType::cpu) return {"naive", "registers"};
  if (prefers_small_tiles(device, p)) return {"tiled", "registers", "naive"};
  return {"registers", "tiled", "naive"};
}

Attempt attempt_variant(const Device& device, const Problem& p, const PlanOverrides& fixed,
                        std::string_view variant) {
  if (fixed.work_items != 0) {
    refuse(device, kName, "work_items", "none: the tiles of the policy decide",
           formatted("{}", fixed.work_items));
  }
  if (variant == "naive") return one_by_one(device, p);
  if (variant == "gemm") return by_real_product(device, p);
  if (variant == "multistage" || variant == "mma") return by_nvidia(device, p, fixed, variant);
  return through_tiles(device, p, variant);
}

std::string why_not_chosen(const Device& device, const Problem& p, std::string_view variant,
                           const Plan& chosen) {
  if (chosen.variant == "gemm") return "gemm has faster tiles, and its factors are real numbers";
  if (p.k == 0) return "there is nothing to multiply";
  const bool is_own = chosen.variant == nvidia_variant(p.part);
  if (is_own && variant == "gemm") {
    return formatted("with its other launches, {:.4g} us by the model",
                     time_of_real_product(device, p) / 1000);
  }
  if (is_own && variant != "naive") return "its tiles are not copied while others are multiplied";
  if (variant == "gemm") {
    return formatted("{} rows share each number that it would expand, and there are {} products of numbers",
                     p.m, real(p.m, p.n, p.k, p.batch));
  }
  if (chosen.variant == "naive") return "a CPU runs work-items that share local memory as loops";
  if (variant == "naive") return "each number comes from global memory for each result that needs it";
  if (chosen.variant == "tiled")
    return "its tiles, which are larger, would leave most of the device idle, or be nearly empty";
  return "one result a work-item: it reads local memory more often";
}

const Evidence& evidence_of(const Device& device, const Problem& /*p*/, const Plan& plan) {
  if (plan.variant == "multistage" || plan.variant == "mma") return policy_of(device).nvidia_evidence;
  return policy_of(device).evidence;
}

constexpr Operation<Problem> kComplexGemm{.what = "product",
                                          .name = [](const Problem&) { return kName; },
                                          .variants = complex_gemm_variants,
                                          .check = check,
                                          .preference = choices_in_order,
                                          .attempt = attempt_variant,
                                          .why_not = why_not_chosen,
                                          .evidence = evidence_of,
                                          .one_work_item = "",
                                          .with_tile = {"multistage", "mma"}};

}  // namespace

void check(const Device& device, const ComplexGemmProblem& p) {
  require_known(kName, "a", p.part);
  require_one_of(kName, "a", p.part, {Scalar::float32, Scalar::float64});
  require_fp64(kName, device, "a", p.part);
  const auto require_numbers = [](const char* name, std::size_t rows, std::size_t cols, std::size_t batch) {
    const std::size_t numbers =
        size_product(size_product(at_least_1(rows), at_least_1(cols)), at_least_1(batch));
    if (numbers > kMostNumbers) {
      refuse(kName, name, formatted("at most {} elements", kMostNumbers),
             formatted("{} x {} x {}", rows, cols, batch));
    }
  };
  require_numbers("a", p.m, p.k, 1);  // factors may be those of all products
  require_numbers("b", p.k, p.n, 1);
  require_numbers("c", p.m, p.n, p.batch);
}

}  // namespace smem::plan::complex_gemm

namespace smem {

std::vector<std::string_view> complex_gemm_variants() {
  return {"naive", "tiled", "registers", "multistage", "mma", "gemm"};
}

Plan plan_complex_gemm(const Device& device, const ComplexGemmProblem& problem,
                       const PlanOverrides& overrides) {
  namespace complex_gemm = plan::complex_gemm;
  return plan::plan_call(complex_gemm::kComplexGemm, complex_gemm::kName, problem.part, device, problem,
                         overrides);
}

}  // namespace smem
