// Wrong calls: refused before anything is enqueued, with a message that says what and why.
#include <smem/smem.hpp>

#include "support/failure.hpp"
#include "support/matrices.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using test::contains;
using test::failure_of;

namespace {

/// An input and an output of 6 x 4 floats, and a check that nothing was written.
struct TransposeBuffers {
  smem::Context context;
  std::vector<float> poison = std::vector<float>(100, -7.0F);
  smem::Array<float> in{context, std::vector<float>(100, 1.0F)};
  smem::Array<float> out{context, poison};

  ~TransposeBuffers() {
    CHECK(out.to_host() == poison);
    CHECK(in.to_host() == std::vector<float>(100, 1.0F));
    CHECK(context.cache_statistics().built_from_source == 0);
    CHECK(context.cache_statistics().loaded_from_disk == 0);
  }
};

constexpr std::size_t kLargest = std::numeric_limits<std::size_t>::max();

}  // namespace

TEST_CASE("bad input: shapes that do not match") {
  TransposeBuffers b;
  auto error = failure_of([&] { smem::transpose(b.context, b.in.matrix(6, 4), b.out.matrix(6, 4)); });
  CHECK(error.operation == "transpose");
  CHECK(error.argument == "out");
  CHECK(error.expected == "4 x 6 (in is 6 x 4)");
  CHECK(error.got == "6 x 4");
  error = failure_of(
      [&] { smem::rotate(b.context, b.in.matrix(6, 4), b.out.matrix(4, 6), smem::Rotation::by_180); });
  CHECK(error.operation == "rotate");
  CHECK(error.argument == "out");
  CHECK(contains(error.expected, "6 x 4"));
  CHECK(error.got == "4 x 6");
  error = failure_of(
      [&] { smem::rotate(b.context, b.in.matrix(6, 4), b.out.matrix(6, 4), smem::Rotation::by_90); });
  CHECK(error.operation == "rotate");
  CHECK(contains(error.expected, "4 x 6"));
  error =
      failure_of([&] { smem::flip(b.context, b.in.matrix(6, 4), b.out.matrix(4, 6), smem::Flip::vertical); });
  CHECK(error.operation == "flip");
  CHECK(error.argument == "out");
  // One side empty, the other not.
  error = failure_of([&] { smem::transpose(b.context, b.in.matrix(0, 4), b.out.matrix(4, 1)); });
  CHECK(error.expected == "4 x 0 (in is 0 x 4)");
}

TEST_CASE("bad input: batches that do not match") {
  TransposeBuffers b;
  const auto error = failure_of(
      [&] { smem::transpose(b.context, b.in.matrix(6, 4, {.batch = 3}), b.out.matrix(4, 6, {.batch = 2})); });
  CHECK(error.operation == "transpose");
  CHECK(error.argument == "out");
  CHECK(contains(error.expected, "3"));
  CHECK(error.got == "2");
}

TEST_CASE("bad input: a view outside its buffer") {
  TransposeBuffers b;
  const auto bad_in = [&](const smem::Extent& extent) {
    return failure_of([&] { smem::transpose(b.context, b.in.matrix(6, 4, extent), b.out.matrix(4, 6)); });
  };
  const auto bad_out = [&](const smem::Extent& extent) {
    return failure_of([&] { smem::transpose(b.context, b.in.matrix(6, 4), b.out.matrix(4, 6, extent)); });
  };
  auto error = bad_in({.offset = 77});  // one too many: 77 + 24 = 101
  CHECK(error.operation == "transpose");
  CHECK(error.argument == "in");
  CHECK(error.expected == "a view inside its buffer of 400 bytes");
  CHECK(error.got == "one that ends at byte 404");
  error = bad_out({.pitch = 32});  // 3 * 32 + 6 = 102
  CHECK(error.argument == "out");
  CHECK(error.got == "one that ends at byte 408");
  error = failure_of([&] {
    smem::transpose(b.context, b.in.matrix(2, 3, {.batch = 2, .batch_stride = 95}),
                    b.out.matrix(3, 2, {.batch = 2}));
  });
  CHECK(error.argument == "in");
  CHECK(error.got == "one that ends at byte 404");
  error = bad_in({.pitch = 3});
  CHECK(error.argument == "in");
  CHECK(error.expected == "a pitch of at least 4 elements");
  CHECK(error.got == "3");
}

TEST_CASE("bad input: a view whose end exceeds 64 bits") {
  TransposeBuffers b;
  for (const smem::Extent extent : {smem::Extent{.offset = kLargest},
                                    {.offset = kLargest / 4},
                                    {.pitch = kLargest / 2},
                                    {.pitch = kLargest},
                                    {.offset = kLargest - 20}}) {
    CAPTURE(extent.offset);
    CAPTURE(extent.pitch);
    const auto error =
        failure_of([&] { smem::transpose(b.context, b.in.matrix(6, 4, extent), b.out.matrix(4, 6)); });
    CHECK(error.argument == "in");
    CHECK(contains(error.got, "64 bits"));
  }
  const std::size_t rows = kLargest / 2 + 2;  // rows * 2 wraps to 2
  CHECK(failure_of([&] {
          smem::transpose(b.context, b.in.matrix(rows, 2), b.out.matrix(2, rows));
        }).argument == "in");
  CHECK(failure_of([&] {
          smem::transpose(b.context, b.in.matrix(6, 4, {.batch = 3, .batch_stride = kLargest / 2 + 1}),
                          b.out.matrix(4, 6, {.batch = 3}));
        }).argument == "in");
  CHECK(failure_of([&] {
          smem::transpose(b.context, b.in.matrix(2, 3, {.batch = kLargest}),
                          b.out.matrix(3, 2, {.batch = kLargest}));
        }).argument == "in");
}

TEST_CASE("bad input: output matrices that share elements") {
  TransposeBuffers b;
  const auto error = failure_of([&] {
    smem::transpose(b.context, b.in.matrix(3, 2, {.batch = 2}),
                    b.out.matrix(2, 3, {.pitch = 10, .batch = 2, .batch_stride = 2}));
  });
  CHECK(error.argument == "out");
  CHECK(error.expected == "matrices that share no element");
  CHECK(contains(error.got, "batch stride of 2"));
  CHECK(contains(error.got, "pitch 10"));
}

TEST_CASE("bad input: overlap of input and output") {
  const smem::Context context;
  const std::vector<float> before(100, 3.0F);
  const smem::Array<float> one(context, before);
  const auto error = failure_of(
      [&] { smem::transpose(context, one.matrix(6, 4, {.offset = 10}), one.matrix(4, 6, {.offset = 33})); });
  CHECK(error.operation == "transpose");
  CHECK(error.argument == "out");
  CHECK(error.expected == "a view that does not overlap in");
  CHECK(error.got == "bytes 132 to 228 of the buffer that in uses from 40 to 136");
  CHECK(failure_of([&] { smem::transpose(context, one.matrix(6, 6), one.matrix(6, 6)); }).argument == "out");
  CHECK(failure_of([&] {
          smem::flip(context, one.matrix(6, 6), one.matrix(6, 6), smem::Flip::vertical);
        }).operation == "flip");
  CHECK(one.to_host() == before);
  // Next to each other is fine, in both orders.
  smem::transpose(context, one.matrix(6, 4, {.offset = 10}), one.matrix(4, 6, {.offset = 34}));
  smem::transpose(context, one.matrix(6, 4, {.offset = 34}), one.matrix(4, 6, {.offset = 10}));
  CHECK(one.to_host() == before);
}

TEST_CASE("bad input: overlap of sub-buffers of one buffer") {
  const smem::Context context;
  const std::size_t step = context.cl_device().getInfo<CL_DEVICE_MEM_BASE_ADDR_ALIGN>() / 8;
  const cl::Buffer whole = smem::make_buffer(context, 4 * step);
  const auto part = [&](std::size_t first, std::size_t count) {
    const cl_buffer_region region{first * step, count * step};
    cl_int status = CL_SUCCESS;
    cl::Buffer buffer(clCreateSubBuffer(whole(), 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    REQUIRE(status == CL_SUCCESS);
    return buffer;
  };
  const cl::Buffer a = part(0, 2), b = part(1, 2), c = part(2, 2);
  const std::size_t n = step;  // bytes, half of a part
  const auto view = [&](const cl::Buffer& buffer, std::size_t rows, std::size_t cols, std::size_t offset) {
    return smem::MatrixView<unsigned char>(buffer, rows, cols, {.offset = offset});
  };
  // The second half of a is the first of b.
  CHECK(failure_of([&] { smem::transpose(context, view(a, n, 1, n), view(b, 1, n, 0)); }).argument == "out");
  CHECK(failure_of([&] { smem::transpose(context, view(a, n, 1, n), view(whole, 1, n, n)); }).argument ==
        "out");
  CHECK_NOTHROW(smem::transpose(context, view(a, n, 1, 0), view(b, 1, n, 0)));
  CHECK_NOTHROW(smem::transpose(context, view(a, n, 2, 0), view(c, 2, n, 0)));
  context.finish();
}

TEST_CASE("bad input: a buffer of another context") {
  TransposeBuffers b;
  const smem::Context other;
  const smem::Array<float> foreign(other, smem::Count{100});
  auto error = failure_of([&] { smem::transpose(b.context, foreign.matrix(6, 4), b.out.matrix(4, 6)); });
  CHECK(error.operation == "transpose");
  CHECK(error.argument == "in");
  CHECK(error.expected == "a buffer of this context");
  CHECK(error.got == "a buffer of another context");
  error = failure_of([&] { smem::transpose(b.context, b.in.matrix(6, 4), foreign.matrix(4, 6)); });
  CHECK(error.argument == "out");
  error = failure_of([&] { smem::transpose_in_place(b.context, foreign.matrix(6, 6)); });
  CHECK(error.operation == "transpose_in_place");
  CHECK(error.argument == "matrix");
}

TEST_CASE("bad input: an empty handle") {
  TransposeBuffers b;
  const smem::MatrixView<float> nothing(cl::Buffer(), 4, 6);
  const auto error = failure_of([&] { smem::transpose(b.context, b.in.matrix(6, 4), nothing); });
  CHECK(error.argument == "out");
  CHECK(error.got == "an empty handle");
}

TEST_CASE("bad input: element sizes that differ or are not supported") {
  TransposeBuffers b;
  const auto matrix = [](const smem::Array<float>& array, std::size_t bytes, std::size_t rows,
                         std::size_t cols) {
    return smem::Matrix(array.buffer()(), smem::ElementType::of_bytes(bytes), rows, cols);
  };
  auto error = failure_of([&] { smem::transpose(b.context, matrix(b.in, 4, 2, 3), matrix(b.out, 8, 3, 2)); });
  CHECK(error.argument == "out");
  CHECK(contains(error.expected, "4 bytes"));
  CHECK(contains(error.got, "8 bytes"));
  for (const std::size_t bytes : {0, 3, 6, 12, 32}) {
    for (const std::size_t rows : {0, 2}) {  // also where there is nothing to do
      error = failure_of(
          [&] { smem::transpose(b.context, matrix(b.in, bytes, rows, 3), matrix(b.out, bytes, 3, rows)); });
      CHECK(error.operation == "transpose");
      CHECK(error.argument == "element size");
      CHECK(error.expected == "1, 2, 4, 8 or 16 bytes");
      CHECK(error.got == std::to_string(bytes) + " bytes");
      error = failure_of([&] {
        smem::flip(b.context, matrix(b.in, bytes, rows, 3), matrix(b.out, bytes, rows, 3),
                   smem::Flip::vertical);
      });
      CHECK(error.operation == "flip");
      CHECK(error.argument == "element size");
    }
  }
}

TEST_CASE("bad input: in place but not square") {
  TransposeBuffers b;
  auto error = failure_of([&] { smem::transpose_in_place(b.context, b.out.matrix(4, 5)); });
  CHECK(error.operation == "transpose_in_place");
  CHECK(error.argument == "matrix");
  CHECK(error.expected == "a square matrix");
  CHECK(error.got == "4 x 5");
  error = failure_of([&] { smem::transpose_in_place(b.context, b.out.matrix(0, 5)); });
  CHECK(error.got == "0 x 5");
}

TEST_CASE("bad input: an unknown variant") {
  TransposeBuffers b;
  smem::CallOptions options;
  options.variant = "fastest";
  auto error =
      failure_of([&] { smem::transpose(b.context, b.in.matrix(6, 4), b.out.matrix(4, 6), options); });
  CHECK(error.operation == "transpose");
  CHECK(error.argument == "variant");
  CHECK(error.got == "\"fastest\"");
  error = failure_of(
      [&] { smem::flip(b.context, b.in.matrix(6, 4), b.out.matrix(6, 4), smem::Flip::horizontal, options); });
  CHECK(error.operation == "flip");
  CHECK(error.argument == "variant");
  CHECK_THROWS_AS(smem::transpose(b.context, b.in.matrix(0, 4), b.out.matrix(4, 0), options), smem::Error);
}

TEST_CASE("bad input: a rotation that is none") {
  TransposeBuffers b;
  const auto error = failure_of([&] {
    smem::rotate(b.context, b.in.matrix(6, 4), b.out.matrix(4, 6), static_cast<smem::Rotation>(45));
  });
  CHECK(error.argument == "rotation");
  CHECK(error.got == "45");
}

TEST_CASE("bad input: more host elements than the array has") {
  const smem::Context context;
  smem::Array<int> array(context, smem::Count{3});
  const std::vector<int> four(4);
  const auto error = failure_of([&] { array.write(four); });
  CHECK(error.operation == "Array::write");
  CHECK(error.argument == "host");
  CHECK(error.expected == "at most 3 elements");
  CHECK(error.got == "4 elements");
}

TEST_CASE("bad input: a buffer larger than the device has") {
  const smem::Context context;
  const auto error = failure_of([&] { smem::make_buffer(context, kLargest / 2); });
  CHECK(error.operation == "make_buffer");
  CHECK(error.argument == "bytes");
}

TEST_CASE("bad input: elements whose type and size contradict each other") {
  const smem::Context context;
  const smem::Array<float> in(context, std::vector<float>(16, 1)), out(context, std::vector<float>(16, 7));
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{8}, SIZE_MAX}) {
    smem::MatrixView<float> wrong = in.matrix(4, 4);
    wrong.type.bytes = bytes;
    CHECK(failure_of([&] { smem::softmax(context, wrong, out.matrix(4, 4)); }).argument == "in");
  }
  // What has no such type is named by the call, not by a function that it calls.
  const smem::Vector values(in.buffer()(), static_cast<smem::Scalar>(99), 4);
  const smem::Vector out_values = out.vector(4, 4);
  const auto error =
      failure_of([&] { smem::sort_pairs(context, in.vector(8, 4), values, out.vector(0, 4), out_values); });
  CHECK(error.operation == "sort_pairs");
  CHECK(error.argument == "values");
  CHECK(failure_of([&] {
          smem::sort(context, in, out, {}, {.scratch = smem::Vector(in.buffer()(), values.type, 4)});
        }).argument == "scratch");
  CHECK(out.to_host() == std::vector<float>(16, 7));
}

TEST_CASE("bad input: copies between the host and buffers that do not hold as much") {
  const smem::Context context, other;
  const smem::Array<float> array(context, {1, 2}), foreign(other, {1, 2});
  std::vector<float> host(4, 5);
  const auto refused = [&](const cl::Buffer& buffer, float* at, std::size_t bytes) {
    const auto error = failure_of([&] { smem::read_buffer(context, buffer, at, bytes); });
    CHECK(error.operation == "read_buffer");
    const auto written = failure_of([&] { smem::write_buffer(context, buffer, at, bytes); });
    CHECK(written.operation == "write_buffer");
    CHECK(written.expected == error.expected);
    return error.argument;
  };
  CHECK(refused(array.buffer(), host.data(), 12) == "bytes");
  CHECK(refused(array.buffer(), host.data(), SIZE_MAX) == "bytes");
  CHECK(refused(array.buffer(), nullptr, 8) == "to");
  CHECK(refused(foreign.buffer(), host.data(), 8) == "buffer");
  CHECK(refused(cl::Buffer(), host.data(), 8) == "buffer");
  CHECK(array.to_host() == std::vector<float>{1, 2});
  CHECK(host == std::vector<float>(4, 5));
}
