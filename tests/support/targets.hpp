/// Facts of devices that need not be here, written by hand: for plans that are made without a device.
///
/// Sources: CUDA C++ programming guide, technical specifications by compute capability; AMD's LLVM backend
/// (AMDGPU usage) and CDNA/RDNA instruction set documents, "local data share"; Intel oneAPI GPU optimization
/// guide. The OpenCL limits are what the vendors' drivers report.
#pragma once

#include <smem/device.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace test {

namespace targets {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kGiB = std::size_t{1} << 30;

inline smem::Device gpu(std::string name, smem::Vendor vendor, std::size_t sub_group, std::size_t work_group,
                        std::size_t local_bytes) {
  smem::Device device;
  device.name = name;
  device.platform = "written by hand";
  device.architecture = std::move(name);
  device.vendor = vendor;
  device.compute_units = 64;
  device.max_work_group = work_group;
  device.max_work_items = {work_group, work_group, work_group};
  device.sub_group_width = sub_group;
  device.local_bytes_reported = device.local_bytes = local_bytes;
  device.local_banks = vendor == smem::Vendor::intel ? 16 : 32;
  device.global_bytes = 16 * kGiB;
  device.max_allocation = 4 * kGiB;
  device.cache_bytes = std::size_t{4096} * kKiB;
  device.clock_mhz = 1500;
  device.fp64 = true;
  device.int64_atomics = true;
  device.unit = smem::unit_limits(device);
  return device;
}

/// Intel's GPUs for clients compute without fp64.
inline smem::Device without_fp64(smem::Device device) {
  device.fp64 = false;
  return device;
}

/// As Intel's drivers report them for GPUs.
inline smem::Device with_ballots(smem::Device device) {
  device.sub_groups = true;
  device.ballot_width = 16;
  return device;
}

inline smem::Device with_unit(smem::MatrixUnit unit, smem::Device device) {
  device.matrix_unit = unit;
  return device;
}

inline smem::Device nvidia(std::string name, std::size_t local_bytes = 48 * kKiB) {
  smem::Device device = gpu(std::move(name), smem::Vendor::nvidia, 32, 1024, local_bytes);
  device.local_bytes_reported = 48 * kKiB;
  device.max_work_items = {1024, 1024, 64};
  device.cache_line_bytes = 128;
  device.forward_progress = true;
  device.ordered_start = true;
  device.retargeting = device.architecture == "sm_90";
  return device;
}

inline smem::Device cpu() {
  smem::Device device;
  device.name = "cpu";
  device.platform = "written by hand";
  device.vendor_name = "GenuineIntel";
  device.type = smem::DeviceType::cpu;
  device.compute_units = 2;
  device.max_work_group = 4096;
  device.max_work_items = {4096, 4096, 4096};
  device.sub_group_width = 1;
  device.local_bytes_reported = device.local_bytes = 1024 * kKiB;
  device.local_is_cache = true;
  device.global_bytes = 16 * kGiB;
  device.max_allocation = 4 * kGiB;
  device.cache_bytes = 32768 * kKiB;
  device.vector_bytes = 64;
  device.fp64 = true;
  device.int64_atomics = true;
  return device;
}

}  // namespace targets

/// All of them. A device's name is the target's name, as compilers call it.
inline std::vector<smem::Device> all_targets() {
  using targets::gpu;
  using targets::kKiB;
  using targets::nvidia;
  using targets::with_ballots;
  using targets::with_unit;
  using targets::without_fp64;
  using enum smem::MatrixUnit;
  constexpr auto kAmd = smem::Vendor::amd;
  constexpr auto kIntel = smem::Vendor::intel;
  return {nvidia("sm_75"),
          nvidia("sm_86", 99 * kKiB),
          nvidia("sm_90", 227 * kKiB),
          with_unit(mfma, gpu("gfx90a", kAmd, 64, 1024, 64 * kKiB)),
          with_unit(mfma_cdna3, gpu("gfx942", kAmd, 64, 1024, 64 * kKiB)),
          gpu("gfx1030", kAmd, 32, 1024, 64 * kKiB),
          with_unit(wmma, gpu("gfx1100", kAmd, 32, 1024, 64 * kKiB)),
          with_unit(wmma_rdna4, gpu("gfx1201", kAmd, 32, 1024, 64 * kKiB)),
          with_ballots(without_fp64(gpu("tgllp", kIntel, 16, 512, 64 * kKiB))),
          with_unit(dpas8, with_ballots(without_fp64(gpu("dg2-g10", kIntel, 16, 1024, 64 * kKiB)))),
          with_unit(dpas16, with_ballots(gpu("pvc", kIntel, 32, 1024, 128 * kKiB))),
          targets::cpu()};
}

/// The one of that name. \throws std::invalid_argument when there is none.
inline smem::Device target(std::string_view name) {
  for (const smem::Device& device : all_targets()) {
    if (device.name == name) return device;
  }
  throw std::invalid_argument("no target " + std::string(name));
}

}  // namespace test
