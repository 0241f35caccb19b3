/// smem: what a plan means on a device: how many work-groups are resident, what bounds its time, and all of
/// it as text for a person or JSON for a program. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/plan.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace smem {

/// What a device reaches, as measured on it (see measure_rates() in rates.hpp). 0: not known.
struct Rates {
  double copy = 0;  ///< bytes read and written a second, by the better of the driver's copy and a kernel
  double fp32 = 0;  ///< floating-point operations a second; a fused multiply-add is two
  friend bool operator==(const Rates&, const Rates&) = default;
};

/// How many work-groups share a unit with local memory (an NVIDIA SM, an AMD compute unit, an Intel Xe core;
/// on a CPU a core), and what limits their number.
struct Occupancy {
  std::size_t groups = 0;      ///< resident at once; 0: the device's limits are not known
  std::size_t work_items = 0;  ///< of those groups
  double share = 0;            ///< of the work-items that the unit can have; 0: not known
  std::string_view limit;      ///< "local memory", "registers", "work-items", "groups", or empty
  friend bool operator==(const Occupancy&, const Occupancy&) = default;
};

/// `registers`: 32-bit registers of a work-item, from the compiler (see registers_of() in rates.hpp); 0: not
/// known, and ignored.
SMEM_API Occupancy occupancy(const Device& device, const Plan& plan, std::size_t registers = 0);

/// The least time that a plan can take, by the roofline model (Williams, Waterman, Patterson, CACM 52(4),
/// 2009).
struct Bound {
  double seconds = 0;   ///< 0: the rates are not known
  std::string_view by;  ///< which limits it: "memory" or "arithmetic"
  double balance = 0;   ///< operations a byte at which the device's two rates meet
  friend bool operator==(const Bound&, const Bound&) = default;
};

/// The bound of a plan on a device of these rates.
SMEM_API Bound roofline(const Plan& plan, const Rates& rates);

/// What is known besides plan and device.
struct Knowledge {
  Rates rates;                  ///< measured, else zeros
  std::size_t registers = 0;    ///< of a work-item; 0: not known
  double measured_seconds = 0;  ///< of a run; 0: it was not run
};

/// The plan in words: the variant and why it won over the others, tile and layout with a drawing of its
/// banks, the conflicts of each access, bytes, operations and intensity; with a device also residency, and
/// the bound when its rates are known.
SMEM_API std::string explain(const Plan& plan);
/// The plan as text for a person: what was chosen, why, and what bounds it.
SMEM_API std::string explain(const Plan& plan, const Device& device, const Knowledge& knowledge = {});

/// The same as a JSON object.
SMEM_API std::string explain_json(const Plan& plan, const Device& device, const Knowledge& knowledge = {});

/// The banks in which the items of a layout's first rows begin, as a table; empty for a device without banks
/// and for a plan without local memory.
SMEM_API std::string draw_banks(const Device& device, const LocalLayout& layout);

/// A device's facts as a JSON object, and back: fields have the names of Device's members, in objects those
/// of `unit`. Fields that are not there keep their defaults; a `unit` that is not there is that of the
/// architecture.
SMEM_API std::string to_json(const Device& device);
/// The facts in a text of at most 1 MiB that to_json() made. Numbers are whole, in ranges that hold every
/// device and for which every plan is made at once:
/// - compute_units, max_work_group, max_work_items, cache_line_bytes: 1 to 65536
/// - sub_group_width: 1 to 128; ballot_width: 0 to 128; local_banks: 1 to 256; local_bank_bytes: 1 to 64
/// - local_bytes, local_bytes_reported, unit.local_bytes: 0 to 2^32; cache_bytes: 0 to 2^40
/// - global_bytes, max_allocation: 0 to 2^48
/// - vector_bytes: 0 to 1024; clock_mhz: 0 to 1000000; timer_ns: 0 to 1000000000
/// - unit.local_reserved, unit.work_items: 0 to 2^20; unit.registers: 0 to 2^24
/// - unit.register_lot, unit.groups: 0 to 65536; poll_limit: 0 to 2^32 - 1
///
/// What a driver says beyond them counts as the nearest number within. \throws Error naming the field that is
/// unknown, of the wrong type or out of its range.
SMEM_API Device device_from_json(std::string_view text);

}  // namespace smem
