// Tables of architectures. Sources: CUDA C++ programming guide, "Technical specifications per compute
// capability" and "Compute capabilities"; LLVM, "User guide for AMDGPU backend" (registers and waves by
// processor), AMD's instruction set documents of CDNA2, CDNA3, RDNA2 and RDNA3; Intel oneAPI GPU optimization
// guide, "Intel Xe GPU architecture".
#include <smem/device.hpp>

#include "plan/matrix_unit.hpp"
#include "plan/sizes.hpp"

#include <charconv>
#include <string_view>

namespace smem {

std::string_view family_of(const Device& device) {
  const std::string_view name = device.architecture;
  if (device.type == DeviceType::cpu) return "cpu";
  switch (device.vendor) {
    case Vendor::nvidia:
      return name == "sm_90" ? "nvidia-hopper" : "nvidia";
    case Vendor::amd:
      return name.starts_with("gfx9") ? "amd-cdna" : name.starts_with("gfx1") ? "amd-rdna" : "amd";
    case Vendor::intel:
      return "intel";
    case Vendor::other:
      break;
  }
  return "generic";
}

unsigned plan::compute_capability(const Device& device) {
  const std::string_view name = device.architecture;
  unsigned version = 0;
  if (!plan::is_nvidia_gpu(device) || !name.starts_with("sm_")) return 0;
  std::from_chars(name.data() + 3, name.data() + name.size(), version);
  return version;
}

namespace {

struct Row {
  Vendor vendor;
  std::string_view prefix;  // of the architecture; the longest one that fits counts
  UnitLimits limits;
};

constexpr std::size_t kKiB = 1024;

// local, reserved a group, registers, lot of registers a wave, work-items, groups
constexpr Row kRows[] = {
    {Vendor::nvidia, "sm_50", {64 * kKiB, 0, 65536, 256, 2048, 32}},
    {Vendor::nvidia, "sm_52", {96 * kKiB, 0, 65536, 256, 2048, 32}},
    {Vendor::nvidia, "sm_60", {64 * kKiB, 0, 65536, 256, 2048, 32}},
    {Vendor::nvidia, "sm_61", {96 * kKiB, 0, 65536, 256, 2048, 32}},
    {Vendor::nvidia, "sm_70", {96 * kKiB, 0, 65536, 256, 2048, 32}},
    {Vendor::nvidia, "sm_75", {64 * kKiB, 0, 65536, 256, 1024, 16}},
    {Vendor::nvidia, "sm_80", {164 * kKiB, kKiB, 65536, 256, 2048, 32}},
    {Vendor::nvidia, "sm_86", {100 * kKiB, kKiB, 65536, 256, 1536, 16}},
    {Vendor::nvidia, "sm_87", {164 * kKiB, kKiB, 65536, 256, 1536, 16}},
    {Vendor::nvidia, "sm_89", {100 * kKiB, kKiB, 65536, 256, 1536, 24}},
    {Vendor::nvidia, "sm_90", {228 * kKiB, kKiB, 65536, 256, 2048, 32}},
    {Vendor::nvidia, "sm_100", {228 * kKiB, kKiB, 65536, 256, 2048, 32}},
    {Vendor::nvidia, "sm_120", {100 * kKiB, kKiB, 65536, 256, 1536, 24}},
    // 4 SIMDs of 64 lanes. gfx90a and gfx94x: 512 registers a lane, 8 waves a SIMD; before: 256 and 10.
    {Vendor::amd, "gfx9", {64 * kKiB, 0, 65536, 4 * 64, 2560, 40}},
    {Vendor::amd, "gfx90a", {64 * kKiB, 0, 131072, 8 * 64, 2048, 32}},
    {Vendor::amd, "gfx94", {64 * kKiB, 0, 131072, 8 * 64, 2048, 32}},
    // Half a work-group processor: 2 SIMDs of 32 lanes, 16 waves each (gfx101x: 20), half of 128 KiB.
    {Vendor::amd, "gfx101", {64 * kKiB, 0, 65536, 8 * 32, 1280, 32}},
    {Vendor::amd, "gfx103", {64 * kKiB, 0, 65536, 16 * 32, 1024, 32}},
    {Vendor::amd, "gfx11", {64 * kKiB, 0, 65536, 16 * 32, 1024, 32}},
    {Vendor::amd, "gfx1100", {64 * kKiB, 0, 98304, 24 * 32, 1024, 32}},
    {Vendor::amd, "gfx1101", {64 * kKiB, 0, 98304, 24 * 32, 1024, 32}},
    {Vendor::amd, "gfx120", {64 * kKiB, 0, 98304, 24 * 32, 1024, 32}},
};

/// Intel's limits are hardware threads, each of one sub-group.
UnitLimits intel_limits(std::string_view name, std::size_t sub_group_width) {
  struct Core {
    std::string_view prefix;
    std::size_t threads, local_kib, register_bytes;  // of a thread: 128 registers of 32 or 64 bytes
  };
  constexpr Core kCores[] = {{"tgl", 112, 64, 4096}, {"dg2", 128, 128, 4096}, {"pvc", 64, 128, 8192}};
  for (const Core& core : kCores) {
    if (!name.starts_with(core.prefix)) continue;
    return {
        core.local_kib * kKiB,          0, core.threads * core.register_bytes / 4, core.register_bytes / 4,
        core.threads * sub_group_width, 64};
  }
  return {};
}

}  // namespace

MatrixUnit plan::expected_matrix_unit(const Device& device, std::size_t dpas_lanes) {
  const std::string_view name = device.architecture;
  if (device.type != DeviceType::gpu || device.platform == "rusticl") return MatrixUnit::none;
  if (device.vendor == Vendor::intel) {
    return dpas_lanes == 8 ? MatrixUnit::dpas8 : dpas_lanes == 16 ? MatrixUnit::dpas16 : MatrixUnit::none;
  }
  if (device.vendor != Vendor::amd || device.platform != "AMD Accelerated Parallel Processing")
    return MatrixUnit::none;
  // In waves of the width that the unit's instructions need.
  if (device.sub_group_width == 64) {
    if (name == "gfx90a") return MatrixUnit::mfma;
    if (name.starts_with("gfx94") || name == "gfx950") return MatrixUnit::mfma_cdna3;
  } else if (device.sub_group_width == 32) {
    if (name.starts_with("gfx11")) return MatrixUnit::wmma;
    if (name.starts_with("gfx12")) return MatrixUnit::wmma_rdna4;
  }
  return MatrixUnit::none;
}

UnitLimits unit_limits(const Device& device) {
  const std::string_view name = device.architecture;
  if (device.type == DeviceType::cpu) return {};
  if (device.vendor == Vendor::intel) return intel_limits(name, device.sub_group_width);
  const Row* best = nullptr;
  for (const Row& row : kRows) {
    if (row.vendor != device.vendor || !name.starts_with(row.prefix)) continue;
    // "sm_9" is no prefix of a number: compute capabilities are compared whole.
    if (device.vendor == Vendor::nvidia && name != row.prefix) continue;
    if (best == nullptr || row.prefix.size() > best->prefix.size()) best = &row;
  }
  return best == nullptr ? UnitLimits{} : best->limits;
}

}  // namespace smem
