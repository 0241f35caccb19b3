// Selection: of each block, then of what the blocks found.
#include <smem/distributed/sort.hpp>

#include "distributed/checks.hpp"
#include "distributed/handles.hpp"

#include <algorithm>
#include <cstring>

namespace smem::distributed::detail {

namespace {

/// What a block found.
struct Found {
  Temporary values, places;
  std::size_t count, first;
};

/// What blocks found, each value with its place behind it, so that one message has both.
Bytes records_of(State& state, const std::vector<Found>& of_blocks, std::size_t value_bytes) {
  Bytes records;
  for (const Found& found : of_blocks) {
    const Bytes values = bytes_of(state, found.values.handle(), found.count * value_bytes);
    std::vector<std::uint64_t> places(found.count);
    read_handle(state, found.places.handle(), places.data(), 0, found.count * sizeof(std::uint64_t));
    for (std::size_t i = 0; i < found.count; ++i) {
      const std::uint64_t place = found.first + places[i];
      const auto* const bytes = reinterpret_cast<const std::byte*>(&place);
      const auto value = values.begin() + static_cast<std::ptrdiff_t>(i * value_bytes);
      records.insert(records.end(), value, value + static_cast<std::ptrdiff_t>(value_bytes));
      records.insert(records.end(), bytes, bytes + sizeof place);
    }
  }
  return records;
}

/// Of all records the best, as `k` values and then their places. Blocks stand in their order, so that of
/// equal elements the first is the one at the lowest place.
Bytes best_of(State& state, const Bytes& records, std::size_t k, const ElementType& type, const TopK& which) {
  const std::size_t record = type.bytes + sizeof(std::uint64_t), candidates = records.size() / record;
  Bytes values(candidates * type.bytes), results(k * record);
  for (std::size_t i = 0; i < candidates; ++i)
    std::memcpy(values.data() + i * type.bytes, records.data() + i * record, type.bytes);
  const Temporary from(candidates, type.bytes), best(k, type.bytes), chosen(k, sizeof(std::uint64_t));
  write_handle(state, from.handle(), values.data(), 0, values.size(), false);
  state.submit(
      "top_k",
      {{from.handle(), Access::read}, {best.handle(), Access::write}, {chosen.handle(), Access::write}},
      [=](const Context& context, std::span<const Piece> pieces) {
        smem::top_k(context, pieces[0].vector(type), pieces[1].vector(type), pieces[2].vector(Scalar::uint64),
                    which);
      });
  read_handle(state, best.handle(), results.data(), 0, k * type.bytes);
  std::vector<std::uint64_t> numbers(k);
  read_handle(state, chosen.handle(), numbers.data(), 0, k * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < k; ++i) {
    const std::uint64_t one =
        std::min<std::uint64_t>(numbers[i], candidates - 1);  // of a failed task anything
    std::memcpy(results.data() + k * type.bytes + i * sizeof(std::uint64_t),
                records.data() + one * record + type.bytes, sizeof(std::uint64_t));
  }
  return results;
}

}  // namespace

void top_k_to_host(const Rows& in, std::size_t k, const TopK& which, void* values, std::uint64_t* places) {
  constexpr const char* kOperation = "distributed::top_k";
  State& state = in.session().state();
  const ElementType type = in.type();
  const auto check = [&](Signature& signature) {
    signature.add(k).add(which.least).add(which.sorted).add(which.total_order).add(which.nan_least);
    check_input(kOperation, "in", state, in, signature);
    if (!type.scalar) refuse(kOperation, "in", "numbers", "opaque elements");
    if (k > in.elements()) {
      refuse(kOperation, "k", "at most " + std::to_string(in.elements()) + ", the elements",
             std::to_string(k));
    }
  };
  state.collective(kOperation, check, [&] {
    if (k == 0) return;
    std::vector<Found> of_blocks;
    for (const Block& block : in.blocks()) {
      if (block.handle == nullptr) continue;
      const std::size_t count = std::min(k, block.rows * in.row_elements());
      const Found& found =
          of_blocks.emplace_back(Found{Temporary(count, type.bytes), Temporary(count, sizeof(std::uint64_t)),
                                       count, block.first * in.row_elements()});
      state.submit("top_k",
                   {{block.handle, Access::read},
                    {found.values.handle(), Access::write},
                    {found.places.handle(), Access::write}},
                   [=](const Context& context, std::span<const Piece> pieces) {
                     smem::top_k(context, pieces[0].vector(type), pieces[1].vector(type),
                                 pieces[2].vector(Scalar::uint64), which);
                   });
    }
    const Bytes mine = records_of(state, of_blocks, type.bytes), all = state.gather(mine.data(), mine.size());
    Bytes results(k * (type.bytes + sizeof(std::uint64_t)));
    if (state.rank() == 0) results = best_of(state, all, k, type, which);
    state.broadcast(results.data(), results.size());
    std::memcpy(values, results.data(), k * type.bytes);
    std::memcpy(places, results.data() + k * type.bytes, k * sizeof(std::uint64_t));
  });
}

}  // namespace smem::distributed::detail
