// Selection: of each block, then of what the blocks found.
#include <smem/distributed/sort.hpp>

#include "distributed/checks.hpp"
#include "distributed/handles.hpp"

#include <algorithm>
#include <cstring>

namespace smem::distributed::detail {

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
    struct Found {
      Temporary values, places;
      std::size_t count, first;
    };
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
    Bytes my_values;
    std::vector<std::uint64_t> my_places;
    for (const Found& found : of_blocks) {
      const Bytes of_block = bytes_of(state, found.values.handle(), found.count * type.bytes);
      my_values.insert(my_values.end(), of_block.begin(), of_block.end());
      std::vector<std::uint64_t> within(found.count);
      read_handle(state, found.places.handle(), within.data(), 0, found.count * sizeof(std::uint64_t));
      for (const std::uint64_t place : within)
        my_places.push_back(found.first + place);
    }
    const Bytes all_values = state.gather(my_values.data(), my_values.size()),
                all_places = state.gather(my_places.data(), my_places.size() * sizeof(std::uint64_t));

    // Blocks stand in their order, so that of equal elements the first is the one at the lowest place.
    if (state.rank() == 0) {
      const Temporary from(all_values.size() / type.bytes, type.bytes), best(k, type.bytes),
          which_of_them(k, sizeof(std::uint64_t));
      write_handle(state, from.handle(), all_values.data(), 0, all_values.size(), false);
      state.submit("top_k",
                   {{from.handle(), Access::read},
                    {best.handle(), Access::write},
                    {which_of_them.handle(), Access::write}},
                   [=](const Context& context, std::span<const Piece> pieces) {
                     smem::top_k(context, pieces[0].vector(type), pieces[1].vector(type),
                                 pieces[2].vector(Scalar::uint64), which);
                   });
      read_handle(state, best.handle(), values, 0, k * type.bytes);
      std::vector<std::uint64_t> chosen(k);
      read_handle(state, which_of_them.handle(), chosen.data(), 0, k * sizeof(std::uint64_t));
      const std::size_t candidates = all_places.size() / sizeof(std::uint64_t);
      for (std::size_t i = 0; i < k; ++i) {
        const std::uint64_t one =
            std::min<std::uint64_t>(chosen[i], candidates - 1);  // of a failed task anything
        std::memcpy(places + i, all_places.data() + one * sizeof(std::uint64_t), sizeof(std::uint64_t));
      }
    }
    state.broadcast(values, k * type.bytes);
    state.broadcast(places, k * sizeof(std::uint64_t));
  });
}

}  // namespace smem::distributed::detail
