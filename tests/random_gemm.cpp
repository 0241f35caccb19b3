// Random products of matrices: any shape, order, type, pitch, batch, list and epilogue, by every variant,
// against plain loops that share nothing with support/gemms.hpp.
//
// Factors are small multiples of 1/8, so that every sum is exact, whatever its order and precision: results
// are compared for equality, but for those of GELU. SMEM_RANDOM_CASES sets the number of cases.
#include <smem/smem.hpp>

#include "support/random_cases.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using smem::Scalar;

namespace {

/// What a program is compiled for: few of these serve many cases.
struct Config {
  std::string variant;
  Scalar in = Scalar::float32, out = Scalar::float32;
  bool transpose_a = false, transpose_b = false, column_major = false, listed = false, tf32 = false;
  bool aligned = false;  ///< lines begin at multiples of 64 bytes
  int bias = 0;          ///< 1: of columns, 2: of rows
  int residual = 0;      ///< 1: a matrix of its own, 2: C itself
  smem::Activation activation = smem::Activation::none;
  bool expression = false;  ///< x + row - 2 col
};

struct RandomGemm {
  Config config;
  std::size_t m = 0, n = 0, k = 0, batch = 1;
  double alpha = 1, beta = 0, scale = 1;
  std::uint64_t data = 0;  ///< the stream of its numbers and places

  std::string text() const {
    const Config& c = config;
    return fmt::format(
        "{} -> {} by \"{}\", m {} n {} k {} batch {}, op(A) {} op(B) {}, {}-major, {}{}{}, alpha {} beta {} "
        "scale {}, bias {} residual {} {}{}, stream {}; SMEM_SEED={}",
        smem::name_of(c.in), smem::name_of(c.out), c.variant, m, n, k, batch, c.transpose_a ? "T" : "N",
        c.transpose_b ? "T" : "N", c.column_major ? "column" : "row", c.aligned ? "aligned" : "anywhere",
        c.listed ? ", listed" : "", c.tf32 ? ", TF32" : "", alpha, beta, scale, c.bias, c.residual,
        smem::name_of(c.activation), c.expression ? " and an expression" : "", data, test::seed());
  }
};

Config random_config(test::Random& random, const smem::Device& device) {
  Config c;
  if (!random.chance(5)) c.variant = test::one_of(random, smem::gemm_variants());
  std::vector<std::pair<Scalar, Scalar>> types{
      {Scalar::float32, Scalar::float32},   {Scalar::half, Scalar::float32},
      {Scalar::half, Scalar::half},         {Scalar::bfloat16, Scalar::float32},
      {Scalar::bfloat16, Scalar::bfloat16}, {Scalar::int8, Scalar::int32}};
  if (device.fp64) types.emplace_back(Scalar::float64, Scalar::float64);
  std::tie(c.in, c.out) = test::one_of(random, types);
  c.transpose_a = random.chance(2);
  c.transpose_b = random.chance(2);
  c.column_major = random.chance(2);
  c.listed = random.chance(4);
  c.aligned = random.chance(2);
  c.tf32 = random.chance(3);
  if (random.chance(2)) return c;
  c.bias = static_cast<int>(random.between(0, 2));
  c.residual = static_cast<int>(random.between(0, 2));
  const std::size_t activation = random.between(0, smem::is_float(c.in) ? 2 : 1);
  c.activation = static_cast<smem::Activation>(activation);
  c.expression = random.chance(4);
  return c;
}

/// 0 to 200, each power of two as often as the others.
std::size_t random_gemm_size(test::Random& random) {
  const std::size_t least = std::size_t{1} << random.between(0, 7);
  return std::min<std::size_t>(random.chance(20) ? 0 : random.between(least, 2 * least - 1), 200);
}

RandomGemm random_case(test::Random& random, const Config& config) {
  RandomGemm c;
  c.config = config;
  c.m = random_gemm_size(random);
  c.n = random_gemm_size(random);
  c.k = random_gemm_size(random);
  c.batch = random.chance(2) ? 1 : random.between(0, 4);
  const bool integer = !smem::is_float(config.in);
  const std::vector<double> numbers =
      integer ? std::vector<double>{0, 1, -2, 3} : std::vector<double>{0, 1, -2, 0.5};
  c.alpha = random.chance(2) ? 1 : test::one_of(random, numbers);
  c.beta = test::one_of(random, numbers);
  if (config.bias + config.residual > 0 || config.expression) c.scale = random.chance(2) ? 1 : -2;
  c.data = random.next();
  return c;
}

void put(Scalar type, std::vector<unsigned char>& to, std::size_t at, double x) {
  const auto write = [&](auto value) { std::memcpy(to.data() + at * sizeof value, &value, sizeof value); };
  if (type == Scalar::float32) write(static_cast<float>(x));
  if (type == Scalar::float64) write(x);
  if (type == Scalar::half) write(smem::half(static_cast<float>(x)));
  if (type == Scalar::bfloat16) write(smem::bfloat16(static_cast<float>(x)));
  if (type == Scalar::int8) write(static_cast<std::int8_t>(x));
  if (type == Scalar::int32) write(static_cast<std::int32_t>(x));
}

double take(Scalar type, const std::vector<unsigned char>& from, std::size_t at) {
  const auto read = [&](auto value) {
    std::memcpy(&value, from.data() + at * sizeof value, sizeof value);
    return value;
  };
  switch (type) {
    case Scalar::float64:
      return read(double{});
    case Scalar::half:
      return static_cast<float>(read(smem::half{}));
    case Scalar::bfloat16:
      return static_cast<float>(read(smem::bfloat16{}));
    case Scalar::int8:
      return read(std::int8_t{});
    case Scalar::int32:
      return read(std::int32_t{});
    default:
      return read(float{});
  }
}

/// A batch of matrices in a buffer of random places, in which all else is poison.
struct Matrices {
  Scalar type = Scalar::float32;
  std::size_t rows = 0, cols = 0;
  bool by_columns = false;
  smem::Extent extent = {};
  std::vector<std::size_t> starts = {};  ///< of each matrix, in elements
  std::vector<unsigned char> bytes = {};

  /// `count` matrices; `apart`: they share no element.
  Matrices(test::Random& random, const Config& c, Scalar of, std::size_t row_count, std::size_t col_count,
           std::size_t count, bool apart)
      : type(of), rows(row_count), cols(col_count), by_columns(c.column_major) {
    const std::size_t lines = by_columns ? cols : rows, along = by_columns ? rows : cols;
    const std::size_t unit = c.aligned ? 64 / smem::size_of(of) : 1;
    const auto rounded = [&](std::size_t x) { return (x + unit - 1) / unit * unit; };
    extent.offset = rounded(random.between(0, 40));
    extent.pitch = std::max<std::size_t>(rounded(along + random.between(0, 9)), 1);
    const std::size_t span = lines * extent.pitch;
    extent.batch_stride = std::max<std::size_t>(
        rounded(apart ? span + random.between(0, 30) : random.between(1, span + 30)), 1);
    extent.batch = c.listed ? 1 : count;
    for (std::size_t i = 0; i < count; ++i)
      starts.push_back(extent.offset + i * extent.batch_stride);
    // A list may name them in any order; the view begins at the first one.
    for (std::size_t i = count; c.listed && i > 1; --i)
      std::swap(starts[i - 1], starts[random.between(0, i - 1)]);
    const std::size_t elements =
        extent.offset + std::max<std::size_t>(count, 1) * extent.batch_stride + span + random.between(1, 20);
    bytes.resize(elements * smem::size_of(of));
    for (std::size_t i = 0; i < elements; ++i)
      put(type, bytes, i, smem::is_float(type) ? std::numeric_limits<double>::quiet_NaN() : 77);
  }
  std::size_t at(std::size_t matrix, std::size_t row, std::size_t col) const {
    return starts[matrix % starts.size()] +
           (by_columns ? col * extent.pitch + row : row * extent.pitch + col);
  }
  void fill(test::Random& random) {
    for (std::size_t p = 0; p < starts.size(); ++p) {
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < cols; ++j) {
          const auto from = [&](std::size_t most) {
            return static_cast<double>(random.between(0, most)) - static_cast<double>(most / 2);
          };
          put(type, bytes, at(p, i, j), smem::is_float(type) ? from(64) / 8 : from(255) - 1);
        }
      }
    }
  }
  smem::Matrix view(const smem::Array<unsigned char>& array) const {
    const std::size_t lines = by_columns ? cols : rows, along = by_columns ? rows : cols;
    return {array.buffer()(), type, lines, along, extent};
  }
};

double gelu(double x) { return x < -40 ? 0 : 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

/// \returns what is wrong; nothing: the call did what it should, or refused its variant (`refused`).
std::string fault_of(const smem::Context& context, const RandomGemm& c, bool& refused) {
  const Config& how = c.config;
  test::Random random(c.data);
  const bool reads = c.alpha != 0 && c.k > 0;
  const auto count = [&] { return !how.listed && random.chance(3) ? 1 : c.batch; };
  const std::size_t of_a = count(), of_b = count();
  Matrices a(random, how, how.in, how.transpose_a ? c.k : c.m, how.transpose_a ? c.m : c.k, of_a, false);
  Matrices b(random, how, how.in, how.transpose_b ? c.n : c.k, how.transpose_b ? c.k : c.n, of_b, false);
  Matrices out(random, how, how.out, c.m, c.n, c.batch, true);
  Config strided = how;
  strided.listed = false;
  Matrices other(random, strided, how.out, c.m, c.n, c.batch, false);
  if (reads) a.fill(random), b.fill(random);
  other.fill(random);
  if (c.beta != 0 || how.residual == 2) out.fill(random);
  const std::size_t biases = how.bias == 1 ? c.n : c.m;
  std::vector<unsigned char> bias((biases + 2) * smem::size_of(how.out));
  for (std::size_t i = 0; i < biases + 2; ++i)
    put(how.out, bias, i, static_cast<double>(random.between(0, 20)) - 10);
  std::vector<std::uint64_t> list(2, ~std::uint64_t{0});
  for (std::size_t p = 0; how.listed && p < c.batch; ++p)
    for (const Matrices* x : {&a, &b, &out})
      list.push_back(x->starts[p] - x->extent.offset);

  const auto array = [&](const std::vector<unsigned char>& bytes) {
    return smem::Array<unsigned char>(context, bytes);
  };
  const auto a_array = array(a.bytes), b_array = array(b.bytes), out_array = array(out.bytes),
             other_array = array(other.bytes), bias_array = array(bias);
  const smem::Array<std::uint64_t> list_array(context, list);
  smem::Gemm call;
  call.alpha = c.alpha;
  call.beta = c.beta;
  call.transpose_a = how.transpose_a;
  call.transpose_b = how.transpose_b;
  call.tf32 = how.tf32;
  call.order = how.column_major ? smem::Order::column_major : smem::Order::row_major;
  if (how.listed) call.list = list_array.vector(2, 3 * c.batch);
  if (how.bias != 0) {
    call.epilogue.bias = smem::Vector(bias_array.buffer()(), how.out, biases, 2);
    call.epilogue.bias_of = how.bias == 1 ? smem::BiasOf::column : smem::BiasOf::row;
  }
  call.epilogue.activation = how.activation;
  if (how.expression) call.epilogue.expression = "x + (int)row - 2 * (int)col";
  call.epilogue.scale = c.scale;
  if (how.residual == 1) call.epilogue.residual = other.view(other_array);
  if (how.residual == 2) call.epilogue.residual = out.view(out_array);
  try {
    smem::gemm(context, a.view(a_array), b.view(b_array), out.view(out_array), call,
               {.variant = how.variant});
  } catch (const smem::Error& error) {
    refused = !how.variant.empty() && error.details().argument == "variant";
    return refused ? std::string() : fmt::format("refused: {}", error.what());
  }

  const std::vector<unsigned char> got = out_array.to_host();
  std::vector<unsigned char> rest = got;  // with what was there before where results are
  const std::size_t size = smem::size_of(how.out);
  for (std::size_t p = 0; p < c.batch; ++p) {
    for (std::size_t i = 0; i < c.m; ++i) {
      for (std::size_t j = 0; j < c.n; ++j) {
        double x = 0;
        for (std::size_t q = 0; reads && q < c.k; ++q) {
          x += take(how.in, a.bytes, how.transpose_a ? a.at(p, q, i) : a.at(p, i, q)) *
               take(how.in, b.bytes, how.transpose_b ? b.at(p, j, q) : b.at(p, q, j));
        }
        const std::size_t at = out.at(p, i, j);
        const double old = take(how.out, out.bytes, at);
        x = c.alpha == 0 ? 0 : c.alpha * x;
        if (c.beta != 0) x += c.beta * old;
        if (how.bias != 0) x += take(how.out, bias, 2 + (how.bias == 1 ? j : i));
        double error = 0;
        const double eps = how.in == Scalar::float64 ? 0x1p-53 : 0x1p-24;
        const bool is_gelu = how.activation == smem::Activation::gelu;
        if (how.activation == smem::Activation::relu) x = std::max(x, 0.0);
        if (is_gelu) {  // of double by an erfc whose argument is rounded
          const double units = how.in == Scalar::float64 ? 32 + 4 * std::min(x * x, 1600.0) : 4;
          x = gelu(x);
          error = units * eps * std::abs(x) + 0x1p-126;
        }
        if (how.expression) {
          const double row = static_cast<double>(i), twice_col = 2 * static_cast<double>(j);
          error += 2 * eps * (std::abs(x) + row + twice_col);
          x += row - twice_col;
        }
        x *= c.scale;
        error *= std::abs(c.scale);
        if (how.residual == 1) x += take(how.out, other.bytes, other.at(p, i, j));
        if (how.residual == 2) x += old;
        error += 2 * eps * std::abs(x);
        std::vector<unsigned char> rounded(size);
        put(how.out, rounded, 0, x);
        const double wanted = take(how.out, rounded, 0);  // exact until it is rounded once, but for GELU
        if (how.out == Scalar::half) error += 0x1p-11 * std::abs(x) + 0x1p-25;
        if (how.out == Scalar::bfloat16) error += 0x1p-8 * std::abs(x);
        const double result = take(how.out, got, at);
        const bool is_right = is_gelu ? std::abs(result - x) <= error : result == wanted;
        if (!is_right) {
          return fmt::format("({}, {}) of product {}: {} instead of {} within {}", i, j, p, result, wanted,
                             is_gelu ? error : 0);
        }
        std::memcpy(rest.data() + at * size, out.bytes.data() + at * size, size);
      }
    }
  }
  if (rest != out.bytes) return "something outside of C has changed";
  if (a_array.to_host() != a.bytes || b_array.to_host() != b.bytes || other_array.to_host() != other.bytes ||
      bias_array.to_host() != bias || list_array.to_host() != list)
    return "an input has changed";
  return {};
}

}  // namespace

TEST_CASE("random: products of any shape, order and type") {
  const smem::Context context;
  test::Random random(16);
  const std::size_t cases = test::random_cases(40);
  // Each program takes a driver a good part of a second.
  std::vector<Config> configs;
  for (std::size_t i = 0; i < cases / 8 + 3; ++i)
    configs.push_back(random_config(random, context.device()));
  std::size_t ran = 0;
  for (std::size_t i = 0; i < cases; ++i) {
    RandomGemm c = random_case(random, configs[i % configs.size()]);
    bool refused = false;
    std::string fault = fault_of(context, c, refused);
    ran += !refused;
    if (fault.empty()) continue;
    // Smaller sizes, as long as it still fails.
    for (bool smaller_fails = true; smaller_fails;) {
      smaller_fails = false;
      for (std::size_t RandomGemm::*size :
           {&RandomGemm::batch, &RandomGemm::m, &RandomGemm::n, &RandomGemm::k}) {
        RandomGemm smaller = c;
        smaller.*size /= 2;
        if (c.*size == 0) continue;
        const std::string of_smaller = fault_of(context, smaller, refused);
        if (of_smaller.empty()) continue;
        c = smaller;
        fault = of_smaller;
        smaller_fails = true;
      }
    }
    FAIL("case " << i << ", made smaller: " << c.text() << "\n  " << fault);
  }
  MESSAGE(ran << " of " << cases << " cases ran, SMEM_SEED=" << test::seed());
  CHECK(ran > 0);
}
