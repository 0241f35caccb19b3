// Tasks of the caller's own on StarPU's data, which StarPU has partitioned: parts have an offset and the
// leading dimensions of the whole.
#include "support.hpp"

#include <smem/stencil.hpp>
#include <smem/transpose.hpp>

#include <starpu.h>

#include <atomic>
#include <utility>

namespace d = smem::distributed;

namespace {

/// Data of StarPU in this rank's main memory, in `parts` of one device's memory.
class Partitioned {
 public:
  using Divide = void (*)(void*, void*, starpu_data_filter*, unsigned, unsigned);

  Partitioned(starpu_data_handle_t whole, Divide divide, unsigned parts) : whole_(whole), parts_(parts) {
    // Parts share memory with the whole where that lies already.
    test::session().submit("whole", {{whole_, d::Access::update}}, [](const auto&, auto) {});
    starpu_task_wait_for_all();
    starpu_data_filter filter = {};
    filter.filter_func = divide;
    filter.nchildren = parts;
    starpu_data_partition(whole_, &filter);
  }
  starpu_data_handle_t part(unsigned i) const { return starpu_data_get_child(whole_, static_cast<int>(i)); }
  unsigned parts() const { return parts_; }
  /// Ends the tasks, and brings all back.
  ~Partitioned() {
    starpu_task_wait_for_all();
    starpu_data_unpartition(whole_, STARPU_MAIN_RAM);
    starpu_data_unregister(whole_);
  }
  Partitioned(const Partitioned&) = delete;
  Partitioned& operator=(const Partitioned&) = delete;

 private:
  starpu_data_handle_t whole_;
  unsigned parts_;
};

starpu_data_handle_t matrix_of(std::vector<float>& memory, unsigned rows, unsigned cols) {
  starpu_data_handle_t handle = nullptr;
  starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(memory.data()), cols,
                              cols, rows, sizeof(float));
  return handle;
}

starpu_data_handle_t block_of(std::vector<float>& memory, const smem::GridSize& size) {
  const auto number = [](std::size_t x) { return static_cast<std::uint32_t>(x); };
  starpu_data_handle_t handle = nullptr;
  starpu_block_data_register(&handle, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(memory.data()),
                             number(size.width), number(size.width * size.height), number(size.width),
                             number(size.height), number(size.depth), sizeof(float));
  return handle;
}

/// Whether all of the tasks run where the whole lies.
bool has_one_device() {
  return test::session().devices()[static_cast<std::size_t>(test::session().rank())].size() == 1;
}

}  // namespace

TEST_CASE("session: partitions of StarPU's matrices, by their offsets and leading dimensions") {
  constexpr unsigned kRows = 24, kCols = 40;
  std::vector<float> before = test::numbers<float>(kRows * kCols, 0, 1000), after(before.size(), -1);
  std::atomic<std::size_t> inner = 0;  // parts that do not begin where the whole does
  {
    // Columns of the one are rows of the other.
    const Partitioned in(matrix_of(before, kRows, kCols), starpu_matrix_filter_block, 4),
        out(matrix_of(after, kCols, kRows), starpu_matrix_filter_vertical_block, 4);
    for (unsigned i = 0; i < in.parts(); ++i) {
      test::session().submit("transpose", {{in.part(i), d::Access::read}, {out.part(i), d::Access::write}},
                             [&](const smem::Context& context, std::span<const d::Piece> pieces) {
                               if (pieces[0].offset != 0 && pieces[0].pitch == kCols) ++inner;
                               smem::transpose(context, pieces[0].matrix(smem::element_of<float>),
                                               pieces[1].matrix(smem::element_of<float>));
                             });
    }
  }
  test::session().wait();
  std::size_t wrong = 0;
  for (unsigned row = 0; row < kRows; ++row) {
    for (unsigned col = 0; col < kCols; ++col)
      wrong += after[col * kRows + row] != before[row * kCols + col] ? 1 : 0;
  }
  CHECK(wrong == 0);
  if (has_one_device()) CHECK(inner.load() == 3);
}

TEST_CASE("session: partitions of StarPU's blocks, and elements of another size") {
  const smem::GridSize size{20, 6, 9};
  const std::size_t cells = size.width * size.height * size.depth;
  std::vector<float> before = test::numbers<float>(cells, 0, 1000), after(cells, -1);
  std::atomic<std::size_t> inner = 0, refused = 0;
  {
    const Partitioned in(block_of(before, size), starpu_block_filter_block, 4),
        out(block_of(after, size), starpu_block_filter_block, 4);
    const smem::Stencil twice = smem::Stencil::star(2, std::vector<double>{0, 0});
    for (unsigned i = 0; i < in.parts(); ++i) {
      test::session().submit("twice", {{in.part(i), d::Access::read}, {out.part(i), d::Access::write}},
                             [&, twice](const smem::Context& context, std::span<const d::Piece> pieces) {
                               if (pieces[0].offset != 0 && pieces[0].plane == size.width * size.height)
                                 ++inner;
                               try {
                                 static_cast<void>(pieces[0].grid(smem::element_of<double>));
                               } catch (const smem::Error&) {
                                 ++refused;
                               }
                               smem::stencil(context, pieces[0].grid(smem::element_of<float>),
                                             pieces[1].grid(smem::element_of<float>), twice);
                             });
    }
  }
  test::session().wait();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < cells; ++i)
    wrong += after[i] != 2 * before[i] ? 1 : 0;
  CHECK(wrong == 0);
  if (has_one_device()) CHECK(inner.load() == 3);
  CHECK(refused.load() == 4);
}
