// Transpose: a tile for each pair of blocks.
#include <smem/distributed/transpose.hpp>

#include "distributed/checks.hpp"
#include "distributed/handles.hpp"
#include "distributed/moves.hpp"

#include <smem/transpose.hpp>

#include <algorithm>
#include <vector>

namespace smem::distributed {

namespace {

constexpr std::size_t kPiecesOfTile = 16;

}  // namespace

void transpose(const Rows& in, Rows& out) {
  constexpr const char* kOperation = "distributed::transpose";
  using namespace detail;
  State& state = in.session().state();
  const auto check = [&](Signature& signature) {
    check_input(kOperation, "in", state, in, signature);
    check_output(kOperation, "out", state, out, signature);
    if (&in == &out) refuse(kOperation, "out", "other data than in", "in itself");
    const std::size_t bytes = in.type().bytes;
    if ((bytes & (bytes - 1)) != 0) {
      refuse(kOperation, "in", "elements of 1, 2, 4, 8 or 16 bytes", std::to_string(bytes) + " bytes");
    }
    if (!(out.type() == in.type())) {
      refuse(kOperation, "out", "elements of the type of in", "another type");
    }
    if (out.rows() != in.row_elements() || out.row_elements() != in.rows()) {
      refuse(kOperation, "out",
             std::to_string(in.row_elements()) + " rows of " + std::to_string(in.rows()) + " elements",
             std::to_string(out.rows()) + " rows of " + std::to_string(out.row_elements()));
    }
  };
  state.collective(kOperation, check, [&] {
    const ElementType type = in.type();
    const std::size_t cols = in.row_elements(), rows = in.rows();
    // Where both matrices do not lie in the devices' memory, a block of `in` is read once: all of its tiles
    // are made, go to main memory, and are put together when a block of `out` has its turn.
    bool in_bands = false;
    for (int rank = 0; rank < state.ranks(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const std::size_t bytes = (in.layout().rows[r] * cols + out.layout().rows[r] * rows) * type.bytes;
      in_bands = in_bands || bytes > state.device_bytes() * state.devices_of(rank);
    }
    for (const Block& to : out.blocks()) {
      if (to.handle != nullptr && !in_bands) touch(state, to.handle);
    }
    const std::size_t ins = in.blocks().size(), outs = out.blocks().size();
    const std::int64_t first_tag = state.next_tags(ins * outs * kPiecesOfTile);
    struct Tile {
      std::size_t from, to;
      std::size_t first, rows;  ///< of the block of `out`
      Temporary data;
    };
    std::vector<Tile> waiting;
    const auto deliver = [&](const Tile& tile) {
      const Block &from = in.blocks()[tile.from], &to = out.blocks()[tile.to];
      const std::size_t row_bytes = from.rows * type.bytes;
      const End source{.pitch = row_bytes},
          target{.offset = (tile.first * rows + from.first) * type.bytes, .pitch = rows * type.bytes};
      const std::size_t count = tile.rows;
      state.submit("copy", {{to.handle, Access::update}, {tile.data.handle(), Access::read}},
                   [=](const Context& context, std::span<const Piece> pieces) {
                     copy_rows(context, pieces[1], source, pieces[0], target, count, row_bytes);
                   });
    };
    const auto make = [&](std::size_t i, std::size_t j) {
      const Block &from = in.blocks()[i], &to = out.blocks()[j];
      // The tile of `from`, or some of its columns, as the columns of `to`.
      const auto tile = [=](const Context& context, const Piece& source, const smem::Matrix& target,
                            std::size_t first, std::size_t count) {
        smem::transpose(context,
                        ConstMatrix(source.buffer, type, from.rows, count,
                                    {.offset = source.vector(type).offset + to.first + first, .pitch = cols}),
                        target);
      };
      if (from.handle == nullptr && to.handle == nullptr) return;
      // Between devices goes a tile, not a block.
      if (from.rank == to.rank && !in_bands &&
          (from.handle == nullptr || home_of(from.handle) == home_of(to.handle))) {
        if (from.handle == nullptr) return;
        state.submit(
            "transpose", {{from.handle, Access::read}, {to.handle, Access::update}},
            [=](const Context& context, std::span<const Piece> pieces) {
              tile(context, pieces[0],
                   smem::Matrix(pieces[1].buffer, type, to.rows, from.rows,
                                {.offset = pieces[1].vector(type).offset + from.first, .pitch = rows}),
                   0, to.rows);
            });
        return;
      }
      // In pieces: one is on its way to main memory while the one before it leaves that.
      const std::size_t bytes = from.rows * to.rows * type.bytes;
      const std::size_t pieces =
          std::clamp<std::size_t>(bytes / detail::kPieceBytes, 1, std::min(kPiecesOfTile, to.rows));
      for (std::size_t piece = 0; piece < pieces; ++piece) {
        const std::size_t first = to.rows * piece / pieces, count = to.rows * (piece + 1) / pieces - first;
        Tile made{i, j, first, count, Temporary(from.rows * count, type.bytes)};
        const std::int64_t tag =
            first_tag + static_cast<std::int64_t>((i * outs + j) * kPiecesOfTile + piece);
        if (from.handle != nullptr) {
          state.submit("transpose", {{from.handle, Access::read}, {made.data.handle(), Access::write}},
                       [=](const Context& context, std::span<const Piece> memory) {
                         tile(context, memory[0],
                              smem::Matrix(memory[1].buffer, type, count, from.rows,
                                           {.offset = memory[1].vector(type).offset}),
                              first, count);
                       });
          if (to.handle != nullptr && !in_bands) state.bring(made.data.handle(), home_of(to.handle));
          if (to.handle == nullptr) {
            state.send(made.data.handle(), to.rank, tag);
            continue;
          }
        } else {
          state.receive(made.data.handle(), from.rank, tag);
        }
        if (in_bands) {
          waiting.push_back(std::move(made));
        } else {
          deliver(made);
        }
      }
    };
    // In each step every block sends to the block that is so far behind it: no rank is sent to by all at
    // once. What stays comes last, while the others travel. In bands each block of `in` makes all of these
    // steps before the next one.
    for (std::size_t n = 0; n < ins * outs; ++n) {
      const std::size_t i = in_bands ? n / outs : n % ins, step = in_bands ? n % outs : n / ins;
      make(i, (i * outs / ins + step + 1) % outs);
      if (in_bands && step + 1 == outs) state.throttle(outs);
    }
    std::stable_sort(waiting.begin(), waiting.end(),
                     [](const Tile& x, const Tile& y) { return x.to < y.to; });
    std::size_t next = 0;
    for (std::size_t to = 0; to < outs && in_bands; ++to) {
      if (out.blocks()[to].handle != nullptr) touch(state, out.blocks()[to].handle);
      for (; next < waiting.size() && waiting[next].to == to; ++next) {
        deliver(waiting[next]);
        waiting[next].data = Temporary();
      }
      state.throttle(ins);
    }
    out.set_has_values();
  });
}

}  // namespace smem::distributed
