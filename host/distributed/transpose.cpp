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

using namespace detail;

constexpr const char* kTranspose = "distributed::transpose";

void check_transpose(Signature& signature, State& state, const Rows& in, const Rows& out) {
  check_input(kTranspose, "in", state, in, signature);
  check_output(kTranspose, "out", state, out, signature);
  if (&in == &out) refuse(kTranspose, "out", "an object other than in", "in itself");
  const std::size_t bytes = in.type().bytes;
  if ((bytes & (bytes - 1)) != 0) {
    refuse(kTranspose, "in", "elements of 1, 2, 4, 8 or 16 bytes", std::to_string(bytes) + " bytes");
  }
  if (!(out.type() == in.type())) {
    refuse(kTranspose, "out", "elements of the type of in", "another type");
  }
  if (out.rows() != in.row_elements() || out.row_elements() != in.rows()) {
    refuse(kTranspose, "out",
           std::to_string(in.row_elements()) + " rows of " + std::to_string(in.rows()) + " elements",
           std::to_string(out.rows()) + " rows of " + std::to_string(out.row_elements()));
  }
}

/// One call on this rank. Bodies of tasks run when it is gone: they take copies.
class Transposition {
 public:
  Transposition(State& state, const Rows& in, Rows& out);
  void run();

 private:
  /// Of a block of `in` and one of `out`, or some rows of it.
  struct Tile {
    std::size_t from, to;
    std::size_t first, rows;  ///< of the block of `out`
    Temporary data;
  };

  void make(std::size_t i, std::size_t j);
  void transpose_here(const Block& from, const Block& to);
  void transpose_to(const Tile& tile);
  void deliver(const Tile& tile);
  void deliver_in_bands();

  State& state_;
  const std::vector<Block>&in_, &out_;
  const ElementType type_;
  const std::size_t rows_, cols_;
  /// Where both matrices do not lie in the devices' memory, a block of `in` is read once: all of its tiles
  /// are made, go to main memory, and are put together when a block of `out` has its turn.
  bool in_bands_ = false;
  std::int64_t first_tag_ = 0;
  std::vector<Tile> waiting_;  ///< which travel
};

Transposition::Transposition(State& state, const Rows& in, Rows& out)
    : state_(state),
      in_(in.blocks()),
      out_(out.blocks()),
      type_(in.type()),
      rows_(in.rows()),
      cols_(in.row_elements()) {
  for (int rank = 0; rank < state.ranks(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const std::size_t bytes = (in.layout().rows[r] * cols_ + out.layout().rows[r] * rows_) * type_.bytes;
    in_bands_ = in_bands_ || bytes > state.device_bytes() * state.devices_of(rank);
  }
}

/// The transpose of columns [first, first + count) of the block `from`, as `target`.
void transpose_columns(const Context& context, const Block& from, const Piece& source, ElementType type,
                       std::size_t first, std::size_t count, std::size_t pitch, const smem::Matrix& target) {
  smem::transpose(context,
                  ConstMatrix(source.buffer, type, from.rows, count,
                              {.offset = source.vector(type).offset + first, .pitch = pitch}),
                  target);
}

/// The tile of two blocks of one device, to where it belongs.
void Transposition::transpose_here(const Block& from, const Block& to) {
  state_.submit("transpose", {{from.handle, Access::read}, {to.handle, Access::update}},
                [from, to, type = type_, rows = rows_, cols = cols_](const Context& context,
                                                                     std::span<const Piece> pieces) {
                  const smem::Matrix target(
                      pieces[1].buffer, type, to.rows, from.rows,
                      {.offset = pieces[1].vector(type).offset + from.first, .pitch = rows});
                  transpose_columns(context, from, pieces[0], type, to.first, to.rows, cols, target);
                });
}

/// A tile to memory of its own.
void Transposition::transpose_to(const Tile& tile) {
  const Block& from = in_[tile.from];
  state_.submit("transpose", {{from.handle, Access::read}, {tile.data.handle(), Access::write}},
                [from, type = type_, first = out_[tile.to].first + tile.first, count = tile.rows,
                 cols = cols_](const Context& context, std::span<const Piece> pieces) {
                  const smem::Matrix target(pieces[1].buffer, type, count, from.rows,
                                            {.offset = pieces[1].vector(type).offset});
                  transpose_columns(context, from, pieces[0], type, first, count, cols, target);
                });
}

/// Copies a tile to where it belongs.
void Transposition::deliver(const Tile& tile) {
  const Block &from = in_[tile.from], &to = out_[tile.to];
  const std::size_t row_bytes = from.rows * type_.bytes;
  const End source{.pitch = row_bytes},
      target{.offset = (tile.first * rows_ + from.first) * type_.bytes, .pitch = rows_ * type_.bytes};
  state_.submit(
      "copy", {{to.handle, Access::update}, {tile.data.handle(), Access::read}},
      [source, target, row_bytes, count = tile.rows](const Context& context, std::span<const Piece> pieces) {
        copy_rows(context, pieces[1], source, pieces[0], target, count, row_bytes);
      });
}

/// Makes, sends or receives the tile of block i of `in` and block j of `out`.
void Transposition::make(std::size_t i, std::size_t j) {
  const Block &from = in_[i], &to = out_[j];
  if (from.handle == nullptr && to.handle == nullptr) return;
  // Between devices goes a tile, not a block.
  if (from.rank == to.rank && !in_bands_ &&
      (from.handle == nullptr || home_of(from.handle) == home_of(to.handle))) {
    if (from.handle != nullptr) transpose_here(from, to);
    return;
  }
  const std::size_t pieces = std::min(pieces_of(from.rows * to.rows * type_.bytes), to.rows);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::size_t first = piece_begin(piece, pieces, to.rows),
                      count = piece_begin(piece + 1, pieces, to.rows) - first;
    if (count == 0) continue;
    Tile tile{i, j, first, count, Temporary(from.rows * count, type_.bytes)};
    const std::int64_t tag =
        first_tag_ + static_cast<std::int64_t>((i * out_.size() + j) * kMostPieces + piece);
    if (from.handle != nullptr) {
      transpose_to(tile);
      if (to.handle != nullptr && !in_bands_) state_.bring(tile.data.handle(), home_of(to.handle));
      if (to.handle == nullptr) {
        state_.send(tile.data.handle(), to.rank, tag);
        continue;
      }
    } else {
      state_.receive(tile.data.handle(), from.rank, tag);
    }
    waiting_.push_back(std::move(tile));
  }
}

/// Puts the tiles in main memory together, block by block of `out`.
void Transposition::deliver_in_bands() {
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const Tile& x, const Tile& y) { return x.to < y.to; });
  std::size_t next = 0;
  for (std::size_t to = 0; to < out_.size(); ++to) {
    if (out_[to].handle != nullptr) touch(state_, out_[to].handle);
    for (; next < waiting_.size() && waiting_[next].to == to; ++next) {
      deliver(waiting_[next]);
      waiting_[next].data = Temporary();
    }
    state_.throttle(in_.size());
  }
}

void Transposition::run() {
  for (const Block& to : out_)
    if (to.handle != nullptr && !in_bands_) touch(state_, to.handle);
  const std::size_t ins = in_.size(), outs = out_.size();
  first_tag_ = state_.next_tags(ins * outs * kMostPieces);
  // In each step every block sends to the block that is so far behind it: no rank is sent to by all at
  // once. What stays comes last, while the others travel. In bands each block of `in` makes all of these
  // steps before the next one.
  for (std::size_t n = 0; n < ins * outs; ++n) {
    const std::size_t i = in_bands_ ? n / outs : n % ins, step = in_bands_ ? n % outs : n / ins;
    make(i, (i * outs / ins + step + 1) % outs);
    if (in_bands_ && step + 1 == outs) state_.throttle(outs);
  }
  if (in_bands_) return deliver_in_bands();
  // A device has two tasks at a time: if both waited for tiles that are on their way, it would send none.
  for (const Tile& tile : waiting_)
    deliver(tile);
}

}  // namespace

void transpose(const Rows& in, Rows& out) {
  State& state = in.session().state();
  state.collective(
      kTranspose, [&](Signature& signature) { check_transpose(signature, state, in, out); },
      [&] {
        Transposition(state, in, out).run();
        out.set_has_values();
      });
}

}  // namespace smem::distributed
