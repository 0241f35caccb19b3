// The time that a product takes by each of NVIDIA's own variants, each of their tiles, and sums in so many
// parts: by rates that were measured (gemm_nvidia.hpp), and by arithmetic (gemm_model.hpp). The plan has the
// fastest.
#include "plan/gemm_model.hpp"

#include "plan/gemm_nvidia.hpp"
#include "plan/gemm_variants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smem::plan::gemm {

namespace {

/// A launch of a group for each tile, or for each part of each: `depth` k of it.
double time_of_groups(const Model& model, const nvidia::Rates& rates, const nvidia::Cost& cost,
                      std::size_t resident, std::size_t steps, std::size_t groups, std::size_t results) {
  const bool is_loose = model.loose(model.problem.a_alignment) || model.loose(model.problem.b_alignment);
  const double factors = model.factors(rates), alone = is_loose ? cost.loose : 1;
  const double shared = is_loose && cost.loose_shared > 0 ? cost.loose_shared : alone;
  const double own = model.of_tile(rates, cost, results);
  const auto round = [&](std::size_t together) {
    const double step = together == 1 ? cost.step * alone
                                      : std::max(cost.step * alone, real(together) * cost.shared * shared);
    return real(steps) * step * factors + own * std::sqrt(real(together));
  };
  const std::size_t most = divide_up(groups, model.units), left = most % resident;
  return real(most / resident) * round(resident) + (left > 0 ? round(left) : 0);
}

/// "multistage" and "mma": each tile alone, and its sums in parts.
template <class Tile>
void add_tiled(const Model& model, const nvidia::Rates& rates, std::string_view variant, const Tile& tile,
               std::size_t number, std::size_t depth, bool joins, std::vector<Choice>& choices,
               const Packing& packing = {}, bool by_rounds = false) {
  const std::size_t tiles = model.tiles(tile.tile_m(), tile.tile_n());
  const std::size_t results = tile.tile_m() * tile.tile_n();
  if (tiles > kMaxTiles) return;
  const double before = rates.launch + time_of_packing(model.device, model.problem, packing);
  const auto add = [&](const Split& split, std::size_t k) {
    double time = time_of_groups(model, rates, tile.cost, tile.resident, divide_up(k, depth),
                                 tiles * split.parts, results);
    if (split.parts > 1) time += model.of_join(rates, split, results);
    // Sums that the cache does not hold are written to memory, and read.
    if (real(split.bytes) > model.policy.streamed_bytes) time += 2 * real(split.bytes) / rates.memory;
    choices.push_back(
        {variant, split, before + model.with_memory(rates, time, tile.tile_m(), tile.tile_n())});
  };
  Split split;
  split.tile = number;
  split.packing = packing;
  split.part_depth = model.problem.k;
  add(split, model.problem.k);
  if (!joins || tiles > model.policy.counters) return;
  for (const std::size_t parts :
       by_rounds ? model.parts_of_rounds(tiles, tile.resident) : model.parts(tiles, tile.resident)) {
    // Of whole steps: of multiples of 64 k, 773 in 4 parts would be 256 three times, and 5.
    const std::size_t multiple = size_of(model.problem.in) < 4 ? 64 : depth;
    split.part_depth = round_up(divide_up(model.problem.k, parts), multiple);
    split.parts = divide_up(model.problem.k, split.part_depth);
    const std::size_t values = split.parts * tiles * results;
    split.bytes = values * size_of(value_type(model.problem.in));
    split.team = model.team(tiles, split.parts);
    if (split.parts > 1 && model.has_room(values)) add(split, split.part_depth);
  }
}

/// Of a second factor across k whole blocks of 64 n are copied, for which a warpgroup alone waits: 272 x 1104
/// x 10432 half takes 36 us by 64 x 144, and by 144 x 64, whose second factor lies along k, 22.
double time_of_step(const Model& model, const nvidia::Wgmma& tile) {
  const GemmProblem& problem = model.problem;
  const nvidia::Rates& rates = model.policy.wgmma_rates;
  const bool waits = tile.of.consumers == 1 && !problem.b_along_k && !tile.loose;
  const nvidia::Cost cost = waits ? nvidia::aligned_cost(1, round_up(tile.of.tile_n, 64)) : tile.cost;
  const bool is_halved = is_fp8(problem.in) && tile.halves_fp8();
  return cost.step * model.factors(rates) * (is_halved ? rates.promoted : 1);
}

/// The rates of a thin tile, which `groups` copy from memory. Where some have a tile more, the others wait
/// for half of that.
nvidia::Rates thin_rates(nvidia::Rates rates, const nvidia::Thin& thin, std::size_t tiles,
                         std::size_t groups) {
  rates.memory = std::min(thin.memory, thin.group * real(groups));
  rates.memory /= 1 + (real(groups, divide_up(tiles, groups)) / real(tiles) - 1) / 2;
  return rates;
}

/// What a tile of "wgmma" takes for its results of TF32 of few steps; else `own`.
double time_of_results(const Model& model, const nvidia::Wgmma& tile, std::size_t tiles, bool is_exchanged,
                       double own) {
  const GemmProblem& problem = model.problem;
  if (problem.in != Scalar::float32 || problem.batch > 1 || model.loose(problem.c_alignment) ||
      problem.reads_c || problem.epilogue ||
      4 * problem.k >= model.policy.tile_box_steps * nvidia::kStepBytes)
    return own;
  const nvidia::Rates& rates = model.policy.wgmma_rates;
  const bool boxes =
      !is_exchanged && nvidia::copies_boxes(model.device, problem, tile, std::min(tiles, model.units));
  return 4 * real(tile.tile_m(), tile.of.tile_n) / (boxes ? rates.by_boxes : rates.by_pairs);
}

/// "wgmma": persistent groups, which take whole tiles, units of steps, or first the ones and then the others.
void add_wgmma(const Model& model, const nvidia::Wgmma& tile, std::size_t number, const Packing& packing,
               std::vector<Choice>& choices) {
  const nvidia::Rates& rates = model.policy.wgmma_rates;
  const GemmProblem& problem = model.problem;
  const std::size_t tiles = model.tiles(tile.tile_m(), tile.of.tile_n), units = model.units;
  const std::size_t depth = 128 / size_of(problem.in), steps = divide_up(problem.k, depth);
  const std::size_t results = tile.tile_m() * tile.of.tile_n;
  if (tiles > kMaxTiles) return;
  const bool is_full = tile.has_many_sums();
  if (nvidia::lacks_registers(problem, tile)) return;
  const double step = time_of_step(model, tile);
  const double own = model.of_tile(rates, tile.cost, results) +
                     model.of_finish(tile.of.tile_n / 2, tile.of.consumers, tile.finishes_rows());
  // The cache has so many bytes for all groups. Of one round, where it holds all arrays, it has more: 400 x
  // 2592 x 2656 half, both transposed, by 64 x 144 15 us, a step 133 bytes a nanosecond.
  const bool is_cached = model.bytes() <= model.policy.cached_bytes;
  const auto step_of = [&](std::size_t groups) {
    const double idle = 1 - real(std::min(groups, units)) / real(units);
    const bool is_hot = !tile.loose && results >= model.policy.hot_results;
    const double own_step = step * (is_hot ? 1 - model.policy.idle_gain * idle : 1);
    if (tile.loose || rates.shared == 0 || (is_cached && groups <= units)) return own_step;
    return std::max(own_step, model.of_copies(rates, tile, groups));
  };
  const double before = rates.launch + tile.start + time_of_packing(model.device, problem, packing) +
                        (nvidia::loads_words(problem) ? model.policy.words : 0);
  const auto is_narrow = [](bool along_k, std::size_t width) { return !along_k && width % 32 != 0; };
  const bool narrow =
      is_narrow(problem.a_along_k, tile.tile_m()) || is_narrow(problem.b_along_k, tile.of.tile_n);
  // Rows beyond a small product: there is a tile of half as many.
  if (problem.batch > 1 && !tile.loose && tile.of.consumers % 2 == 0 && tile.tile_m() / 2 >= problem.m)
    return;
  const bool is_exchanged = number >= model.policy.wgmma.size();
  const nvidia::Wgmma whole_tiles = is_exchanged ? tile : nvidia::in_turns(model.device, problem, tile);
  const auto add = [&](const Split& split, double time, double ends) {
    const std::size_t groups = std::min(split.parts > 1 ? split.whole + split.parts : tiles, units);
    const bool boxes =
        nvidia::copies_boxes(model.device, problem, split.parts > 1 ? tile : whole_tiles, groups);
    // The producers' addresses are spilled.
    if (!boxes && tile.of.consumers > 2 && (narrow || is_full)) return;
    const double beside =
        (!boxes && narrow ? model.policy.narrow_pieces : 1) * (is_exchanged ? model.policy.exchanged : 1);
    time *= beside, ends *= beside;
    const nvidia::Rates& of =
        tile.is_thin() && (!whole_tiles.pingpong || split.parts > 1)
            ? thin_rates(rates, model.policy.thin, split.parts > 1 ? groups : at_least_1(tiles),
                         at_least_1(groups))
            : rates;
    choices.push_back(
        {"wgmma", split, before + model.with_stream(of, time, ends, tile.tile_m(), tile.of.tile_n)});
  };
  Split split;
  split.tile = number;
  split.packing = packing;
  split.part_depth = problem.k;
  const double of_four = problem.batch > 1 && tile.of.consumers == 4 ? model.policy.of_four : 1;
  const double end = time_of_results(model, whole_tiles, tiles, is_exchanged, own);
  const double all = real(steps) * step_of(tiles) * of_four, rounds = real(divide_up(tiles, units));
  // Of a batch the next tile's copies are under way while one is stored, or several are at once; not of
  // unaligned rows.
  const bool stores_parts = size_of(problem.out) == 2 && model.loose(problem.c_alignment);
  const double stored = (stores_parts     ? model.policy.stored_loose
                         : problem.listed ? model.policy.stored_listed
                                          : model.policy.stored_beside) *
                        own / real(whole_tiles.pingpong ? whole_tiles.of.consumers : 1);
  const bool is_batch = problem.batch > 1;
  const double offsets = problem.listed ? model.policy.offsets : 0;
  if (is_batch && !tile.loose) {
    add(split, rounds * std::max({all, stored, offsets}), own);
  } else {
    const double each = end * (is_batch ? model.policy.stored_after : 1);
    add(split, rounds * all + (rounds - 1) * each, each);
  }
  if (!tile.joins || problem.listed || tiles * at_least_1(steps) >= std::numeric_limits<std::int32_t>::max())
    return;
  // `aligned`: each tile begins a unit.
  const auto add_units = [&](std::size_t whole, std::size_t chunk, bool aligned) {
    split.whole = whole;
    split.part_depth = chunk;
    split.aligned = aligned;
    split.parts = aligned ? tiles * divide_up(steps, chunk) : divide_up((tiles - whole) * steps, chunk);
    const std::size_t values = 2 * split.parts * results;
    split.bytes = values * size_of(value_type(problem.in));
    if (split.parts <= 1 || split.parts * tile.of.consumers > model.policy.counters ||
        !model.has_room(values))
      return;
    if (nvidia::lacks_registers_to_join(model.device, problem, tile, split)) return;
    const std::size_t pieces =
        std::max<std::size_t>(2, divide_up(steps, chunk) + (!aligned && steps % chunk != 0 ? 1 : 0));
    const double all_steps = real(whole / units * steps + divide_up(split.parts, units) * chunk);
    const double all_tiles = real(whole / units + divide_up(tiles - whole, units));
    // A group joins each of its units.
    const double joins = real(divide_up(split.parts, units));
    const double join =
        nvidia::shares_join(model.device, problem, split)
            ? rates.shared_join + 2 * real(results, size_of(value_type(problem.in))) / rates.join_bytes
            : model.of_join(rates, pieces, results);
    add(split, all_steps * step_of(whole + split.parts) + (all_tiles - 1) * own, own + joins * join);
  };
  for (const std::size_t parts : model.parts(tiles))
    add_units(0, divide_up(steps, parts), true);
  if (tiles % units == 0 || problem.k < model.policy.least_depth || !model.may_spread(tile)) return;
  const std::size_t whole = tiles / units > 1 ? (tiles / units - 1) * units : 0;
  const std::size_t chunk = divide_up((tiles - whole) * steps, units);
  if (chunk * depth >= model.policy.least_depth) add_units(whole, chunk, false);
}

/// `by_name`: all tiles that can be.
void add_all_wgmma(const Model& given, bool by_name, std::vector<Choice>& choices) {
  const GemmProblem problem = nvidia::as_aligned(given.problem);
  const Model model{given.device, given.policy, problem};
  const bool turns = by_name || model.policy.chooses_turned;
  std::vector<Packing> packings{{}};
  if (turns || size_of(problem.in) == 2) {
    for (const Packing& packing : packings_of(model.device, problem))
      packings.push_back(packing);
  }
  const bool may_exchange = !problem.listed && !problem.epilogue && !problem.reads_c && !is_fp8(problem.in) &&
                            problem.c_alignment >= 16;
  const auto is_other_tile = [&](std::size_t m, std::size_t n) {
    return std::any_of(model.policy.wgmma.begin(), model.policy.wgmma.end(), [&](const nvidia::Wgmma& other) {
      return !other.loose && other.tile_m() == m && other.of.tile_n == n;
    });
  };
  // Thin tiles are chosen for a thin factor, where the other one streams from memory, of one product in a
  // round of tiles. Of what else was not measured, or took longer, they come last, by name alone.
  const auto add = [&](const Model& of, const nvidia::Wgmma& tile, std::size_t number,
                       const Packing& packing) {
    const bool is_fast =
        !tile.is_thin() || (of.problem.n <= tile.of.tile_n && !of.problem.listed &&
                            model.bytes() > model.policy.streamed_bytes &&
                            (of.problem.batch > 1 || of.tiles(tile.tile_m(), tile.of.tile_n) <= model.units));
    const std::size_t before = choices.size();
    if (is_fast || by_name) add_wgmma(of, tile, number, packing, choices);
    for (std::size_t i = before; !is_fast && i < choices.size(); ++i)
      choices[i].nanoseconds *= 10;
  };
  for (const Packing& packing : packings) {
    const GemmProblem packed = as_packed(problem, packing), round = nvidia::exchanged(packed);
    const Model in_order{model.device, model.policy, packed}, exchanged{model.device, model.policy, round};
    const bool is_loose = model.loose(packed.a_alignment) || model.loose(packed.b_alignment);
    const bool takes = no_wgmma(model.device, packed).empty();
    const bool takes_exchanged = may_exchange && !is_loose && no_wgmma(model.device, round).empty();
    for (std::size_t i = 0; i < model.policy.wgmma.size(); ++i) {
      const nvidia::Wgmma& tile = model.policy.wgmma[i];
      if (tile.local_bytes(true, false) + nvidia::kMapsBytes > model.device.local_bytes ||
          tile.group() > model.device.max_work_group)
        continue;
      if (takes && tile.loose == is_loose) add(in_order, tile, i, packing);
      if (!takes_exchanged || tile.loose || (takes && is_other_tile(tile.of.tile_n, tile.tile_m()))) continue;
      add(exchanged, tile, i + model.policy.wgmma.size(), packing);
    }
  }
}

bool holds_tile(const Device& device, const auto& tile, std::size_t bytes) {
  return bytes <= device.local_bytes && tile.group() <= device.max_work_group;
}

/// "multistage", or "packed": of a packing.
void add_multistage(const Model& model, std::string_view variant, bool has_small_tiles,
                    const Packing& packing, std::vector<Choice>& choices) {
  const GemmProblem packed = as_packed(model.problem, packing);
  const Model of_packed{model.device, model.policy, packed};
  for (std::size_t i = 0; i < model.policy.multistage.size(); ++i) {
    const nvidia::Multistage& tile = model.policy.multistage[i];
    const std::size_t bytes = tile.local_bytes(packed.a_along_k, packed.b_along_k);
    const bool joins = holds_tile(model.device, tile, bytes + nvidia::kFlagBytes);
    if (!holds_tile(model.device, tile, bytes) || (tile.of_batches && !has_small_tiles)) continue;
    nvidia::Multistage in_batch = tile;
    if (model.problem.batch > model.units)
      in_batch.cost.tile = std::max(tile.cost.tile, model.policy.batched_tile);
    nvidia::Rates rates = model.policy.multistage_rates;
    rates.b.along *= tile.along_b, rates.b.loose_along *= tile.along_b;
    add_tiled(of_packed, rates, variant, in_batch, i, tile.of.tile_k, joins, choices, packing, true);
  }
}

/// "packed": all that can be, of large products or by name.
void add_packed(const Model& model, bool by_name, std::vector<Choice>& choices) {
  const GemmProblem& problem = model.problem;
  if (!by_name && real(problem.m, problem.n, problem.k) < model.policy.pack.least_across) return;
  for (const Packing& packing : packings_across(model.device, problem))
    add_multistage(model, "packed", false, packing, choices);
  if (by_name && choices.empty() && lies_across(problem)) add_multistage(model, "packed", false, {}, choices);
}

/// "mma" by small.cl: it loads what it multiplies, whichever way the factors lie.
void add_small(const Model& model, std::vector<Choice>& choices) {
  const bool of_doubles = model.problem.in == Scalar::float64;
  const nvidia::Policy& policy = model.policy;
  nvidia::Small tile = nvidia::small_of(policy, model.problem);
  if (32 * tile.warps > model.device.max_work_group) return;
  const auto is_whole = [](std::size_t extent) { return extent % nvidia::Small::kEdge == 0; };
  const GemmProblem& problem = model.problem;
  if (!nvidia::loads_vectors(problem) || !is_whole(problem.m) || !is_whole(problem.n) ||
      !is_whole(problem.k)) {
    for (double* of : {&tile.cost.step, &tile.cost.shared, &tile.cost.tile})
      *of *= tile.partial;
  }
  nvidia::Rates rates = of_doubles ? policy.dmma_rates : policy.mma_rates;
  rates.a = rates.b = {1, 1, 1, 1};
  add_tiled(model, rates, "mma", tile, of_doubles ? policy.dmma.size() : policy.mma.size(),
            nvidia::Small::kEdge, false, choices);
}

/// The fastest first: fewer parts, and factors as they lie, where both are alike.
void sort_choices(const nvidia::Policy& policy, std::vector<Choice>& choices) {
  const auto rank = [&](const Choice& choice) {
    return choice.nanoseconds * (choice.split.parts > 1 || choice.variant == "packed" ? policy.gain : 1);
  };
  std::stable_sort(choices.begin(), choices.end(),
                   [&](const Choice& a, const Choice& b) { return rank(a) < rank(b); });
}

/// "wgmma" of fp8 as it is, and the others of halves to which both factors are widened before.
std::vector<Choice> fp8_choices(const Device& device, const GemmProblem& problem, std::string_view variant) {
  const Model model{device, nvidia::policy_of(device), problem};
  std::vector<Choice> choices;
  if (variant == "wgmma" || (variant.empty() && model.policy.chooses_fp8))
    add_all_wgmma(model, !variant.empty(), choices);
  if (variant != "wgmma" && no_widening(device, problem).empty()) {
    const Packing packing = widening_of(device, problem);
    // Of the bytes of halves, half as many are read.
    const double before = model.policy.pack.launch + 1.5 * real(packing.bytes) / model.policy.pack.memory;
    for (Choice& choice : nvidia_choices(device, as_widened(device, problem), variant)) {
      if (choice.variant == "wgmma") continue;
      choice.split.packing = packing;
      choice.nanoseconds += packing.bytes > 0 ? before : 0;
      choices.push_back(choice);
    }
  }
  sort_choices(model.policy, choices);
  return choices;
}

}  // namespace

std::vector<Choice> nvidia_choices(const Device& device, const GemmProblem& problem,
                                   std::string_view variant) {
  if (is_fp8(problem.in)) {
    if (compute_capability(device) < 80 || variant == "multistage" || variant == "packed") return {};
    return fp8_choices(device, problem, variant);
  }
  const Model model{device, nvidia::policy_of(device), problem};
  const bool by_units = has_units(problem) && variant != "packed";
  std::vector<Choice> choices;
  if (compute_capability(device) < 80) return choices;
  const bool has_small_tiles =
      problem.batch >= model.units && (!variant.empty() || model.policy.chooses_batched);
  const bool of_doubles = problem.in == Scalar::float64;
  if (of_doubles && (variant == "mma" || (variant.empty() && model.policy.chooses_dmma))) {
    for (std::size_t i = 0; i < model.policy.dmma.size(); ++i) {
      nvidia::Dmma tile = model.policy.dmma[i];
      const std::size_t bytes = tile.local_bytes(problem.a_along_k, problem.b_along_k);
      const bool joins = holds_tile(device, tile, bytes + nvidia::kFlagBytes);
      const bool is_loose = model.loose(problem.a_alignment) || model.loose(problem.b_alignment);
      if (!holds_tile(device, tile, bytes) || (tile.of_pairs && is_loose)) continue;
      const nvidia::Rates& rates = model.policy.dmma_rates;
      const double layouts = tile.layouts.of(problem.a_along_k, problem.b_along_k),
                   all = model.factors(rates);
      for (double* of : {&tile.cost.step, &tile.cost.shared}) {
        *of *= layouts;
        if (is_loose) *of = std::max(*of, model.copies(tile) / (model.policy.dmma_copies * all));
      }
      tile.cost.shared = std::max(tile.cost.shared, model.lines(tile) / (model.policy.dmma_lines * all));
      if (model.bytes() > model.policy.streamed_bytes) {
        const double copied = real(8 * tile.of.tile_k, tile.tile_m() + tile.tile_n()) / all;
        tile.cost.step *= model.policy.dmma_streamed;
        if (model.crosses_lines()) {
          tile.cost.step = std::max(tile.cost.step, copied / model.policy.dmma_crossed);
          tile.cost.shared = std::max(tile.cost.shared, copied / model.policy.dmma_crossed_shared);
        }
      }
      add_tiled(model, rates, "mma", tile, i, tile.of.tile_k, joins, choices);
    }
  }
  // TF32 is what a caller allows, and not what they ask for: of few steps, vectors of float take less time.
  const bool of_floats = problem.in == Scalar::float32;
  if (!of_doubles && (variant == "multistage" || (variant.empty() && (!by_units || of_floats))))
    add_multistage(model, "multistage", has_small_tiles, {}, choices);
  if (of_floats && (variant == "packed" || (variant.empty() && !by_units)))
    add_packed(model, variant == "packed", choices);
  if (by_units && variant != "multistage" && variant != "mma")
    add_all_wgmma(model, !variant.empty(), choices);
  if (by_units && variant != "multistage" && variant != "wgmma") {
    for (std::size_t i = 0; i < model.policy.mma.size(); ++i) {
      nvidia::Mma tile = model.policy.mma[i];
      const bool is_anywhere =
          size_of(problem.in) != 4 && std::min(problem.a_alignment, problem.b_alignment) < 4;
      if (size_of(problem.in) != 2) {
        // Across has it, but of four warps with more than 2048 results, which copy unaligned words along k by
        // pieces: TF32 on an H200, us, and the model without: 122 x 1913 x 3881, B transposed, by 128 x 128
        // 55, 36, by 128 x 64 33; 114 x 4232 x 2457, B transposed, 51, 41, by 128 x 64 48.
        const bool has_pieces = size_of(problem.in) == 4 && tile.of.warp_m * tile.of.warp_n > 2048 &&
                                tile.group() == 128 &&
                                ((problem.a_along_k && model.loose(problem.a_alignment)) ||
                                 (problem.b_along_k && model.loose(problem.b_alignment)));
        tile.cost.loose = tile.cost.loose_shared = has_pieces ? 1.35 : 1;
      } else if (!is_anywhere && !tile.has_loose_rows()) {
        tile.cost.loose = model.policy.pieces;
      }
      const bool is_loose = model.loose(problem.a_alignment) || model.loose(problem.b_alignment);
      if (const std::size_t substeps = tile.substeps(size_of(problem.in), problem.k); substeps > 0) {
        const double part = 32 * real(substeps) / real(tile.of.row_bytes);
        tile.cost.step *= part, tile.cost.shared *= part;
        if (!problem.a_along_k || !problem.b_along_k)
          tile.cost.tile *= tile.has_loose_rows() ? nvidia::kShallow : nvidia::kShallowOfLarge;
      }
      tile.cost.tile +=
          model.of_finish(tile.of.warp_m * tile.of.warp_n / 32, divide_up(tile.group(), 128), true);
      const nvidia::Rows a = rows_of_a(problem), b = rows_of_b(problem);
      const auto fits = [&](std::size_t extent, bool along_k, nvidia::Rows rows) {
        const std::size_t block = rows == nvidia::Rows::words ? 32 : 64;
        return along_k || extent % block == 0 ||
               (rows == nvidia::Rows::loose_across && tile.has_loose_rows());
      };
      const bool has_blocks =
          fits(tile.tile_m(), problem.a_along_k, a) && fits(tile.tile_n(), problem.b_along_k, b);
      const std::size_t bytes = tile.local_bytes(a, b);
      const bool joins = !tile.of_batches && holds_tile(device, tile, bytes + nvidia::kMmaAlignment);
      // Copies of words across k from unaligned rows, or short steps of them, leave no registers for more
      // results, nor do those of rows that begin anywhere.
      const bool has_words = a == nvidia::Rows::words || b == nvidia::Rows::words;
      const bool is_too_large =
          tile.of.warp_m * tile.of.warp_n > 2048 &&
          ((has_words && (is_loose || tile.of.row_bytes < 128)) || (is_anywhere && tile.of.row_bytes == 128));
      if (!has_blocks || is_too_large || !holds_tile(device, tile, bytes) ||
          (tile.of_batches && !has_small_tiles))
        continue;
      add_tiled(model, model.policy.mma_rates, "mma", tile, i, tile.of.row_bytes / size_of(problem.in), joins,
                choices);
    }
  }
  if ((of_doubles || is_16_bit(problem.in)) && has_small_tiles && (variant.empty() || variant == "mma"))
    add_small(model, choices);
  sort_choices(model.policy, choices);
  return choices;
}

}  // namespace smem::plan::gemm
