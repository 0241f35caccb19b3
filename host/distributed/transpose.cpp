// Transpose: a tile for each pair of blocks.
#include <smem/distributed/transpose.hpp>

#include "distributed/checks.hpp"
#include "distributed/moves.hpp"

#include <smem/transpose.hpp>

namespace smem::distributed {

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
    for (const Block& to : out.blocks()) {
      if (to.handle != nullptr) touch(state, to.handle);
    }
    // In each step every block sends to the block that is so far behind it: no rank is sent to by all at
    // once.
    const std::size_t steps = out.blocks().size();
    for (std::size_t step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < in.blocks().size(); ++i) {
        const Block &from = in.blocks()[i],
                    &to = out.blocks()[(i * steps / in.blocks().size() + step) % steps];
        // The tile of `from` as the columns of `to`.
        const auto tile = [=](const Context& context, const Piece& source, const smem::Matrix& target) {
          smem::transpose(context,
                          ConstMatrix(source.buffer, type, from.rows, to.rows,
                                      {.offset = source.vector(type).offset + to.first, .pitch = cols}),
                          target);
        };
        if (from.rank == to.rank) {
          if (from.handle == nullptr) continue;
          state.submit(
              "transpose", {{from.handle, Access::read}, {to.handle, Access::update}},
              [=](const Context& context, std::span<const Piece> pieces) {
                tile(context, pieces[0],
                     smem::Matrix(pieces[1].buffer, type, to.rows, from.rows,
                                  {.offset = pieces[1].vector(type).offset + from.first, .pitch = rows}));
              });
          continue;
        }
        const std::int64_t tag = state.next_tag();
        if (from.handle == nullptr && to.handle == nullptr) continue;
        const Temporary message(from.rows * to.rows, type.bytes);
        if (from.handle != nullptr) {
          state.submit("transpose", {{from.handle, Access::read}, {message.handle(), Access::write}},
                       [=](const Context& context, std::span<const Piece> pieces) {
                         tile(context, pieces[0],
                              smem::Matrix(pieces[1].buffer, type, to.rows, from.rows,
                                           {.offset = pieces[1].vector(type).offset}));
                       });
          state.send(message.handle(), to.rank, tag);
        } else {
          state.receive(message.handle(), from.rank, tag);
          const std::size_t row_bytes = from.rows * type.bytes;
          const End source{.pitch = row_bytes},
              target{.offset = from.first * type.bytes, .pitch = rows * type.bytes};
          state.submit("copy", {{message.handle(), Access::read}, {to.handle, Access::update}},
                       [=](const Context& context, std::span<const Piece> pieces) {
                         copy_rows(context, pieces[0], source, pieces[1], target, to.rows, row_bytes);
                       });
        }
      }
    }
    out.set_has_values();
  });
}

}  // namespace smem::distributed
