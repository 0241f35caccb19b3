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

}  // namespace

void inclusive_scan(const Rows& in, Rows& out, const Reduction& operation) {
  constexpr const char* kOperation = "distributed::inclusive_scan";
  State& state = in.session().state();
  const auto check = [&](Signature& signature) {
    signature.add(operation);
    detail::check_input(kOperation, "in", state, in, signature);
    detail::check_output(kOperation, "out", state, out, signature);
    detail::check_same_layout(kOperation, "out", out, in);
    if (&in == &out) detail::refuse(kOperation, "out", "other data than in", "in itself");
    if (!in.type().scalar) detail::refuse(kOperation, "in", "numbers", "opaque elements");
    if (!out.type().scalar) detail::refuse(kOperation, "out", "numbers", "opaque elements");
  };
  state.collective(kOperation, check, [&] {
    const ElementType in_type = in.type(), out_type = out.type();
    // What is rounded to half is rounded once, at the end.
    const bool is_half =
        out.type() == Scalar::half && (operation.op == ReduceOp::sum || operation.op == ReduceOp::product);
    const Scalar type = is_half ? Scalar::float32 : *out.type().scalar;
    const std::size_t bytes = size_of(type), blocks = in.blocks().size();

    // Of each block its total, then its first element, as results of the operation.
    std::vector<Temporary> ends;
    if (blocks > 1) {
      for (const Block& block : in.blocks()) {
        if (block.handle == nullptr) continue;
        const Temporary& both = ends.emplace_back(std::size_t{2}, bytes);
        state.submit("reduce", {{block.handle, Access::read}, {both.handle(), Access::write}},
                     [=](const Context& context, std::span<const Piece> pieces) {
                       const smem::Vector elements = pieces[0].vector(in_type),
                                          results = pieces[1].vector(type);
                       smem::reduce(context, elements, part(results, 0, 1), operation);
                       smem::reduce(context, part(elements, 0, 1), part(results, 1, 1), operation);
                     });
      }
    }
    Bytes mine;
    for (const Temporary& both : ends) {
      const Bytes numbers = detail::bytes_of(state, both.handle(), 2 * bytes);
      mine.insert(mine.end(), numbers.begin(), numbers.end());
    }
    Bytes all;
    for (const Bytes& of_rank : state.allgather(mine.data(), mine.size()))
      all.insert(all.end(), of_rank.begin(), of_rank.end());
    state.agree(kOperation);

    // What block i begins with, or in place of its first element its total: what the blocks before it make.
    const auto totals_and = [&](std::size_t i, std::size_t which) {
      Bytes numbers;
      for (std::size_t block = 0; block <= i; ++block) {
        const std::size_t number = 2 * block + (block == i ? which : 0);
        const auto place = all.begin() + static_cast<std::ptrdiff_t>(number * bytes);
        numbers.insert(numbers.end(), place, place + static_cast<std::ptrdiff_t>(bytes));
      }
      return numbers;
    };
    const auto reduced = [&](const Bytes& numbers) {
      Bytes result(bytes);
      state.here([&](const Context& context) {
        const cl::Buffer row = make_buffer(context, numbers.size()), to = make_buffer(context, bytes);
        write_buffer(context, row, numbers.data(), numbers.size());
        smem::reduce(context, ConstVector(row(), type, numbers.size() / bytes), smem::Vector(to(), type, 1),
                     operation);
        read_buffer(context, to, result.data(), bytes);
      });
      return result;
    };
    for (std::size_t i = 0; i < blocks; ++i) {
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
      // An exclusive scan that leaves out the first element, and begins with the first result.
      const std::size_t rows = in.blocks()[i].rows * in.row_elements();
      const Initial initial = initial_of(reduced(totals_and(i, 1)).data(), type);
      const Bytes totals = totals_and(i, 0);
      const Temporary row(i + 1, bytes);
      detail::write_handle(state, row.handle(), totals.data(), 0, totals.size(), false);
      state.submit(
          "inclusive_scan", {{from, Access::read}, {to, Access::write}, {row.handle(), Access::read}},
          [=](const Context& context, std::span<const Piece> pieces) {
            const smem::Vector elements = pieces[0].vector(in_type), result = pieces[1].vector(out_type);
            smem::exclusive_scan(context, part(elements, 1, rows - 1), part(result, 0, rows - 1), operation,
                                 initial);
            smem::reduce(context, pieces[2].vector(type), part(result, rows - 1, 1), operation);
          });
    }
    out.set_has_values();
  });
}

}  // namespace smem::distributed
