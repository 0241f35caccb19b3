// Stencils and heat: blocks with halos, which are exchanged every few steps.
#include <smem/distributed/stencil.hpp>

#include "distributed/checks.hpp"
#include "distributed/halo_parts.hpp"
#include "distributed/halos.hpp"
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

constexpr std::size_t kMostHeatStepsPerHalo = 64;  // a kernel's passes: more read the block again

/// The grid along its slowest axis.
struct Geometry {
  GridSize size;
  /// The same with this many rows along the slowest axis.
  GridSize with_rows(std::size_t rows) const {
    if (size.depth != 1) return {size.width, size.height, rows};
    if (size.height != 1) return {size.width, rows, 1};
    return {rows, 1, 1};
  }
};

/// Makes `count` steps from one grid to the other, through a third one where a March has one.
using Advance = std::function<void(const Context& context, const ConstGrid& in, const smem::Grid& out,
                                   const smem::Grid& between, std::size_t count)>;

/// `radius`: rows that a step reaches.
struct March {
  const char* operation;
  std::size_t radius, steps, steps_per_halo;
  bool wraps;
  Advance advance;
  bool edges_first = false;
  bool has_between = false;
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

/// The passes of a march: each part's halo comes, its steps are made, and its rows that others need go.
class Passes {
 public:
  Passes(State& state, const Rows& in, Rows& out, const GridSize& size, const March& how,
         std::vector<Part> parts)
      : state_(state),
        rows_(in),
        out_(out),
        geometry_{size},
        how_(how),
        parts_(std::move(parts)),
        exchanges_(exchanges_of(parts_, in.rows())),
        in_bands_(exceeds_devices(state, in)) {}

  void begin();
  void advance(std::size_t count, bool first, bool last);
  void end();

 private:
  int rank_of(std::size_t part) const { return rows_.blocks()[parts_[part].block].rank; }
  /// Whether the part and its halos lie within its block, the results of whose other parts are written after
  /// it: then the first pass reads `in`, and the last one writes `out`.
  bool is_direct(const Part& part) const {
    const Block& block = rows_.blocks()[part.block];
    const auto first = static_cast<std::ptrdiff_t>(block.first);
    return part.is_last && how_.steps != 0 && part.first >= first &&
           part.end <= first + static_cast<std::ptrdiff_t>(block.rows);
  }
  /// Where the part with its halos begins in its block.
  std::size_t place_of(const Part& part) const {
    return static_cast<std::size_t>(part.first -
                                    static_cast<std::ptrdiff_t>(rows_.blocks()[part.block].first));
  }
  void compute(std::size_t part, std::size_t count, bool first, bool last);
  void send(Exchange& one);
  std::size_t row_bytes() const { return rows_.row_elements() * rows_.type().bytes; }

  State& state_;
  const Rows& rows_;
  Rows& out_;
  Geometry geometry_;
  const March& how_;
  std::vector<Part> parts_;
  std::vector<Exchange> exchanges_;
  bool in_bands_;
};

void Passes::begin() {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < rows_.blocks().size(); ++i) {
    const auto first = static_cast<std::ptrdiff_t>(rows_.blocks()[i].first);
    sources.push_back({first, first + static_cast<std::ptrdiff_t>(rows_.blocks()[i].rows), i});
  }
  for (const Block& block : out_.blocks())
    if (block.handle != nullptr) touch(state_, block.handle);
  for (Part& part : parts_) {
    const Block& block = rows_.blocks()[part.block];
    if (block.handle != nullptr) {
      const int home = home_of(block.handle);
      part.now = Temporary(part.rows() * rows_.row_elements(), rows_.type().bytes, home);
      part.next = Temporary(part.rows() * rows_.row_elements(), rows_.type().bytes, home);
      if (how_.has_between)
        part.between = Temporary(part.rows() * rows_.row_elements(), rows_.type().bytes, home);
      if (!is_direct(part)) touch(state_, part.now.handle());
    }
    if (is_direct(part)) continue;
    for_rows(sources, rows_.rows(), part, false,
             [&](const Source& source, std::size_t from_row, std::size_t to_row, std::size_t length) {
               const Block& from = rows_.blocks()[source.index];
               const std::size_t bytes = length * row_bytes();
               move(state_, {from.rank, from.handle, from_row * row_bytes(), bytes},
                    {block.rank, part.now.handle(), to_row * row_bytes(), bytes}, 1, bytes);
             });
    if (in_bands_) state_.throttle(4);
  }
}

/// The halos of a part, its steps, and the copies of rows that others need, in one task: tasks of their own
/// would begin when the one before has ended and StarPU has seen it, and for rows that travel the device
/// would have the next part's steps to make first. Parts share no data, only these copies, so that StarPU
/// gives a device the next part's task while it computes. Copies of more data than a task has arguments are
/// tasks.
void Passes::compute(std::size_t index, std::size_t count, bool first, bool last) {
  Part& part = parts_[index];
  struct Copy {
    std::size_t piece, row, bytes;
  };
  const bool from_in = first && is_direct(part), to_out = last && is_direct(part);
  std::vector<Argument> arguments;
  if (from_in) {
    arguments.push_back({rows_.blocks()[part.block].handle, Access::read});
  } else {
    arguments.push_back({part.now.handle(), first ? Access::read : Access::update});
  }
  if (to_out) {
    arguments.push_back({out_.blocks()[part.block].handle, Access::update});
  } else {
    arguments.push_back({part.next.handle(), Access::write});
  }
  const bool has_between = part.between.handle() != nullptr;
  if (has_between) arguments.push_back({part.between.handle(), Access::write});
  std::vector<Copy> arriving, leaving;
  for (Exchange& one : exchanges_) {
    if (first || one.to != index) continue;
    const std::size_t bytes = one.rows * row_bytes();
    if (arguments.size() == STARPU_NMAXBUFS) {
      move(state_, {state_.rank(), one.arrived.handle(), 0, bytes},
           {state_.rank(), part.now.handle(), one.to_row * row_bytes(), bytes}, 1, bytes);
    } else {
      arriving.push_back({arguments.size(), one.to_row * row_bytes(), bytes});
      arguments.push_back({one.arrived.handle(), Access::read});
    }
  }
  std::vector<Exchange*> later;
  for (Exchange& one : exchanges_) {
    if (last || one.from != index) continue;
    one.leaving = Temporary(one.rows, row_bytes());
    if (arguments.size() == STARPU_NMAXBUFS) {
      later.push_back(&one);
      continue;
    }
    leaving.push_back({arguments.size(), one.from_row * row_bytes(), one.rows * row_bytes()});
    arguments.push_back({one.leaving.handle(), Access::write});
  }
  const GridSize cells = geometry_.with_rows(part.rows());
  const ElementType type = rows_.type();
  const Advance advance = how_.advance;
  const std::size_t place = place_of(part) * rows_.row_elements(), from_place = from_in ? place : 0,
                    to_place = to_out ? place : 0;
  state_.submit(how_.operation, arguments, [=](const Context& context, std::span<const Piece> pieces) {
    for (const Copy& one : arriving) {
      copy_rows(context, pieces[one.piece], {.pitch = one.bytes}, pieces[0],
                {.offset = one.row, .pitch = one.bytes}, 1, one.bytes);
    }
    const smem::Vector from = pieces[0].vector(type), to = pieces[1].vector(type);
    const smem::Vector third = has_between ? pieces[2].vector(type) : to;
    advance(context, ConstGrid(from.buffer, type, cells, {.offset = from.offset + from_place}),
            smem::Grid(to.buffer, type, cells, {.offset = to.offset + to_place}),
            smem::Grid(third.buffer, type, cells, {.offset = third.offset}), count);
    for (const Copy& one : leaving) {
      copy_rows(context, pieces[1], {.offset = one.row, .pitch = one.bytes}, pieces[one.piece],
                {.pitch = one.bytes}, 1, one.bytes);
    }
  });
  for (const Exchange* one : later) {
    const std::size_t bytes = one->rows * row_bytes();
    touch(state_, one->leaving.handle());
    move(state_, {state_.rank(), part.next.handle(), one->from_row * row_bytes(), bytes},
         {state_.rank(), one->leaving.handle(), 0, bytes}, 1, bytes);
  }
}

/// The way of what compute() has copied to the part that needs it.
void Passes::send(Exchange& one) {
  const int from = rank_of(one.from), to = rank_of(one.to);
  if (from == to) {
    const int home = home_of(parts_[one.to].next.handle());
    if (home != home_of(parts_[one.from].next.handle())) state_.bring(one.leaving.handle(), home);
    one.arrived = std::move(one.leaving);
    return;
  }
  const std::int64_t tag = state_.next_tag();
  if (from == state_.rank()) {
    state_.send(one.leaving.handle(), to, tag);
    one.leaving = {};
  } else if (to == state_.rank()) {
    one.arrived = Temporary(one.rows, row_bytes());
    state_.receive(one.arrived.handle(), from, tag);
  }
}

void Passes::advance(std::size_t count, bool first, bool last) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].now.handle() != nullptr) compute(i, count, first, last);
    for (Exchange& one : exchanges_)
      if (!first && one.to == i) one.arrived = {};
    if (in_bands_) state_.throttle(4);
  }
  for (Exchange& one : exchanges_)
    if (!last) send(one);
  for (Part& part : parts_) {
    std::swap(part.now, part.next);
    // What was there before is not worth a copy to main memory.
    for (const Temporary* one : {&part.next, &part.between}) {
      const bool was_written = one != &part.next || !(first && is_direct(part));
      if (one->handle() != nullptr && was_written) starpu_data_invalidate_submit(one->handle());
    }
  }
}

void Passes::end() {
  for (const Part& part : parts_) {
    const Block& block = out_.blocks()[part.block];
    if (block.handle == nullptr || is_direct(part)) continue;
    const std::size_t bytes = static_cast<std::size_t>(part.own_end - part.own) * row_bytes();
    const auto before = static_cast<std::size_t>(part.own - part.first),
               place = static_cast<std::size_t>(part.own - static_cast<std::ptrdiff_t>(block.first));
    move(state_, {block.rank, part.now.handle(), before * row_bytes(), bytes},
         {block.rank, block.handle, place * row_bytes(), bytes}, 1, bytes);
    if (in_bands_) state_.throttle(4);
  }
}

void march(State& state, const Rows& in, Rows& out, const GridSize& size, const March& how) {
  if (in.blocks().empty()) return;
  const std::size_t per_halo = std::min(how.steps_per_halo, std::max<std::size_t>(how.steps, 1));
  // More than the grid is never read, but where it wraps: there its repetition is.
  const std::size_t reach = how.steps == 0 ? 0 : smem::detail::size_product(how.radius, per_halo);
  const auto halo = static_cast<std::ptrdiff_t>(how.wraps ? reach : std::min(reach, in.rows()));
  Passes passes(state, in, out, size, how, halo_parts_of(in, halo, how.wraps, how.edges_first));
  passes.begin();
  for (std::size_t done = 0; done < how.steps;) {
    const std::size_t count = std::min(per_halo, how.steps - done);
    passes.advance(count, done == 0, done + count == how.steps);
    done += count;
  }
  passes.end();
}

/// Of the rank that has most rows.
HaloShape halo_shape_of(const State& state, const Rows& rows, std::size_t steps, std::size_t radius,
                        bool is_heat) {
  HaloShape shape{.rows = rows.rows(),
                  .devices = 0,
                  .row_cells = static_cast<double>(rows.row_elements()),
                  .element_bytes = static_cast<double>(rows.type().bytes),
                  .steps = steps,
                  .radius = radius,
                  .is_heat = is_heat,
                  .between_ranks = state.ranks() > 1,
                  .exchange_overlaps = !state.cores_are_short()};
  for (int rank = 0; rank < state.ranks(); ++rank) {
    const std::size_t own = rows.layout().rows[static_cast<std::size_t>(rank)],
                      devices = state.devices_of(rank);
    if (own == 0) continue;
    shape.devices += std::min(devices, own);
    shape.own = std::max(shape.own, (own + devices - 1) / devices);
  }
  return shape;
}

bool edges_come_first(const State& state, const HaloShape& shape, std::size_t per_halo, const Halo& halo) {
  if (halo.order != HaloOrder::automatic) return halo.order == HaloOrder::edges_first;
  return halo_cost(shape, per_halo, state.estimate()).edges_first;
}

void check_grids(const char* operation, const State& state, const Rows& in, const Rows& out,
                 Signature& signature) {
  check_input(operation, "in", state, in, signature);
  check_output(operation, "out", state, out, signature);
  if (&in == &out) refuse(operation, "out", "an object other than in", "in itself");
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
    signature.add(steps)
        .add(halo.steps)
        .add(halo.order)
        .add(static_cast<int>(stencil.shape))
        .add(stencil.expression);
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
    const auto advance = [stencil](const Context& context, const ConstGrid& from, const smem::Grid& to,
                                   const smem::Grid& between, std::size_t count) {
      ConstGrid now = from;
      for (std::size_t step = 0; step < count; ++step) {
        const smem::Grid& next = (count - step) % 2 == 1 ? to : between;  // the last one writes `to`
        smem::stencil(context, now, next, stencil);
        now = next;
      }
    };
    const bool wraps = boundary == Boundary::wrap;
    const HaloShape shape = halo_shape_of(state, in, steps, radius, false);
    // Halos of the neighbours alone, and no larger than a block may be.
    const std::size_t most =
        std::min(shape.own, most_halo_rows(state, in)) / std::max<std::size_t>(radius, 1);
    const std::size_t per_halo =
        halo.steps != 0 ? halo.steps
                        : best_steps_per_halo(shape, state.estimate(), std::max<std::size_t>(most, 1));
    march(state, in, out, size,
          {"stencil", radius, steps, per_halo, wraps, advance, edges_come_first(state, shape, per_halo, halo),
           std::min(per_halo, steps) > 1});
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
    signature.add(halo.steps).add(halo.order);
    check_grids(kOperation, state, in, out, signature);
    if (how.conductivities.buffer != nullptr || how.source.buffer != nullptr) {
      refuse(kOperation, "heat", "one conductivity and no sources", "a grid of them");
    }
    static_cast<void>(heat_time_step_limit(how, how.dimensions));
  };
  state.collective(kOperation, check, [&] {
    const auto advance = [how](const Context& context, const ConstGrid& from, const smem::Grid& to,
                               const smem::Grid&, std::size_t count) {
      Heat part = how;
      part.steps = count;
      smem::heat(context, from, to, part);
    };
    const HaloShape shape = halo_shape_of(state, in, how.steps, 1, true);
    std::size_t per_halo = halo.steps;
    if (per_halo == 0) {
      per_halo = best_steps_per_halo(shape, state.estimate(), shape.own);
      // Where blocks come from main memory for each exchange: as many steps as cost an eighth more on each
      // side.
      if (exceeds_devices(state, in)) {
        for (const Block& block : in.blocks())
          per_halo = std::max(per_halo, std::min<std::size_t>(block.rows / 8, kMostHeatStepsPerHalo));
      }
    }
    per_halo = std::min(per_halo, std::max<std::size_t>(most_halo_rows(state, in), 1));
    march(state, in, out, size,
          {"heat", 1, how.steps, per_halo, false, advance, edges_come_first(state, shape, per_halo, halo)});
    out.set_has_values();
  });
}

}  // namespace smem::distributed::detail
