// Histograms: of each block on its device, added up over the ranks.
#include <smem/distributed/histogram.hpp>

#include "distributed/checks.hpp"
#include "distributed/handles.hpp"

namespace smem::distributed {

namespace {

using detail::Signature;
using detail::State;
using detail::Temporary;

constexpr const char* kHistogram = "distributed::histogram";

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
      if (pieces.size() > 2) {
        here.edges = pieces[2].vector(type);
        smem::check_edges(context, here.edges);
      }
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
    detail::check_input(kHistogram, "in", state, in, signature);
    if (bins.edges.buffer != nullptr || bins.channels != 1) {
      detail::refuse(kHistogram, "bins", "even bins of one channel",
                     "edges on a device, or several channels");
    }
    if (!in.type().scalar) detail::refuse(kHistogram, "in", "numbers", "opaque elements");
    static_cast<void>(even_bins(*in.type().scalar, bins.count, bins.low, bins.high));
  };
  state.collective(kHistogram, check, [&] { counts = counts_of(state, in, bins, {}); });
  return counts;
}

namespace detail {

std::vector<std::uint64_t> histogram_between(const Rows& in, const void* edges, std::size_t count,
                                             Outside outside) {
  State& state = in.session().state();
  std::vector<std::uint64_t> counts;
  const std::size_t bytes = count * in.type().bytes;
  const auto check = [&](Signature& signature) {
    signature.add(std::string_view(static_cast<const char*>(edges), bytes)).add(static_cast<int>(outside));
    check_input(kHistogram, "in", state, in, signature);
    if (count < 2 || count > kMaxBins + 1) {
      refuse(kHistogram, "edges", "2 to 2^20 + 1 edges", std::to_string(count));
    }
  };
  state.collective(kHistogram, check, [&] {
    const auto* first = static_cast<const std::byte*>(edges);
    counts = counts_of(state, in, Bins{.count = count - 1, .outside = outside}, Bytes(first, first + bytes));
  });
  return counts;
}

}  // namespace detail

}  // namespace smem::distributed
