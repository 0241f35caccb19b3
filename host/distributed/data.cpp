// Data by blocks of rows.
#include <smem/distributed/data.hpp>

#include "distributed/handles.hpp"
#include "distributed/state.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace smem::distributed {

namespace {

constexpr const char* kRowsClass = "distributed::Rows";

using smem::detail::size_product;
using smem::detail::size_sum;

void check_rows(const detail::State& state, const ElementType& type, std::size_t rows,
                std::size_t row_elements, const Layout& layout) {
  if (type.bytes == 0 || type.bytes > 16) {
    throw Error({.operation = kRowsClass,
                 .argument = "type",
                 .expected = "elements of 1 to 16 bytes",
                 .got = std::to_string(type.bytes) + " bytes"});
  }
  if (size_product(rows, row_elements, type.bytes) == SIZE_MAX) {
    throw Error({.operation = kRowsClass,
                 .argument = "rows",
                 .expected = "less than 2^64 bytes",
                 .got = std::to_string(rows) + " rows of " + std::to_string(row_elements) + " elements"});
  }
  const std::size_t most = state.block_elements(type.bytes);
  if (row_elements > most) {
    throw Error({.operation = kRowsClass,
                 .argument = "row_elements",
                 .expected = "at most " + std::to_string(most) +
                             " elements in a row (SessionOptions::block_elements, or the devices' memory)",
                 .got = std::to_string(row_elements)});
  }
  if (layout.rows.empty()) return;
  std::size_t sum = 0;
  for (const std::size_t count : layout.rows)
    sum = size_sum(sum, count);
  if (layout.rows.size() != static_cast<std::size_t>(state.ranks()) || sum != rows) {
    throw Error({.operation = kRowsClass,
                 .argument = "layout",
                 .expected = std::to_string(state.ranks()) + " numbers, one a rank, with the sum " +
                             std::to_string(rows),
                 .got = std::to_string(layout.rows.size()) + " numbers with the sum " + std::to_string(sum)});
  }
}

void check_count(const char* argument, std::size_t count, std::size_t wanted, const char* of_what) {
  if (count == wanted) return;
  throw Error({.operation = kRowsClass,
               .argument = argument,
               .expected = std::to_string(wanted) + " elements, " + of_what,
               .got = std::to_string(count)});
}

void require_values(const Rows& rows) {
  if (rows.has_values()) return;
  throw Error({.operation = kRowsClass, .expected = "data that was written", .got = "data without values"});
}

/// Calls `each(block, bytes before the block among those of this rank)` for the blocks of this rank.
template <class Each>
void for_own_blocks(const Rows& rows, const Each& each) {
  const std::size_t row_bytes = rows.row_elements() * rows.type().bytes, first = rows.first_row();
  for (const Block& block : rows.blocks()) {
    if (block.handle != nullptr) each(block, (block.first - first) * row_bytes, block.rows * row_bytes);
  }
}

}  // namespace

Rows::Rows(const Session& session, const ElementType& type, std::size_t rows, std::size_t row_elements,
           const Layout& layout)
    : session_(session), type_(type), rows_(rows), row_elements_(row_elements), layout_(layout) {
  detail::State& state = session.state();
  const auto check = [&](detail::Signature& signature) {
    check_rows(state, type, rows, row_elements, layout);
    const auto ranks = static_cast<std::size_t>(state.ranks());
    if (layout_.rows.empty()) {
      for (std::size_t rank = 0; rank < ranks; ++rank)
        layout_.rows.push_back(rows / ranks + (rank < rows % ranks ? 1 : 0));
    }
    signature.add(*this);
  };
  state.collective(kRowsClass, check, [] {});

  std::size_t first = 0;
  for (int rank = 0; rank < state.ranks(); ++rank) {
    const std::size_t count = layout_.rows[static_cast<std::size_t>(rank)];
    if (row_elements != 0 && count != 0) {
      const std::size_t most = state.block_elements(type.bytes) / row_elements;  // rows, at least 1
      const std::size_t parts = std::min(count, std::max(state.devices_of(rank), (count - 1) / most + 1));
      for (std::size_t part = 0; part < parts; ++part) {
        Block block{.first = first, .rows = count / parts + (part < count % parts ? 1 : 0), .rank = rank};
        first += block.rows;
        blocks_.push_back(block);
      }
    } else {
      first += count;
    }
  }
  const auto mine = [&](const Block& block) { return block.rank == state.rank(); };
  const auto count = static_cast<std::size_t>(std::count_if(blocks_.begin(), blocks_.end(), mine));
  std::size_t part = 0;
  for (Block& block : blocks_) {
    if (!mine(block)) continue;
    starpu_vector_data_register(&block.handle, -1, 0, static_cast<std::uint32_t>(block.rows * row_elements),
                                type.bytes);
    // Neighbours on one device.
    detail::set_home(block.handle, static_cast<int>(part++ * state.devices_of(state.rank()) / count) + 1);
  }
}

Rows::Rows(Rows&& other) noexcept
    : session_(other.session_),
      type_(other.type_),
      rows_(other.rows_),
      row_elements_(other.row_elements_),
      layout_(other.layout_),
      blocks_(std::exchange(other.blocks_, {})),
      has_values_(std::exchange(other.has_values_, false)) {}

Rows& Rows::operator=(Rows&& other) noexcept {
  if (this == &other) return *this;
  release();
  session_ = other.session_;
  type_ = other.type_;
  rows_ = other.rows_;
  row_elements_ = other.row_elements_;
  layout_ = other.layout_;
  blocks_ = std::exchange(other.blocks_, {});
  has_values_ = std::exchange(other.has_values_, false);
  return *this;
}

Rows::~Rows() { release(); }

void Rows::release() noexcept {
  for (const Block& block : blocks_) {
    if (block.handle != nullptr) starpu_data_unregister_submit(block.handle);
  }
  blocks_.clear();
}

std::size_t Rows::elements() const { return rows_ * row_elements_; }

std::size_t Rows::first_row() const {
  const auto end = layout_.rows.begin() + session_.rank();
  return std::accumulate(layout_.rows.begin(), end, std::size_t{0});
}

std::size_t Rows::local_rows() const { return layout_.rows[static_cast<std::size_t>(session_.rank())]; }
std::size_t Rows::local_elements() const { return local_rows() * row_elements_; }

void Rows::write_local(const void* from, std::size_t count) {
  check_count("from", count, local_elements(), "those of this rank");
  for_own_blocks(*this, [&](const Block& block, std::size_t offset, std::size_t bytes) {
    detail::write_handle(session_.state(), block.handle, static_cast<const std::byte*>(from) + offset, 0,
                         bytes, false);
  });
  has_values_ = true;
}

void Rows::write_from_all(const void* from, std::size_t count) {
  check_count("all", count, elements(), "those of all ranks");
  const auto* mine = static_cast<const std::byte*>(from) + first_row() * row_elements_ * type_.bytes;
  write_local(mine, local_elements());
}

void Rows::read_local(void* to) const {
  require_values(*this);
  for_own_blocks(*this, [&](const Block& block, std::size_t offset, std::size_t bytes) {
    detail::read_handle(session_.state(), block.handle, static_cast<std::byte*>(to) + offset, 0, bytes);
  });
}

void Rows::read_all(void* to) const {
  detail::State& state = session_.state();
  const auto check = [&](detail::Signature& signature) {
    require_values(*this);
    signature.add(*this);
  };
  state.collective("distributed::Rows::read_all", check, [&] {
    auto* place = static_cast<std::byte*>(to);
    for (const Block& block : blocks_) {
      const std::size_t bytes = block.rows * row_elements_ * type_.bytes;
      if (block.handle != nullptr) detail::read_handle(session_.state(), block.handle, place, 0, bytes);
      state.broadcast(place, bytes, block.rank);
      place += bytes;
    }
  });
}

}  // namespace smem::distributed
