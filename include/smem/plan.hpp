/// smem: a plan says how one call will be launched, and why. It is found without OpenCL, so it can be made,
/// read, printed and compared for a device that is not there.
#pragma once

#include <smem/export.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace smem {

/// How a tile lies in local memory: element (row, col) is at `row * stride + (col ^ ((row >> shift) &
/// mask))`.
struct LocalLayout {
  enum class Kind { none, plain, padded, swizzled };
  Kind kind = Kind::none;
  std::size_t rows = 0;          ///< rows of the tile as it lies in local memory
  std::size_t cols = 0;          ///< items in a row
  std::size_t item_bytes = 0;    ///< an item is what one work-item reads or writes at once
  std::size_t stride = 0;        ///< items from one row to the next: cols, and the padding
  std::size_t swizzle_mask = 0;  ///< 0: no swizzle
  std::size_t store_degree = 1;  ///< bank-conflict degree of the writes into the tile: 1 is free of conflicts
  std::size_t load_degree = 1;   ///< the same of the reads from it

  std::size_t bytes() const { return rows * stride * item_bytes; }
  friend bool operator==(const LocalLayout&, const LocalLayout&) = default;
};

SMEM_API std::string_view name_of(LocalLayout::Kind kind);

/// What the plan implies, in closed form.
struct Prediction {
  double bytes = 0;       ///< least traffic of global memory: each input read once, each output written once
  double operations = 0;  ///< floating-point operations
  double intensity() const { return bytes > 0 ? operations / bytes : 0; }  ///< operations a byte
  friend bool operator==(const Prediction&, const Prediction&) = default;
};

/// One launch: a kernel, its build options and its sizes.
struct Plan {
  std::string operation;    ///< "transpose"
  std::string variant;      ///< "swizzled"
  std::string reason;       ///< why this variant, in one sentence
  std::string kernel_file;  ///< relative to cl/, e.g. "transpose/tiled.cl"
  std::string entry_point;
  std::vector<std::pair<std::string, long>> defines;
  std::vector<std::pair<std::string, std::string>> text_defines;  ///< values are single words: type names
  std::string preamble;            ///< OpenCL C put before the kernel file: a caller's own expression
  std::string language = "CL1.2";  ///< of OpenCL C, as -cl-std= takes it
  std::array<std::size_t, 3> work_group{1, 1, 1};  ///< work-items
  std::array<std::size_t, 3> global{0, 0, 0};      ///< work-items; a multiple of work_group
  std::size_t tile_rows = 1;                       ///< of the input, per work-group
  std::size_t tile_cols = 1;
  std::size_t vector_width = 1;  ///< elements that a work-item reads or writes at once
  std::size_t items_per_work_item = 1;
  LocalLayout layout;
  std::size_t local_bytes = 0;    ///< of one work-group
  std::size_t scratch_bytes = 0;  ///< temporary global memory
  Prediction prediction;

  std::size_t work_items() const { return work_group[0] * work_group[1] * work_group[2]; }
  SMEM_API std::string build_options() const;  ///< the defines as compiler options
  SMEM_API std::string to_string() const;      ///< a few lines for a person
  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace smem
