// Which variants drivers are known to break: by facts alone.
#include "plan/driver_faults.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace smem::plan {

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

bool has_define(const Launch& launch, const char* name, long value) {
  return std::find(launch.defines.begin(), launch.defines.end(), std::pair<std::string, long>{name, value}) !=
         launch.defines.end();
}

bool is_intel_cpu(const Device& device) {
  return device.platform == "Intel(R) OpenCL" && device.type == DeviceType::cpu;
}

bool is_tile_of_64(const Launch& launch) {
  return launch.entry_point == "top_k_tile" && launch.work_items() == 64;
}

/// A variant that some versions of a driver break. A new row names the fault and the version.
struct Fault {
  bool (*is_of)(const Device&);
  Version from, below;  ///< versions of CL_DRIVER_VERSION: from <= version < below
  BrokenVariant broken;
  bool (*is_in)(const Launch&) = nullptr;  ///< which launches of the variant; null: all of them
};

constexpr const char* kLeastOfItem =
    "Intel's CPU runtime assembles the least of a work-item's elements into wrong instructions, in groups of "
    "fewer than 16 work-items";
constexpr const char* kAcrossBarriers =
    "Intel's CPU runtime ends the process, now and then, when it compiles values that are kept across "
    "barriers";
constexpr const char* kEmulation = "PoCL 5 compiles the emulation of matrix units into wrong results";
constexpr const char* kRegions = "PoCL 5 ends the process when it compiles its regions between barriers";

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all{
      {[](const Device& device) { return is_pocl(device) && device.event_language == "CL1.2"; },
       {5, 0},
       {7, 0},
       {.operation = "gemm",
        .variant = "async",
        .type = "",
        .reason =
            "PoCL 5 and 6 end the process when OpenCL C without generic addresses waits for its copies"}},
      // 6.0 of Debian 13: other layers are wrong without its optimiser, and none by PoCL 3.1 and Intel's
      // runtime.
      {[](const Device& device) { return is_pocl(device) && device.type == DeviceType::cpu; },
       {6, 0},
       {7, 0},
       {.operation = "conv2d",
        .variant = "matrix_units",
        .type = "",
        .reason = "PoCL 6 computes some wrong sums with emulated matrix units"}},
      // 6.0 of Debian 13, of halves with windows, in one of four builds of the same programs.
      {[](const Device& device) { return is_pocl(device) && device.type == DeviceType::cpu; },
       {6, 0},
       {7, 0},
       {.operation = "attention",
        .variant = "matrix_units",
        .type = "",
        .reason = "PoCL 6 compiles emulated matrix units into wrong results now and then"}},
      // Mesa 22.3.6 of Debian 12: bytes of three and four channels; on a CPU with AVX-512 of one channel,
      // too.
      {[](const Device& device) { return device.platform == "rusticl"; },
       {22, 0},
       {24, 0},
       {.operation = "separable",
        .variant = "packed",
        .type = "",
        .reason = "Mesa ends the process when it compiles packed products"}},
      // 2026.22 on a CPU with AVX2, in its pass vplan-vec: a loop over a row of sums in local memory. Floats,
      // doubles, halves without it, and products of matrices with it compile.
      {is_intel_cpu,
       {2026, 0},
       {2027, 0},
       {.operation = "conv2d",
        .variant = "cpu",
        .type = "half",
        .reason = "Intel's CPU runtime ends the process when it compiles GELU of rows of halves"},
       [](const Launch& launch) {
         return launch.entry_point == "conv2d_cpu" && has_define(launch, "RESULT_HALF", 1) &&
                has_define(launch, "ACTIVATION", 2);
       }},
      // 2026.22 on CPUs with AVX-512: its assembler encodes the vector of ones, at which the minimum of 16
      // neighbours begins, as a comparison into a mask (vpcmpeqd). Results are wrong, or the process ends;
      // right with AVX2 and SSE4.2.
      {is_intel_cpu,
       {2026, 0},
       {2027, 0},
       {.operation = "top_k",
        .variant = "cpu",
        .type = "",
        .reason = "Intel's CPU runtime assembles the least of each 16 neighbours into wrong instructions"}},
      // 2026.22: its vectoriser had not finished after 19 minutes. Halves by shared columns take 20 s, other
      // types 2.
      {is_intel_cpu,
       {2026, 0},
       {2027, 0},
       {.operation = "median_blur",
        .variant = "tiles",
        .type = "half",
        .reason = "Intel's CPU runtime does not finish compiling tiles of halves"}},
      // The same vector, in the code for work-items that do not fill a vector of 16: groups of 1 to 8, which
      // only clamps and fixed sizes give. Right in groups of 16 and more, and without the optimiser.
      {is_intel_cpu,
       {2026, 0},
       {2027, 0},
       {.operation = "top_k", .variant = "delegates", .type = "", .reason = kLeastOfItem},
       [](const Launch& launch) {
         return launch.entry_point == "top_k_delegates" && launch.work_items() < 16;
       }},
      {is_intel_cpu,
       {2026, 0},
       {2027, 0},
       {.operation = "top_k", .variant = "row_delegates", .type = "", .reason = kLeastOfItem},
       [](const Launch& launch) {
         return launch.entry_point == "top_k_row_delegates" && launch.work_items() < 16;
       }},
      // 2026.22, in its pass sycl-kernel-reduce-cross-barrier-values, which uses memory that it has freed: of
      // 20 builds up to five end the process, all with MALLOC_PERTURB_=165, none without the optimiser. Which
      // programs are affected depends on their constants: of 900 of all operations, these.
      {is_intel_cpu,
       {2026, 0},
       {2027, 0},
       {.operation = "top_k", .variant = "row_delegates", .type = "", .reason = kAcrossBarriers},
       [](const Launch& launch) {
         return launch.entry_point == "top_k_row_delegates" &&
                (has_define(launch, "KEY_BYTES", 1) || has_define(launch, "KEY_BYTES", 2));
       }},
      {is_intel_cpu,
       {2026, 0},
       {2027, 0},
       {.operation = "top_k", .variant = "registers", .type = "", .reason = kAcrossBarriers},
       [](const Launch& launch) { return launch.work_items() == 8; }},
      {is_intel_cpu,
       {2026, 0},
       {2027, 0},
       {.operation = "top_k", .variant = "tile", .type = "", .reason = kAcrossBarriers},
       is_tile_of_64},
      {is_intel_cpu,
       {2026, 0},
       {2027, 0},
       {.operation = "top_k", .variant = "delegates", .type = "", .reason = kAcrossBarriers},
       is_tile_of_64},
      {is_intel_cpu,
       {2026, 0},
       {2027, 0},
       {.operation = "norm", .variant = "cooperative", .type = "", .reason = kAcrossBarriers}},
      {is_intel_cpu,
       {2026, 0},
       {2027, 0},
       {.operation = "softmax", .variant = "cooperative", .type = "", .reason = kAcrossBarriers}},
      // 2026.22, with AVX2 and with AVX-512, in its passes over machine code: rows of 1000 keys and
      // more; those of 200 compile.
      {is_intel_cpu,
       {2026, 0},
       {2027, 0},
       {.operation = "sort_rows",
        .variant = "keys_only",
        .type = "",
        .reason = "Intel's CPU runtime ends the process when it compiles sorts of keys in registers"}},
      // 6.0 of Debian 13 with LLVM 18: slopes with a causal mask are wrong with AVX-512 (right with AVX2),
      // soft caps were with AVX2; right in 3.1 and
      // 5.0.
      {is_pocl,
       {6, 0},
       {7, 0},
       {.operation = "attention",
        .variant = "tiled",
        .type = "",
        .reason = "PoCL 6 compiles its tiles of logits into wrong results"}},
      // 5.0 of Ubuntu 24.04: wrong at every shape of two and three dimensions, of every type; right in 3.1
      // and 6.0.
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "heat",
        .variant = "march",
        .type = "",
        .reason = "PoCL 5 compiles its loop over planes or rows into wrong results"}},
      // 5.0 with LLVM 17, as Ubuntu 24.04 has it, on a CPU with AVX-512: emulated units of half and int8;
      // right in 3.1, and on GPUs.
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "gemm", .variant = "matrix_units", .type = "", .reason = kEmulation}},
      // The same emulation; not run there.
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "attention", .variant = "matrix_units", .type = "", .reason = kEmulation}},
      // 5.0 with LLVM 17, as Ubuntu 24.04 has it, on a CPU with AVX-512: every type; right in 3.1 and 7.1. A
      // CPU's plans choose it only by name.
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "separable", .variant = "units", .type = "", .reason = kEmulation}},
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "box_blur", .variant = "units", .type = "", .reason = kEmulation}},
      // 5.0 with LLVM 17, as Ubuntu 24.04 has it: one channel of doubles, and bytes into floats; 3.1 and 6.0
      // compile them.
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "box_blur", .variant = "march", .type = "float64", .reason = kRegions}},
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "box_blur", .variant = "march", .type = "uint8", .reason = kRegions}},
      // 5.0 with LLVM 17, as Ubuntu 24.04 has it: every type; 3.1 compiles them.
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "softmax", .variant = "cooperative", .type = "", .reason = kRegions}},
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "norm", .variant = "cooperative", .type = "", .reason = kRegions}},
      // 5.0 with LLVM 17, as Ubuntu 24.04 has it: seen in 1 of 12 runs of random norms, of bfloat16 with a
      // residual; 3.1 and 6.0 compile all. A CPU's plans choose it only by name.
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "norm", .variant = "registers", .type = "bfloat16", .reason = kRegions}},
      // 5.0 with LLVM 17, as Ubuntu 24.04 has it: bytes, by emulated units, which a CPU's plans choose only
      // by name; 3.1 and 7.1 compile them.
      {is_pocl, {5, 0}, {6, 0}, {.operation = "stencil", .variant = "units", .type = "", .reason = kRegions}},
      // 5.0 with LLVM 17, as Ubuntu 24.04 has it: every type. Only a clamp or a fixed size gives such groups.
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "reduce",
        .variant = "several",
        .type = "",
        .reason = "PoCL 5 ends the process when it compiles reductions of columns for groups of at most 64 "
                  "work-items"},
       [](const Launch& launch) {
         return launch.entry_point == "reduce_columns" && launch.work_items() <= 64;
       }},
      // 5.0 with LLVM 17, as Ubuntu 24.04 has it, on a CPU with AVX-512: of 50 processes with empty caches
      // five had one program of floats that sorts wrongly, in every call of it. 3.1 and 6.0 never had.
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "sort_rows",
        .variant = "tile",
        .type = "",
        .reason = "PoCL 5 compiles the ranks of a tile's keys into wrong results, now and then"}},
      // The same tile: seen twice, each time one program of floats that sorts wrongly in every call.
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "sort_segments",
        .variant = "by_length",
        .type = "",
        .reason = "PoCL 5 compiles the ranks of a tile's keys into wrong results, now and then"}},
      // 5.0 with LLVM 17, as Ubuntu 24.04 has it, on a CPU with AVX-512: floats have one of two machine
      // codes, by chance. Of eight processes with empty caches two had wrong results, and two ended where
      // results were written by such counts. Each cache stays right or wrong. 3.1 makes the same code each
      // time.
      {is_pocl,
       {5, 0},
       {6, 0},
       {.operation = "top_k",
        .variant = "delegates",
        .type = "",
        .reason = "PoCL 5 compiles the counts of many listed spans into wrong results, now and then"},
       [](const Launch& launch) { return launch.variant == "listed_count"; }}};
  return all;
}

bool concerns(const Fault& fault, const Device& device) {
  const Version version = version_in(device.driver);
  return fault.is_of(device) && fault.from <= version && version < fault.below;
}

}  // namespace

Version version_in(const std::string& text) {
  Version version;
  const std::size_t digit = text.find_first_of("0123456789");
  if (digit == std::string::npos) return version;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data() + digit, end, version.first);
  if (error != std::errc()) return {};
  if (after != end && *after == '.') std::from_chars(after + 1, end, version.second);
  return version;
}

bool is_pocl(const Device& device) { return contains(device.platform, "Portable Computing Language"); }

std::vector<BrokenVariant> known_faults(const Device& device) {
  std::vector<BrokenVariant> broken;
  for (const Fault& fault : faults())
    if (fault.is_in == nullptr && concerns(fault, device)) broken.push_back(fault.broken);
  return broken;
}

std::vector<LaunchFault> known_launch_faults(const Device& device) {
  std::vector<LaunchFault> broken;
  for (const Fault& fault : faults())
    if (fault.is_in != nullptr && concerns(fault, device)) broken.push_back({fault.broken, fault.is_in});
  return broken;
}

}  // namespace smem::plan
