// Products of matrices: SUMMA on a grid of ranks. Panels of A go along its rows, panels of B along its
// columns.
#include <smem/distributed/gemm.hpp>

#include "distributed/checks.hpp"
#include "distributed/handles.hpp"
#include "distributed/moves.hpp"
#include "distributed/process_grid.hpp"

#include <smem/gemm.hpp>

#include <algorithm>
#include <array>
#include <utility>

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
  signature.add(product.grid_columns);
  check_input(kGemm, "a", state, a, signature);
  check_input(kGemm, "b", state, b, signature);
  if (product.beta != 0) {
    check_input(kGemm, "c", state, c, signature);
  } else {
    check_output(kGemm, "c", state, c, signature);
  }
  const auto ranks = static_cast<std::size_t>(state.ranks());
  if (product.grid_columns != 0 && ranks % product.grid_columns != 0) {
    refuse(kGemm, "product.grid_columns", "a divisor of " + std::to_string(ranks) + ", the number of ranks",
           std::to_string(product.grid_columns));
  }
  if (&c == &a || &c == &b) refuse(kGemm, "c", "an object other than a and b", "one of them");
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

/// Blocks of B in equal parts. Panels of the ranks take turns, so that all of them send at the same time.
std::vector<Panel> panels_of(const Rows& b, const Product& product, bool travel) {
  const std::size_t most = product.panel != 0 ? product.panel : travel ? kPanelRows : SIZE_MAX;
  std::vector<Panel> panels;
  for (const Block& block : b.blocks()) {
    const std::size_t parts = (block.rows - 1) / most + 1;
    for (std::size_t part = 0, first = block.first; part < parts; ++part) {
      const std::size_t rows = block.rows / parts + (part < block.rows % parts ? 1 : 0);
      panels.push_back({&block, first, rows});
      first += rows;
    }
  }
  if (panels.empty() || product.alpha == 0) return {{nullptr, 0, 0}};
  std::vector<std::pair<std::size_t, Panel>> in_turn;  // by their places among those of their rank
  for (std::size_t i = 0, place = 0; i < panels.size(); ++i) {
    place = i > 0 && panels[i].block->rank == panels[i - 1].block->rank ? place + 1 : 0;
    in_turn.emplace_back(place, panels[i]);
  }
  std::stable_sort(in_turn.begin(), in_turn.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::transform(in_turn.begin(), in_turn.end(), panels.begin(), [](const auto& one) { return one.second; });
  return panels;
}

/// Rows of A as a task finds them.
struct Factor {
  Handle handle = nullptr;
  std::size_t first = 0, end = 0;  ///< rows of A
  std::size_t before = 0;          ///< columns before those of the panel
  std::size_t pitch = 0;
};

/// Where sums go: columns of this rank in rows of C, which lie in C itself or, for a rank of the same row of
/// the grid, in memory of their own.
struct Target {
  const Block* block;  ///< of C
  std::size_t band = 0;
  Temporary memory = {};  ///< none where the block is of this rank
  Handle handle() const { return memory.handle() != nullptr ? memory.handle() : block->handle; }
};

/// One call on this rank. Bodies of tasks run when it is gone: they take copies.
class Multiplication {
 public:
  Multiplication(State& state, const Rows& a, const Rows& b, const Rows& c, const Product& product);
  void run() { state_.ranks() > 1 ? run_on_grid() : run_alone(); }

 private:
  void choose_grid(const Rows& c);
  void choose_bands(const Rows& c);
  void run_alone();
  void run_on_grid();
  void begin_band(std::size_t band);
  void end_band(std::size_t band);
  /// Calls each(block of C, columns of the grid's rank that computes them) for what lies with another rank
  /// than computes it, on all ranks in the same order.
  template <class Each>
  void for_others(std::size_t band, const Each& each) const;
  std::size_t band_of(const Block& block) const;
  /// The panel that a device begins with: rows of B that lie on it, while those of others come.
  std::size_t first_panel(const Block& to) const;
  void bring(std::size_t band, std::size_t index);
  void bring_b(const Panel& panel, std::size_t slot);
  void bring_a(const Block& block, const Panel& panel, Temporary& memory, std::int64_t tag);
  void pack(Handle from, const End& from_end, Handle to, std::size_t rows, std::size_t row_bytes);
  void multiply_panel(std::size_t band, std::size_t index);
  void multiply(const Target& to, const Factor& from, const Panel& panel, Handle memory, std::size_t offset,
                bool is_first);
  void scale(const Block& to);
  /// Of a column of the grid.
  std::size_t width_of(std::size_t column) const {
    return first_column(cols_, grid_, column + 1) - first_column(cols_, grid_, column);
  }
  int rank_at(std::size_t row, std::size_t column) const {
    return static_cast<int>(row * grid_.cols + column);
  }
  std::size_t row_of(int rank) const { return static_cast<std::size_t>(rank) / grid_.cols; }
  std::size_t column_of(int rank) const { return static_cast<std::size_t>(rank) % grid_.cols; }

  State& state_;
  const Rows& a_;
  const Rows& c_;
  const Product product_;
  const ElementType type_, sums_;
  const std::size_t depth_, cols_;
  const std::vector<Panel> panels_;
  std::size_t longest_ = 0;  ///< rows of a panel
  ProcessGrid grid_;
  std::size_t row_ = 0, column_ = 0;       ///< of this rank in the grid
  std::size_t before_ = 0, width_ = 0;     ///< columns of C that this rank computes
  std::vector<std::size_t> working_ = {};  ///< rows of the grid that have rows of C
  std::vector<Target> targets_;
  /// A band of C and the rows of A that it is made of lie in the devices' memory, half of it: all of B goes
  /// past each band. Where both lie there as a whole, that is one band.
  std::size_t bands_ = 1;
  std::array<Temporary, kPanelsUnderWay> b_panels_;
  std::array<std::vector<Temporary>, kPanelsUnderWay> leaving_;   ///< of B, for the other columns
  std::array<std::vector<Temporary>, kPanelsUnderWay> a_panels_;  ///< for each block of A
};

Multiplication::Multiplication(State& state, const Rows& a, const Rows& b, const Rows& c,
                               const Product& product)
    : state_(state),
      a_(a),
      c_(c),
      product_(product),
      type_(a.type()),
      sums_(c.type()),
      depth_(b.rows()),
      cols_(b.row_elements()),
      panels_(panels_of(b, product, state.ranks() > 1)) {
  for (const Panel& panel : panels_)
    longest_ = std::max(longest_, panel.rows);
  choose_grid(c);
  choose_bands(c);
  for (const Block& block : c.blocks())
    if (row_of(block.rank) == row_ && width_ != 0) targets_.push_back({&block, band_of(block)});
}

void Multiplication::choose_grid(const Rows& c) {
  const auto ranks = static_cast<std::size_t>(state_.ranks());
  grid_ = {ranks, 1};
  if (longest_ != 0 && product_.grid_columns != 0) {
    grid_ = {ranks / product_.grid_columns, product_.grid_columns};
  } else if (longest_ != 0) {
    grid_ = grid_for({c.layout().rows, cols_, depth_, type_.bytes, sums_.bytes, product_.beta != 0});
  }
  row_ = row_of(state_.rank());
  column_ = column_of(state_.rank());
  before_ = first_column(cols_, grid_, column_);
  width_ = width_of(column_);
  for (std::size_t row = 0; row < grid_.rows; ++row) {
    const auto begin = c.layout().rows.begin() + static_cast<std::ptrdiff_t>(row * grid_.cols),
               end = begin + static_cast<std::ptrdiff_t>(grid_.cols);
    if (std::any_of(begin, end, [](std::size_t rows) { return rows != 0; })) working_.push_back(row);
  }
}

void Multiplication::choose_bands(const Rows& c) {
  const std::size_t own_bytes = depth_ * type_.bytes + cols_ * sums_.bytes;
  for (int r = 0; r < state_.ranks(); ++r) {
    const std::size_t other_bytes =
        width_of(column_of(r)) * sums_.bytes + kPanelsUnderWay * longest_ * type_.bytes;
    std::size_t bytes = 0;
    for (std::size_t column = 0; column < grid_.cols; ++column) {
      const int of = rank_at(row_of(r), column);
      bytes += c.layout().rows[static_cast<std::size_t>(of)] * (of == r ? own_bytes : other_bytes);
    }
    const std::size_t room = std::max<std::size_t>(state_.device_bytes() / 2 * state_.devices_of(r), 1);
    bands_ = std::max(bands_, (bytes + room - 1) / room);
  }
}

/// Each rank's blocks divide among all bands.
std::size_t Multiplication::band_of(const Block& block) const {
  if (bands_ == 1) return 0;
  const auto is_of_rank = [&](const Block& one) { return one.rank == block.rank; };
  const auto& all = c_.blocks();
  const auto count = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is_of_rank));
  const auto index =
      static_cast<std::size_t>(std::count_if(all.begin(), all.begin() + (&block - all.data()), is_of_rank));
  return index * bands_ / count;
}

template <class Each>
void Multiplication::for_others(std::size_t band, const Each& each) const {
  for (const Block& block : c_.blocks()) {
    for (std::size_t column = 0; column < grid_.cols; ++column) {
      if (column != column_of(block.rank) && width_of(column) != 0 && band_of(block) == band)
        each(block, column);
    }
  }
}

void Multiplication::begin_band(std::size_t band) {
  if (band != 0) state_.throttle(1);
  for (const Block& block : c_.blocks())  // also where this rank has no columns: others send sums
    if (product_.beta == 0 && block.handle != nullptr && band_of(block) == band) touch(state_, block.handle);
  std::size_t index = 0;
  for (Target& target : targets_) {
    if (target.band != band || target.block->handle != nullptr) continue;
    const std::size_t devices = state_.devices_of(state_.rank());
    target.memory =
        Temporary(target.block->rows * width_, sums_.bytes, static_cast<int>(index++ % devices) + 1);
    touch(state_, target.memory.handle());
  }
  if (product_.beta == 0) return;
  for_others(band, [&](const Block& block, std::size_t column) {
    const int to = rank_at(row_of(block.rank), column);
    Handle memory = nullptr;
    for (const Target& target : targets_)
      if (to == state_.rank() && target.block == &block) memory = target.memory.handle();
    move(state_,
         {block.rank, block.handle, first_column(cols_, grid_, column) * sums_.bytes, cols_ * sums_.bytes},
         {to, memory, 0, width_of(column) * sums_.bytes}, block.rows, width_of(column) * sums_.bytes);
  });
}

/// Sums go to the ranks that have their rows of C.
void Multiplication::end_band(std::size_t band) {
  for_others(band, [&](const Block& block, std::size_t column) {
    const int from = rank_at(row_of(block.rank), column);
    Handle memory = nullptr;
    for (const Target& target : targets_)
      if (from == state_.rank() && target.block == &block) memory = target.memory.handle();
    move(state_, {from, memory, 0, width_of(column) * sums_.bytes},
         {block.rank, block.handle, first_column(cols_, grid_, column) * sums_.bytes, cols_ * sums_.bytes},
         block.rows, width_of(column) * sums_.bytes);
  });
  for (Target& target : targets_)
    if (target.band == band) target.memory = {};
  for (std::vector<Temporary>& slot : a_panels_)
    slot.clear();
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
void Multiplication::multiply(const Target& to, const Factor& from, const Panel& panel, Handle memory,
                              std::size_t offset, bool is_first) {
  const Block& block = *to.block;
  const std::size_t first = std::max(from.first, block.first),
                    end = std::min(from.end, block.first + block.rows);
  if (from.handle == nullptr || first >= end) return;
  const Gemm part{.alpha = product_.alpha, .beta = is_first ? product_.beta : 1, .tf32 = product_.tf32};
  const bool is_own = block.handle != nullptr;
  const std::size_t pitch = is_own ? cols_ : width_, before = is_own ? before_ : 0;
  const bool is_whole = pitch == width_ && first == block.first && end == block.first + block.rows;
  const std::size_t c_place = (first - block.first) * pitch + before,
                    a_place = (first - from.first) * from.pitch + from.before;
  state_.submit("gemm",
                {{from.handle, Access::read},
                 {memory, Access::read},
                 {to.handle(), part.beta == 0 && is_whole ? Access::write : Access::update}},
                [=, type = type_, sums = sums_, width = width_, a_pitch = from.pitch](
                    const Context& context, std::span<const Piece> pieces) {
                  smem::gemm(
                      context,
                      ConstMatrix(pieces[0].buffer, type, end - first, panel.rows,
                                  {.offset = pieces[0].vector(type).offset + a_place, .pitch = a_pitch}),
                      ConstMatrix(pieces[1].buffer, type, panel.rows, width,
                                  {.offset = pieces[1].vector(type).offset + offset}),
                      smem::Matrix(pieces[2].buffer, sums, end - first, width,
                                   {.offset = pieces[2].vector(sums).offset + c_place, .pitch = pitch}),
                      part);
                });
}

std::size_t Multiplication::first_panel(const Block& to) const {
  for (std::size_t i = 0; i < panels_.size(); ++i)
    if (panels_[i].rows != 0 && home_of(panels_[i].block->handle) == home_of(to.handle)) return i;
  return 0;
}

/// Panels are multiplied where they lie.
void Multiplication::run_alone() {
  for (std::size_t band = 0; band < bands_; ++band) {
    begin_band(band);
    for (std::size_t step = 0; step < panels_.size(); ++step) {
      for (const Target& to : targets_) {
        if (to.band != band) continue;
        const Panel& panel = panels_[(first_panel(*to.block) + step) % panels_.size()];
        if (panel.rows == 0) {
          scale(*to.block);
          continue;
        }
        const std::size_t offset = (panel.first - panel.block->first) * cols_;
        for (const Block& from : a_.blocks()) {
          multiply(to, {from.handle, from.first, from.first + from.rows, panel.first, depth_}, panel,
                   panel.block->handle, offset, step == 0);
        }
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------
// Panels on the grid.

/// Copies rows that a message takes.
void Multiplication::pack(Handle from, const End& from_end, Handle to, std::size_t rows,
                          std::size_t row_bytes) {
  const End to_end{.pitch = row_bytes};
  state_.submit("copy", {{from, Access::read}, {to, Access::write}},
                [=](const Context& context, std::span<const Piece> pieces) {
                  copy_rows(context, pieces[0], from_end, pieces[1], to_end, rows, row_bytes);
                });
}

/// The columns of a panel of B that a column of the grid needs go from the owner to the rank of that column
/// in the owner's row, or in the first one after it that works, and from there along the column.
void Multiplication::bring_b(const Panel& panel, std::size_t slot) {
  const std::int64_t tag = state_.next_tag();
  const int rank = state_.rank(), owner = panel.block->rank;
  const std::size_t count = working_.size(),
                    start = static_cast<std::size_t>(
                                std::lower_bound(working_.begin(), working_.end(), row_of(owner)) -
                                working_.begin()) %
                            count;
  if (owner == rank) {
    std::vector<Temporary>& leaving = leaving_[slot];
    leaving.resize(grid_.cols);
    for (std::size_t column = 0; column < grid_.cols; ++column) {
      const std::size_t bytes = width_of(column) * type_.bytes;
      const int first = rank_at(working_[start], column);
      if (bytes == 0) continue;
      Temporary& memory = first == rank ? b_panels_[slot] : leaving[column];
      if (memory.handle() == nullptr) memory = Temporary(longest_ * width_of(column), type_.bytes);
      const End from{
          .offset =
              ((panel.first - panel.block->first) * cols_ + first_column(cols_, grid_, column)) * type_.bytes,
          .pitch = cols_ * type_.bytes};
      pack(panel.block->handle, from, memory.handle(), panel.rows, bytes);
      if (first != rank) state_.send(memory.handle(), first, tag);
    }
  }
  const auto mine = std::lower_bound(working_.begin(), working_.end(), row_);
  if (mine == working_.end() || *mine != row_ || width_ == 0) return;
  const std::size_t place = (static_cast<std::size_t>(mine - working_.begin()) + count - start) % count;
  Temporary& memory = b_panels_[slot];
  if (memory.handle() == nullptr) memory = Temporary(longest_ * width_, type_.bytes);
  if (place != 0) {
    state_.receive(memory.handle(), rank_at(working_[(start + place - 1) % count], column_), tag);
  } else if (owner != rank) {
    state_.receive(memory.handle(), owner, tag);
  }
  if (place + 1 < count)
    state_.send(memory.handle(), rank_at(working_[(start + place + 1) % count], column_), tag);
}

/// The panel's columns of a block of A go round the row of the grid.
void Multiplication::bring_a(const Block& block, const Panel& panel, Temporary& memory, std::int64_t tag) {
  const std::size_t place = (column_ + grid_.cols - column_of(block.rank)) % grid_.cols;
  const auto beside = [&](std::size_t step) { return rank_at(row_, (column_ + step) % grid_.cols); };
  if (memory.handle() == nullptr) memory = Temporary(block.rows * longest_, type_.bytes);
  if (place == 0) {
    pack(block.handle, {.offset = panel.first * type_.bytes, .pitch = depth_ * type_.bytes}, memory.handle(),
         block.rows, panel.rows * type_.bytes);
  } else {
    state_.receive(memory.handle(), beside(grid_.cols - 1), tag);
  }
  if (place + 1 < grid_.cols) state_.send(memory.handle(), beside(1), tag);
}

/// Submits the way of a panel to this rank and from it to others.
void Multiplication::bring(std::size_t band, std::size_t index) {
  const Panel& panel = panels_[index];
  const std::size_t slot = index % kPanelsUnderWay;
  if (panel.rows == 0 || working_.empty() || cols_ == 0) return;
  bring_b(panel, slot);
  if (grid_.cols == 1) return;
  const auto& blocks = a_.blocks();
  const std::int64_t first_tag = state_.next_tags(blocks.size());
  a_panels_[slot].resize(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto needs = [&](const Block& to) {
      return to.rank == blocks[i].rank && to.first < blocks[i].first + blocks[i].rows &&
             blocks[i].first < to.first + to.rows && band_of(to) == band;
    };
    if (row_of(blocks[i].rank) == row_ && std::any_of(c_.blocks().begin(), c_.blocks().end(), needs))
      bring_a(blocks[i], panel, a_panels_[slot][i], first_tag + static_cast<std::int64_t>(i));
  }
}

void Multiplication::multiply_panel(std::size_t band, std::size_t index) {
  const Panel& panel = panels_[index];
  const std::size_t slot = index % kPanelsUnderWay;
  for (const Target& to : targets_) {
    if (to.band != band) continue;
    if (panel.rows == 0) {
      scale(*to.block);
      continue;
    }
    for (std::size_t i = 0; i < a_.blocks().size(); ++i) {
      const Block& from = a_.blocks()[i];
      Factor factor{from.handle, from.first, from.first + from.rows, panel.first, depth_};
      if (from.handle == nullptr && i < a_panels_[slot].size())
        factor = {a_panels_[slot][i].handle(), factor.first, factor.end, 0, panel.rows};
      multiply(to, factor, panel, b_panels_[slot].handle(), 0, index == 0);
    }
  }
}

/// SUMMA: a panel is on its way when the one before it is multiplied.
void Multiplication::run_on_grid() {
  for (std::size_t band = 0; band < bands_; ++band) {
    begin_band(band);
    bring(band, 0);
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      if (i + 1 < panels_.size()) bring(band, i + 1);
      multiply_panel(band, i);
    }
    end_band(band);
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
