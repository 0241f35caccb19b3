#include "runtime/ballots.hpp"
#include "formatted.hpp"

#include "runtime/trial.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

namespace smem::runtime {

namespace {

constexpr std::size_t kItems = 3, kRadixBits = 2, kRadix = std::size_t{1} << kRadixBits;

/// Of a work-item's item: all digits, and neighbours that share one.
std::uint32_t digit_of(std::size_t item, std::size_t u) {
  return static_cast<std::uint32_t>((item / 3 + item * item / 7 + u * 5) % kRadix);
}

std::uint32_t word_at(const std::vector<unsigned char>& bytes, std::size_t i) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + i * sizeof word, sizeof word);
  return word;
}

}  // namespace

bool ranks_by_ballots(cl_device_id id, const Device& device, std::size_t lanes) {
  const std::size_t group = 4 * lanes;
  if (lanes == 0 || group > device.max_work_group) return false;
  std::vector<std::uint32_t> digits(group * kItems), ranks(digits.size());
  for (std::size_t team = 0; team < group; team += lanes) {
    std::vector<std::uint32_t> counts(kRadix, 0);
    for (std::size_t u = 0; u < kItems; ++u) {
      for (std::size_t item = team; item < team + lanes; ++item) {
        const std::uint32_t digit = digit_of(item, u);
        digits[item * kItems + u] = digit;
        ranks[item * kItems + u] = counts[digit]++;
      }
    }
  }
  std::vector<std::vector<unsigned char>> contents(2);
  contents[0].resize(digits.size() * sizeof digits[0]);
  std::memcpy(contents[0].data(), digits.data(), contents[0].size());
  contents[1].assign(group * sizeof(std::uint32_t), 0xff);
  const Trial trial{.file = "ballot_trial.cl",
                    .entry_point = "ballot_trial",
                    .options = formatted("-cl-std={} -DGROUP={} -DLANES={} -DINTEL_SUB_GROUP={} -DITEMS={} "
                                         "-DRADIX_BITS={}",
                                         device.sub_group_language, group, lanes, lanes, kItems, kRadixBits),
                    .work_items = group};
  if (!run_trial(id, trial, contents)) return false;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (word_at(contents[0], i) != ranks[i]) return false;
  for (std::size_t item = 0; item < group; ++item)
    if (word_at(contents[1], item) != 0) return false;
  return true;
}

std::size_t usable_ballot_width(cl_device_id id, const Device& device, std::size_t expected) {
  if (expected == 0) return 0;
  const bool works = kept_answer(device, formatted("ballots of {}", expected),
                                 [&] { return ranks_by_ballots(id, device, expected); });
  return works ? expected : 0;
}

}  // namespace smem::runtime
