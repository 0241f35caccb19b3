/// smem: the facts of a device, as plain values. Includes no OpenCL header, so plans for devices that are not
/// here can be made, printed and tested.
#pragma once

#include <smem/cplusplus.hpp>
#include <smem/export.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smem {

/// What kind of device it is, as CL_DEVICE_TYPE says.
enum class DeviceType { gpu, cpu, accelerator };
/// The vendor, which determines which kernels can run, and the policies of plans.
enum class Vendor { nvidia, amd, intel, other };

/// The instructions by which a whole sub-group multiplies small matrices of half, bfloat16 and int8. Those
/// of NVIDIA follow from the architecture.
enum class MatrixUnit {
  none,
  mfma,        ///< AMD's of gfx90a
  mfma_cdna3,  ///< AMD's of gfx942 and gfx950
  wmma,        ///< AMD's of gfx11
  wmma_rdna4,  ///< AMD's of gfx12
  dpas8,       ///< Intel's, of sub-groups of 8
  dpas16       ///< Intel's, of sub-groups of 16
};

/// "gpu", "cpu" or "accelerator".
SMEM_API std::string_view name_of(DeviceType type);
/// "nvidia", "amd", "intel" or "other".
SMEM_API std::string_view name_of(Vendor vendor);
/// "none", "mfma", "mfma_cdna3", "wmma", "wmma_rdna4", "dpas8" or "dpas16".
SMEM_API std::string_view name_of(MatrixUnit unit);

/// Limits of the unit that shares local memory among its work-groups: an NVIDIA SM, an AMD compute unit, an
/// Intel Xe core. 0: unknown.
struct UnitLimits {
  std::size_t local_bytes = 0;     ///< in all
  std::size_t local_reserved = 0;  ///< bytes of local memory that the system reserves for each group
  std::size_t registers = 0;       ///< of 32 bits, for all lanes
  std::size_t register_lot = 0;    ///< registers are allocated to a sub-group in multiples of this
  std::size_t work_items = 0;      ///< resident at once
  std::size_t groups = 0;          ///< resident at once
  friend bool operator==(const UnitLimits&, const UnitLimits&) = default;
};

/// A variant of an operation that a driver breaks: it does not compile, crashes, or computes wrong results.
/// Plans never choose it, and a call that fixes it is refused with the reason.
struct BrokenVariant {
  std::string operation;  ///< as `smem tune` names it: "gemm", "scan"
  std::string variant;    ///< "async"
  std::string type;       ///< of the input: "float32", of a transpose or flip "4 B"; empty: of every type
  std::string reason;     ///< in one clause, with the driver: "PoCL 6.0 does not link wait_group_events"
  friend bool operator==(const BrokenVariant&, const BrokenVariant&) = default;
};

/// Facts about a device, queried from its driver or known from its architecture. Every field can be set by
/// hand. Sizes are in bytes.
struct Device {
  std::string name = "unknown";       ///< CL_DEVICE_NAME
  std::string platform;               ///< CL_PLATFORM_NAME
  std::string platform_version;       ///< CL_PLATFORM_VERSION
  std::string vendor_name;            ///< CL_DEVICE_VENDOR
  std::string driver;                 ///< CL_DRIVER_VERSION
  std::string opencl_c;               ///< CL_DEVICE_OPENCL_C_VERSION
  DeviceType type = DeviceType::gpu;  ///< CL_DEVICE_TYPE
  Vendor vendor = Vendor::other;      ///< by CL_DEVICE_VENDOR_ID and name
  std::string architecture;           ///< "sm_90", "gfx1100", "xe-hpg"; empty when unknown

  std::size_t compute_units = 1;                          ///< SMs, compute units, Xe cores; a CPU's threads
  std::size_t max_work_group = 64;                        ///< work-items in a work-group
  std::array<std::size_t, 3> max_work_items{64, 64, 64};  ///< the same, by dimension
  std::size_t sub_group_width = 32;                       ///< warp, wave or sub-group; 1 on a CPU
  std::size_t local_bytes_reported = 16 * 1024;           ///< CL_DEVICE_LOCAL_MEM_SIZE
  std::size_t local_bytes = 16 * 1024;                    ///< what the static arrays of a kernel can use
  bool local_is_cache = false;                            ///< local memory is ordinary, cached memory
  std::size_t local_banks = 32;                           ///< each delivers one word at a time
  std::size_t local_bank_bytes = 4;                       ///< of a bank's word
  UnitLimits unit;                                        ///< what groups on one compute unit share
  std::size_t global_bytes = 0;                           ///< of the device's memory
  std::size_t max_allocation = 0;                         ///< of one buffer
  std::size_t cache_bytes = 0;                            ///< last-level cache; on a CPU a share of it
  std::size_t cache_line_bytes = 64;                      ///< of global memory's cache
  std::size_t vector_bytes = 0;  ///< of a vector register, as CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT says
  /// Whether a CPU multiplies and adds vectors of 64 bytes clearly faster than those of 32 (measured),
  /// because it has two units for them, as Intel's servers do. Zen 4 takes two cycles for each.
  bool wide_vectors = false;
  /// Whether kernels may use AVX-512 VNNI, which adds the products of four bytes by one instruction, in
  /// vectors of 16, 32 and 64 bytes (PoCL before 7.0 only: others were not tried).
  bool avx512_vnni = false;
  bool avx_vnni = false;                     ///< the same of AVX-VNNI, in vectors of 16 and 32 bytes
  std::size_t clock_mhz = 0;                 ///< CL_DEVICE_MAX_CLOCK_FREQUENCY
  std::size_t timer_ns = 0;                  ///< resolution of the profiling timer
  bool fp64 = false;                         ///< cl_khr_fp64
  bool fp16 = false;                         ///< cl_khr_fp16: arithmetic, not storage
  bool int64_atomics = false;                ///< cl_khr_int64_base_atomics
  bool sub_groups = false;                   ///< sub-group functions of OpenCL C
  std::string sub_group_language = "CL2.0";  ///< OpenCL C that has them, as -cl-std= takes it
  /// Work-items of a sub-group by whose ballots kernels rank keys; 0: none. When a device that should have
  /// ballots, of sub-groups whose size is known (cl_khr_subgroup_ballot), is first opened, it ranks a few
  /// keys by them. If its compiler refuses that, or a rank is wrong: 0.
  std::size_t ballot_width = 0;
  /// OpenCL C for kernels that wait for their own copies (PoCL from 4.0 on: CL3.0).
  std::string event_language = "CL1.2";
  /// Whether vector loads work at the alignment of a single element (rusticl: no).
  bool packed_vectors = true;
  bool extended_vectors =
      false;  ///< whether kernels may have vectors of more than 16 elements (PoCL on CPUs)
  bool prefetch_builtin = false;  ///< whether kernels may call __builtin_prefetch (PoCL, Intel on CPUs)

  /// Whether a work-item's loops run to their end (rusticl: 65535 iterations in all, Mesa's
  /// LP_MAX_TGSI_LOOP_ITERATIONS).
  bool long_loops = true;

  /// Whether a work-group that has started keeps running while others wait for it in a loop (NVIDIA's GPUs,
  /// PoCL's CPUs). OpenCL does not guarantee it. It determines which variants run or are faster; all waits
  /// are bounded, but those for rows that teams of "persistent" fetch, which needs it.
  bool forward_progress = false;

  /// The largest number of polls of another work-group's status before the waiting one computes the missing
  /// value itself; plans use fewer. 0: nothing is polled, and each work-group computes all that it needs.
  std::size_t poll_limit = 1 << 20;

  /// Whether work-groups start in the order of their numbers (NVIDIA's GPUs; CUB's scans rely on it too).
  /// OpenCL does not guarantee it.
  bool ordered_start = false;

  /// Whether the driver accepts programs for a target that its OpenCL compiler does not know (Plan::target):
  /// measured on NVIDIA's compute capability 9.0, which then has the instructions of sm_90a. If a driver
  /// refuses such a program, the problem gets the plan of a device without it.
  bool retargeting = false;

  /// The matrix unit that kernels may use. When a device of AMD or Intel that should have one is first
  /// opened, it multiplies a fragment of each type. If the driver's compiler refuses that, or a result is
  /// wrong: none.
  MatrixUnit matrix_unit = MatrixUnit::none;
  /// Whether kernels emulate the unit, slowly, to test its layouts. Plans do not choose it then.
  bool emulated_unit = false;

  /// Variants that its driver breaks: known, or found by `smem selftest`.
  std::vector<BrokenVariant> broken;

  friend bool operator==(const Device&, const Device&) = default;
};

/// The OpenCL devices of this machine, in the order of their index. Empty when there is none.
/// \throws Error when a driver fails while it is asked.
SMEM_API std::vector<Device> devices();

/// The family whose policies a device gets: "nvidia-hopper", "nvidia", "amd-cdna", "amd-rdna", "amd",
/// "intel", "cpu", or "generic" for what smem does not know.
SMEM_API std::string_view family_of(const Device& device);

/// The limits of a device's architecture, by its vendor and name; zeros when unknown.
SMEM_API UnitLimits unit_limits(const Device& device);

/// Reduces facts to those of a smaller device. `text` is a comma-separated list of `local=BYTES` (with K or
/// M), `cache=BYTES`, `allocation=BYTES` (of one buffer that plans ask for), `work_group=N`, `fp64=0`,
/// `forward_progress=0`, `ordered_start=0`, `retargeting=0`, `prefetch_builtin=0`, `poll_limit=N`,
/// `compute_units=N`, `sub_group=N` (plans for sub-groups of N, without sub-group functions if the width
/// differs), `ballots=N` (of sub-groups of N, on a device that has ballots; 0: without), `vnni=0` (without
/// AVX-512 VNNI and AVX-VNNI), and `broken=OPERATION/VARIANT` or with `/TYPE` behind it, which adds
/// to Device::broken. `matrix_unit=NAME` emulates that unit, unless the device has it, and `matrix_unit=none`
/// removes it. `vector=16`, 32 or 64: a CPU's plans are for vectors of so many bytes. The environment
/// variable SMEM_CLAMP applies such a list to every device that smem opens. \throws Error naming the entry
/// that is not understood.
SMEM_API Device clamp(Device device, std::string_view text);

}  // namespace smem
