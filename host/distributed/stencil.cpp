// Stencils and heat: blocks with halos, which are exchanged every few steps.
#include <smem/distributed/stencil.hpp>

#include "distributed/checks.hpp"
#include "distributed/handles.hpp"
#include "distributed/moves.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace smem::distributed::detail {

namespace {

constexpr std::size_t kHeatStepsPerHalo = 8;
constexpr std::size_t kMostHeatStepsPerHalo = 64;  // a kernel's passes: more read the block again

/// Rows of a block that are computed by a task of their own, and the rows that they are kept with: first to
/// end, of the whole grid or, where it wraps, of its repetition.
struct Part {
  std::size_t block;            ///< of the grid
  std::ptrdiff_t own, own_end;  ///< rows that it computes
  std::ptrdiff_t first, end;    ///< with halos
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

/// Whether the grid, with halos, and the one of the next step do not lie in the devices' memory, on any rank.
bool exceeds_devices(const State& state, const Rows& rows) {
  for (int rank = 0; rank < state.ranks(); ++rank) {
    const std::size_t bytes =
        rows.layout().rows[static_cast<std::size_t>(rank)] * rows.row_elements() * rows.type().bytes;
    if (3 * bytes > state.device_bytes() * state.devices_of(rank)) return true;
  }
  return false;
}

/// Parts of blocks, in the order in which they are computed. Where a block has neighbours on other devices,
/// its rows beside them are parts of their own, which come first: their halos travel while the rest is
/// computed.
std::vector<Part> parts_of(const State& state, const Rows& rows, std::ptrdiff_t halo, bool wraps) {
  const auto& blocks = rows.blocks();
  const auto count = static_cast<std::ptrdiff_t>(rows.rows());
  const bool one_device = state.ranks() == 1 && state.devices_of(0) == 1;
  std::vector<Part> edges, rest;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto own = static_cast<std::ptrdiff_t>(blocks[i].first),
               end = own + static_cast<std::ptrdiff_t>(blocks[i].rows);
    const std::ptrdiff_t edge = 2 * halo;
    std::ptrdiff_t inner = own, inner_end = end;
    if (!one_device && halo != 0 && end - own >= 4 * edge) {
      if (i > 0 || wraps) edges.push_back({i, own, inner = own + edge, 0, 0, {}, {}});
      if (i + 1 < blocks.size() || wraps) edges.push_back({i, inner_end = end - edge, end, 0, 0, {}, {}});
    }
    rest.push_back({i, inner, inner_end, 0, 0, {}, {}});
  }
  std::vector<Part> all = std::move(edges);
  std::move(rest.begin(), rest.end(), std::back_inserter(all));
  for (Part& part : all) {
    part.first = part.own - halo;
    part.end = part.own_end + halo;
    if (!wraps) {
      part.first = std::max<std::ptrdiff_t>(part.first, 0);
      part.end = std::min(part.end, count);
    }
  }
  return all;
}

/// Where rows are copied from: consecutive ones of a handle.
struct Source {
  std::ptrdiff_t first, end;  ///< rows that it has
  int rank;
  Handle handle;
  std::ptrdiff_t begins;  ///< row that the handle begins with
};

/// Copies what a part has in [first, end) from the sources, which stand in the order of their rows and have
/// all rows of the grid: all, or its halo alone.
void fill(State& state, const Rows& rows, const std::vector<Source>& sources, const Part& part,
          bool halo_alone) {
  const auto count = static_cast<std::ptrdiff_t>(rows.rows());
  const std::size_t row_bytes = rows.row_elements() * rows.type().bytes;
  for (std::ptrdiff_t row = part.first; row < part.end;) {
    if (halo_alone && row == part.own) row = part.own_end;
    if (row >= part.end) break;
    const std::ptrdiff_t inside = ((row % count) + count) % count;
    const Source& source =
        *(std::upper_bound(sources.begin(), sources.end(), inside,
                           [](std::ptrdiff_t x, const Source& one) { return x < one.first; }) -
          1);
    std::ptrdiff_t length = std::min(source.end - inside, part.end - row);
    if (halo_alone && row < part.own) length = std::min(length, part.own - row);
    const std::size_t bytes = static_cast<std::size_t>(length) * row_bytes;
    move(state,
         {source.rank, source.handle, static_cast<std::size_t>(inside - source.begins) * row_bytes, bytes},
         {rows.blocks()[part.block].rank, part.now.handle(),
          static_cast<std::size_t>(row - part.first) * row_bytes, bytes},
         1, bytes);
    row += length;
  }
}

void march(State& state, const Rows& in, Rows& out, const GridSize& size, const March& how) {
  const Geometry geometry{size};
  const ElementType type = in.type();
  const std::size_t row_bytes = in.row_elements() * type.bytes;
  if (in.blocks().empty()) return;
  const std::size_t per_halo = std::min(how.steps_per_halo, std::max<std::size_t>(how.steps, 1));
  // More than the grid is never read, but where it wraps: there its repetition is.
  const std::size_t reach = how.steps == 0 ? 0 : smem::detail::size_product(how.radius, per_halo);
  const auto halo = static_cast<std::ptrdiff_t>(how.wraps ? reach : std::min(reach, in.rows()));
  const bool in_bands = exceeds_devices(state, in);
  std::vector<Part> parts = parts_of(state, in, halo, how.wraps);
  std::vector<Source> sources;
  for (const Block& block : in.blocks()) {
    const auto first = static_cast<std::ptrdiff_t>(block.first);
    sources.push_back(
        {first, first + static_cast<std::ptrdiff_t>(block.rows), block.rank, block.handle, first});
  }
  for (Part& part : parts) {
    const Block& block = in.blocks()[part.block];
    if (block.handle != nullptr) {
      const int home = home_of(block.handle);
      part.now = Temporary(part.rows() * in.row_elements(), type.bytes, home);
      part.next = Temporary(part.rows() * in.row_elements(), type.bytes, home);
      touch(state, part.now.handle());
    }
    fill(state, in, sources, part, false);
    if (in_bands) state.throttle(4);
  }
  for (std::size_t done = 0; done < how.steps;) {
    sources.clear();
    for (const Part& part : parts) {
      const Block& block = in.blocks()[part.block];
      sources.push_back({part.own, part.own_end, block.rank, part.now.handle(), part.first});
    }
    std::sort(sources.begin(), sources.end(),
              [](const Source& x, const Source& y) { return x.first < y.first; });
    const std::size_t count = std::min(per_halo, how.steps - done);
    // A part's halos, then its steps: where not all parts lie in a device's memory, each comes once for both.
    for (Part& part : parts) {
      if (done != 0 && halo != 0) fill(state, in, sources, part, true);
      if (part.now.handle() == nullptr) {
        if (in_bands) state.throttle(4);
        continue;
      }
      const GridSize cells = geometry.with_rows(part.rows());
      const Advance advance = how.advance;
      state.submit(how.operation, {{part.now.handle(), Access::read}, {part.next.handle(), Access::write}},
                   [=](const Context& context, std::span<const Piece> pieces) {
                     const smem::Vector from = pieces[0].vector(type), to = pieces[1].vector(type);
                     advance(context, ConstGrid(from.buffer, type, cells, {.offset = from.offset}),
                             smem::Grid(to.buffer, type, cells, {.offset = to.offset}), count);
                   });
      if (in_bands) state.throttle(4);
    }
    for (Part& part : parts) {
      std::swap(part.now, part.next);
      // What was there before is not worth a copy to main memory.
      if (part.next.handle() != nullptr) starpu_data_invalidate_submit(part.next.handle());
    }
    done += count;
  }
  std::vector<bool> touched(out.blocks().size());
  for (const Part& part : parts) {
    const Block& block = out.blocks()[part.block];
    if (block.handle == nullptr) continue;
    if (!touched[part.block]) touch(state, block.handle);
    touched[part.block] = true;
    const std::size_t bytes = static_cast<std::size_t>(part.own_end - part.own) * row_bytes;
    const auto before = static_cast<std::size_t>(part.own - part.first),
               place = static_cast<std::size_t>(part.own - static_cast<std::ptrdiff_t>(block.first));
    move(state, {block.rank, part.now.handle(), before * row_bytes, bytes},
         {block.rank, block.handle, place * row_bytes, bytes}, 1, bytes);
    if (in_bands) state.throttle(4);
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
  return state.block_elements(rows.type().bytes) / std::max<std::size_t>(rows.row_elements(), 1);
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
    std::size_t per_halo = halo.steps;
    if (per_halo == 0) {
      per_halo = kHeatStepsPerHalo;
      // Where blocks come from main memory for each exchange: as many steps as cost an eighth more on each
      // side.
      if (exceeds_devices(state, in)) {
        for (const Block& block : in.blocks())
          per_halo = std::max(per_halo, std::min<std::size_t>(block.rows / 8, kMostHeatStepsPerHalo));
      }
    }
    per_halo = std::min(per_halo, std::max<std::size_t>(most_halo_rows(state, in), 1));
    march(state, in, out, size, {"heat", 1, how.steps, per_halo, false, advance});
    out.set_has_values();
  });
}

}  // namespace smem::distributed::detail
