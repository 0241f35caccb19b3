// Bytes that are kept four to a word (cl/select/packed.clh): NVIDIA's selections use it with an instruction
// of their own; here it runs in plain OpenCL C.
#include <smem/smem.hpp>

#include "support/random.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

constexpr std::size_t kItems = 64;

// Each work-item appends its 16 bytes behind those of the work-items before it, among words that are not
// zero.
constexpr const char* kSource = R"(
#define REGISTERS 0
#include "common/attributes.clh"
#include "select/packed.clh"
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void append(global const uint* in, global const uint* chosen, global const uint* places, global uint* out) {
  local uint words[64 * 4], selectors[16];
  const uint item = get_local_id(0), from = get_global_id(0), end = places[from] + popcount(chosen[from]);
  for (uint w = 0; w < 4; ++w) words[w * 64 + item] = 0xa5a5a5a5;
  if (item < 16) selectors[item] = selector_of(item);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint x[4];
  for (uint w = 0; w < 4; ++w) x[w] = in[from * 4 + w];
  const uint rest = append_bytes(x, chosen[from], places[from], words, selectors);
  if (item == 63 && end % 4 != 0) words[end / 4] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  add_rest(rest, end, words);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint w = 0; w < 4; ++w) out[get_group_id(0) * 256 + w * 64 + item] = words[w * 64 + item];
}
)";

}  // namespace

TEST_CASE("select: bytes appended four at a time") {
  const smem::Context context;
  const smem::Kernel kernel = context.build({.source = kSource, .entry_point = "append"});
  constexpr std::size_t kGroups = 24;
  test::Random random(17);
  std::vector<std::uint32_t> in(kGroups * kItems * 4), chosen(kGroups * kItems), places(kGroups * kItems);
  std::vector<std::uint32_t> expected(in.size(), 0xa5a5a5a5U);
  for (std::uint32_t& word : in)
    word = static_cast<std::uint32_t>(random.next()) | 0x01010101U;  // no byte is zero
  for (std::size_t group = 0; group < kGroups; ++group) {
    const std::size_t per_cent = group * 100 / (kGroups - 1);  // none to all
    std::size_t place = 0;
    for (std::size_t item = 0; item < kItems; ++item) {
      const std::size_t at = group * kItems + item;
      places[at] = static_cast<std::uint32_t>(place);
      for (std::size_t k = 0; k < 16; ++k) {
        if (random.between(1, 100) > per_cent) continue;
        chosen[at] |= 1U << k;
        const std::uint32_t byte = in[at * 4 + k / 4] >> k % 4 * 8 & 255U;
        std::uint32_t& word = expected[group * kItems * 4 + place / 4];
        word = (place % 4 == 0 ? 0 : word) | byte << place % 4 * 8;
        ++place;
      }
    }
  }
  const smem::Array<std::uint32_t> in_array(context, in), chosen_array(context, chosen),
      places_array(context, places), out(context, smem::Count{in.size()});
  kernel({.global = {kGroups * kItems, 1, 1}, .work_group = {kItems, 1, 1}}, in_array, chosen_array,
         places_array, out);
  CHECK(out.to_host() == expected);
}
