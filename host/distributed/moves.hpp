/// Moves of elements between blocks, of one rank or of two.
#pragma once

#include "distributed/handles.hpp"
#include "distributed/state.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace smem::distributed::detail {

/// In how many pieces data goes from one device to another: one is on its way to main memory while the one
/// before it leaves that. 16 MiB reach the link's rate between two H200, but StarPU rests for half a
/// millisecond after every other piece: 1 GiB each way at once takes 33 ms in 16 pieces, 34 in 32 and 43 in
/// 64 (the link 31).
inline constexpr std::size_t kMostPieces = 16;
inline std::size_t pieces_of(std::size_t bytes) {
  return std::clamp<std::size_t>(bytes / (std::size_t{16} << 20), 1, kMostPieces);
}
/// Where a piece begins, of `total` bytes or rows. The first and the last pieces are small: while they
/// travel, one half of the way has nothing to do.
inline std::size_t piece_begin(std::size_t piece, std::size_t pieces, std::size_t total) {
  std::size_t before = 0, all = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::size_t weight = std::min({i + 1, pieces - i, std::size_t{4}});
    all += weight;
    if (i < piece) before += weight;
  }
  return total / all * before + total % all * before / all;
}

/// One end of a move: `rows` of `row_bytes`, `pitch` bytes apart, from byte `offset` of the handle on.
struct End {
  int rank = 0;
  Handle handle = nullptr;  ///< none on other ranks
  std::size_t offset = 0;
  std::size_t pitch = 0;
};

/// Rectangular copy within a buffer's piece to another one's: `rows` of `row_bytes`.
void copy_rows(const Context& context, const Piece& from, const End& from_end, const Piece& to,
               const End& to_end, std::size_t rows, std::size_t row_bytes);

/// What is on its way to another device of this rank, and where it belongs there.
struct Arrival {
  Temporary data;
  End to;
  std::size_t rows, row_bytes;
};

/// Copies `rows` of `row_bytes` from one end to the other; all ranks call it in the same order. Does not
/// wait. Both ends may be of one handle where they share no byte. Data of `to` that was never written must
/// have been touched.
///
/// `later`: what goes to another device is added to it, for receive(), if it is not null. A device has two
/// tasks at a time. If both wait for data that is on its way, it sends nothing meanwhile: so where devices
/// send to each other, all of them send first.
void move(State& state, const End& from, const End& to, std::size_t rows, std::size_t row_bytes,
          std::vector<Arrival>* later = nullptr);

/// Copies what has been sent to where it belongs, and forgets it.
void receive(State& state, std::vector<Arrival>& arrivals);

/// Makes the handle's data count as written, whatever it is, so that parts of it can be written.
void touch(State& state, Handle handle);

}  // namespace smem::distributed::detail
