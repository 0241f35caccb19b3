// Histograms: of each block on its device, added up over the ranks.
#include <smem/distributed/histogram.hpp>

#include "distributed/checks.hpp"
#include "distributed/handles.hpp"
#include "with_type.hpp"

#include <cstring>
#include <type_traits>

namespace smem::distributed {

namespace {

using detail::Signature;
using detail::State;
using detail::Temporary;

constexpr const char* kOperation = "distributed::histogram";

/// \throws Error unless the edges ascend: as check_edges(), which waits for a device.
void check_ascending(const detail::Bytes& edges, Scalar type) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const auto at = [&](std::size_t i) {
      T edge;
      std::memcpy(&edge, edges.data() + i * sizeof edge, sizeof edge);
      if constexpr (std::is_class_v<T>) {
        return static_cast<float>(edge);
      } else {
        return edge;
      }
    };
    for (std::size_t i = 0; i < edges.size() / sizeof(T); ++i) {
      const auto edge = at(i), before = at(i == 0 ? 0 : i - 1);
      if (!(before <= edge)) {
        detail::refuse(
            kOperation, "edges", "ascending numbers",
            std::to_string(edge) + " after " + std::to_string(before) + " at index " + std::to_string(i));
      }
    }
  });
}

/// `edges`: none, or the bytes of bins.count + 1 edges.
std::vector<std::uint64_t> counts_of(State& state, const Rows& in, const Bins& bins,
                                     const detail::Bytes& edges) {
  const ElementType type = in.type();
  Temporary edge_data;
  if (!edges.empty()) {
    edge_data = Temporary(edges.size() / type.bytes, type.bytes);
    detail::write_handle(state, edge_data.handle(), edges.data(), 0, edges.size(), false);
  }
  std::vector<Temporary> counts;
  for (const Block& block : in.blocks()) {
    if (block.handle == nullptr) continue;
    const Temporary& of_block = counts.emplace_back(bins.count, sizeof(std::uint64_t));
    std::vector<Argument> arguments = {{block.handle, Access::read}, {of_block.handle(), Access::write}};
    if (!edges.empty()) arguments.push_back({edge_data.handle(), Access::read});
    state.submit("histogram", arguments, [=](const Context& context, std::span<const Piece> pieces) {
      Bins here = bins;
      if (pieces.size() > 2) here.edges = pieces[2].vector(type);
      smem::histogram(context, pieces[0].vector(type), pieces[1].vector(Scalar::uint64), here);
    });
  }
  std::vector<std::uint64_t> sums(bins.count), of_block(bins.count);
  for (const Temporary& block : counts) {
    detail::read_handle(state, block.handle(), of_block.data(), 0, of_block.size() * sizeof(std::uint64_t));
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] += of_block[i];
  }
  state.sum(sums);
  return sums;
}

}  // namespace

std::vector<std::uint64_t> histogram(const Rows& in, const Bins& bins) {
  State& state = in.session().state();
  std::vector<std::uint64_t> counts;
  const auto check = [&](Signature& signature) {
    signature.add(bins.count).add(bins.low).add(bins.high).add(static_cast<int>(bins.outside));
    detail::check_input(kOperation, "in", state, in, signature);
    if (bins.edges.buffer != nullptr || bins.channels != 1) {
      detail::refuse(kOperation, "bins", "even bins of one channel",
                     "edges on a device, or several channels");
    }
    if (!in.type().scalar) detail::refuse(kOperation, "in", "numbers", "opaque elements");
    static_cast<void>(even_bins(*in.type().scalar, bins.count, bins.low, bins.high));
  };
  state.collective(kOperation, check, [&] { counts = counts_of(state, in, bins, {}); });
  return counts;
}

namespace detail {

std::vector<std::uint64_t> histogram_between(const Rows& in, const void* edges, std::size_t count,
                                             Outside outside) {
  State& state = in.session().state();
  std::vector<std::uint64_t> counts;
  const std::size_t bytes = count * in.type().bytes;
  const auto* first = static_cast<const std::byte*>(edges);
  const Bytes all(first, first + bytes);
  const auto check = [&](Signature& signature) {
    signature.add(std::string_view(static_cast<const char*>(edges), bytes)).add(static_cast<int>(outside));
    check_input(kOperation, "in", state, in, signature);
    if (count < 2 || count > kMaxBins + 1) {
      refuse(kOperation, "edges", "2 to 2^20 + 1 edges", std::to_string(count));
    }
    if (!in.type().scalar) refuse(kOperation, "in", "numbers", "opaque elements");
    check_ascending(all, *in.type().scalar);
  };
  state.collective(kOperation, check,
                   [&] { counts = counts_of(state, in, Bins{.count = count - 1, .outside = outside}, all); });
  return counts;
}

}  // namespace detail

}  // namespace smem::distributed
