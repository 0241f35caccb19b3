// Queues, contexts and buffers that the caller brings.
#include <smem/smem.hpp>

#include "support/failure.hpp"
#include "support/matrices.hpp"
#include "support/sweep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

cl::CommandQueue make_queue(const smem::Context& of, cl_command_queue_properties properties) {
  cl_int status = CL_SUCCESS;
  cl::CommandQueue queue(clCreateCommandQueue(of.cl_context()(), of.cl_device()(), properties, &status));
  if (status != CL_SUCCESS) return {};
  return queue;
}

void check_operations(const smem::Context& context) {
  test::Sweep sweep(context);
  for (const test::Operation operation : test::kOperations)
    sweep.run({operation, "", 4, 37, 37, {}, {}});
  CHECK(sweep.ran() == std::size(test::kOperations));
}

}  // namespace

TEST_CASE("adopted: a queue and its context and device") {
  const smem::Context own;
  const cl::CommandQueue queue = make_queue(own, 0);
  const smem::Context context(queue);
  CHECK(context.queue()() == queue());
  CHECK(context.cl_context()() == own.cl_context()());
  CHECK(context.cl_device()() == own.cl_device()());
  CHECK(context.device() == own.device());
  check_operations(context);
}

TEST_CASE("adopted: a queue with profiling tells times") {
  const smem::Context own;
  const smem::Context context(make_queue(own, CL_QUEUE_PROFILING_ENABLE));
  check_operations(context);
  const smem::Context made(smem::ContextOptions{.profiling = true});
  for (const smem::Context& c : {context, made}) {
    const smem::Array<float> in(c, std::vector<float>(100)), out(c, smem::Count{100});
    const cl::Event event = smem::transpose(c, in.matrix(10, 10), out.matrix(10, 10));
    event.wait();
    cl_ulong start = 0, end = 0;
    CHECK(clGetEventProfilingInfo(event(), CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr) ==
          CL_SUCCESS);
    CHECK(clGetEventProfilingInfo(event(), CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr) ==
          CL_SUCCESS);
    CHECK(end >= start);
    CHECK(start > 0);
  }
}

TEST_CASE("adopted: an out-of-order queue with calls that chain by events") {
  const smem::Context own;
  const cl::CommandQueue queue = make_queue(own, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  if (queue() == nullptr) {
    MESSAGE("skipped: " << own.device().name << " has no out-of-order queue");
    return;
  }
  const smem::Context context(queue);
  const std::size_t n = 301;
  std::vector<int> input(n * n);
  for (std::size_t i = 0; i < input.size(); ++i)
    input[i] = static_cast<int>(i);
  smem::Array<int> a(context, input), b(context, smem::Count{n * n});
  // Four quarter turns, there and back between two buffers.
  std::vector<cl::Event> last;
  for (int turn = 0; turn < 4; ++turn) {
    smem::CallOptions options;
    options.wait_for = last;
    const cl::Event event =
        turn % 2 == 0 ? smem::rotate(context, a.matrix(n, n), b.matrix(n, n), smem::Rotation::by_90, options)
                      : smem::rotate(context, b.matrix(n, n), a.matrix(n, n), smem::Rotation::by_90, options);
    last = {event};
  }
  last.front().wait();
  CHECK(a.to_host() == input);
}

TEST_CASE("adopted: a context with a queue of smem's own") {
  const smem::Context own;
  const smem::Context context(own.cl_context(), own.cl_device());
  CHECK(context.cl_context()() == own.cl_context()());
  CHECK(context.queue()() != own.queue()());
  check_operations(context);
  // Buffers are shared, since the OpenCL context is.
  const smem::Array<int> in(own, {1, 2, 3, 4}), out(context, smem::Count{4});
  smem::transpose(context, in.matrix(2, 2), out.matrix(2, 2));
  CHECK(out.to_host() == std::vector<int>{1, 3, 2, 4});
}

TEST_CASE("adopted: empty handles are refused") {
  auto error = test::failure_of([] { smem::Context context{cl::CommandQueue()}; });
  CHECK(error.operation == "Context");
  CHECK(error.argument == "queue");
  const smem::Context own;
  error = test::failure_of([&] { smem::Context context(cl::Context(), own.cl_device()); });
  CHECK(error.argument == "context");
  error = test::failure_of([&] { smem::Context context(own.cl_context(), cl::Device()); });
  CHECK(error.argument == "device");
}

TEST_CASE("adopted: the caller's own memory at addresses that are not aligned") {
  const smem::Context context;
  for (const std::size_t shift : {0, 1, 2, 4, 8, 16, 61}) {
    for (const std::size_t element_bytes : {1, 2, 4, 8, 16}) {
      // OpenCL asks for memory that is aligned to its element, and promises nothing otherwise.
      if (shift % element_bytes != 0) continue;
      for (const std::string_view variant : smem::transpose_variants()) {
        CAPTURE(shift);
        CAPTURE(element_bytes);
        CAPTURE(variant);
        constexpr std::size_t kRows = 64, kCols = 128;
        const std::size_t bytes = kRows * kCols * element_bytes;
        std::vector<unsigned char> memory(bytes + 256), result(bytes + 256, 0xee);
        const auto at = [&](std::vector<unsigned char>& v) {
          const auto address = reinterpret_cast<std::uintptr_t>(v.data());
          return v.data() + ((address + 63) / 64 * 64 - address) + shift;
        };
        for (std::size_t i = 0; i < memory.size(); ++i)
          memory[i] = static_cast<unsigned char>((i * 2654435761u) >> 8);
        const auto over = [&](unsigned char* host) {
          cl_int status = CL_SUCCESS;
          cl::Buffer buffer(clCreateBuffer(context.cl_context()(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                           bytes, host, &status));
          REQUIRE(status == CL_SUCCESS);
          return buffer;
        };
        const unsigned char* from = at(memory);
        unsigned char* to = at(result);
        const cl::Buffer in = over(at(memory)), out = over(to);
        smem::CallOptions options;
        options.variant = variant;
        try {
          smem::transpose(
              context, smem::Matrix(in(), smem::ElementType::of_bytes(element_bytes), kRows, kCols),
              smem::Matrix(out(), smem::ElementType::of_bytes(element_bytes), kCols, kRows), options);
        } catch (const smem::Error& error) {
          CHECK(error.details().argument == "variant");  // a variant that needs aligned rows
          continue;
        }
        std::vector<unsigned char> got(bytes);
        smem::read_buffer(context, out, got.data(), bytes);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < kRows; ++i) {
          for (std::size_t j = 0; j < kCols; ++j) {
            wrong += !std::equal(from + (i * kCols + j) * element_bytes,
                                 from + (i * kCols + j + 1) * element_bytes,
                                 got.data() + (j * kRows + i) * element_bytes);
          }
        }
        CHECK(wrong == 0);
        // The caller's bytes before and after the buffer stay.
        CHECK(std::all_of(result.data(), to, [](unsigned char c) { return c == 0xee; }));
        CHECK(std::all_of(to + bytes, result.data() + result.size(),
                          [](unsigned char c) { return c == 0xee; }));
      }
    }
  }
}

TEST_CASE("adopted: views of sub-buffers") {
  const smem::Context context;
  const std::size_t step = context.cl_device().getInfo<CL_DEVICE_MEM_BASE_ADDR_ALIGN>() / 8;
  const std::size_t bytes = (40 * 50 * 4 / step + 1) * step;
  test::Random random(3);
  const std::vector<unsigned char> input = random.bytes(2 * bytes);
  const smem::Array<unsigned char> whole(context, input);
  const auto part = [&](std::size_t origin) {
    const cl_buffer_region region{origin, bytes};
    cl_int status = CL_SUCCESS;
    cl::Buffer buffer(clCreateSubBuffer(whole.buffer()(), 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    REQUIRE(status == CL_SUCCESS);
    return buffer;
  };
  const cl::Buffer in = part(0), out = part(bytes);
  test::Case c{test::Operation::transpose, "", 4, 40, 50, {}, {}};
  const smem::Matrix in_view(in(), smem::ElementType::of_bytes(4), 40, 50),
      out_view(out(), smem::ElementType::of_bytes(4), 50, 40);
  std::vector<unsigned char> expected = input;
  std::vector<unsigned char> second(expected.begin() + static_cast<std::ptrdiff_t>(bytes), expected.end());
  test::reference(c, in_view, out_view, input, second);
  std::copy(second.begin(), second.end(), expected.begin() + static_cast<std::ptrdiff_t>(bytes));
  smem::transpose(context, in_view, out_view);
  CHECK(whole.to_host() == expected);
  // A view that fits the whole buffer, but not the part.
  CHECK(test::failure_of([&] {
          smem::transpose(context, smem::Matrix(in(), smem::ElementType::of_bytes(4), 40, bytes / 160 + 1),
                          smem::Matrix(out(), smem::ElementType::of_bytes(4), bytes / 160 + 1, 40));
        }).argument == "in");
}
