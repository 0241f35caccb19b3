// Inclusive scans: reduce, exchange the totals, scan from what the blocks before make.
#include <smem/distributed/scan.hpp>

#include "distributed/checks.hpp"
#include "distributed/handles.hpp"

#include <smem/reduce.hpp>

#include <cstring>

namespace smem::distributed {

namespace {

using detail::Bytes;
using detail::part;
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

/// Of each block its total, then its first element, as results of the operation, of all ranks.
Bytes ends_of_blocks(State& state, const Rows& in, Scalar type, const Reduction& operation) {
  std::vector<Temporary> ends;
  for (const Block& block : in.blocks()) {
    if (block.handle == nullptr || in.blocks().size() == 1) continue;
    const Temporary& both = ends.emplace_back(std::size_t{2}, size_of(type));
    state.submit(
        "reduce", {{block.handle, Access::read}, {both.handle(), Access::write}},
        [type, operation, in_type = in.type()](const Context& context, std::span<const Piece> pieces) {
          const smem::Vector elements = pieces[0].vector(in_type), results = pieces[1].vector(type);
          smem::reduce(context, elements, part(results, 0, 1), operation);
          smem::reduce(context, part(elements, 0, 1), part(results, 1, 1), operation);
        });
  }
  const Bytes mine = detail::bytes_of(state, ends, 2 * size_of(type));
  return state.gather(mine.data(), mine.size());
}

/// What block i begins with, or in place of its first element its total: what the blocks before it make.
/// `which`: 1 or 0.
Bytes totals_and(const Bytes& ends, std::size_t i, std::size_t which, std::size_t bytes) {
  Bytes numbers;
  for (std::size_t block = 0; block <= i; ++block) {
    const std::size_t number = 2 * block + (block == i ? which : 0);
    const auto place = ends.begin() + static_cast<std::ptrdiff_t>(number * bytes);
    numbers.insert(numbers.end(), place, place + static_cast<std::ptrdiff_t>(bytes));
  }
  return numbers;
}

Bytes reduced(State& state, const Bytes& numbers, Scalar type, const Reduction& operation) {
  Bytes result(size_of(type));
  state.here([&](const Context& context) {
    const cl::Buffer row = make_buffer(context, numbers.size()), to = make_buffer(context, result.size());
    write_buffer(context, row, numbers.data(), numbers.size());
    smem::reduce(context, ConstVector(row(), type, numbers.size() / result.size()),
                 smem::Vector(to(), type, 1), operation);
    read_buffer(context, to, result.data(), result.size());
  });
  return result;
}

/// Scans a block behind others: an exclusive scan that leaves out the first element, and begins with the
/// first result, then the last result, of `totals`.
void scan_behind(State& state, Handle from, ElementType in_type, Handle to, ElementType out_type,
                 std::size_t elements, const Initial& initial, const Bytes& totals, Scalar type,
                 const Reduction& operation) {
  const Temporary row(totals.size() / size_of(type), size_of(type));
  detail::write_handle(state, row.handle(), totals.data(), 0, totals.size(), false);
  state.submit("inclusive_scan", {{from, Access::read}, {to, Access::write}, {row.handle(), Access::read}},
               [=](const Context& context, std::span<const Piece> pieces) {
                 const smem::Vector in = pieces[0].vector(in_type), out = pieces[1].vector(out_type);
                 smem::exclusive_scan(context, part(in, 1, elements - 1), part(out, 0, elements - 1),
                                      operation, initial);
                 smem::reduce(context, pieces[2].vector(type), part(out, elements - 1, 1), operation);
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
    const Bytes ends = ends_of_blocks(state, in, type, operation);
    state.agree(kScan);
    for (std::size_t i = 0; i < in.blocks().size(); ++i) {
      const Handle from = in.blocks()[i].handle, to = out.blocks()[i].handle;
      if (from == nullptr) continue;
      if (i == 0) {
        state.submit("inclusive_scan", {{from, Access::read}, {to, Access::write}},
                     [=](const Context& context, std::span<const Piece> pieces) {
                       smem::inclusive_scan(context, pieces[0].vector(in_type), pieces[1].vector(out_type),
                                            operation);
                     });
        continue;
      }
      const Bytes first = reduced(state, totals_and(ends, i, 1, size_of(type)), type, operation);
      scan_behind(state, from, in_type, to, out_type, in.blocks()[i].rows * in.row_elements(),
                  initial_of(first.data(), type), totals_and(ends, i, 0, size_of(type)), type, operation);
    }
    out.set_has_values();
  });
}

}  // namespace smem::distributed
