/// smem: a plan says how one call will be launched, and why. It is found without OpenCL, so it can be made,
/// read, printed and compared for a device that is not there.
#pragma once

#include <smem/export.hpp>
#include <smem/layout.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace smem {

/// What a caller fixes by hand instead of leaving it to the plan: what is 0 or empty, the plan chooses. Which
/// fields a variant has, its operation's plan function says; a field that it has not is an error, never
/// ignored.
struct PlanOverrides {
  std::string variant;         ///< which it is
  std::size_t tile_rows = 0;   ///< elements
  std::size_t tile_cols = 0;   ///< elements
  std::size_t work_items = 0;  ///< of a work-group
  LayoutChoice layout;         ///< of the tile in local memory
  friend bool operator==(const PlanOverrides&, const PlanOverrides&) = default;
};

/// What the plan implies, in closed form.
struct Prediction {
  double bytes_read = 0;     ///< of global memory: each input once
  double bytes_written = 0;  ///< of global memory: each output once
  double local_bytes = 0;    ///< read from and written to local memory, by all work-groups
  double operations = 0;     ///< floating-point operations
  double bytes() const { return bytes_read + bytes_written; }                  ///< of global memory
  double intensity() const { return bytes() > 0 ? operations / bytes() : 0; }  ///< operations a byte
  friend bool operator==(const Prediction&, const Prediction&) = default;
};

/// A variant that was not chosen.
struct Alternative {
  std::string variant;  ///< its name
  std::string why_not;  ///< in one clause
  friend bool operator==(const Alternative&, const Alternative&) = default;
};

/// One launch: a kernel, its build options and its sizes.
struct Plan {
  std::string operation;    ///< "transpose"
  std::string variant;      ///< "swizzled"
  std::string reason;       ///< why this variant, in one sentence
  std::string evidence;     ///< the measurement behind its numbers, or that there is none for this family
  std::string kernel_file;  ///< relative to cl/, e.g. "transpose/tiled.cl"; empty when the preamble is all
  std::string entry_point;  ///< the kernel function's name
  std::vector<std::pair<std::string, long>> defines;              ///< given to the compiler as -DNAME=VALUE
  std::vector<std::pair<std::string, std::string>> text_defines;  ///< values are single words: type names
  std::string preamble;  ///< OpenCL C put before the kernel file: a caller's own expression
  /// The target that the driver's own assembler is given in place of the device's, for instructions that its
  /// OpenCL compiler does not know ("sm_90a"); empty: as the driver makes it. Where the driver refuses it,
  /// operations use their plan for the device without.
  std::string target;
  std::string language = "CL1.2";                  ///< of OpenCL C, as -cl-std= takes it
  std::array<std::size_t, 3> work_group{1, 1, 1};  ///< work-items
  std::array<std::size_t, 3> global{0, 0, 0};      ///< work-items; a multiple of work_group
  std::size_t tile_rows = 1;                       ///< of the input, per work-group
  std::size_t tile_cols = 1;                       ///< items in a row of the tile
  std::size_t vector_width = 1;                    ///< elements that a work-item reads or writes at once
  std::size_t items_per_work_item = 1;             ///< in one pass
  LocalLayout layout;                              ///< of the tile in local memory
  std::size_t local_bytes = 0;                     ///< of one work-group
  std::size_t scratch_bytes = 0;                   ///< temporary global memory
  Prediction prediction;                           ///< what it should cost
  PlanOverrides overrides;                         ///< what the caller had fixed
  std::string in_place_of;  ///< the variant that this device would get, were it not broken there; else empty
  std::vector<Alternative>
      alternatives;  ///< the other variants, when the plan chose; empty when the caller did

  std::size_t work_items() const {
    return work_group[0] * work_group[1] * work_group[2];
  }  ///< of a work-group
  /// Work-groups in all.
  std::size_t groups() const {
    return (global[0] / work_group[0]) * (global[1] / work_group[1]) * (global[2] / work_group[2]);
  }
  SMEM_API std::string build_options() const;  ///< the defines as compiler options
  SMEM_API std::string to_string() const;      ///< explain(plan)
  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace smem
