/// The variants of gemm, each a plan or the reason why there is none.
#pragma once

#include <smem/gemm_plan.hpp>

#include "plan/gemm_policy.hpp"
#include "plan/variants.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem::plan::gemm {

/// Factors that are copied before the product to where their lines begin at multiples of 128 bytes: A first,
/// then B. A line is what is contiguous in memory: of elements of 2 bytes as before, of others along k, or
/// across it.
struct Packing {
  std::size_t a_pitch = 0;  ///< of packed lines, in elements; 0: A stays where it is
  std::size_t b_pitch = 0;  ///< the same of B
  std::size_t b_at = 0;     ///< elements before B
  std::size_t bytes = 0;    ///< of both
  bool widened = false;     ///< from fp8 to half or float32, of all products of a batch
  bool across = false;      ///< k is outermost, before "multistage"; else of 1 or 4 bytes it is contiguous

  std::string factors() const;  ///< "A and B"
};

/// How a variant makes its sums: in how many parts, and of which factors.
struct Split {
  std::size_t parts = 1;       ///< of each sum; of "stream_k": work-groups; of "wgmma": units
  std::size_t part_depth = 0;  ///< numbers of a sum in each part; of "wgmma": steps of a unit
  std::size_t whole = 0;       ///< tiles of "wgmma" that are not cut into units
  bool aligned = false;        ///< of "wgmma": whether each tile begins a unit
  std::size_t bytes = 0;       ///< for the sums of parts; 0: there is one part
  Packing packing = {};        ///< of "wgmma", "packed", and of fp8
  std::size_t tile = 0;        ///< of NVIDIA's own variants: which of their policy's
  std::size_t team = 0;        ///< of them: parts that are added before the sums of teams are; 0: all at once
};
/// The variant that a problem gets when the caller fixes none.
std::string_view choose(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed);
Split split_of(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed,
               std::string_view variant);

/// A type's name, or the number of one that has none.
std::string text_of(Scalar type);

/// \throws Error naming the argument, unless the problem can be solved on the device.
void check(const Device& device, const GemmProblem& problem);

Attempt naive(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed);
/// All that go through tiles in local memory, but for "async": tiled, padded, swizzled, rectangular,
/// registers_1d, registers_2d, vector, double_buffered, two_level, split_k, stream_k.
Attempt tiled(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed,
              std::string_view variant, const Split& split);
/// One thread a tile, in its caches and vector registers; and whether there is such a plan.
bool runs_on_cpu(const Device& device, const GemmProblem& problem);
Attempt cpu(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed);
/// "stream_k": how many groups share the steps of all tiles, and the memory for the tiles that they cut.
Split stream_split(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed);
Attempt async(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed);
/// NVIDIA's own, by asynchronous copies and matrix units. `variant`: "multistage", or "packed", the same of
/// factors that are packed before.
Attempt multistage(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed,
                   std::string_view variant, const Split& split);
Attempt mma(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed, const Split& split);
Attempt wgmma(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed,
              const Split& split);
/// By the matrix units of AMD and Intel.
Attempt matrix_units(const Device& device, const GemmProblem& problem, const PlanOverrides& fixed,
                     const Split& split);
/// Why they cannot multiply this; empty: they can.
std::string no_units(const Device& device, const GemmProblem& problem);
/// The tile of C that a group of "matrix_units" makes, in \p shape; null: there is none.
const TileShape* unit_tile(const Device& device, const GemmProblem& problem, TileShape& shape);
/// A way to run a product by NVIDIA's own variants, and how long it takes by the model.
struct Choice {
  std::string_view variant;
  Split split;
  double nanoseconds = 0;
};
/// All ways that there are, or those of one variant, fastest first.
std::vector<Choice> nvidia_choices(const Device& device, const GemmProblem& problem,
                                   std::string_view variant = {});
/// The same of the tile that was fixed, if one was. \throws Error naming the tile where there is none.
std::vector<Choice> nvidia_choices(const Device& device, const GemmProblem& problem, std::string_view variant,
                                   const PlanOverrides& fixed);
/// The tile of C that a group of such a variant makes: number `tile` of its policy.
TileShape nvidia_tile(const Device& device, const GemmProblem& problem, std::string_view variant,
                      std::size_t tile);
/// "128 x 256 in 3 parts"
std::string text_of(const Device& device, const GemmProblem& problem, const Choice& choice);
/// The problem with the alignments and order that packed factors have.
GemmProblem as_packed(GemmProblem problem, const Packing& packing);
/// What "wgmma" can have packed before it; nothing where that does not pay, or no buffer is so large. Of
/// TF32, of which it takes one factor across k, also each of two alone.
std::vector<Packing> packings_of(const Device& device, const GemmProblem& problem);
/// What can be packed before "multistage": A, B or both, of those that do not lie across k in aligned rows.
std::vector<Packing> packings_across(const Device& device, const GemmProblem& problem);
/// Whether both factors lie so, or nothing is multiplied: "multistage" reads them fastest as they are.
bool lies_across(const GemmProblem& problem);
/// Nanoseconds that packing takes, by the model.
double time_of_packing(const Device& device, const GemmProblem& problem, const Packing& packing);
/// The launch that packs.
Launch pack(const Device& device, const GemmProblem& problem, const Packing& packing);
/// Whether a variant multiplies fp8 as it is widened before.
bool widens(std::string_view variant);
/// Why factors of fp8 cannot be widened; empty: they can.
std::string no_widening(const Device& device, const GemmProblem& problem);
/// The problem of widened factors; of other types than fp8, and where there is no widening, the problem.
GemmProblem as_widened(const Device& device, GemmProblem problem);
/// What is widened, where it can be; nothing where nothing is multiplied.
Packing widening_of(const Device& device, const GemmProblem& problem);
/// The launch that widens.
Launch widen(const Device& device, const GemmProblem& problem, const Packing& packing);
/// Whether NVIDIA's matrix units multiply this.
bool has_units(const GemmProblem& problem);
namespace nvidia {
enum class Rows;
struct Wgmma;
}  // namespace nvidia
/// How the factors lie in the stages of "mma".
nvidia::Rows rows_of_a(const GemmProblem& problem);
nvidia::Rows rows_of_b(const GemmProblem& problem);
/// half or bfloat16
bool is_16_bit(Scalar type);
/// Why "wgmma" can run no product of these types here; empty: it can.
std::string no_wgmma_at_all(const Device& device, const GemmProblem& problem);
/// Why "wgmma" cannot run this; empty: it can.
std::string no_wgmma(const Device& device, const GemmProblem& problem);
namespace nvidia {
/// Whether every group of "wgmma" has one part of one tile, so that the groups of a tile add its parts
/// together.
bool shares_join(const Device& device, const GemmProblem& problem, const Split& split);
/// Whether words of A go through registers (cl/nvidia/wgmma_words.clh).
inline bool loads_words(const GemmProblem& problem) { return size_of(problem.in) == 4 && !problem.a_along_k; }
/// Of fp8, sums of a step have registers of their own, which the largest tiles do not have. Of words across k
/// four warpgroups do not have them, nor three where they do more than store sums, and C's rows are unaligned
/// (of the largest tile: or): ptxas spills.
bool lacks_registers(const GemmProblem& problem, const Wgmma& tile);
/// The same of words where sums are in parts, which a group that shares its tile adds by other code.
bool lacks_registers_to_join(const Device& device, const GemmProblem& problem, const Wgmma& tile,
                             const Split& split);
}  // namespace nvidia
// What they share.

using Kind = LocalLayout::Kind;

/// What products are summed in.
Scalar value_type(Scalar in);
/// As cl/gemm/numbers.clh counts types.
std::size_t type_number(Scalar type);
/// Of B: `in`, but for the other type of fp8.
Scalar b_type(const GemmProblem& problem);

Plan base_plan(const GemmProblem& problem, std::string_view variant, std::string_view file,
               std::string_view entry);

/// Counts a plan's operations as those of matrix units, of any type.
void count_for_matrix_units(const GemmProblem& problem, Plan& plan);

[[noreturn]] inline void refuse(const char* field, std::string_view expected, std::string_view got) {
  plan::refuse("gemm", field, expected, got);
}

/// The tile of those of a family with which C takes the least time, by the model of its policy.
const TileShape& best_tile(const Device& device, const GemmProblem& problem);

/// Rows of `cols` elements along k, whose lines of 16 bytes are padded apart: a tile for matrix units, which
/// read fragments of `unit_rows` of them.
LocalLayout rows_along_k(const Device& device, std::size_t rows, std::size_t cols, std::size_t item_bytes,
                         std::size_t unit_rows, std::size_t group);
/// A's layout, with what the accesses of both tiles cost.
LocalLayout both_layouts(LocalLayout a, const LocalLayout& b);

/// Tiles of C, of all products; \p parts of each.
std::size_t count_tiles(const GemmProblem& problem, const TileShape& tile, std::size_t parts = 1);

/// The tile that a variant begins with, with what was fixed by hand. `least_m`, `least_n`: of a work-item's
/// results. \throws Error naming the field that contradicts itself.
TileShape wanted_tile(const Device& device, TileShape tile, std::size_t least_m, std::size_t least_n,
                      bool one_result, const PlanOverrides& fixed);
bool fixes_tile(const PlanOverrides& fixed);
/// \throws Error when a tile or layout is fixed for a variant that has none to fix.
void refuse_tile(const PlanOverrides& fixed, std::string_view variant);

/// The next smaller tile, when the group is too large or its local memory is; false: there is none.
bool shrink(TileShape& tile, std::size_t least_m, std::size_t least_n, bool group_too_large);
bool group_fits(const Device& device, const TileShape& tile);

/// Sizes, defines and predictions that all tiles have.
void set_tile(Plan& plan, const Device& device, const GemmProblem& problem, const TileShape& tile,
              std::size_t groups, std::size_t local_bytes);

/// \throws Error naming what was fixed by hand and fits no work-group here.
[[noreturn]] void refuse_fixed(const Device& device, const PlanOverrides& fixed, std::size_t local_bytes);
}  // namespace smem::plan::gemm
