// Inclusive scans: reduce, exchange the totals, scan from what the blocks before make.
#include <smem/distributed/scan.hpp>

#include "distributed/checks.hpp"
#include "distributed/handles.hpp"

#include <smem/reduce.hpp>

#include <cstring>

namespace smem::distributed {

namespace {

using detail::Bytes;
using detail::Signature;
using detail::State;
using detail::Temporary;

/// The number at `bytes`, as a scan begins with it.
Initial initial_of(const std::byte* bytes, Scalar type) {
  const auto get = [&](auto number) {
    std::memcpy(&number, bytes, sizeof number);
    return number;
  };
  switch (type) {
    case Scalar::int8:
      return get(std::int8_t{});
    case Scalar::int16:
      return get(std::int16_t{});
    case Scalar::int32:
      return get(std::int32_t{});
    case Scalar::int64:
      return get(std::int64_t{});
    case Scalar::uint8:
      return get(std::uint8_t{});
    case Scalar::uint16:
      return get(std::uint16_t{});
    case Scalar::uint32:
      return get(std::uint32_t{});
    case Scalar::uint64:
      return get(std::uint64_t{});
    case Scalar::half:
      return static_cast<double>(static_cast<float>(get(half{})));
    case Scalar::bfloat16:
      return static_cast<double>(static_cast<float>(get(bfloat16{})));
    case Scalar::e4m3:
      return static_cast<double>(static_cast<float>(get(e4m3{})));
    case Scalar::e5m2:
      return static_cast<double>(static_cast<float>(get(e5m2{})));
    case Scalar::float32:
      return static_cast<double>(get(float{}));
    case Scalar::float64:
      return get(double{});
  }
  return {};
}

constexpr const char* kScan = "distributed::inclusive_scan";

void check_scan(Signature& signature, State& state, const Rows& in, const Rows& out,
                const Reduction& operation) {
  signature.add(operation);
  detail::check_input(kScan, "in", state, in, signature);
  detail::check_output(kScan, "out", state, out, signature);
  detail::check_same_layout(kScan, "out", out, in);
  if (&in == &out) detail::refuse(kScan, "out", "an object other than in", "in itself");
  if (!in.type().scalar) detail::refuse(kScan, "in", "numbers", "opaque elements");
  if (!out.type().scalar) detail::refuse(kScan, "out", "numbers", "opaque elements");
}

/// The totals of all ranks' blocks but the last one.
Bytes totals_of_blocks(State& state, const Rows& in, Scalar type, const Reduction& operation) {
  std::vector<Temporary> totals;
  for (std::size_t i = 0; i + 1 < in.blocks().size(); ++i) {
    const Handle block = in.blocks()[i].handle;
    if (block == nullptr) continue;
    const Temporary& total = totals.emplace_back(std::size_t{1}, size_of(type));
    state.submit(
        "reduce", {{block, Access::read}, {total.handle(), Access::write}},
        [type, operation, in_type = in.type()](const Context& context, std::span<const Piece> pieces) {
          smem::reduce(context, pieces[0].vector(in_type), pieces[1].vector(type), operation);
        });
  }
  const Bytes mine = detail::bytes_of(state, totals, size_of(type));
  return state.gather(mine.data(), mine.size());
}

/// Scanned in place: what the blocks up to each one make together.
void scan_totals(State& state, Bytes& totals, Scalar type, const Reduction& operation) {
  const std::size_t count = totals.size() / size_of(type);
  if (count < 2) return;
  state.here([&](const Context& context) {
    const cl::Buffer row = make_buffer(context, totals.size());
    write_buffer(context, row, totals.data(), totals.size());
    smem::inclusive_scan(context, ConstVector(row(), type, count), smem::Vector(row(), type, count),
                         operation);
    read_buffer(context, row, totals.data(), totals.size());
  });
}

}  // namespace

void inclusive_scan(const Rows& in, Rows& out, const Reduction& operation) {
  State& state = in.session().state();
  const auto check = [&](Signature& signature) { check_scan(signature, state, in, out, operation); };
  state.collective(kScan, check, [&] {
    const ElementType in_type = in.type(), out_type = out.type();
    // What is rounded to half is rounded once, at the end.
    const bool is_half =
        out.type() == Scalar::half && (operation.op == ReduceOp::sum || operation.op == ReduceOp::product);
    const Scalar type = is_half ? Scalar::float32 : *out.type().scalar;
    const auto scan = [&](std::size_t block, const Initial& initial) {
      const Handle from = in.blocks()[block].handle, to = out.blocks()[block].handle;
      if (from == nullptr) return;
      state.submit("inclusive_scan", {{from, Access::read}, {to, Access::write}},
                   [=](const Context& context, std::span<const Piece> pieces) {
                     smem::inclusive_scan(context, pieces[0].vector(in_type), pieces[1].vector(out_type),
                                          operation, initial, {});
                   });
    };
    Bytes totals = totals_of_blocks(state, in, type, operation);
    if (!in.blocks().empty()) scan(0, {});
    state.agree(kScan);
    scan_totals(state, totals, type, operation);
    for (std::size_t i = 1; i < in.blocks().size(); ++i)
      scan(i, initial_of(totals.data() + (i - 1) * size_of(type), type));
    out.set_has_values();
  });
}

}  // namespace smem::distributed
