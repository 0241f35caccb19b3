/// smem: vectors, matrices and grids that are distributed over all ranks by blocks.
#pragma once

#include <smem/distributed/session.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace smem::distributed {

/// How many rows each rank holds, in the order of ranks.
struct Layout {
  std::vector<std::size_t> rows = {};  ///< one number a rank; empty: as even as possible

  /// As even as possible: the first ranks hold one row more if the rows do not divide evenly.
  static Layout even() { return {}; }
  /// The number of rows of each rank; 0 is allowed.
  static Layout of(std::vector<std::size_t> rows_of_ranks) { return {std::move(rows_of_ranks)}; }
};

/// A block of consecutive rows, which a device works on at a time.
struct Block {
  std::size_t first = 0;    ///< row
  std::size_t rows = 0;     ///< in the block, at least one
  int rank = 0;             ///< that holds it
  Handle handle = nullptr;  ///< a StarPU vector of all elements of the block; none on other ranks
};

/// Rows of elements, distributed over all ranks: the common base of vectors (rows of one element), matrices
/// and grids (rows along the slowest axis). Ranks hold consecutive rows, in the order of ranks. A block is
/// data of StarPU, in the memory of the device or host that used it last. Can be moved, not copied.
class SMEM_DISTRIBUTED_API Rows {
 public:
  /// Collective. `rows` rows of `row_elements` elements each, without values yet. \throws Error on all ranks
  /// when the layout does not have a number for each rank, or its sum is not `rows`; a row is longer than
  /// SessionOptions::block_elements; or elements have more than 16 bytes.
  Rows(const Session& session, const ElementType& type, std::size_t rows, std::size_t row_elements,
       const Layout& layout = {});
  Rows(Rows&&) noexcept;             ///< leaves data without blocks
  Rows& operator=(Rows&&) noexcept;  ///< the same
  ~Rows();

  const Session& session() const { return session_; }           ///< of the data
  const ElementType& type() const { return type_; }             ///< of an element
  std::size_t rows() const { return rows_; }                    ///< on all ranks
  std::size_t row_elements() const { return row_elements_; }    ///< in a row
  std::size_t elements() const;                                 ///< on all ranks
  const std::vector<Block>& blocks() const { return blocks_; }  ///< of all ranks, in order
  const Layout& layout() const { return layout_; }              ///< with a number for each rank
  std::size_t first_row() const;                                ///< of this rank
  std::size_t local_rows() const;                               ///< of this rank
  std::size_t local_elements() const;                           ///< of this rank

  /// Whether values were written. Reading before that is an error.
  bool has_values() const { return has_values_; }
  /// Operations call this when they have written all elements.
  void set_has_values() { has_values_ = true; }

 protected:
  /// Sets the elements of this rank. Not collective, but every rank must call it, even without elements.
  /// \throws Error when `count` is not local_elements().
  void write_local(const void* from, std::size_t count);
  /// The elements of this rank; not collective. Waits for the tasks that write them.
  void read_local(void* to) const;
  /// Collective: all elements, on every rank.
  void read_all(void* to) const;
  /// Sets the elements of this rank from those of all ranks. Not collective, but every rank must call it.
  void write_from_all(const void* from, std::size_t count);

 private:
  void release() noexcept;

  Session session_;
  ElementType type_;
  std::size_t rows_ = 0, row_elements_ = 0;
  Layout layout_;
  std::vector<Block> blocks_;
  bool has_values_ = false;
};

/// The same with the type of the elements, and the transfers from and to the host.
template <class T>
class TypedRows : public Rows {
 public:
  using value_type = T;  ///< of an element

  /// As of Rows.
  TypedRows(const Session& session, std::size_t rows, std::size_t row_elements, const Layout& layout)
      : Rows(session, element_of<T>, rows, row_elements, layout) {}

  /// Sets this rank's elements. Not collective, but every rank must call it, even without elements. \throws
  /// Error when their number is not local_elements().
  void write_local(std::span<const T> from) { Rows::write_local(from.data(), from.size()); }
  /// This rank's elements; not collective. \throws Error when there are no values yet.
  std::vector<T> read_local() const {
    std::vector<T> to(local_elements());
    Rows::read_local(to.data());
    return to;
  }
  /// Sets all elements: every rank passes all of them, and stores its own. \throws Error when their number is
  /// not elements().
  void write(std::span<const T> all) { Rows::write_from_all(all.data(), all.size()); }
  /// Collective: all elements, on every rank. \throws Error when there are no values yet.
  std::vector<T> to_host() const {
    std::vector<T> to(elements());
    Rows::read_all(to.data());
    return to;
  }
};

/// Elements that follow each other.
template <class T>
class Vector : public TypedRows<T> {
 public:
  /// Collective. `size` elements without values yet. \throws Error as Rows does.
  Vector(const Session& session, std::size_t size, const Layout& layout = {})
      : TypedRows<T>(session, size, 1, layout) {}
  std::size_t size() const { return this->rows(); }  ///< on all ranks
};

/// A row-major matrix, divided into blocks of rows.
template <class T>
class Matrix : public TypedRows<T> {
 public:
  /// Collective. Without values yet. \throws Error as Rows does.
  Matrix(const Session& session, std::size_t rows, std::size_t cols, const Layout& layout = {})
      : TypedRows<T>(session, rows, cols, layout) {}
  std::size_t cols() const { return this->row_elements(); }  ///< elements in a row
};

/// A grid of one channel, divided into blocks along its slowest axis: planes of a volume, rows of a picture,
/// cells of a signal.
template <class T>
class Grid : public TypedRows<T> {
 public:
  /// Collective. Without values yet. `layout` counts planes if the depth is more than 1, else rows if the
  /// height is, else cells. \throws Error as Rows does.
  Grid(const Session& session, const GridSize& cells, const Layout& layout = {})
      : TypedRows<T>(session, slowest(cells), beneath(cells), layout), size_(cells) {}
  const GridSize& size() const { return size_; }  ///< of the whole grid

 private:
  static std::size_t slowest(const GridSize& cells) {
    return cells.depth != 1 ? cells.depth : cells.height != 1 ? cells.height : cells.width;
  }
  static std::size_t beneath(const GridSize& cells) {
    return cells.depth != 1    ? smem::detail::size_product(cells.width, cells.height)
           : cells.height != 1 ? cells.width
                               : 1;
  }

  GridSize size_;
};

}  // namespace smem::distributed
