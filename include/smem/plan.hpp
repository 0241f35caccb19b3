/// smem: a plan says how one call will be launched, and why. It is found without OpenCL, so it can be made,
/// read, printed and compared for a device that is not there.
#pragma once

#include <smem/cplusplus.hpp>
#include <smem/export.hpp>
#include <smem/layout.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem {

/// Choices that a caller fixes. The plan chooses those that are 0 or empty. The plan function of the
/// operation states which fields each variant has; another field is an error, and is never ignored.
struct PlanOverrides {
  std::string variant;         ///< which it is
  std::size_t tile_rows = 0;   ///< elements
  std::size_t tile_cols = 0;   ///< elements
  std::size_t work_items = 0;  ///< of a work-group
  LayoutChoice layout;         ///< of the tile in local memory
  friend bool operator==(const PlanOverrides&, const PlanOverrides&) = default;
};

/// The costs that the plan implies, in closed form.
struct Prediction {
  double bytes_read = 0;     ///< of global memory: each input once
  double bytes_written = 0;  ///< of global memory: each output once
  double local_bytes = 0;    ///< read from and written to local memory, by all work-groups
  double operations = 0;     ///< floating-point operations, but those of matrix units
  /// Multiplications and additions of matrix units, of any type. Their rate is not measured, so no bound
  /// follows from them.
  double matrix_operations = 0;
  double bytes() const { return bytes_read + bytes_written; }                  ///< of global memory
  double intensity() const { return bytes() > 0 ? operations / bytes() : 0; }  ///< `operations` a byte
  friend bool operator==(const Prediction&, const Prediction&) = default;
};

/// A variant that was not chosen.
struct Alternative {
  std::string variant;  ///< its name
  std::string why_not;  ///< in one clause
  friend bool operator==(const Alternative&, const Alternative&) = default;
};

/// One launch: a kernel, its build options and its sizes.
struct Launch {
  std::string operation;    ///< "transpose"
  std::string variant;      ///< "swizzled"; of a launch beside the main one what it does: "finish"
  std::string reason;       ///< why this variant, in one sentence
  std::string kernel_file;  ///< relative to cl/, e.g. "transpose/tiled.cl"; empty when the preamble is all
  std::string entry_point;  ///< the kernel function's name
  std::vector<std::pair<std::string, long>> defines;              ///< given to the compiler as -DNAME=VALUE
  std::vector<std::pair<std::string, std::string>> text_defines;  ///< values are single words: type names
  std::string preamble;  ///< OpenCL C put before the kernel file: a caller's own expression
  /// The target passed to the driver's assembler instead of the device's, for instructions that its OpenCL
  /// compiler does not know ("sm_90a"); empty: the driver's. If the driver refuses it, operations use their
  /// plan for devices without it.
  std::string target;
  std::string language = "CL1.2";                  ///< of OpenCL C, as -cl-std= takes it
  std::size_t most_registers = 0;                  ///< of a work-item, on NVIDIA; 0: the compiler's choice
  std::size_t compiler_level = 0;                  ///< of optimization, on NVIDIA; 0: the compiler's choice
  std::array<std::size_t, 3> work_group{1, 1, 1};  ///< work-items
  std::array<std::size_t, 3> global{0, 0, 0};      ///< work-items; a multiple of work_group
  std::size_t tile_rows = 1;                       ///< of the input, per work-group
  std::size_t tile_cols = 1;                       ///< items in a row of the tile
  std::size_t vector_width = 1;                    ///< elements that a work-item reads or writes at once
  std::size_t items_per_work_item = 1;             ///< in one pass
  LocalLayout layout;                              ///< of the tile in local memory
  std::size_t local_bytes = 0;                     ///< of one work-group
  std::size_t repeats = 1;                         ///< how many times it is launched, one after the other
  /// Arguments of the kernel that the plan decides, by name: "parts", "steps".
  std::vector<std::pair<std::string, std::size_t>> numbers;
  Prediction prediction;  ///< what it should cost, all repeats together

  std::size_t work_items() const {
    return work_group[0] * work_group[1] * work_group[2];
  }  ///< of a work-group
  /// Work-groups in all.
  std::size_t groups() const {
    return (global[0] / work_group[0]) * (global[1] / work_group[1]) * (global[2] / work_group[2]);
  }
  /// One of `numbers`; 0 when there is none of the name.
  SMEM_API std::size_t number(std::string_view name) const;
  SMEM_API std::string build_options() const;  ///< language, defines and limits, for the compiler
  friend bool operator==(const Launch&, const Launch&) = default;
};

/// Temporary global memory of a call.
struct Scratch {
  std::size_t bytes = 0;         ///< 0: none
  std::size_t zeroed_bytes = 0;  ///< of those, from the first one: zero before the first launch
  /// Not 0: an area of statuses. Kernels distinguish them from those of earlier launches by a number
  /// (cl/scan/states.clh), so they are zeroed once, not for each call. Calls with the same number here share
  /// memory.
  std::size_t statuses = 0;
  friend bool operator==(const Scratch&, const Scratch&) = default;
};

/// The variants that were not chosen, with reasons. They are computed when they are read.
class Alternatives {
 public:
  using Make = std::function<std::vector<Alternative>()>;  ///< makes all of them

  Alternatives() = default;
  /// `make()` is called once, at the first read.
  SMEM_API explicit Alternatives(Make make);

  SMEM_API const std::vector<Alternative>& all() const;                    ///< in the order of the ladder
  auto begin() const { return all().begin(); }                             ///< of all()
  auto end() const { return all().end(); }                                 ///< of all()
  std::size_t size() const { return all().size(); }                        ///< of all()
  bool empty() const { return !made_ || all().empty(); }                   ///< whether there are none
  const Alternative& operator[](std::size_t i) const { return all()[i]; }  ///< of all()

 private:
  struct Made;
  std::shared_ptr<Made> made_;
};

/// How one call will be launched: its main launch, those before and after it, and its temporary memory.
struct Plan : Launch {
  std::string evidence;        ///< the measurement behind its numbers, or that there is none for this family
  std::vector<Launch> before;  ///< launched before the main one, in this order
  std::vector<Launch> after;   ///< launched after it
  std::size_t rounds = 1;      ///< how many times all of them are launched in turn: slices of a large problem
  std::vector<Scratch> scratch;  ///< temporary memory, at most kMostScratch
  bool counters = false;         ///< whether kernels share counters, which are zero before and after the call
  std::size_t scratch_bytes = 0;  ///< of all temporary memory
  PlanOverrides overrides;        ///< what the caller fixed
  std::string in_place_of;    ///< the variant that would be chosen if the driver did not break it; else empty
  Alternatives alternatives;  ///< the other variants; empty if the caller chose

  static constexpr std::size_t kMostScratch = 3;  ///< areas of temporary memory
  /// The alignment in bytes of an area in a caller's buffer: the largest that any device needs.
  static constexpr std::size_t kScratchAlignment = 4096;

  /// Bytes of a caller's buffer (CallOptions::scratch) that holds all temporary memory.
  SMEM_API std::size_t scratch_buffer_bytes() const;

  /// All launches in their order.
  SMEM_API std::vector<const Launch*> launches() const;
  SMEM_API std::string to_string() const;  ///< explain(plan)
  /// Whether the calls are the same. The reasons of alternatives follow from the rest.
  SMEM_API friend bool operator==(const Plan& a, const Plan& b);
};

}  // namespace smem
