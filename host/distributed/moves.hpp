/// Moves of elements between blocks, of one rank or of two.
#pragma once

#include "distributed/state.hpp"

#include <cstddef>

namespace smem::distributed::detail {

/// Of what goes from one device to another: 4 to 16 MiB reach the link's rate between two H200.
inline constexpr std::size_t kPieceBytes = std::size_t{16} << 20;

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

/// Copies `rows` of `row_bytes` from one end to the other; all ranks call it in the same order. Does not
/// wait. Both ends may be of one handle where they share no byte. Data of `to` that was never written must
/// have been touched.
void move(State& state, const End& from, const End& to, std::size_t rows, std::size_t row_bytes);

/// Makes the handle's data count as written, whatever it is, so that parts of it can be written.
void touch(State& state, Handle handle);

}  // namespace smem::distributed::detail
