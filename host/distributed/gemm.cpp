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

using namespace detail;

constexpr const char* kGemm = "distributed::gemm";
constexpr std::size_t kPanelsUnderWay = 3;  // one multiplied, one there, one on its way
constexpr std::size_t kPanelRows = 1024;    // long enough sums for a device, short enough to begin soon

Scalar sum_type(Scalar factor) {
  return factor == Scalar::int8      ? Scalar::int32
         : factor == Scalar::float64 ? Scalar::float64
                                     : Scalar::float32;
}

void check_gemm(Signature& signature, State& state, const Rows& a, const Rows& b, const Rows& c,
                const Product& product) {
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
    refuse(kGemm, "b", std::to_string(a.row_elements()) + " rows, as a has columns", shape_of(b));
  }
  if (c.row_elements() != b.row_elements()) {
    refuse(kGemm, "c", std::to_string(b.row_elements()) + " columns, as b has", shape_of(c));
  }
  if (c.layout().rows != a.layout().rows) {
    refuse(kGemm, "c", std::to_string(a.rows()) + " rows in the layout of a", shape_of(c));
  }
}

/// Rows of B, of one of its blocks; none where C is only multiplied by beta.
struct Panel {
  const Block* block;
  std::size_t first;  ///< row of B
  std::size_t rows;
};

std::vector<Panel> panels_of(const Rows& b, const Product& product, bool is_ring) {
  const std::size_t most = product.panel != 0 ? product.panel : is_ring ? kPanelRows : SIZE_MAX;
  std::vector<Panel> panels;
  for (const Block& block : b.blocks()) {
    for (std::size_t row = 0; row < block.rows; row += std::min(most, block.rows - row))
      panels.push_back({&block, block.first + row, std::min(most, block.rows - row)});
  }
  if (panels.empty() || product.alpha == 0) panels = {{nullptr, 0, 0}};
  return panels;
}

/// One call on this rank. Bodies of tasks run when it is gone: they take copies.
class Multiplication {
 public:
  Multiplication(State& state, const Rows& a, const Rows& b, const Rows& c, const Product& product);
  void run() { state_.ranks() > 1 ? run_in_ring() : run_alone(); }

 private:
  void run_alone();
  void run_in_ring();
  void begin_band(std::size_t band);
  std::size_t band_of(std::size_t i) const { return i * bands_ / own_.size(); }
  /// The panel that a device begins with: rows of B that lie on it, while those of others come.
  std::size_t first_panel(const Block& to) const;
  void pass_on(const Panel& panel, Handle memory);
  void multiply(const Block& to, const Panel& panel, Handle memory, std::size_t offset, bool is_first);
  void scale(const Block& to);

  State& state_;
  const Rows& a_;
  const Product product_;
  const ElementType type_, sums_;
  const std::size_t depth_, cols_;
  const std::vector<Panel> panels_;
  std::vector<const Block*> own_;  ///< blocks of C
  /// A band of C and the rows of A that it is made of lie in the devices' memory, half of it: all of B goes
  /// past each band. Where both lie there as a whole, that is one band.
  std::size_t bands_ = 1;
};

Multiplication::Multiplication(State& state, const Rows& a, const Rows& b, const Rows& c,
                               const Product& product)
    : state_(state),
      a_(a),
      product_(product),
      type_(a.type()),
      sums_(c.type()),
      depth_(b.rows()),
      cols_(b.row_elements()),
      panels_(panels_of(b, product, state.ranks() > 1)) {
  const std::size_t row_bytes = depth_ * type_.bytes + cols_ * sums_.bytes;
  for (int r = 0; r < state.ranks(); ++r) {
    const std::size_t room = std::max<std::size_t>(state.device_bytes() / 2 * state.devices_of(r), 1);
    bands_ = std::max(bands_, (c.layout().rows[static_cast<std::size_t>(r)] * row_bytes + room - 1) / room);
  }
  for (const Block& block : c.blocks())
    if (block.handle != nullptr) own_.push_back(&block);
}

void Multiplication::begin_band(std::size_t band) {
  if (band != 0) state_.throttle(1);
  for (std::size_t i = 0; i < own_.size() && product_.beta == 0; ++i)
    if (band_of(i) == band) touch(state_, own_[i]->handle);
}

/// C = beta C.
void Multiplication::scale(const Block& to) {
  const Gemm part{.alpha = product_.alpha, .beta = product_.beta, .tf32 = product_.tf32};
  state_.submit("gemm", {{to.handle, product_.beta == 0 ? Access::write : Access::update}},
                [part, to, type = type_, sums = sums_, cols = cols_](const Context& context,
                                                                     std::span<const Piece> pieces) {
                  const std::size_t first = pieces[0].vector(sums).offset;
                  const ConstMatrix none_a(pieces[0].buffer, type, to.rows, 0),
                      none_b(pieces[0].buffer, type, 0, cols);
                  smem::gemm(context, none_a, none_b,
                             smem::Matrix(pieces[0].buffer, sums, to.rows, cols, {.offset = first}), part);
                });
}

/// Blocks of A and C differ where their rows have different lengths: C is computed by the common parts.
/// `offset`: elements of the panel's memory before it.
void Multiplication::multiply(const Block& to, const Panel& panel, Handle memory, std::size_t offset,
                              bool is_first) {
  if (panel.rows == 0) return scale(to);
  const Gemm part{.alpha = product_.alpha, .beta = is_first ? product_.beta : 1, .tf32 = product_.tf32};
  for (const Block& from : a_.blocks()) {
    const std::size_t first = std::max(from.first, to.first),
                      end = std::min(from.first + from.rows, to.first + to.rows);
    if (from.handle == nullptr || first >= end) continue;
    const bool is_whole = first == to.first && end == to.first + to.rows;
    state_.submit("gemm",
                  {{from.handle, Access::read},
                   {memory, Access::read},
                   {to.handle, part.beta == 0 && is_whole ? Access::write : Access::update}},
                  [=, type = type_, sums = sums_, depth = depth_, cols = cols_](
                      const Context& context, std::span<const Piece> pieces) {
                    const std::size_t a_place =
                        pieces[0].vector(type).offset + (first - from.first) * depth + panel.first;
                    const std::size_t c_place = pieces[2].vector(sums).offset + (first - to.first) * cols;
                    smem::gemm(context,
                               ConstMatrix(pieces[0].buffer, type, end - first, panel.rows,
                                           {.offset = a_place, .pitch = depth}),
                               ConstMatrix(pieces[1].buffer, type, panel.rows, cols,
                                           {.offset = pieces[1].vector(type).offset + offset}),
                               smem::Matrix(pieces[2].buffer, sums, end - first, cols, {.offset = c_place}),
                               part);
                  });
  }
}

std::size_t Multiplication::first_panel(const Block& to) const {
  for (std::size_t i = 0; i < panels_.size(); ++i)
    if (panels_[i].rows != 0 && home_of(panels_[i].block->handle) == home_of(to.handle)) return i;
  return 0;
}

/// Panels are multiplied where they lie.
void Multiplication::run_alone() {
  for (std::size_t band = 0; band < bands_ && cols_ != 0; ++band) {
    begin_band(band);
    for (std::size_t step = 0; step < panels_.size(); ++step) {
      for (std::size_t i = 0; i < own_.size(); ++i) {
        if (band_of(i) != band) continue;
        const Panel& panel = panels_[(first_panel(*own_[i]) + step) % panels_.size()];
        const Handle memory = panel.rows != 0 ? panel.block->handle : nullptr;
        const std::size_t offset = panel.rows != 0 ? (panel.first - panel.block->first) * cols_ : 0;
        multiply(*own_[i], panel, memory, offset, step == 0);
      }
    }
  }
}

/// Brings a panel to `memory`, from its block or from the rank before, and sends it to the next rank.
void Multiplication::pass_on(const Panel& panel, Handle memory) {
  const int ranks = state_.ranks(), rank = state_.rank(), owner = panel.block->rank;
  const std::int64_t tag = state_.next_tag();
  if (owner == rank) {
    const std::size_t bytes = panel.rows * cols_ * type_.bytes;
    const End from{.offset = (panel.first - panel.block->first) * cols_ * type_.bytes, .pitch = bytes},
        to{.pitch = bytes};
    state_.submit("copy", {{panel.block->handle, Access::read}, {memory, Access::write}},
                  [from, to, bytes](const Context& context, std::span<const Piece> pieces) {
                    copy_rows(context, pieces[0], from, pieces[1], to, 1, bytes);
                  });
  } else {
    state_.receive(memory, (rank + ranks - 1) % ranks, tag);
  }
  if ((rank + 1) % ranks != owner) state_.send(memory, (rank + 1) % ranks, tag);
}

/// Panels go round the ring of ranks.
void Multiplication::run_in_ring() {
  const auto is_shorter = [](const Panel& x, const Panel& y) { return x.rows < y.rows; };
  const std::size_t longest = std::max_element(panels_.begin(), panels_.end(), is_shorter)->rows;
  std::array<Temporary, kPanelsUnderWay> ring;
  for (Temporary& place : ring)
    place = Temporary(longest * cols_, type_.bytes);
  for (std::size_t i = 0; i < bands_ * panels_.size(); ++i) {
    const std::size_t band = i / panels_.size();
    if (i % panels_.size() == 0) begin_band(band);
    const Panel& panel = panels_[i % panels_.size()];
    const Handle memory = ring[i % kPanelsUnderWay].handle();
    if (panel.rows != 0 && memory != nullptr) pass_on(panel, memory);
    for (std::size_t k = 0; k < own_.size() && cols_ != 0; ++k)
      if (band_of(k) == band) multiply(*own_[k], panel, memory, 0, i % panels_.size() == 0);
  }
}

}  // namespace

void gemm(const Rows& a, const Rows& b, Rows& c, const Product& product) {
  State& state = a.session().state();
  state.collective(
      kGemm, [&](Signature& signature) { check_gemm(signature, state, a, b, c, product); },
      [&] {
        Multiplication(state, a, b, c, product).run();
        c.set_has_values();
      });
}

}  // namespace smem::distributed
