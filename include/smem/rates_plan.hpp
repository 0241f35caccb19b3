/// smem: plans for measuring what a device reaches. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/plan.hpp>

#include <cstddef>

namespace smem {

/// The copy of `bytes` bytes, a multiple of 64, from one buffer to another.
SMEM_API Plan plan_rates_copy(const Device& device, std::size_t bytes);

/// `rounds` rounds of fp32 multiply-adds on the whole device; the output has one float a work-item.
SMEM_API Plan plan_rates_fp32(const Device& device, std::size_t rounds);

}  // namespace smem
