#include "plan/banks.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace smem::plan {

std::size_t conflict_degree(const Device& device, std::span<const std::size_t> byte_addresses,
                            std::size_t access_bytes) {
  if (device.local_is_cache || byte_addresses.empty()) return 1;
  const std::size_t served =
      std::max<std::size_t>(device.local_banks * device.local_bank_bytes / access_bytes, 1);
  const std::size_t at_once = std::min(served, device.local_banks);
  std::size_t worst = 1;
  for (std::size_t first = 0; first < byte_addresses.size(); first += at_once) {
    std::vector<std::set<std::size_t>> words(device.local_banks);
    for (const std::size_t address :
         byte_addresses.subspan(first, std::min(at_once, byte_addresses.size() - first))) {
      const std::size_t last_word = (address + access_bytes - 1) / device.local_bank_bytes;
      for (std::size_t word = address / device.local_bank_bytes; word <= last_word; ++word) {
        words[word % device.local_banks].insert(word);
      }
    }
    for (const auto& of_bank : words)
      worst = std::max(worst, of_bank.size());
  }
  return worst;
}

std::size_t address_of(const LocalLayout& layout, Item item) {
  const std::size_t col = item.col ^ (item.row & layout.swizzle_mask);
  return (item.row * layout.stride + col) * layout.item_bytes;
}

void predict_conflicts(const Device& device, LocalLayout& layout, const AccessPattern& write,
                       const AccessPattern& read) {
  std::vector<std::size_t> writes, reads;
  for (std::size_t work_item = 0; work_item < device.sub_group_width; ++work_item) {
    writes.push_back(address_of(layout, write(work_item)));
    reads.push_back(address_of(layout, read(work_item)));
  }
  layout.store_degree = conflict_degree(device, writes, layout.item_bytes);
  layout.load_degree = conflict_degree(device, reads, layout.item_bytes);
}

}  // namespace smem::plan
