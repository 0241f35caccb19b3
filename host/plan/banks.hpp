/// Bank conflicts of local memory, computed from addresses.
#pragma once

#include <smem/device.hpp>
#include <smem/plan.hpp>

#include <cstddef>
#include <functional>
#include <span>

namespace smem::plan {

/// How many times longer than without conflicts a wave's access takes: work-items go in phases, as many at
/// once as the banks can serve `access_bytes` each; in a phase, a bank delivers its distinct words one after
/// the other. The same word asked for by several work-items is delivered once. The slowest phase counts. 1 on
/// a device whose local memory is ordinary cached memory.
std::size_t conflict_degree(const Device& device, std::span<const std::size_t> byte_addresses,
                            std::size_t access_bytes);

/// Which item (row, col) a work-item of a wave touches.
struct Item {
  std::size_t row;
  std::size_t col;
};
using AccessPattern = std::function<Item(std::size_t work_item)>;

/// Fills in the layout's conflict degrees for one wave of writes and one of reads.
void predict_conflicts(const Device& device, LocalLayout& layout, const AccessPattern& write,
                       const AccessPattern& read);

/// The byte address of an item.
std::size_t address_of(const LocalLayout& layout, Item item);

}  // namespace smem::plan
