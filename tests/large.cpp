// Sizes past 2^31 elements, where 32-bit arithmetic would wrap: dense matrices, and small ones whose rows,
// matrices or first elements lie far away in a large buffer.
#include <smem/smem.hpp>

#include "support/large_buffer.hpp"
#include "support/sweep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using test::large_buffer;
using test::Operation;

namespace {

constexpr std::size_t kTwoTo31 = std::size_t{1} << 31;
constexpr std::size_t kTwoTo32 = std::size_t{1} << 32;

// ---------------------------------------------------------------------------------------------------------
// Dense: every element is checked, in the buffer as the host sees it.

/// The byte at a place: no two rows or columns look alike.
unsigned char pattern(std::size_t index) {
  return static_cast<unsigned char>((index * 0x9e3779b97f4a7c15u) >> 56);
}

/// Runs `work(first, last)` on halves of [0, count) at once.
template <class Work>
void in_halves(std::size_t count, const Work& work) {
  std::thread second([&] { work(count / 2, count); });
  work(0, count / 2);
  second.join();
}

template <class Work>
void mapped(const smem::Context& context, const cl::Buffer& buffer, std::size_t bytes, cl_map_flags flags,
            const Work& work) {
  cl_int status = CL_SUCCESS;
  void* host =
      clEnqueueMapBuffer(context.queue()(), buffer(), CL_TRUE, flags, 0, bytes, 0, nullptr, nullptr, &status);
  REQUIRE(status == CL_SUCCESS);
  work(static_cast<unsigned char*>(host));
  REQUIRE(clEnqueueUnmapMemObject(context.queue()(), buffer(), host, 0, nullptr, nullptr) == CL_SUCCESS);
  context.finish();
}

/// 1-byte elements, rows x cols: more than 2^31 of them.
void dense(std::size_t rows, std::size_t cols, std::string_view variant) {
  const smem::Context context;
  const std::size_t bytes = rows * cols;
  REQUIRE(bytes > kTwoTo31);
  const auto in = large_buffer(context, bytes, 2 * bytes);
  const auto out = in ? large_buffer(context, bytes, 2 * bytes) : std::nullopt;
  if (!out) return;
  mapped(context, *in, bytes, CL_MAP_WRITE, [&](unsigned char* host) {
    in_halves(bytes, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        host[i] = pattern(i);
    });
  });
  smem::CallOptions options;
  options.variant = variant;
  smem::transpose(context, smem::MatrixView<unsigned char>(*in, rows, cols),
                  smem::MatrixView<unsigned char>(*out, cols, rows), options)
      .wait();
  mapped(context, *out, bytes, CL_MAP_READ, [&](const unsigned char* host) {
    std::size_t wrong[2] = {};
    in_halves(cols, [&](std::size_t first, std::size_t last) {
      std::size_t count = 0;
      for (std::size_t j = first; j < last; ++j) {
        for (std::size_t i = 0; i < rows; ++i)
          count += host[j * rows + i] != pattern(i * cols + j);
      }
      wrong[first != 0] = count;
    });
    CHECK(wrong[0] + wrong[1] == 0);
  });
}

// ---------------------------------------------------------------------------------------------------------
// Sparse: a small matrix in a large buffer, whose other pages are never touched.

constexpr std::size_t kMargin = 64;  // bytes checked before and after each row

struct Window {
  std::size_t first;  ///< byte of the buffer
  std::vector<unsigned char> bytes;
};

/// The parts of a buffer in which the rows of a view lie, with what is around them, full of random bytes.
struct Windows {
  std::vector<Window> windows;
  std::vector<std::pair<std::size_t, std::size_t>> rows;  ///< the window and the byte in it where each begins

  Windows(const smem::Matrix& view, std::size_t buffer_bytes, test::Random& random) {
    for (std::size_t b = 0; b < view.batch; ++b) {
      for (std::size_t i = 0; i < view.rows; ++i) {  // in ascending order
        const std::size_t row = (view.offset + b * view.batch_stride + i * view.pitch) * view.type.bytes;
        const std::size_t first = row < kMargin ? 0 : row - kMargin;
        const std::size_t end = std::min(row + view.cols * view.type.bytes + kMargin, buffer_bytes);
        if (windows.empty() || first > windows.back().first + windows.back().bytes.size())
          windows.push_back({first, {}});
        Window& window = windows.back();
        const std::vector<unsigned char> more = random.bytes(end - window.first - window.bytes.size());
        window.bytes.insert(window.bytes.end(), more.begin(), more.end());
        rows.emplace_back(windows.size() - 1, row - window.first);
      }
    }
  }
  unsigned char* row(std::size_t number) {
    return windows[rows[number].first].bytes.data() + rows[number].second;
  }
};

void write(const smem::Context& context, const smem::Matrix& view, const Windows& windows) {
  for (const Window& w : windows.windows) {
    REQUIRE(clEnqueueWriteBuffer(context.queue()(), view.buffer, CL_TRUE, w.first, w.bytes.size(),
                                 w.bytes.data(), 0, nullptr, nullptr) == CL_SUCCESS);
  }
}

/// Runs one operation with the input, the output or both far away, and compares.
void sparse(const smem::Context& context, const test::Case& c, const cl::Buffer& in_buffer,
            const cl::Buffer& out_buffer) {
  CAPTURE(c.text());
  test::Random random(11);
  const bool in_place = c.operation == Operation::in_place;
  const smem::Matrix in(in_buffer(), smem::ElementType::of_bytes(c.element_bytes), c.rows, c.cols,
                        c.in.extent);
  const smem::Matrix out = in_place ? in
                                    : smem::Matrix(out_buffer(), smem::ElementType::of_bytes(c.element_bytes),
                                                   c.out_rows(), c.out_cols(), c.out.extent);
  Windows before(in, in_buffer.getInfo<CL_MEM_SIZE>(), random);
  Windows expected = in_place ? before : Windows(out, out_buffer.getInfo<CL_MEM_SIZE>(), random);
  write(context, in, before);
  if (!in_place) write(context, out, expected);
  for (std::size_t b = 0; b < in.batch; ++b) {
    for (std::size_t i = 0; i < in.rows; ++i) {
      for (std::size_t j = 0; j < in.cols; ++j) {
        const auto [row, col] = test::target(c.operation, in.rows, in.cols, i, j);
        std::memcpy(expected.row(b * out.rows + row) + col * c.element_bytes,
                    before.row(b * in.rows + i) + j * c.element_bytes, c.element_bytes);
      }
    }
  }
  smem::CallOptions options;
  options.variant = c.variant;
  try {
    test::call(context, c.operation, in, out, options);
  } catch (const smem::Error& error) {
    REQUIRE(error.details().argument == "variant");
    return;
  }
  context.finish();
  std::size_t wrong = 0;
  for (const Window& w : expected.windows) {
    std::vector<unsigned char> got(w.bytes.size());
    REQUIRE(clEnqueueReadBuffer(context.queue()(), out.buffer, CL_TRUE, w.first, got.size(), got.data(), 0,
                                nullptr, nullptr) == CL_SUCCESS);
    wrong += got != w.bytes;
  }
  CHECK_MESSAGE(wrong == 0, wrong << " of " << expected.windows.size() << " parts of the buffer are wrong");
}

// Three more than a multiple of any tile, so that the last tile alone lies past the limit: see far_extents().
constexpr std::size_t kTailRows = 515, kTailCols = 259;

/// Views of a small matrix, or of a batch of two, that end past `far_bytes`.
std::vector<smem::Extent> far_extents(std::size_t far_bytes, std::size_t element_bytes, std::size_t rows,
                                      std::size_t cols) {
  const std::size_t far = far_bytes / element_bytes;
  return {{.offset = far + 3},
          {.offset = 1, .pitch = far / (rows - 3) + 1},
          {.offset = 2, .pitch = cols + 1, .batch = 2, .batch_stride = far - 5}};
}

void sparse_everywhere(Operation operation) {
  const smem::Context context;
  // Past 2^32 bytes where a buffer may be that large (PoCL has 4 GiB), else past 2^31: signed 32-bit numbers
  // wrap.
  const std::size_t far_bytes =
      context.device().max_allocation > kTwoTo32 + kTwoTo32 / 16 ? kTwoTo32 : kTwoTo31;
  const std::size_t bytes = far_bytes + far_bytes / 16;
  const auto far = large_buffer(context, bytes, bytes);
  if (!far) return;
  const cl::Buffer near = smem::make_buffer(context, std::size_t{1} << 22);
  for (const std::string_view variant : test::variants_of(operation)) {
    for (const std::size_t element_bytes : {1, 4}) {
      test::Case c{operation, std::string(variant), element_bytes, kTailRows, kTailCols, {}, {}};
      if (operation == Operation::in_place) c.cols = kTailRows;
      for (const smem::Extent& extent : far_extents(far_bytes, element_bytes, c.rows, c.cols)) {
        c.in.extent = extent;
        c.out.extent = {.batch = extent.batch};
        sparse(context, c, *far, near);
      }
      if (operation == Operation::in_place) continue;
      for (const smem::Extent& extent : far_extents(far_bytes, element_bytes, c.out_rows(), c.out_cols())) {
        c.in.extent = {.batch = extent.batch};
        c.out.extent = extent;
        sparse(context, c, near, *far);
      }
    }
  }
}

}  // namespace

TEST_CASE("large: transpose far away in a buffer") { sparse_everywhere(Operation::transpose); }
TEST_CASE("large: transpose in place far away in a buffer") { sparse_everywhere(Operation::in_place); }
TEST_CASE("large: rotate by 90 degrees far away in a buffer") { sparse_everywhere(Operation::rotate_90); }
TEST_CASE("large: rotate by 180 degrees far away in a buffer") { sparse_everywhere(Operation::rotate_180); }
TEST_CASE("large: rotate by 270 degrees far away in a buffer") { sparse_everywhere(Operation::rotate_270); }
TEST_CASE("large: flip far away in a buffer") { sparse_everywhere(Operation::flip_vertical); }

TEST_CASE("large: a transpose of three rows of more than 2^31 bytes") { dense(3, kTwoTo31 / 3 + 5, ""); }
TEST_CASE("large: a transpose of more than 2^31 bytes in both directions") { dense(46349, 46351, ""); }
TEST_CASE("large: a transpose of more than 2^31 bytes through a tile") {
  // Of three columns a tile has 29 idle ones, which a CPU runs one after the other: minutes.
  if (smem::Context().device().type == smem::DeviceType::cpu) {
    dense(46349, 46351, "swizzled");
  } else {
    dense(kTwoTo31 / 3 + 5, 3, "swizzled");
  }
}

TEST_CASE("large: a product whose A has more than 2^31 elements, and one whose C lies far away") {
  const smem::Context context;
  constexpr std::size_t kM = 46349, kN = 3, kK = 46351, kOwn = 5;  // the last rows are not like the others
  if (context.device().type == smem::DeviceType::cpu) {
    MESSAGE("skipped: half a minute on a CPU");
    return;
  }
  const auto memory = large_buffer(context, kM * kK, kM * kK + (std::size_t{1} << 24));
  if (!memory) return;
  test::Random random(11);
  const auto numbers = [&](std::size_t count) {
    std::vector<std::int8_t> values(count);
    for (std::int8_t& x : values)
      x = static_cast<std::int8_t>(random.next());
    return values;
  };
  // In pieces, since a fill of more than 2^31 single bytes is much to ask of a driver.
  constexpr std::size_t kPiece = std::size_t{1} << 28;
  const std::vector<std::int8_t> ones(kPiece, 1);
  for (std::size_t first = 0; first < kM * kK; first += kPiece) {
    REQUIRE(clEnqueueWriteBuffer(context.queue()(), (*memory)(), CL_TRUE, first,
                                 std::min(kPiece, kM * kK - first), ones.data(), 0, nullptr,
                                 nullptr) == CL_SUCCESS);
  }
  const std::vector<std::int8_t> last = numbers(kOwn * kK), right = numbers(kK * kN);
  REQUIRE(clEnqueueWriteBuffer(context.queue()(), (*memory)(), CL_TRUE, (kM - kOwn) * kK, last.size(),
                               last.data(), 0, nullptr, nullptr) == CL_SUCCESS);
  const smem::Array<std::int8_t> b(context, right);
  const smem::Array<std::int32_t> c(context, smem::Count{kM * kN});
  const smem::MatrixView<std::int8_t> a(*memory, kM, kK);
  const auto expected = [&](std::size_t row, std::size_t col) {
    std::int32_t sum = 0;
    for (std::size_t k = 0; k < kK; ++k)
      sum += (row < kM - kOwn ? 1 : last[(row - (kM - kOwn)) * kK + k]) * right[k * kN + col];
    return sum;
  };
  for (const char* variant : {"", "naive"}) {
    smem::gemm(context, a, b.matrix(kK, kN), c.matrix(kM, kN), {}, {.variant = variant});
    const std::vector<std::int32_t> got = c.to_host();
    std::size_t wrong = 0;
    for (std::size_t j = 0; j < kN; ++j) {
      const std::int32_t usual = expected(0, j);
      for (std::size_t i = 0; i < kM; ++i)
        wrong += got[i * kN + j] != (i < kM - kOwn ? usual : expected(i, j)) ? 1 : 0;
    }
    CHECK(wrong == 0);
  }
  // The buffer becomes C: its second row begins past 2^31 bytes, and its second matrix at the end.
  const std::size_t far = kM * kK / 4;
  const smem::MatrixView<std::int32_t> out(*memory, 2, kN, {.offset = 1, .pitch = far - 9, .batch = 1});
  const smem::Array<std::int8_t> left(context, std::vector<std::int8_t>(right.begin(), right.begin() + 8));
  smem::gemm(context, left.matrix(2, 4), b.matrix(4, kN), out);
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<std::int32_t> got(kN);
    REQUIRE(clEnqueueReadBuffer(context.queue()(), (*memory)(), CL_TRUE, 4 * (1 + i * (far - 9)), 4 * kN,
                                got.data(), 0, nullptr, nullptr) == CL_SUCCESS);
    for (std::size_t j = 0; j < kN; ++j) {
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < 4; ++k)
        sum += right[i * 4 + k] * right[k * kN + j];
      CHECK(got[j] == sum);
    }
  }
}

TEST_CASE("large: pools of rows of more than 2^31 cells") {
  const smem::Context context;
  constexpr std::size_t kLongest = 40, kStride = std::size_t{1} << 20, kResults = kTwoTo31 / kStride + 50;
  constexpr std::size_t kWidth = kStride * (kResults - 1) + kLongest;
  const auto memory = large_buffer(context, kWidth, kWidth);
  if (!memory) return;
  std::vector<unsigned char> cells(kResults * kLongest);
  for (std::size_t i = 0; i < cells.size(); ++i)
    cells[i] = pattern(i);
  for (std::size_t i = 0; i < kResults; ++i) {
    REQUIRE(clEnqueueWriteBuffer(context.queue()(), (*memory)(), CL_TRUE, i * kStride, kLongest,
                                 cells.data() + i * kLongest, 0, nullptr, nullptr) == CL_SUCCESS);
  }
  const smem::Grid in((*memory)(), smem::Scalar::uint8, {kWidth, 1});
  for (const std::size_t window : {std::size_t{3}, kLongest}) {  // written out, and a loop
    const smem::Array<unsigned char> out(context, smem::Count{kResults});
    smem::max_pool2d(context, in, out.grid({kResults, 1}), smem::Pooling{{window, 1}, {kStride, 1}},
                     {.variant = "windows"});
    std::vector<unsigned char> wanted(kResults);
    for (std::size_t i = 0; i < kResults; ++i) {
      const unsigned char* first = cells.data() + i * kLongest;
      wanted[i] = *std::max_element(first, first + window);
    }
    CHECK(out.to_host() == wanted);
  }
}

TEST_CASE("large: filters of bytes whose rows and planes lie far apart") {
  const smem::Context context;
  constexpr smem::GridSize kSize{83, 29, 3};
  constexpr std::size_t kCells = kSize.width * kSize.height * kSize.depth;
  // The last rows of each plane, and the last plane, begin past 2^31 elements; or the first one does.
  constexpr std::size_t kPitch = kTwoTo31 / 20, kPlane = kTwoTo31 / 2 + 77;
  const smem::GridLayout layouts[] = {{.pitch = kPitch}, {.plane = kPlane}, {.offset = kTwoTo31 + 5}};
  constexpr std::size_t kBytes = kPitch * (kSize.height - 1) + kTwoTo31 / 64;
  const auto memory = large_buffer(context, kBytes, kBytes + (std::size_t{1} << 24));
  if (!memory) return;
  std::vector<unsigned char> host(kCells);
  for (std::size_t i = 0; i < kCells; ++i)
    host[i] = pattern(i);
  const smem::Array<unsigned char> near_in(context, host), near_out(context, smem::Count{kCells}),
      far_out(context, smem::Count{kCells});
  const std::vector<double> weights{0.1, 0.2, 0.1, 0.2, -0.3, 0.2, 0.1, 0.2, 0.2};
  const auto run = [&](int filter, const smem::Grid& in, const smem::Grid& out) {
    if (filter == 0)
      smem::convolve2d(context, in, out, {3, 3, weights}, {.separable = smem::Separable::never});
    if (filter == 1) smem::box_blur(context, in, out, smem::BoxRadius{2, 2});
    if (filter == 2) smem::moving_mean(context, in, out, 15);
  };
  for (smem::GridLayout layout : layouts) {
    smem::GridSize size = kSize;
    if (layout.pitch != 0) size.depth = 1;
    const smem::Grid far((*memory)(), smem::Scalar::uint8, size, layout);
    const std::size_t cells = size.width * size.height * size.depth;
    const auto each_row = [&](const auto& visit) {
      for (std::size_t row = 0; row < size.height * size.depth; ++row)
        visit(row * size.width, far.offset + row / size.height * far.plane + row % size.height * far.pitch);
    };
    for (int filter = 0; filter < 3; ++filter) {
      CAPTURE(filter);
      run(filter, near_in.grid(size), near_out.grid(size));
      std::vector<unsigned char> wanted = near_out.to_host();
      wanted.resize(cells);
      each_row([&](std::size_t from, std::size_t to) {
        REQUIRE(clEnqueueWriteBuffer(context.queue()(), (*memory)(), CL_TRUE, to, size.width,
                                     host.data() + from, 0, nullptr, nullptr) == CL_SUCCESS);
      });
      run(filter, far, far_out.grid(size));
      std::vector<unsigned char> got = far_out.to_host();
      got.resize(cells);
      CHECK(got == wanted);
      run(filter, near_in.grid(size), far);
      each_row([&](std::size_t to, std::size_t from) {
        REQUIRE(clEnqueueReadBuffer(context.queue()(), (*memory)(), CL_TRUE, from, size.width,
                                    got.data() + to, 0, nullptr, nullptr) == CL_SUCCESS);
      });
      CHECK(got == wanted);
    }
  }
}
