// Data of four times the device's memory. The device is a clamp: this program's clCreateBuffer, which StarPU
// and smem call too, refuses what exceeds it. Runs where SMEM_TEST_DEVICE_BYTES gives the bytes that a device
// has.
#include "support.hpp"

#include <smem/array.hpp>
#include <smem/context.hpp>
#include <smem/distributed/gemm.hpp>
#include <smem/distributed/reduce.hpp>
#include <smem/distributed/scan.hpp>
#include <smem/distributed/sort.hpp>
#include <smem/distributed/stencil.hpp>
#include <smem/distributed/transpose.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace d = smem::distributed;

namespace {

std::atomic<std::size_t> live_bytes = 0, peak_bytes = 0, clamp_bytes = 0, written_bytes = 0;

/// Bytes that a device of this test has; 0: it does not run.
std::size_t device_bytes() {
  const char* bytes = std::getenv("SMEM_TEST_DEVICE_BYTES");
  return bytes != nullptr ? std::strtoull(bytes, nullptr, 10) : 0;
}

/// The clamp, while it lives. Of a call on data of so many bytes on this rank, which may come from main
/// memory so many times.
class Clamp {
 public:
  Clamp(std::size_t data_bytes, double times) : data_bytes_(data_bytes), times_(times) {
    peak_bytes = live_bytes.load();
    written_bytes = 0;
    clamp_bytes = device_bytes();
  }
  ~Clamp() {
    clamp_bytes = 0;
    CHECK(peak_bytes <= device_bytes());
    CHECK(peak_bytes > device_bytes() / 4);  // it was used
    CAPTURE(data_bytes_);
    // Of several ranks messages come when they come, also when their block is not in the device's memory.
    const double times = test::session().ranks() > 1 ? 2 * times_ : times_;
    CHECK(static_cast<double>(written_bytes) <= times * static_cast<double>(data_bytes_));
  }

 private:
  std::size_t data_bytes_;
  double times_;
};

/// The square root of the elements of `type_bytes` that, `times` over, are four times all devices.
std::size_t side_of(std::size_t type_bytes, std::size_t times) {
  const auto ranks = static_cast<std::size_t>(test::session().ranks());
  return static_cast<std::size_t>(
      std::sqrt(static_cast<double>(4 * ranks * device_bytes() / type_bytes / times)));
}

}  // namespace

extern "C" [[gnu::visibility("default")]] cl_mem CL_API_CALL clCreateBuffer(cl_context context,
                                                                            cl_mem_flags flags,
                                                                            std::size_t bytes, void* host,
                                                                            cl_int* status) {
  static const auto real = reinterpret_cast<decltype(&clCreateBuffer)>(dlsym(RTLD_NEXT, "clCreateBuffer"));
  const std::size_t now = live_bytes += bytes;
  if (clamp_bytes != 0 && now > clamp_bytes) {
    live_bytes -= bytes;
    if (status != nullptr) *status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return nullptr;
  }
  for (std::size_t peak = peak_bytes; now > peak && !peak_bytes.compare_exchange_weak(peak, now);) {
  }
  const cl_mem memory = real(context, flags, bytes, host, status);
  if (memory == nullptr) {
    live_bytes -= bytes;
  } else {
    clSetMemObjectDestructorCallback(
        memory, [](cl_mem, void* size) { live_bytes -= reinterpret_cast<std::size_t>(size); },
        reinterpret_cast<void*>(bytes));
  }
  return memory;
}

extern "C" [[gnu::visibility("default")]] cl_int CL_API_CALL clEnqueueWriteBuffer(
    cl_command_queue queue, cl_mem buffer, cl_bool blocking, std::size_t offset, std::size_t bytes,
    const void* from, cl_uint waits, const cl_event* wait_list, cl_event* event) {
  static const auto real =
      reinterpret_cast<decltype(&clEnqueueWriteBuffer)>(dlsym(RTLD_NEXT, "clEnqueueWriteBuffer"));
  written_bytes += bytes;
  return real(queue, buffer, blocking, offset, bytes, from, waits, wait_list, event);
}

TEST_CASE("out of core: transpose" * doctest::skip(device_bytes() == 0)) {
  const std::size_t rows = side_of(sizeof(int), 2), cols = rows + 77;
  std::vector<int> all(rows * cols);
  std::iota(all.begin(), all.end(), 0);
  d::Matrix<int> in(test::session(), rows, cols), out(test::session(), cols, rows);
  in.write(all);
  {
    const Clamp clamp(in.local_elements() * sizeof(int), 2.2);  // blocks, then tiles
    d::transpose(in, out);
  }
  const std::vector<int> found = out.to_host();
  std::size_t wrong = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t col = 0; col < cols; ++col)
      wrong += found[col * rows + row] != all[row * cols + col] ? 1 : 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("out of core: gemm" * doctest::skip(device_bytes() == 0)) {
  const std::size_t n = side_of(sizeof(float), 3);
  const std::vector<float> a = test::numbers<float>(n * n, -2, 2, 1),
                           b = test::numbers<float>(n * n, -2, 2, 2);
  d::Matrix<float> left(test::session(), n, n), right(test::session(), n, n), result(test::session(), n, n);
  left.write(a);
  right.write(b);
  const std::vector<float> x = test::numbers<float>(n, -100, 100, 3);
  const auto times = [n](const std::vector<float>& matrix, const auto& vector) {
    std::vector<double> product(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j)
        product[i] += static_cast<double>(matrix[i * n + j]) * static_cast<double>(vector[j]);
    }
    return product;
  };
  const auto ranks = static_cast<std::size_t>(test::session().ranks());
  for (std::size_t columns = 1; columns <= ranks; columns += std::max<std::size_t>(ranks - 1, 1)) {
    CAPTURE(columns);
    {
      // A block of A or B comes for up to each of the 22 to 66 panels of B, in bands of C.
      const Clamp clamp(left.local_elements() * sizeof(float), 24 * static_cast<double>(ranks));
      d::gemm(left, right, result, {.grid_columns = columns});
    }
    // Freivalds: C x = A (B x), in whole numbers that doubles hold.
    CHECK(times(result.to_host(), x) == times(a, times(b, x)));
  }
}

TEST_CASE("out of core: sort" * doctest::skip(device_bytes() == 0)) {
  const auto ranks = static_cast<std::size_t>(test::session().ranks());
  const std::size_t count = 2 * ranks * device_bytes() / sizeof(std::uint32_t);
  std::mt19937 random(7);
  std::vector<std::uint32_t> keys(count);
  for (std::uint32_t& key : keys)
    key = static_cast<std::uint32_t>(random()) >> (random() % 24);  // few large ones, many equal ones
  d::Vector<std::uint32_t> in(test::session(), count), out(test::session(), count);
  in.write(keys);
  {
    const Clamp clamp(in.local_elements() * sizeof(std::uint32_t), 5.5);
    d::sort(in, out);
  }
  std::sort(keys.begin(), keys.end());
  CHECK((out.to_host() == keys));
}

TEST_CASE("out of core: heat" * doctest::skip(device_bytes() == 0)) {
  const std::size_t side = side_of(sizeof(float), 2);
  const smem::GridSize size{side, side + 5};
  std::vector<float> cells = test::numbers<float>(side * (side + 5), 0, 1000);
  const smem::Heat heat{.steps = 21, .dt = 0.2};
  d::Grid<float> in(test::session(), size), out(test::session(), size);
  in.write(cells);
  {
    // Three exchanges with halos of an eighth on each side, the way in and the way out.
    const Clamp clamp(in.local_elements() * sizeof(float), 6.8);
    d::heat(in, out, heat);
  }
  const smem::Context context;
  const smem::Array<float> before(context, cells), after(context, smem::Count{cells.size()});
  smem::heat(context, before.grid(size), after.grid(size), heat);
  const std::vector<float> found = out.to_host(), wanted = after.to_host();
  CHECK(std::memcmp(found.data(), wanted.data(), wanted.size() * sizeof(float)) == 0);
}

TEST_CASE("out of core: sum and scan" * doctest::skip(device_bytes() == 0)) {
  const auto ranks = static_cast<std::size_t>(test::session().ranks());
  const std::size_t count = 2 * ranks * device_bytes() / sizeof(int);
  const std::vector<int> all = test::numbers<int>(count, -3, 3);
  d::Vector<int> in(test::session(), count), out(test::session(), count);
  in.write(all);
  std::vector<int> wanted(count);
  std::inclusive_scan(all.begin(), all.end(), wanted.begin());
  {
    // The sum, the totals, the scan. StarPU 1.4 evicts some blocks before their task: 3.4 were seen.
    const Clamp clamp(in.local_elements() * sizeof(int), 3.6);
    CHECK(d::reduce(in, smem::ReduceOp::sum) == wanted.back());
    d::inclusive_scan(in, out);
  }
  CHECK((out.to_host() == wanted));
}
