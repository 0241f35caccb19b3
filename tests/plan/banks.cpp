// Bank-conflict degrees of cases that are known from the literature and easy to count by hand.
#include "plan/banks.hpp"

#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace {

/// The degree of a wave whose work-item k reads `bytes` at k * stride.
std::size_t strided(const smem::Device& device, std::size_t stride, std::size_t bytes) {
  std::vector<std::size_t> addresses;
  for (std::size_t k = 0; k < device.sub_group_width; ++k)
    addresses.push_back(k * stride);
  return smem::plan::conflict_degree(device, addresses, bytes);
}

}  // namespace

TEST_CASE("banks: strides of words on 32 banks") {
  const smem::Device device = test::targets::nvidia("sm_90");
  CHECK(strided(device, 4, 4) == 1);        // neighbours
  CHECK(strided(device, 8, 4) == 2);        // every second word
  CHECK(strided(device, 12, 4) == 1);       // an odd stride has no conflict
  CHECK(strided(device, 16, 4) == 4);       //
  CHECK(strided(device, 32 * 4, 4) == 32);  // a column of a 32 x 32 tile
  CHECK(strided(device, 33 * 4, 4) == 1);   // of a padded one
  CHECK(strided(device, 0, 4) == 1);        // the same word for all: a broadcast
  CHECK(strided(device, 1, 1) == 1);        // bytes of the same words: also
  CHECK(strided(device, 32, 1) == 8);       // a column of a 32 x 32 tile of bytes
  CHECK(strided(device, 36, 1) == 1);
  CHECK(strided(device, 64, 2) == 16);  // of 16-bit elements
}

TEST_CASE("banks: wide accesses go in phases") {
  const smem::Device device = test::targets::nvidia("sm_90");
  CHECK(strided(device, 8, 8) == 1);  // 16 work-items at once
  CHECK(strided(device, 16, 16) == 1);
  CHECK(strided(device, 32 * 8, 8) == 16);
  CHECK(strided(device, 33 * 8, 8) == 1);
  CHECK(strided(device, 32 * 16, 16) == 8);
}

TEST_CASE("banks: other numbers of banks and a CPU") {
  const smem::Device intel = test::targets::gpu("dg2", smem::Vendor::intel, 16, 1024, 65536);
  CHECK(intel.local_banks == 16);
  CHECK(strided(intel, 64, 4) == 16);
  CHECK(strided(intel, 68, 4) == 1);
  CHECK(strided(test::targets::cpu(), 4096, 4) == 1);
  CHECK(smem::plan::conflict_degree(intel, {}, 4) == 1);
  // A wave of 64 on 32 banks: two phases, each judged by itself.
  const smem::Device amd = test::targets::gpu("gfx90a", smem::Vendor::amd, 64, 1024, 65536);
  CHECK(strided(amd, 4, 4) == 1);
  CHECK(strided(amd, 128, 4) == 32);
}

TEST_CASE("banks: addresses of padded and swizzled layouts") {
  smem::LocalLayout layout;
  layout.rows = layout.cols = 32;
  layout.item_bytes = 4;
  layout.stride = 33;
  CHECK(smem::plan::address_of(layout, {2, 5}) == (2 * 33 + 5) * 4);
  layout.stride = 32;
  layout.swizzle_mask = 31;
  CHECK(smem::plan::address_of(layout, {2, 5}) == (2 * 32 + (5 ^ 2)) * 4);
}
