// Products of matrices: panels of B go round the ring of ranks.
#include <smem/distributed/gemm.hpp>

#include "distributed/checks.hpp"
#include "distributed/handles.hpp"
#include "distributed/moves.hpp"

#include <smem/gemm.hpp>

#include <algorithm>
#include <array>

namespace smem::distributed {

namespace {

constexpr const char* kGemm = "distributed::gemm";
constexpr std::size_t kPanelsUnderWay = 3;  // one multiplied, one there, one on its way
constexpr std::size_t kPanelRows = 1024;    // long enough sums for a device, short enough to begin soon

Scalar sum_type(Scalar factor) {
  return factor == Scalar::int8      ? Scalar::int32
         : factor == Scalar::float64 ? Scalar::float64
                                     : Scalar::float32;
}

/// Rows of B, of one of its blocks.
struct Panel {
  const Block* block;
  std::size_t first;  ///< row of B
  std::size_t rows;
};

}  // namespace

void gemm(const Rows& a, const Rows& b, Rows& c, const Product& product) {
  using namespace detail;
  State& state = a.session().state();
  const auto check = [&](Signature& signature) {
    signature.add(product.alpha).add(product.beta).add(product.tf32).add(product.panel);
    check_input(kGemm, "a", state, a, signature);
    check_input(kGemm, "b", state, b, signature);
    if (product.beta != 0) {
      check_input(kGemm, "c", state, c, signature);
    } else {
      check_output(kGemm, "c", state, c, signature);
    }
    if (&c == &a || &c == &b) refuse(kGemm, "c", "other data than a and b", "one of them");
    if (!a.type().scalar || !(b.type() == a.type())) {
      refuse(kGemm, "b", "numbers of the type of a", "others");
    }
    if (!(c.type() == ElementType(sum_type(*a.type().scalar)))) {
      refuse(kGemm, "c", std::string(name_of(sum_type(*a.type().scalar))) + ", the type of sums",
             c.type().scalar ? std::string(name_of(*c.type().scalar)) : "opaque elements");
    }
    if (b.rows() != a.row_elements()) {
      refuse(kGemm, "b", std::to_string(a.row_elements()) + " rows, as a has columns", detail::shape_of(b));
    }
    if (c.row_elements() != b.row_elements()) {
      refuse(kGemm, "c", std::to_string(b.row_elements()) + " columns, as b has", detail::shape_of(c));
    }
    if (c.layout().rows != a.layout().rows) {
      refuse(kGemm, "c", std::to_string(a.rows()) + " rows in the layout of a", detail::shape_of(c));
    }
  };
  state.collective(kGemm, check, [&] {
    const ElementType type = a.type(), sums = c.type();
    const std::size_t depth = b.rows(), cols = b.row_elements();
    const int ranks = state.ranks(), rank = state.rank();
    const bool is_ring = ranks > 1;
    const std::size_t most = product.panel != 0 ? product.panel : is_ring ? kPanelRows : SIZE_MAX;
    std::vector<Panel> panels;
    for (const Block& block : b.blocks()) {
      for (std::size_t row = 0; row < block.rows; row += std::min(most, block.rows - row))
        panels.push_back({&block, block.first + row, std::min(most, block.rows - row)});
    }
    if (panels.empty() || product.alpha == 0) panels = {{nullptr, 0, 0}};

    // Blocks of A and C differ where their rows have different lengths: C is computed by the common parts.
    // `offset`: elements of the panel's memory before it.
    const auto multiply = [&](const Block& to, const Panel& panel, Handle memory, std::size_t offset,
                              bool is_first) {
      const Gemm part{.alpha = product.alpha, .beta = is_first ? product.beta : 1, .tf32 = product.tf32};
      if (panel.rows == 0) {  // C = beta C
        state.submit("gemm", {{to.handle, product.beta == 0 ? Access::write : Access::update}},
                     [=](const Context& context, std::span<const Piece> pieces) {
                       const std::size_t first = pieces[0].vector(sums).offset;
                       const ConstMatrix none_a(pieces[0].buffer, type, to.rows, 0),
                           none_b(pieces[0].buffer, type, 0, cols);
                       smem::gemm(context, none_a, none_b,
                                  smem::Matrix(pieces[0].buffer, sums, to.rows, cols, {.offset = first}),
                                  part);
                     });
        return;
      }
      for (const Block& from : a.blocks()) {
        const std::size_t first = std::max(from.first, to.first),
                          end = std::min(from.first + from.rows, to.first + to.rows);
        if (from.handle == nullptr || first >= end) continue;
        const bool is_whole = first == to.first && end == to.first + to.rows;
        state.submit(
            "gemm",
            {{from.handle, Access::read},
             {memory, Access::read},
             {to.handle, part.beta == 0 && is_whole ? Access::write : Access::update}},
            [=](const Context& context, std::span<const Piece> pieces) {
              const std::size_t a_place =
                  pieces[0].vector(type).offset + (first - from.first) * depth + panel.first;
              const std::size_t c_place = pieces[2].vector(sums).offset + (first - to.first) * cols;
              smem::gemm(context,
                         ConstMatrix(pieces[0].buffer, type, end - first, panel.rows,
                                     {.offset = a_place, .pitch = depth}),
                         ConstMatrix(pieces[1].buffer, type, panel.rows, cols,
                                     {.offset = pieces[1].vector(type).offset + offset}),
                         smem::Matrix(pieces[2].buffer, sums, end - first, cols, {.offset = c_place}), part);
            });
      }
    };

    // A band of C and the rows of A that it is made of lie in the devices' memory, half of it: all of B goes
    // past each band. Where both lie there as a whole, that is one band.
    const std::size_t row_bytes = depth * type.bytes + cols * sums.bytes;
    std::size_t bands = 1;
    for (int r = 0; r < ranks; ++r) {
      const std::size_t room = std::max<std::size_t>(state.device_bytes() / 2 * state.devices_of(r), 1);
      bands = std::max(bands, (c.layout().rows[static_cast<std::size_t>(r)] * row_bytes + room - 1) / room);
    }
    std::vector<const Block*> own;
    for (const Block& block : c.blocks()) {
      if (block.handle == nullptr) continue;
      own.push_back(&block);
    }
    const auto band_of = [&](std::size_t i) { return i * bands / own.size(); };
    const auto begin_band = [&](std::size_t band) {
      if (band != 0) state.throttle(1);
      for (std::size_t i = 0; i < own.size() && product.beta == 0; ++i)
        if (band_of(i) == band) touch(state, own[i]->handle);
    };

    if (!is_ring) {
      // Every device begins with rows of B that lie on it, while those of others come.
      const auto start_of = [&](const Block& to) {
        for (std::size_t i = 0; i < panels.size(); ++i)
          if (panels[i].rows != 0 && home_of(panels[i].block->handle) == home_of(to.handle)) return i;
        return std::size_t{0};
      };
      for (std::size_t band = 0; band < bands && cols != 0; ++band) {
        begin_band(band);
        for (std::size_t step = 0; step < panels.size(); ++step) {
          for (std::size_t i = 0; i < own.size(); ++i) {
            if (band_of(i) != band) continue;
            const Panel& panel = panels[(start_of(*own[i]) + step) % panels.size()];
            const Handle memory = panel.rows != 0 ? panel.block->handle : nullptr;
            const std::size_t offset = panel.rows != 0 ? (panel.first - panel.block->first) * cols : 0;
            multiply(*own[i], panel, memory, offset, step == 0);
          }
        }
      }
      c.set_has_values();
      return;
    }

    const std::size_t longest =
        std::max_element(panels.begin(), panels.end(), [](const Panel& x, const Panel& y) {
          return x.rows < y.rows;
        })->rows;
    std::array<Temporary, kPanelsUnderWay> ring;
    for (Temporary& place : ring)
      place = Temporary(longest * cols, type.bytes);
    for (std::size_t i = 0; i < bands * panels.size(); ++i) {
      const std::size_t band = i / panels.size();
      if (i % panels.size() == 0) begin_band(band);
      const Panel& panel = panels[i % panels.size()];
      const Handle memory = ring[i % kPanelsUnderWay].handle();
      if (panel.rows != 0 && memory != nullptr) {
        const int owner = panel.block->rank;
        const std::int64_t tag = state.next_tag();
        if (owner == rank) {
          const std::size_t bytes = panel.rows * cols * type.bytes;
          const End from{.offset = (panel.first - panel.block->first) * cols * type.bytes, .pitch = bytes},
              to{.pitch = bytes};
          state.submit("copy", {{panel.block->handle, Access::read}, {memory, Access::write}},
                       [=](const Context& context, std::span<const Piece> pieces) {
                         copy_rows(context, pieces[0], from, pieces[1], to, 1, bytes);
                       });
        } else {
          state.receive(memory, (rank + ranks - 1) % ranks, tag);
        }
        if ((rank + 1) % ranks != owner) state.send(memory, (rank + 1) % ranks, tag);
      }
      for (std::size_t k = 0; k < own.size() && cols != 0; ++k)
        if (band_of(k) == band) multiply(*own[k], panel, memory, 0, i % panels.size() == 0);
    }
    c.set_has_values();
  });
}

}  // namespace smem::distributed
