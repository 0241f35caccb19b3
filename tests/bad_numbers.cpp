// Numbers, enumerations, buffers and events that no call can take: each is refused by name, before anything
// is enqueued.
#include <smem/smem.hpp>

#include "support/failure.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

using smem::Grid;
using smem::Matrix;
using smem::Scalar;
using smem::Vector;
using test::contains;
using test::failure_of;

namespace {

constexpr std::size_t kHuge = std::size_t{1} << 62;
constexpr std::size_t kRoot = std::size_t{1} << 32;  // whose square is 2^64

/// Two buffers of 64 floats, and a check that nothing was written.
struct FloatBuffers {
  smem::Context context;
  std::vector<float> poison = std::vector<float>(64, 77);
  smem::Array<float> in{context, std::vector<float>(64, 0.5F)};
  smem::Array<float> out{context, poison};

  ~FloatBuffers() { CHECK(out.to_host() == poison); }
  Matrix matrix(const smem::Array<float>& of, std::size_t rows, std::size_t cols) const {
    return Matrix(of.buffer()(), Scalar::float32, rows, cols);
  }
};

const std::vector<double> kNine(9, 0.1);

}  // namespace

TEST_CASE("bad input of calls: grids whose offsets and pitches overflow") {
  const FloatBuffers b;
  const auto& context = b.context;
  // Rows that fit, of which only the offset or a pitch is too much.
  Grid in = b.in.grid({4, 4}), out = b.out.grid({4, 4});
  in.offset = SIZE_MAX;
  const auto stencil_of = [&] {
    return failure_of([&] { smem::stencil(context, in, out, smem::Stencil::box({0, 0}, {1})); }).argument;
  };
  CHECK(stencil_of() == "in");
  in.offset = SIZE_MAX - 15;
  CHECK(stencil_of() == "in");
  in.offset = 0;
  in.pitch = kHuge;
  CHECK(stencil_of() == "in");
  in.pitch = 4;
  out.pitch = SIZE_MAX;
  CHECK(stencil_of() == "out");
}

TEST_CASE("bad input of calls: grids and results whose numbers of elements wrap") {
  const FloatBuffers b;
  const auto& context = b.context;
  // 2^64 elements a row, which 64 bits count as none; and as many grids.
  for (const Grid& sizes : {Grid(nullptr, Scalar::float32, {kHuge}, {.channels = 4, .pitch = 4}),
                            Grid(nullptr, Scalar::float32, {kHuge}, {.channels = 4}),
                            Grid(nullptr, Scalar::float32, {kRoot, kRoot}),
                            Grid(nullptr, Scalar::float32, {4, 4}, {.batch = kHuge, .batch_stride = 16})}) {
    CAPTURE(sizes.size.width);
    CAPTURE(sizes.channels);
    Grid in = sizes, out = sizes;
    in.buffer = b.in.buffer()();
    out.buffer = b.out.buffer()();
    const auto refused = [&](const auto& call) {
      const auto error = failure_of(call);
      CHECK_FALSE(error.argument.empty());
    };
    refused([&] { smem::stencil(context, in, out, smem::Stencil::box({1, 0}, {0.1, 0.2, 0.3})); });
    refused([&] { smem::convolve2d(context, in, out, {3, 3, kNine}); });
    refused([&] { smem::separable(context, in, out, {kNine, kNine}); });
    refused([&] { smem::gaussian_blur(context, in, out, {.size = 3}); });
    refused([&] { smem::box_blur(context, in, out, 1); });
    refused([&] { smem::median_blur(context, in, out, 3); });
    refused([&] { smem::sobel(context, in, out, {smem::Gradient::across, 3}); });
    refused([&] { smem::max_pool2d(context, in, out, smem::Pooling::square(1)); });
    refused([&] { smem::avg_pool2d(context, in, out, smem::Pooling::square(1)); });
    Grid one = b.out.grid({1, 1}, {.channels = in.channels});
    one.batch = in.batch;
    refused([&] { smem::global_max_pool(context, in, one); });
    refused([&] { smem::global_avg_pool(context, in, one); });
    refused([&] { smem::moving_mean(context, in, out, 3); });
    refused([&] { smem::heat(context, in, out, {.dt = 0.1}); });
  }
  // As many results as wrap to none, and to few.
  for (const std::size_t batch : {kRoot, kRoot + 1, kHuge}) {
    CAPTURE(batch);
    Matrix in(b.in.buffer()(), Scalar::float32, kRoot, 4, {.batch = batch, .batch_stride = 16});
    const Vector out = b.out.vector();
    CHECK(failure_of([&] { smem::reduce_rows(context, in, out, smem::ReduceOp::sum); }).argument == "in");
    CHECK(failure_of([&] { smem::matvec(context, in, b.in.vector(0, 4), out); }).argument == "x");
    in.rows = 4;
    in.cols = 4;
    const Vector counts(b.out.buffer()(), Scalar::uint32, 64);
    CHECK_FALSE(failure_of([&] {
                  smem::histogram(context, in, counts, smem::Bins::even(4, 0, 1));
                }).argument.empty());
    CHECK_FALSE(
        failure_of([&] { smem::reduce_columns(context, in, out, smem::ReduceOp::sum); }).argument.empty());
  }
}

TEST_CASE("bad input of calls: turned matrices and offsets that overflow") {
  const FloatBuffers b;
  const auto& context = b.context;
  for (const auto& [rows, cols] :
       {std::pair{kRoot, kRoot}, {kHuge, std::size_t{4}}, {std::size_t{1}, SIZE_MAX}}) {
    const Matrix in = b.matrix(b.in, rows, cols);
    const Matrix same = b.matrix(b.out, rows, cols), turned = b.matrix(b.out, cols, rows);
    CHECK_THROWS_AS(smem::rotate(context, in, turned, smem::Rotation::by_90), smem::Error);
    CHECK_THROWS_AS(smem::rotate(context, in, same, smem::Rotation::by_180), smem::Error);
  }
  for (const std::size_t size : {kHuge, SIZE_MAX, SIZE_MAX / 4 + 1}) {
    const Vector away(b.in.buffer()(), Scalar::float32, 4, size);
    CHECK(failure_of([&] { smem::reduce(context, away, b.out.vector(), smem::ReduceOp::sum); }).argument ==
          "in");
  }
}

TEST_CASE("bad input of calls: views that touch do not overlap") {
  const smem::Context context;
  std::vector<float> numbers(128);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const auto turned = [&](std::size_t from, std::size_t to) {
    const smem::Array<float> both(context, numbers);
    const auto view = [&](std::size_t first) { return both.matrix(8, 8, {.offset = first}); };
    smem::transpose(context, view(from), view(to)).wait();
    return both.to_host().at(to + 1);
  };
  CHECK(turned(0, 64) == 8);
  CHECK(turned(64, 0) == 72);
  CHECK(failure_of([&] { turned(0, 63); }).argument == "out");
  CHECK(failure_of([&] { turned(64, 1); }).argument == "out");
}

TEST_CASE("bad input of calls: arrays and counts on the host") {
  const smem::Context context;
  for (const std::size_t size : {(std::size_t{1} << 61) + 1, SIZE_MAX}) {
    const auto error = failure_of([&] { smem::Array<double>(context, smem::Count{size}); });
    CHECK(error.operation == "Array");
    CHECK(error.argument == "size");
    CHECK(error.got == std::to_string(size));
  }
  CHECK(failure_of([&] { smem::Array<double>(context, smem::Count{std::size_t{1} << 60}); }).argument ==
        "bytes");
  const smem::Array<float> in(context, smem::Count{4});
  for (const std::size_t batch : {kHuge, std::size_t{1} << 50}) {
    const smem::MatrixView<const float> many(in.buffer(), 1, 4, {.batch = batch});
    CHECK(failure_of([&] { smem::histogram(context, many, smem::Bins::even(4, 0, 1)); }).argument == "in");
  }
  CHECK(smem::convolved_size(10, 3, 0, 1, 0, 0) == 0);
  CHECK(smem::convolved_size(10, 0, 1, 1, 0, 0) == 0);
  CHECK(smem::convolved_size(10, SIZE_MAX, 1, SIZE_MAX, 0, 0) == 0);
  CHECK(smem::convolved_size(10, 3, 1, 1, 1, 1) == 10);
}

TEST_CASE("bad input of calls: stencils and convolutions whose windows overflow") {
  const FloatBuffers b;
  const Grid in = b.in.grid({8, 8}), out = b.out.grid({8, 8});
  // The product of 2 r + 1 is 194129 of 64 bits.
  const smem::Radius wraps{479622960, 460523593, 432441077};
  const auto error = failure_of(
      [&] { smem::stencil(b.context, in, out, smem::Stencil::box(wraps, std::vector<double>(194129))); });
  CHECK(error.operation == "stencil");
  CHECK(error.argument == "weights");
  const auto convolved = [&](const smem::Convolution& how) {
    return failure_of([&] { smem::convolve2d(b.context, in, out, {3, 3, kNine}, how); }).argument;
  };
  CHECK(convolved({.stride = {SIZE_MAX}}) == "stride.x");
  CHECK(convolved({.dilation = {1, kHuge}}) == "dilation.y");
  CHECK(convolved({.padding = smem::Padding{kHuge, 0, 0, 0}}) == "padding");
  CHECK(convolved({.anchor_x = SIZE_MAX}) == "anchor_x");
}

TEST_CASE("bad input of calls: windows of filters") {
  const FloatBuffers b;
  const Grid in = b.in.grid({8, 8}), out = b.out.grid({8, 8});
  for (const std::size_t size : {SIZE_MAX, kRoot + 1, std::size_t{4001}}) {
    for (const double sigma : {0.0, 1.0}) {
      const auto error =
          failure_of([&] { smem::gaussian_blur(b.context, in, out, {.size = size, .sigma = sigma}); });
      CHECK(error.operation == "gaussian_blur");
      CHECK(error.argument == "window");
      CHECK(error.got == std::to_string(size));
    }
    CHECK(failure_of([&] { smem::gaussian_weights({.size = size}, Scalar::uint8); }).argument == "window");
    CHECK(failure_of([&] { smem::median_blur(b.context, in, out, size); }).argument == "size");
    CHECK(failure_of([&] {
            smem::sobel(b.context, in, out, {smem::Gradient::across, size});
          }).argument == "size");
    CHECK(failure_of([&] { smem::moving_mean(b.context, in, out, kHuge + size % 2); }).argument == "window");
  }
  for (const std::size_t radius : {SIZE_MAX, kHuge, kRoot})
    CHECK(failure_of([&] { smem::box_blur(b.context, in, out, radius); }).argument == "radius");
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const double sigma : {infinity, -infinity, nan, -1.0, 1e300}) {
    CHECK(failure_of([&] { smem::gaussian_blur(b.context, in, out, {.sigma = sigma}); }).argument ==
          "window");
  }
  for (const double amount : {infinity, -infinity, nan, 1e300}) {
    CHECK(failure_of([&] { smem::unsharp_mask(b.context, in, out, {.amount = amount}); }).argument ==
          "amount");
  }
  for (const double threshold : {-1.0, nan, -infinity}) {
    CHECK(failure_of([&] { smem::unsharp_mask(b.context, in, out, {.threshold = threshold}); }).argument ==
          "threshold");
  }
}

TEST_CASE("blur: weights of tiny and huge sigmas") {
  for (const double sigma : {1e-170, 5e-324, 1e-200}) {
    CHECK(smem::gaussian_weights({.size = 5, .sigma = sigma}, Scalar::float32) ==
          std::vector<double>{0, 0, 1, 0, 0});
    CHECK(smem::gaussian_weights({.size = 3, .sigma = sigma}, Scalar::uint8) == std::vector<double>{0, 1, 0});
    CHECK(smem::gaussian_weights({.sigma = sigma}, Scalar::float32) == std::vector<double>{1});
  }
  for (const double weight : smem::gaussian_weights({.size = 5, .sigma = 1e300}, Scalar::float32))
    CHECK(weight == doctest::Approx(0.2));
}

TEST_CASE("blur: medians of bytes beside a value that is no byte") {
  const smem::Context context;
  const smem::Array<std::uint8_t> in(context, std::vector<std::uint8_t>(64, 5)),
      out(context, smem::Count{64});
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [value, corner] : {std::pair{-1.0, 0}, {1e10, 255}, {infinity, 255}, {std::nan(""), 0}}) {
    for (const std::size_t size : {3, 5}) {  // most cells of the window of a corner are outside
      smem::median_blur(context, in.grid({8, 8}), out.grid({8, 8}), size, {smem::Boundary::constant, value});
      CHECK(out.to_host()[0] == corner);
    }
  }
}

TEST_CASE("bad input of calls: heat diffusion") {
  const FloatBuffers b;
  const Grid in = b.in.grid({8, 8}), out = b.out.grid({8, 8});
  const auto refused = [&](const smem::Heat& heat) {
    return failure_of([&] { smem::heat(b.context, in, out, heat); }).argument;
  };
  CHECK(refused({.dt = 1, .dx = 1e-200}) == "dt");
  CHECK(refused({.dt = 1e300, .conductivity = 0}) == "dt");  // more than a float
  CHECK(refused({.steps = SIZE_MAX}) == "steps");
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const double number : {infinity, -infinity, nan, -1.0}) {
    CHECK(refused({.dt = number}) == "dt");
    CHECK(refused({.dx = number}) == "dx");
    CHECK(refused({.dz = number}) == "dz");
    CHECK(refused({.conductivity = number}) == "conductivity");
  }
  CHECK(refused({.dy = 0}) == "dy");
  CHECK(refused({.wall_value = nan}) == "wall_value");
  CHECK(refused({.dt = 1e200, .conductivities = in, .max_conductivity = 1e-300}) == "dt");
  // A step of no time copies, whatever the distances.
  for (const double dx : {1e-200, 1e-170, 1e200}) {
    const smem::Array<float> copied(b.context, std::vector<float>(64, -1));
    smem::heat(b.context, in, copied.grid({8, 8}), {.dt = 0, .dx = dx, .dy = dx}).wait();
    CHECK(copied.to_host() == b.in.to_host());
    smem::heat(b.context, in, copied.grid({8, 8}), {.dt = 1, .dx = dx, .dy = dx, .conductivity = 0}).wait();
    CHECK(copied.to_host() == b.in.to_host());
    CHECK(smem::heat_time_step_limit({.dx = dx, .conductivity = 0}, 1) == infinity);
  }
}

TEST_CASE("bad input of calls: values outside their enumeration") {
  const FloatBuffers b;
  const auto& context = b.context;
  const Grid in = b.in.grid({8, 8}), out = b.out.grid({8, 8});
  const Matrix from = b.in.matrix(8, 8), to = b.out.matrix(8, 8);
  const Vector v = b.in.vector(), w = b.out.vector(), one = b.out.vector(0, 1);
  const Vector count(b.out.buffer()(), Scalar::uint32, 1);
  const auto refused = [](const auto& call) {
    const smem::ErrorDetails error = failure_of(call);
    CHECK(error.operation != "name_of");
    CHECK(error.operation != "size_of");
    return error.argument;
  };
  const smem::Edges nowhere{static_cast<smem::Boundary>(99)};
  CHECK(refused([&] { smem::gaussian_blur(context, in, out, {.size = 3}, nowhere); }) == "boundary");
  CHECK(refused([&] { smem::box_blur(context, in, out, 1, nowhere); }) == "boundary");
  CHECK(refused([&] { smem::median_blur(context, in, out, 3, nowhere); }) == "boundary");
  CHECK(refused([&] { smem::sobel(context, in, out, {smem::Gradient::across, 3}, nowhere); }) == "boundary");
  CHECK(refused([&] { smem::sobel(context, in, out, {static_cast<smem::Gradient>(3)}); }) == "gradient");
  CHECK(refused([&] {
          smem::stencil(context, in, out, smem::Stencil::box({1, 1}, kNine, {nowhere.boundary}));
        }) == "boundary");
  smem::Stencil shapeless = smem::Stencil::box({1, 1}, kNine);
  shapeless.shape = static_cast<smem::StencilShape>(-1);
  CHECK(refused([&] { smem::stencil(context, in, out, shapeless); }) == "shape");
  smem::Convolution how;
  how.edges.boundary = nowhere.boundary;
  CHECK(refused([&] { smem::convolve2d(context, in, out, {3, 3, kNine}, how); }) == "boundary");
  how = {};
  how.separable = static_cast<smem::Separable>(3);
  CHECK(refused([&] { smem::convolve2d(context, in, out, {3, 3, kNine}, how); }) == "separable");
  CHECK(refused([&] { smem::moving_mean(context, in, out, 3, static_cast<smem::MeanEnds>(2)); }) == "ends");
  CHECK(refused([&] { smem::heat(context, in, out, {.walls = static_cast<smem::Walls>(3)}); }) == "walls");
  CHECK(refused([&] { smem::heat(context, in, out, {.mean = static_cast<smem::FaceMean>(9)}); }) == "mean");
  smem::Conv2d conv;
  conv.activation = static_cast<smem::Activation>(99);
  CHECK(refused([&] { smem::conv2d(context, in, b.in.grid({1, 1}), out, conv); }) == "activation");
  CHECK(refused([&] { smem::flip(context, from, to, static_cast<smem::Flip>(2)); }) == "direction");
  CHECK(refused([&] { smem::rotate(context, from, to, static_cast<smem::Rotation>(99)); }) == "rotation");

  const auto op = static_cast<smem::ReduceOp>(99);
  const auto mode = static_cast<smem::FloatMode>(99);
  CHECK(refused([&] { smem::reduce(context, v, one, op); }) == "reduction");
  CHECK(refused([&] { smem::reduce(context, v, one, {smem::ReduceOp::sum, mode}); }) == "mode");
  CHECK(refused([&] { smem::reduce_rows(context, from, w, op); }) == "reduction");
  CHECK(refused([&] { smem::dot(context, v, v, one, mode); }) == "mode");
  CHECK(refused([&] { smem::inclusive_scan(context, v, w, op); }) == "operation");
  CHECK(refused([&] { smem::inclusive_scan(context, v, w, {smem::ReduceOp::sum, mode}); }) == "mode");
  const auto outside = static_cast<smem::Outside>(2);
  const Vector counts(b.out.buffer()(), Scalar::uint32, 4);
  CHECK(refused([&] { smem::histogram(context, v, counts, smem::Bins::even(4, 0, 1, outside)); }) ==
        "bins.outside");

  const auto type = static_cast<Scalar>(99);
  const auto of = [&](const smem::Array<float>& array) { return Vector(array.buffer()(), type, 64); };
  CHECK(refused([&] { smem::reduce(context, of(b.in), one, smem::ReduceOp::sum); }) == "in");
  CHECK(refused([&] { smem::reduce(context, v, of(b.out), smem::ReduceOp::sum); }) == "out");
  CHECK(refused([&] {
          smem::reduce_rows(context, Matrix(b.in.buffer()(), type, 8, 8), w, smem::ReduceOp::sum);
        }) == "in");
  CHECK(refused([&] { smem::reduce_segments(context, v, of(b.in), w, smem::ReduceOp::sum); }) == "offsets");
  CHECK(refused([&] { smem::check_segments(context, of(b.in), 3); }) == "offsets");
  CHECK(refused([&] { smem::dot(context, v, of(b.in), one); }) == "b");
  CHECK(refused([&] { smem::matvec(context, from, of(b.in), w); }) == "x");
  CHECK(refused([&] { smem::inclusive_scan(context, of(b.in), w); }) == "in");
  CHECK(refused([&] { smem::inclusive_scan(context, v, of(b.out)); }) == "out");
  CHECK(refused([&] { smem::inclusive_scan_by_key(context, of(b.in), v, w); }) == "keys");
  CHECK(refused([&] { smem::inclusive_scan_rows(context, from, Matrix(b.out.buffer()(), type, 8, 8)); }) ==
        "out");
  CHECK(refused([&] { smem::unique(context, of(b.in), w, count); }) == "in");
  CHECK(refused([&] { smem::unique(context, v, of(b.out), count); }) == "out");
  CHECK(refused([&] { smem::unique(context, v, w, of(b.out)); }) == "count");
  CHECK(refused([&] { smem::copy_flagged(context, v, of(b.in), w, count); }) == "flags");
  CHECK(refused([&] { smem::histogram(context, of(b.in), counts, smem::Bins::even(4, 0, 1)); }) == "in");
  CHECK(refused([&] { smem::histogram(context, v, of(b.out), smem::Bins::even(4, 0, 1)); }) == "out");
  CHECK(refused([&] { smem::histogram(context, v, counts, smem::Bins::between(of(b.in))); }) == "bins.edges");
  CHECK(refused([&] { smem::check_edges(context, of(b.in)); }) == "edges");
  CHECK(refused([&] { smem::histogram_weighted(context, v, of(b.in), w, smem::Bins::even(4, 0, 1)); }) ==
        "weights");
  Grid bad_in = in, bad_out = out;
  bad_in.type = bad_out.type = type;
  const auto both = [&](const auto& call) {
    CHECK(refused([&] { call(bad_in, out); }) == "in");
    CHECK(refused([&] { call(in, bad_out); }) == "out");
  };
  both([&](const Grid& i, const Grid& o) { smem::separable(context, i, o, {kNine, kNine}); });
  both([&](const Grid& i, const Grid& o) { smem::gaussian_blur(context, i, o, {.size = 3}); });
  both([&](const Grid& i, const Grid& o) { smem::unsharp_mask(context, i, o); });
  both([&](const Grid& i, const Grid& o) { smem::box_blur(context, i, o, 1); });
  both([&](const Grid& i, const Grid& o) { smem::median_blur(context, i, o, 3); });
  both([&](const Grid& i, const Grid& o) {
    smem::stencil(context, i, o, smem::Stencil::box({1, 1}, kNine));
  });
  both([&](const Grid& i, const Grid& o) { smem::convolve2d(context, i, o, {3, 3, kNine}); });
  both([&](const Grid& i, const Grid& o) { smem::heat(context, i, o, {}); });
  both([&](const Grid& i, const Grid& o) { smem::moving_mean(context, i, o, 3); });
  both([&](const Grid& i, const Grid& o) { smem::max_pool2d(context, i, o, smem::Pooling::square(1)); });
  both([&](const Grid& i, const Grid& o) { smem::conv2d(context, i, b.in.grid({1, 1}), o); });
}

TEST_CASE("bad input of calls: buffers that kernels may not read or write") {
  const FloatBuffers b;
  const smem::Context& context = b.context;
  std::vector<float> host(64, 3);
  const auto buffer = [&](cl_mem_flags flags) {
    cl_int status = CL_SUCCESS;
    cl::Buffer made(
        clCreateBuffer(context.cl_context()(), flags | CL_MEM_COPY_HOST_PTR, 256, host.data(), &status));
    REQUIRE(status == CL_SUCCESS);
    return made;
  };
  const cl::Buffer constant = buffer(CL_MEM_READ_ONLY), sink = buffer(CL_MEM_WRITE_ONLY);
  const auto part_of = [](const cl::Buffer& whole) {
    const cl_buffer_region region{0, 128};
    cl_int status = CL_SUCCESS;
    cl::Buffer made(clCreateSubBuffer(whole(), 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    REQUIRE(status == CL_SUCCESS);
    return made;
  };
  const auto view = [](const cl::Buffer& of) { return smem::MatrixView<float>(of, 4, 4); };
  const smem::MatrixView<float> in = b.in.matrix(4, 4), out = b.out.matrix(4, 4);
  for (const cl::Buffer& read_only : {constant, part_of(constant)}) {
    const auto error = failure_of([&] { smem::transpose(context, in, view(read_only)); });
    CHECK(error.argument == "out");
    CHECK(error.got == "one of CL_MEM_READ_ONLY");
    CHECK(failure_of([&] {
            smem::heat(context, b.in.grid({4, 4}), smem::GridView<float>(read_only, {4, 4}), {.dt = 0.1});
          }).argument == "out");
    CHECK(failure_of([&] { smem::transpose_in_place(context, view(read_only)); }).argument == "matrix");
    smem::Array<float> turned(context, smem::Count{16});
    smem::transpose(context, view(read_only), turned.matrix(4, 4)).wait();  // to be read
    CHECK(turned.to_host() == std::vector<float>(16, 3));
  }
  for (const cl::Buffer& write_only : {sink, part_of(sink)}) {
    const auto error = failure_of([&] { smem::transpose(context, view(write_only), out); });
    CHECK(error.argument == "in");
    CHECK(error.got == "one of CL_MEM_WRITE_ONLY");
    CHECK(failure_of([&] { smem::transpose_in_place(context, view(write_only)); }).argument == "matrix");
    CHECK(failure_of([&] { smem::gemm(context, in, in, view(write_only), {.beta = 1}); }).argument == "c");
    CHECK(failure_of([&] {
            smem::heat(context, b.in.grid({4, 4}), smem::GridView<float>(write_only, {4, 4}),
                       {.steps = 9, .dt = 0.1});
          }).argument == "out");
    smem::transpose(context, in, view(write_only)).wait();  // to be written
  }
  const cl_image_format format{CL_R, CL_FLOAT};
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE2D;
  shape.image_width = shape.image_height = 32;
  cl_int status = CL_SUCCESS;
  const cl_mem image =
      clCreateImage(context.cl_context()(), CL_MEM_READ_WRITE, &format, &shape, nullptr, &status);
  if (status == CL_SUCCESS) {  // not every device has images
    const smem::MatrixView<float> picture(image, 4, 4);
    auto error = failure_of([&] { smem::transpose(context, picture, out); });
    CHECK(error.argument == "in");
    CHECK(error.expected == "a buffer");
    CHECK(failure_of([&] { smem::transpose(context, in, picture); }).argument == "out");
    clReleaseMemObject(image);
  }
  const smem::Context other;
  const smem::Array<float> foreign(other, smem::Count{64});
  CHECK(failure_of([&] { smem::transpose(context, foreign.matrix(4, 4), out); }).argument == "in");
}

TEST_CASE("bad input of calls: events that are none, of empty views and kernels of one's own") {
  const FloatBuffers b;
  const Grid none = b.out.grid({0, 8});
  const Matrix empty = b.out.matrix(0, 0);
  const Vector nothing = b.out.vector(0, 0);
  const smem::Kernel kernel = b.context.build(
      {.source = "kernel void fill(global float* x) { x[get_global_id(0)] = 1; }", .entry_point = "fill"});
  const std::vector<cl::Event> list{cl::Event()};
  const smem::CallOptions options{.wait_for = list};
  const auto refused = [&](const auto& call) {
    const auto error = failure_of(call);
    CHECK(error.argument == "wait_for");
    CHECK(error.got == "an empty handle");
  };
  refused([&] { smem::transpose(b.context, empty, empty, options); });
  refused([&] { smem::inclusive_scan(b.context, nothing, nothing, smem::ReduceOp::sum, options); });
  refused([&] { smem::separable(b.context, none, none, {kNine, kNine}, {}, options); });
  refused([&] { kernel({.global = {64, 1, 1}}, list, b.out); });
}

TEST_CASE("bad input of calls: wrong expressions are refused of empty inputs too") {
  const FloatBuffers b;
  const auto& context = b.context;
  const Vector nothing = b.in.vector(0, 0), into = b.out.vector(0, 0);
  const smem::Array<std::uint32_t> count(context, std::vector<std::uint32_t>{77});
  const auto refused = [](const char* argument, const auto& call) {
    const auto error = failure_of(call);
    CHECK(error.argument == argument);
    CHECK(!error.build_log.empty());
  };
  const auto wrong = smem::Reduction::custom("a + nosuch", "0");
  refused("predicate", [&] { smem::copy_if(context, nothing, into, count.vector(), "x < nosuch"); });
  refused("predicate", [&] { smem::partition(context, nothing, into, count.vector(), "x < nosuch"); });
  CHECK(count.to_host() == std::vector<std::uint32_t>{77});
  refused("expression", [&] { smem::inclusive_scan(context, nothing, into, wrong); });
  refused("expression", [&] { smem::reduce(context, nothing, b.out.vector(0, 1), wrong); });
  refused("expression", [&] { smem::reduce_rows(context, b.in.matrix(0, 8), into, wrong); });
  refused("expression", [&] {
    smem::stencil(context, b.in.grid({0, 8}), b.out.grid({0, 8}), smem::Stencil::of("C + nosuch", {1, 1}));
  });
  smem::Gemm product;
  product.epilogue.expression = "x + nosuch";
  refused("expression",
          [&] { smem::gemm(context, b.in.matrix(0, 8), b.in.matrix(8, 8), b.out.matrix(0, 8), product); });
  // What is right is compiled once.
  smem::copy_if(context, nothing, into, count.vector(), "x < 0").wait();
  const std::size_t built = context.cache_statistics().built_from_source;
  smem::copy_if(context, nothing, into, count.vector(), "x < 0").wait();
  CHECK(context.cache_statistics().built_from_source == built);
  CHECK(count.to_host() == std::vector<std::uint32_t>{0});
}
