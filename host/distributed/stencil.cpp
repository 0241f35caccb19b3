// Stencils and heat: blocks with halos, which are exchanged every few steps.
#include <smem/distributed/stencil.hpp>

#include "distributed/checks.hpp"
#include "distributed/moves.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace smem::distributed::detail {

namespace {

constexpr std::size_t kHeatStepsPerHalo = 8;

/// Rows that a block is kept with: first to end, of the whole grid or, where it wraps, of its repetition.
struct Extended {
  std::ptrdiff_t first, end;
  Temporary now, next;
  std::size_t rows() const { return static_cast<std::size_t>(end - first); }
};

/// The grid along its slowest axis.
struct Geometry {
  GridSize size;
  /// The same with so many rows along the slowest axis.
  GridSize with_rows(std::size_t rows) const {
    if (size.depth != 1) return {size.width, size.height, rows};
    if (size.height != 1) return {size.width, rows, 1};
    return {rows, 1, 1};
  }
};

/// Makes `count` steps from one grid to the other.
using Advance = std::function<void(const Context& context, const ConstGrid& in, const smem::Grid& out,
                                   std::size_t count)>;

/// `radius`: rows that a step reaches.
struct March {
  const char* operation;
  std::size_t radius, steps, steps_per_halo;
  bool wraps;
  Advance advance;
};

/// Copies what each extended block has in [first, end) from the blocks of `rows`: all, or its halo alone.
/// `from_blocks` gives the handle of block i and the row that it begins with.
void fill(State& state, const Rows& rows, const std::vector<Extended>& extended,
          const std::function<std::pair<Handle, std::ptrdiff_t>(std::size_t)>& from_blocks, bool halo_alone) {
  const auto count = static_cast<std::ptrdiff_t>(rows.rows());
  const std::size_t row_bytes = rows.row_elements() * rows.type().bytes;
  const auto& blocks = rows.blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto own_first = static_cast<std::ptrdiff_t>(blocks[i].first),
               own_end = own_first + static_cast<std::ptrdiff_t>(blocks[i].rows);
    for (std::ptrdiff_t row = extended[i].first; row < extended[i].end;) {
      if (halo_alone && row == own_first) row = own_end;
      if (row >= extended[i].end) break;
      const std::ptrdiff_t inside = ((row % count) + count) % count;
      const auto after = std::upper_bound(
          blocks.begin(), blocks.end(), inside,
          [](std::ptrdiff_t x, const Block& b) { return x < static_cast<std::ptrdiff_t>(b.first); });
      const auto j = static_cast<std::size_t>(after - blocks.begin()) - 1;
      const auto end_of_block = static_cast<std::ptrdiff_t>(blocks[j].first + blocks[j].rows);
      std::ptrdiff_t length = std::min(end_of_block - inside, extended[i].end - row);
      if (halo_alone && row < own_first) length = std::min(length, own_first - row);
      const auto [source, begins] = from_blocks(j);
      const std::size_t bytes = static_cast<std::size_t>(length) * row_bytes;
      move(state, {blocks[j].rank, source, static_cast<std::size_t>(inside - begins) * row_bytes, bytes},
           {blocks[i].rank, extended[i].now.handle(),
            static_cast<std::size_t>(row - extended[i].first) * row_bytes, bytes},
           1, bytes);
      row += length;
    }
  }
}

void march(State& state, const Rows& in, Rows& out, const GridSize& size, const March& how) {
  const Geometry geometry{size};
  const ElementType type = in.type();
  const auto rows = static_cast<std::ptrdiff_t>(in.rows());
  const std::size_t row_bytes = in.row_elements() * type.bytes;
  if (in.blocks().empty()) return;
  const std::size_t per_halo = std::min(how.steps_per_halo, std::max<std::size_t>(how.steps, 1));
  // More than the grid is never read, but where it wraps: there its repetition is.
  const std::size_t reach = how.steps == 0 ? 0 : smem::detail::size_product(how.radius, per_halo);
  const auto halo = static_cast<std::ptrdiff_t>(how.wraps ? reach : std::min(reach, in.rows()));
  std::vector<Extended> extended;
  for (const Block& block : in.blocks()) {
    const auto first = static_cast<std::ptrdiff_t>(block.first);
    Extended one{first - halo, first + static_cast<std::ptrdiff_t>(block.rows) + halo, {}, {}};
    if (!how.wraps) {
      one.first = std::max<std::ptrdiff_t>(one.first, 0);
      one.end = std::min(one.end, rows);
    }
    if (block.handle != nullptr) {
      one.now = Temporary(one.rows() * in.row_elements(), type.bytes);
      one.next = Temporary(one.rows() * in.row_elements(), type.bytes);
      touch(state, one.now.handle());
    }
    extended.push_back(std::move(one));
  }
  fill(
      state, in, extended,
      [&](std::size_t i) {
        return std::pair(in.blocks()[i].handle, static_cast<std::ptrdiff_t>(in.blocks()[i].first));
      },
      false);
  for (std::size_t done = 0; done < how.steps;) {
    if (done != 0 && halo != 0) {
      fill(
          state, in, extended,
          [&](std::size_t i) { return std::pair(extended[i].now.handle(), extended[i].first); }, true);
    }
    const std::size_t count = std::min(per_halo, how.steps - done);
    for (Extended& block : extended) {
      if (block.now.handle() == nullptr) continue;
      const GridSize cells = geometry.with_rows(block.rows());
      const Advance advance = how.advance;
      state.submit(how.operation, {{block.now.handle(), Access::read}, {block.next.handle(), Access::write}},
                   [=](const Context& context, std::span<const Piece> pieces) {
                     const smem::Vector from = pieces[0].vector(type), to = pieces[1].vector(type);
                     advance(context, ConstGrid(from.buffer, type, cells, {.offset = from.offset}),
                             smem::Grid(to.buffer, type, cells, {.offset = to.offset}), count);
                   });
      std::swap(block.now, block.next);
    }
    done += count;
  }
  for (std::size_t i = 0; i < extended.size(); ++i) {
    const Block& block = out.blocks()[i];
    if (block.handle == nullptr) continue;
    touch(state, block.handle);
    const std::size_t bytes = block.rows * row_bytes;
    const auto before =
        static_cast<std::size_t>(static_cast<std::ptrdiff_t>(block.first) - extended[i].first);
    move(state, {block.rank, extended[i].now.handle(), before * row_bytes, bytes},
         {block.rank, block.handle, 0, bytes}, 1, bytes);
  }
}

void check_grids(const char* operation, const State& state, const Rows& in, const Rows& out,
                 Signature& signature) {
  check_input(operation, "in", state, in, signature);
  check_output(operation, "out", state, out, signature);
  if (&in == &out) refuse(operation, "out", "other data than in", "in itself");
  if (!(out.type() == in.type())) refuse(operation, "out", "the type of in", "another type");
  check_same_layout(operation, "out", out, in);
}

/// A halo is no larger than a block may be.
std::size_t most_halo_rows(const State& state, const Rows& rows) {
  return state.block_elements() / std::max<std::size_t>(rows.row_elements(), 1);
}

std::string text_of(const GridSize& size) {
  return std::to_string(size.width) + " x " + std::to_string(size.height) + " x " +
         std::to_string(size.depth);
}

}  // namespace

void check_sizes(const Session& session, const char* operation, const GridSize& in, const GridSize& out) {
  session.state().collective(
      operation,
      [&](Signature& signature) {
        for (const GridSize& size : {in, out})
          signature.add(size.width).add(size.height).add(size.depth);
        if (!(in == out)) refuse(operation, "out", text_of(in) + " cells, as in has", text_of(out));
      },
      [] {});
}

void stencil_rows(const Rows& in, Rows& out, const GridSize& size, const Stencil& stencil, std::size_t steps,
                  const Halo& halo) {
  constexpr const char* kOperation = "distributed::stencil";
  State& state = in.session().state();
  const Boundary boundary = stencil.edges.boundary.value_or(Boundary::zero);
  const std::size_t radius = size.depth != 1    ? stencil.radius.z
                             : size.height != 1 ? stencil.radius.y
                                                : stencil.radius.x;
  const auto check = [&](Signature& signature) {
    signature.add(steps).add(halo.steps).add(static_cast<int>(stencil.shape)).add(stencil.expression);
    signature.add(stencil.radius.x).add(stencil.radius.y).add(stencil.radius.z);
    signature.add(static_cast<int>(boundary)).add(stencil.edges.value);
    for (const double weight : stencil.weights)
      signature.add(weight);
    check_grids(kOperation, state, in, out, signature);
    if (boundary == Boundary::leave) {
      refuse(kOperation, "stencil.edges", "a boundary that gives every cell a value", "leave");
    }
    const std::size_t reach = smem::detail::size_product(radius, std::max<std::size_t>(halo.steps, 1));
    const std::size_t most = most_halo_rows(state, in);
    if ((boundary == Boundary::wrap ? reach : std::min(reach, in.rows())) > most) {
      refuse(kOperation, "halo.steps",
             "halos of at most " + std::to_string(most) + " rows (SessionOptions::block_elements)",
             std::to_string(reach) + " rows");
    }
  };
  state.collective(kOperation, check, [&] {
    // Several steps between two grids of a block: there and back, through memory of the context.
    const auto advance = [stencil](const Context& context, const ConstGrid& from, const smem::Grid& to,
                                   std::size_t count) {
      std::array<cl::Buffer, 2> between;
      ConstGrid now = from;
      const std::size_t elements = from.row_elements() * from.size.height * from.size.depth;
      for (std::size_t step = 0; step + 1 < count; ++step) {
        cl::Buffer& buffer = between[step % 2];
        if (buffer() == nullptr) buffer = make_buffer(context, elements * from.type.bytes);
        const smem::Grid next(buffer(), from.type, from.size);
        smem::stencil(context, now, next, stencil);
        now = next;
      }
      smem::stencil(context, now, to, stencil);
    };
    march(state, in, out, size,
          {"stencil", radius, steps, std::max<std::size_t>(halo.steps, 1), boundary == Boundary::wrap,
           advance});
    out.set_has_values();
  });
}

void heat_rows(const Rows& in, Rows& out, const GridSize& size, const Heat& heat, const Halo& halo) {
  constexpr const char* kOperation = "distributed::heat";
  State& state = in.session().state();
  Heat how = heat;
  if (how.dimensions == 0) how.dimensions = size.depth != 1 ? 3 : size.height != 1 ? 2 : 1;
  const auto check = [&](Signature& signature) {
    signature.add(how.steps).add(how.dt).add(how.dx).add(how.dy).add(how.dz).add(how.conductivity);
    signature.add(static_cast<int>(how.walls))
        .add(how.wall_value)
        .add(how.dimensions)
        .add(how.steps_per_pass);
    signature.add(halo.steps);
    check_grids(kOperation, state, in, out, signature);
    if (how.conductivities.buffer != nullptr || how.source.buffer != nullptr) {
      refuse(kOperation, "heat", "one conductivity and no sources", "a grid of them");
    }
    static_cast<void>(heat_time_step_limit(how, how.dimensions));
  };
  state.collective(kOperation, check, [&] {
    const auto advance = [how](const Context& context, const ConstGrid& from, const smem::Grid& to,
                               std::size_t count) {
      Heat part = how;
      part.steps = count;
      smem::heat(context, from, to, part);
    };
    const std::size_t per_halo = std::min(halo.steps == 0 ? kHeatStepsPerHalo : halo.steps,
                                          std::max<std::size_t>(most_halo_rows(state, in), 1));
    march(state, in, out, size, {"heat", 1, how.steps, per_halo, false, advance});
    out.set_has_values();
  });
}

}  // namespace smem::distributed::detail
