// Reductions: each block on its device, the blocks' results on rank 0.
#include <smem/distributed/reduce.hpp>

#include "distributed/checks.hpp"
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

}  // namespace

void reduce_to_host(const Rows& in, const Rows* other, const Reduction& reduction, void* result, Scalar type,
                    std::size_t count) {
  constexpr const char* kOperation = "distributed::reduce";
  State& state = in.session().state();
  const std::size_t bytes = count * size_of(type);
  const auto check = [&](Signature& signature) {
    signature.add(reduction).add(static_cast<int>(type)).add(count);
    check_input(kOperation, "in", state, in, signature);
    if (other != nullptr) {
      check_input(kOperation, "b", state, *other, signature);
      check_same_layout(kOperation, "b", *other, in);
    }
    if (!in.type().scalar) refuse(kOperation, "in", "numbers", "opaque elements");
    if (reduction.op == ReduceOp::mean && type != Scalar::half && type != Scalar::float32 &&
        type != Scalar::float64) {
      refuse(kOperation, "out", "half, float32 or float64 of a mean", std::string(name_of(type)));
    }
    const bool is_place = reduction.op == ReduceOp::argmin || reduction.op == ReduceOp::argmax;
    if (is_place && in.elements() == 0) refuse(kOperation, "in", "at least one element", "none");
  };
  state.collective(kOperation, check, [&] {
    const Parts parts = parts_of(reduction, *in.type().scalar, type);
    const bool is_place = reduction.op == ReduceOp::argmin || reduction.op == ReduceOp::argmax;
    const std::size_t part_bytes = parts.width * size_of(parts.type);
    // A block's result, and for places the one within the block behind it.
    std::vector<Temporary> values, places;
    for (std::size_t i = 0; i < in.blocks().size(); ++i) {
      const Block& block = in.blocks()[i];
      if (block.handle == nullptr) continue;
      const Temporary& value = values.emplace_back(parts.width, size_of(parts.type));
      const ElementType element = in.type();
      if (other != nullptr) {
        const ElementType b_type = other->type();
        state.submit("dot",
                     {{block.handle, Access::read},
                      {other->blocks()[i].handle, Access::read},
                      {value.handle(), Access::write}},
                     [=](const Context& context, std::span<const Piece> pieces) {
                       smem::dot(context, pieces[0].vector(element), pieces[1].vector(b_type),
                                 pieces[2].vector(parts.type), parts.block.mode);
                     });
        continue;
      }
      state.submit("reduce", {{block.handle, Access::read}, {value.handle(), Access::write}},
                   [=](const Context& context, std::span<const Piece> pieces) {
                     smem::reduce(context, pieces[0].vector(element), pieces[1].vector(parts.type),
                                  parts.block);
                   });
      if (!is_place) continue;
      const Temporary& place = places.emplace_back(std::size_t{1}, sizeof(std::uint64_t));
      state.submit("reduce", {{block.handle, Access::read}, {place.handle(), Access::write}},
                   [=](const Context& context, std::span<const Piece> pieces) {
                     smem::reduce(context, pieces[0].vector(element), pieces[1].vector(Scalar::uint64),
                                  reduction);
                   });
    }
    Bytes mine, my_places;
    for (const Temporary& value : values) {
      const Bytes bytes_here = bytes_of(state, value.handle(), part_bytes);
      mine.insert(mine.end(), bytes_here.begin(), bytes_here.end());
    }
    for (const Temporary& place : places) {
      const Bytes bytes_here = bytes_of(state, place.handle(), sizeof(std::uint64_t));
      my_places.insert(my_places.end(), bytes_here.begin(), bytes_here.end());
    }
    Bytes all, all_places;
    for (const Bytes& of_rank : state.allgather(mine.data(), mine.size()))
      all.insert(all.end(), of_rank.begin(), of_rank.end());
    for (const Bytes& of_rank : state.allgather(my_places.data(), my_places.size()))
      all_places.insert(all_places.end(), of_rank.begin(), of_rank.end());

    if (state.rank() == 0) {
      const std::size_t numbers = all.size() / size_of(parts.type);
      const Scalar combined = is_place ? Scalar::uint64 : reduction.op == ReduceOp::mean ? parts.type : type;
      Bytes found(count * size_of(combined));
      state.here([&](const Context& context) {
        const cl::Buffer from = make_buffer(context, std::max(all.size(), size_of(parts.type))),
                         to = make_buffer(context, found.size());
        if (numbers != 0) write_buffer(context, from, all.data(), all.size());
        smem::reduce(context, ConstVector(from(), parts.type, numbers), smem::Vector(to(), combined, count),
                     parts.combine);
        read_buffer(context, to, found.data(), found.size());
      });
      if (is_place) {
        std::uint64_t which = 0, within = 0;
        std::memcpy(&which, found.data(), sizeof which);
        const std::size_t blocks = in.blocks().size();
        which = std::min<std::uint64_t>(which, blocks - 1);  // of a failed task anything
        std::memcpy(&within, all_places.data() + which * sizeof within, sizeof within);
        within += in.blocks()[which].first * in.row_elements();
        std::memcpy(result, &within, std::min(bytes, sizeof within));
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
