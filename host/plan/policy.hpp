/// Tables of the numbers that plans use. A row is picked by a device's facts, and says what chose its
/// numbers.
#pragma once

#include <smem/device.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace smem::plan {

/// What chose the numbers of a row: a measurement, or the rule by which they follow from facts.
struct Evidence {
  std::string_view device = {};  ///< that was measured, as in its name: "H200"; empty: none was
  std::string_view driver = {};  ///< of the measurement
  std::string_view what = {};    ///< the case, "16384 x 16384 float"; without a device the rule
  std::string_view share = {};   ///< what was reached there: "0.96 of copy"

  bool measured() const { return !device.empty(); }
  /// The text of a plan for the device. It names the device where that is another one of its family.
  std::string text(const Device& at_hand) const;
};

/// Of numbers that were measured neither on the family nor on a similar one.
inline constexpr Evidence kFromFacts{
    .what = "no measurement for this family: the sizes follow from the device's facts"};
/// Of NVIDIA's GPUs before Ampere, whose compiler spills what a Hopper's sizes need.
inline constexpr Evidence kWithoutSpills{
    .what = "no measurement: sizes with which ptxas spills nothing for sm_75"};
/// Of Intel's GPUs: its compiler runs 32 work-items in the registers of one thread.
inline constexpr Evidence kFromRegisters{.what = "no measurement: what its compiler keeps in registers"};

/// The family of a device that evidence names: "nvidia-hopper" of "H200"; empty: of a device that was
/// not measured.
std::string_view family_of_measured(std::string_view device);

/// Facts that a device must have for a row. What is left out, every device has.
struct When {
  std::string_view family = {};               ///< as family_of() says
  std::size_t local_bytes = 0;                ///< at least
  unsigned compute_capability = 0;            ///< at least, of NVIDIA's GPUs
  std::size_t max_work_group = 0;             ///< at least
  MatrixUnit matrix_unit = MatrixUnit::none;  ///< this one; none: whatever it has
  std::string_view vendor = {};               ///< a part of its vendor's name

  bool holds(const Device& device) const;
};

/// The first row whose condition holds. The last row of a table holds everywhere.
template <class Row, std::size_t kRows>
constexpr const Row& row_for(const Row (&table)[kRows], const Device& device) {
  for (const Row& row : table)
    if (row.when.holds(device)) return row;
  return table[kRows - 1];
}

}  // namespace smem::plan
