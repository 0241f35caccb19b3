// Reductions: each block on its device, the blocks' results on rank 0.
#include <smem/distributed/reduce.hpp>

#include "distributed/checks.hpp"
#include "distributed/combine.hpp"
#include "distributed/handles.hpp"

#include <cmath>
#include <cstring>

namespace smem::distributed::detail {

namespace {

/// How the results of blocks are kept and combined.
struct Parts {
  Reduction block;        ///< of a block
  Reduction combine;      ///< of the blocks' results
  Scalar type;            ///< of a block's result
  std::size_t width = 1;  ///< numbers of a block's result
};

Parts parts_of(const Reduction& reduction, Scalar in, Scalar out) {
  // What is rounded to half is rounded once, at the end.
  const Scalar wide = out == Scalar::half ? Scalar::float32 : out;
  switch (reduction.op) {
    case ReduceOp::minmax:
      return {reduction, reduction, out, 2};
    case ReduceOp::argmin:
      return {ReduceOp::min, reduction, in};
    case ReduceOp::argmax:
      return {ReduceOp::max, reduction, in};
    case ReduceOp::mean: {
      const Scalar sum = is_float(in) ? wide : is_signed(in) ? Scalar::int64 : Scalar::uint64;
      return {{ReduceOp::sum, reduction.mode}, {ReduceOp::sum, reduction.mode}, sum};
    }
    case ReduceOp::dot:
      return {reduction, {ReduceOp::sum, reduction.mode}, wide};
    case ReduceOp::sum:
    case ReduceOp::product:
    case ReduceOp::norm:
      return {reduction, reduction, wide};
    default:
      return {reduction, reduction, out};
  }
}

/// A number of `type` at `bytes`.
double real_of(const void* bytes, Scalar type) {
  const auto get = [&](auto number) {
    std::memcpy(&number, bytes, sizeof number);
    return static_cast<double>(number);
  };
  switch (type) {
    case Scalar::int64:
      return get(std::int64_t{});
    case Scalar::uint64:
      return get(std::uint64_t{});
    case Scalar::float32:
      return get(float{});
    default:
      return get(double{});
  }
}

/// A mean from the sum of `count` elements.
void write_mean(const void* sum, Scalar sum_type, std::size_t count, void* result, Scalar type) {
  if (type == Scalar::float64) {
    const double mean = real_of(sum, sum_type) / static_cast<double>(count);
    std::memcpy(result, &mean, sizeof mean);
    return;
  }
  const float mean = sum_type == Scalar::float32
                         ? static_cast<float>(real_of(sum, sum_type)) / static_cast<float>(count)
                         : static_cast<float>(real_of(sum, sum_type) / static_cast<double>(count));
  if (type == Scalar::half) {
    const half rounded(mean);
    std::memcpy(result, &rounded, sizeof rounded);
  } else {
    std::memcpy(result, &mean, sizeof mean);
  }
}

constexpr const char* kReduce = "distributed::reduce";

bool is_place(const Reduction& reduction) {
  return reduction.op == ReduceOp::argmin || reduction.op == ReduceOp::argmax;
}

void check_reduce(Signature& signature, State& state, const Rows& in, const Rows* other,
                  const Reduction& reduction, Scalar type, std::size_t count) {
  signature.add(reduction).add(static_cast<int>(type)).add(count);
  check_input(kReduce, "in", state, in, signature);
  if (other != nullptr) {
    check_input(kReduce, "b", state, *other, signature);
    check_same_layout(kReduce, "b", *other, in);
  }
  if (!in.type().scalar) refuse(kReduce, "in", "numbers", "opaque elements");
  if (reduction.op == ReduceOp::mean && type != Scalar::half && type != Scalar::float32 &&
      type != Scalar::float64) {
    refuse(kReduce, "out", "half, float32 or float64 of a mean", std::string(name_of(type)));
  }
  if (is_place(reduction) && in.elements() == 0) refuse(kReduce, "in", "at least one element", "none");
}

void reduce_block(State& state, Handle block, ElementType element, Handle result, Scalar type,
                  const Reduction& reduction) {
  state.submit("reduce", {{block, Access::read}, {result, Access::write}},
               [=](const Context& context, std::span<const Piece> pieces) {
                 smem::reduce(context, pieces[0].vector(element), pieces[1].vector(type), reduction);
               });
}

void dot_block(State& state, Handle a, ElementType a_type, Handle b, ElementType b_type, Handle result,
               Scalar type, const Reduction& reduction) {
  state.submit("dot", {{a, Access::read}, {b, Access::read}, {result, Access::write}},
               [=](const Context& context, std::span<const Piece> pieces) {
                 smem::dot(context, pieces[0].vector(a_type), pieces[1].vector(b_type),
                           pieces[2].vector(type), reduction.mode);
               });
}

/// The reduction of numbers of blocks, as `count` of `type`.
Bytes combined(State& state, const Bytes& numbers, Scalar number_type, Scalar type, std::size_t count,
               const Reduction& reduction) {
  if (std::optional<Bytes> found = combined_on_host(numbers, number_type, type, reduction.op)) return *found;
  Bytes found(count * size_of(type));
  state.here([&](const Context& context) {
    const cl::Buffer from = make_buffer(context, std::max(numbers.size(), size_of(number_type))),
                     to = make_buffer(context, found.size());
    if (!numbers.empty()) write_buffer(context, from, numbers.data(), numbers.size());
    smem::reduce(context, ConstVector(from(), number_type, numbers.size() / size_of(number_type)),
                 smem::Vector(to(), type, count), reduction);
    read_buffer(context, to, found.data(), found.size());
  });
  return found;
}

/// The place in `in` of block `which`'s number. `places`: of the blocks' numbers within them.
std::uint64_t place_in(const Rows& in, std::uint64_t which, const Bytes& places) {
  std::uint64_t within = 0;
  which = std::min<std::uint64_t>(which, in.blocks().size() - 1);  // of a failed task anything
  std::memcpy(&within, places.data() + which * sizeof within, sizeof within);
  return within + in.blocks()[which].first * in.row_elements();
}

}  // namespace

void reduce_to_host(const Rows& in, const Rows* other, const Reduction& reduction, void* result, Scalar type,
                    std::size_t count) {
  State& state = in.session().state();
  const auto check = [&](Signature& signature) {
    check_reduce(signature, state, in, other, reduction, type, count);
  };
  state.collective(kReduce, check, [&] {
    const Parts parts = parts_of(reduction, *in.type().scalar, type);
    // A block's result, and for places then the one within the block.
    std::vector<Temporary> values, places;
    for (std::size_t i = 0; i < in.blocks().size(); ++i) {
      const Handle block = in.blocks()[i].handle;
      if (block == nullptr) continue;
      const Handle value = values.emplace_back(parts.width, size_of(parts.type)).handle();
      if (other != nullptr) {
        dot_block(state, block, in.type(), other->blocks()[i].handle, other->type(), value, parts.type,
                  parts.block);
        continue;
      }
      reduce_block(state, block, in.type(), value, parts.type, parts.block);
      if (!is_place(reduction)) continue;
      const Handle place = places.emplace_back(std::size_t{1}, sizeof(std::uint64_t)).handle();
      reduce_block(state, block, in.type(), place, Scalar::uint64, reduction);
    }
    const Bytes mine = bytes_of(state, values, parts.width * size_of(parts.type)),
                my_places = bytes_of(state, places, sizeof(std::uint64_t));
    const Bytes all = state.gather(mine.data(), mine.size()),
                all_places = state.gather(my_places.data(), my_places.size());

    const std::size_t bytes = count * size_of(type);
    if (state.rank() == 0) {
      const Scalar found_type = is_place(reduction)              ? Scalar::uint64
                                : reduction.op == ReduceOp::mean ? parts.type
                                                                 : type;
      const Bytes found = combined(state, all, parts.type, found_type, count, parts.combine);
      if (is_place(reduction)) {
        std::uint64_t which = 0;
        std::memcpy(&which, found.data(), sizeof which);
        const std::uint64_t place = place_in(in, which, all_places);
        std::memcpy(result, &place, std::min(bytes, sizeof place));
      } else if (reduction.op == ReduceOp::mean) {
        write_mean(found.data(), parts.type, in.elements(), result, type);
      } else {
        std::memcpy(result, found.data(), bytes);
      }
    }
    state.broadcast(result, bytes);
  });
}

}  // namespace smem::distributed::detail
