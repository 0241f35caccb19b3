// Moves of elements between blocks: on a device where both lie on one rank, else through a message.
#include "distributed/moves.hpp"

#include "distributed/handles.hpp"

#include <smem/opencl.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace smem::distributed::detail {

namespace {

constexpr std::size_t kAligned = 256;  // bytes at whose multiples pieces begin, for fast copies

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

namespace {

void copy_on_device(State& state, const End& from, const End& to, Access access, std::size_t rows,
                    std::size_t row_bytes) {
  std::vector<Argument> arguments = {{to.handle, access}};
  if (from.handle != to.handle) arguments.push_back({from.handle, Access::read});
  state.submit("copy", arguments, [=](const Context& context, std::span<const Piece> pieces) {
    copy_rows(context, pieces.back(), from, pieces[0], to, rows, row_bytes);
  });
}

}  // namespace

void receive(State& state, std::vector<Arrival>& arrivals) {
  for (const Arrival& one : arrivals) {
    const End packed{state.rank(), one.data.handle(), 0, one.row_bytes};
    copy_on_device(state, packed, one.to, Access::update, one.rows, one.row_bytes);
  }
  arrivals.clear();
}

void move(State& state, const End& from, const End& to, std::size_t rows, std::size_t row_bytes,
          std::vector<Arrival>* later) {
  if (rows == 0 || row_bytes == 0) return;
  if (from.rank == to.rank) {
    if (from.rank != state.rank()) return;
    if (home_of(from.handle) == home_of(to.handle) || home_of(from.handle) == 0 || home_of(to.handle) == 0) {
      copy_on_device(state, from, to, Access::update, rows, row_bytes);
      return;
    }
    // Between devices goes what is asked for, not all of the handle's data.
    const std::size_t bytes = rows == 1 ? row_bytes : 0, pieces = pieces_of(bytes);
    const auto begin_of = [&](std::size_t piece) {
      return piece == pieces ? row_bytes : piece_begin(piece, pieces, bytes / kAligned) * kAligned;
    };
    std::vector<Arrival> sent;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const std::size_t first = begin_of(piece), length = begin_of(piece + 1) - first;
      Temporary between(rows, length);
      copy_on_device(state, {from.rank, from.handle, from.offset + first, from.pitch},
                     {state.rank(), between.handle(), 0, length}, Access::write, rows, length);
      state.bring(between.handle(), home_of(to.handle));
      sent.push_back({std::move(between), {to.rank, to.handle, to.offset + first, to.pitch}, rows, length});
    }
    if (later == nullptr) return receive(state, sent);
    std::move(sent.begin(), sent.end(), std::back_inserter(*later));
    return;
  }
  const std::int64_t tag = state.next_tag();
  if (from.rank != state.rank() && to.rank != state.rank()) return;
  const Temporary message(rows, row_bytes);  // StarPU counts elements with 32 bits, and bytes with 64
  const End packed{state.rank(), message.handle(), 0, row_bytes};
  if (from.rank == state.rank()) {
    copy_on_device(state, from, packed, Access::write, rows, row_bytes);
    state.send(message.handle(), to.rank, tag);
  } else {
    state.receive(message.handle(), from.rank, tag);
    copy_on_device(state, packed, to, Access::update, rows, row_bytes);
  }
}

}  // namespace smem::distributed::detail
