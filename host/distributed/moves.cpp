// Moves of elements between blocks: on a device where both lie on one rank, else through a message.
#include "distributed/moves.hpp"

#include "distributed/handles.hpp"

#include <smem/opencl.hpp>

#include <algorithm>

namespace smem::distributed::detail {

namespace {

void check_call(cl_int status, const char* call) {
  if (status == CL_SUCCESS) return;
  throw Error({.operation = "distributed::move", .code = status, .call = call});
}

}  // namespace

void copy_rows(const Context& context, const Piece& from, const End& from_end, const Piece& to,
               const End& to_end, std::size_t rows, std::size_t row_bytes) {
  const cl_command_queue queue = context.queue()();
  const std::size_t source = from.offset + from_end.offset, target = to.offset + to_end.offset;
  if (rows == 1 || (from_end.pitch == row_bytes && to_end.pitch == row_bytes)) {
    check_call(clEnqueueCopyBuffer(queue, from.buffer, to.buffer, source, target, rows * row_bytes, 0,
                                   nullptr, nullptr),
               "clEnqueueCopyBuffer");
    return;
  }
  const std::size_t source_origin[3] = {source, 0, 0}, target_origin[3] = {target, 0, 0};
  const std::size_t region[3] = {row_bytes, rows, 1};
  check_call(clEnqueueCopyBufferRect(queue, from.buffer, to.buffer, source_origin, target_origin, region,
                                     from_end.pitch, 0, to_end.pitch, 0, 0, nullptr, nullptr),
             "clEnqueueCopyBufferRect");
}

void touch(State& state, Handle handle) {
  state.submit("touch", {{handle, Access::write}}, [](const Context&, std::span<const Piece>) {});
}

void move(State& state, const End& from, const End& to, std::size_t rows, std::size_t row_bytes) {
  if (rows == 0 || row_bytes == 0) return;
  const auto copy = [&](const End& source, const End& target, Access access, std::size_t length) {
    std::vector<Argument> arguments = {{target.handle, access}};
    if (source.handle != target.handle) arguments.push_back({source.handle, Access::read});
    state.submit("copy", arguments, [=](const Context& context, std::span<const Piece> pieces) {
      copy_rows(context, pieces.back(), source, pieces[0], target, rows, length);
    });
  };
  if (from.rank == to.rank) {
    if (from.rank != state.rank()) return;
    if (home_of(from.handle) == home_of(to.handle) || home_of(from.handle) == 0 || home_of(to.handle) == 0) {
      copy(from, to, Access::update, row_bytes);
      return;
    }
    // Between devices goes what is asked for, not all of the handle's data; in pieces: one is on its way to
    // main memory while the one before it leaves that.
    const std::size_t bytes = rows == 1 ? row_bytes : 0,
                      pieces = std::max<std::size_t>(bytes / kPieceBytes, 1);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const std::size_t first = bytes / pieces * piece,
                        length = piece + 1 == pieces ? row_bytes - first : bytes / pieces;
      const Temporary between(rows, length);
      const End packed{state.rank(), between.handle(), 0, length};
      copy({from.rank, from.handle, from.offset + first, from.pitch}, packed, Access::write, length);
      state.bring(between.handle(), home_of(to.handle));
      copy(packed, {to.rank, to.handle, to.offset + first, to.pitch}, Access::update, length);
    }
    return;
  }
  const std::int64_t tag = state.next_tag();
  if (from.rank != state.rank() && to.rank != state.rank()) return;
  const Temporary message(rows, row_bytes);  // StarPU counts elements with 32 bits, and bytes with 64
  const End packed{state.rank(), message.handle(), 0, row_bytes};
  if (from.rank == state.rank()) {
    copy(from, packed, Access::write, row_bytes);
    state.send(message.handle(), to.rank, tag);
  } else {
    state.receive(message.handle(), from.rank, tag);
    copy(packed, to, Access::update, row_bytes);
  }
}

}  // namespace smem::distributed::detail
