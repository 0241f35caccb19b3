// gemm, described.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"

#include "formatted.hpp"

#include <smem/gemm.hpp>
#include <smem/gemm_plan.hpp>
#include <smem/sizes.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace smem::operations {

namespace {

/// Rows of A that differ, of products that are too large for a plain loop: no size of a tile is a multiple.
constexpr std::size_t kRows = 61;

struct Product {
  GemmProblem p;
  bool transpose_a = false, transpose_b = false;
  std::size_t rows = 0;  ///< of A that differ

  /// `body` on parts of a matrix's rows: on all cores, unless there are other products for them.
  void on_rows(std::size_t count, const std::function<void(std::size_t begin, std::size_t end)>& body) const {
    if (p.batch == 1) {
      in_parallel(count, body);
    } else {
      body(0, count);
    }
  }
};

Scalar sums_of(Scalar in) {
  return in == Scalar::int8 ? Scalar::int32 : in == Scalar::float64 ? in : Scalar::float32;
}

/// A matrix of a batch, row by row, as `rows` x `cols`. Whole numbers, which float holds.
std::vector<float> packed(const Product& of, const HostArray& from, std::size_t q, std::size_t rows,
                          std::size_t cols, bool transposed) {
  std::vector<float> to(rows * cols);
  of.on_rows(rows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t j = 0; j < cols; ++j) {
        const std::size_t at = transposed ? j * rows + i : i * cols + j;
        to[i * cols + j] = static_cast<float>(from.number(q * rows * cols + at));
      }
  });
  return to;
}

/// Sums of int8 wrap at 32 bits.
double wrapped(double sum) {
  const auto bits = static_cast<std::uint32_t>(static_cast<std::int64_t>(sum));
  return static_cast<double>(static_cast<std::int32_t>(bits));
}

void multiply(const Product& of, std::size_t q, const HostArray& a_of, const HostArray& b_of, HostArray& c) {
  const GemmProblem& p = of.p;
  const std::vector<float> a = packed(of, a_of, q, p.m, p.k, of.transpose_a);
  const std::vector<float> b = packed(of, b_of, q, p.k, p.n, of.transpose_b);
  of.on_rows(std::min(of.rows, p.m), [&](std::size_t begin, std::size_t end) {
    std::vector<double> sums(p.n);
    for (std::size_t i = begin; i < end; ++i) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::size_t x = 0; x < p.k; ++x) {
        const double factor = static_cast<double>(a[i * p.k + x]);
        const std::span<const float> row(b.data() + x * p.n, p.n);
        for (std::size_t j = 0; j < p.n; ++j)
          sums[j] += factor * static_cast<double>(row[j]);
      }
      for (std::size_t same = i; same < p.m; same += of.rows)
        for (std::size_t j = 0; j < p.n; ++j)
          c.set((q * p.m + same) * p.n + j, p.out == Scalar::int32 ? wrapped(sums[j]) : sums[j]);
    }
  });
}

/// Small enough that every sum is exact in its type.
Fill fill_of(const GemmProblem& p) {
  return {.most = p.in == Scalar::int8 ? 127U : p.k > 65536 ? 3U : 15U, .negative = true};
}

Case read(const Words& words) {
  Product of;
  GemmProblem& p = of.p;
  const auto sizes = words.sizes("shape");
  p.m = sizes[0], p.n = sizes[1], p.k = sizes[2];
  p.batch = words.number("batch");
  p.in = words.scalar("type");
  p.out = words.text("out") == "sums" ? sums_of(p.in) : words.scalar("out");
  p.tf32 = words.flag("tf32");
  of.transpose_a = words.flag("transpose-a"), of.transpose_b = words.flag("transpose-b");
  p.a_along_k = !of.transpose_a, p.b_along_k = of.transpose_b;
  const auto alignment = [&](bool transposed, std::size_t rows, std::size_t cols, Scalar type) {
    return packed_alignment(detail::size_product(transposed ? cols : rows, p.batch),
                            (transposed ? rows : cols) * size_of(type));
  };
  p.a_alignment = alignment(of.transpose_a, p.m, p.k, p.in);
  p.b_alignment = alignment(of.transpose_b, p.k, p.n, p.in);
  p.c_alignment = alignment(false, p.m, p.n, p.out);
  const double products = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  const bool repeats = products > 0x1p31 && !of.transpose_a && p.batch == 1;
  of.rows = repeats ? kRows : std::max<std::size_t>(p.m, 1);
  std::string text = formatted("{}{}x{}x{} {}{}", p.batch == 1 ? "" : formatted("{} of ", p.batch), p.m, p.n,
                               p.k, name_of(p.in), p.out == p.in ? "" : formatted(" to {}", name_of(p.out)));
  if (of.transpose_a || of.transpose_b)
    text += formatted(", {}{}", of.transpose_a ? "T" : "N", of.transpose_b ? "T" : "N");
  if (p.tf32) text += " by TF32";
  Case made = case_of(std::move(text), p, plan_gemm);
  made.operations = 2 * products * static_cast<double>(p.batch);
  made.relative = p.out == Scalar::half ? 0x1p-10 : p.out == Scalar::bfloat16 ? 0x1p-7 : 0;
  made.in = {{"a", p.in, detail::size_product(p.m, p.k, p.batch), fill_of(p)},
             {"b", p.in, detail::size_product(p.k, p.n, p.batch), fill_of(p)}};
  if (repeats) made.in[0].fill.period = kRows * p.k;
  made.out = {{"c", p.out, detail::size_product(p.m, p.n, p.batch)}};
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const auto matrix = [&](const PlacedArray& at, bool transposed, std::size_t rows, std::size_t cols) {
      return at.matrix(transposed ? cols : rows, transposed ? rows : cols, of.p.batch);
    };
    return gemm(context, matrix(arrays.in[0], of.transpose_a, of.p.m, of.p.k),
                matrix(arrays.in[1], of.transpose_b, of.p.k, of.p.n),
                matrix(arrays.out[0], false, of.p.m, of.p.n),
                {.transpose_a = of.transpose_a, .transpose_b = of.transpose_b, .tf32 = of.p.tf32}, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    const auto multiply_each = [&](std::size_t begin, std::size_t end) {
      for (std::size_t q = begin; q < end; ++q)
        multiply(of, q, arrays.in[0], arrays.in[1], arrays.out[0]);
    };
    if (of.p.batch == 1) {
      multiply_each(0, 1);
    } else {
      in_parallel(of.p.batch, multiply_each);
    }
  };
  return made;
}

std::vector<Step> steps() {
  std::vector<Step> all;
  for (const std::string_view variant : gemm_variants())
    all.push_back({variant, gemm_step(variant)});
  return all;
}

/// Parts of what cuBLAS reached on an H200, as shares of the 66.4 TFLOP/s that its fp32 rate was measured as.
constexpr double part(double of, double tflops) { return of * tflops / 66.4; }

}  // namespace

Operation gemm_operation() {
  return {
      .name = "gemm",
      .summary = "Products of packed matrices",
      .steps = steps(),
      .words = {{.name = "shape",
                 .kind = WordKind::sizes,
                 .help = "Of the product: MxNxK",
                 .positional = true,
                 .form = "MxNxK",
                 .least = 3,
                 .most = 3},
                {.name = "type",
                 .kind = WordKind::choice,
                 .help = "Of A and B",
                 .usual = "float",
                 .positional = true,
                 .choices = {"float", "double", "half", "bfloat16", "int8", "float32", "float64", "char"}},
                {.name = "out",
                 .kind = WordKind::choice,
                 .help = "Type of C: that of the sums, or of half and bfloat16 theirs",
                 .usual = "sums",
                 .choices = {"sums", "float", "double", "half", "bfloat16", "int32", "float32", "float64",
                             "int"}},
                {.name = "batch", .kind = WordKind::number, .help = "Number of products", .usual = "1"},
                {.name = "transpose-a", .kind = WordKind::flag, .help = "A is K x M"},
                {.name = "transpose-b", .kind = WordKind::flag, .help = "B is N x K"},
                {.name = "tf32", .kind = WordKind::flag, .help = "Let matrix units cut float to TF32"}},
      .read = read,
      .samples = {{Scale::edges, "1x1x1 float"},
                  {Scale::edges, "67x35x131 float"},
                  {Scale::edges, "67x35x131 half --out half --batch 2 --transpose-a"},
                  {Scale::edges, "33x70x65 bfloat16 --transpose-b"},
                  {Scale::edges, "64x64x64 int8"},
                  {Scale::edges, "13x130x37 double --transpose-a --transpose-b"},
                  {Scale::edges, "5x129x2050 float --transpose-b --tf32"},
                  {Scale::small, "100x100x100 float"},
                  {Scale::small, "256x256x256 float"},
                  {Scale::small, "256x256x256 half"},
                  {Scale::small, "100x33x77 float"},
                  {Scale::small, "1x512x512 float"},
                  {Scale::usual, "1024x1024x1024 float"},
                  {Scale::usual, "512x512x512 float"},
                  {Scale::usual, "2048x2048x2048 float"},
                  {Scale::usual, "1000x333x777 float"},
                  {Scale::usual, "1024x1024x1024 half"},
                  {Scale::large, "4096x4096x4096 float", part(0.95, 51.3)},
                  {Scale::large, "8192x8192x8192 float", part(0.95, 51.3)},
                  {Scale::large, "2048x2048x2048 float", part(0.85, 49.7)},
                  {Scale::large, "1024x1024x1024 float", part(0.85, 33.6)},
                  {Scale::large, "4096x37x4096 float", part(0.7, 16.7)},
                  {Scale::large, "1000x333x777 float", part(0.7, 17.2)},
                  {Scale::large, "31x129x65536 float", part(0.7, 8.9)},
                  {Scale::large, "1x4096x4096 float", part(0.7, 1.34)},
                  {Scale::large, "4097x4095x1023 float", part(0.7, 48.5)},
                  {Scale::large, "64x64x64 float --batch 10000", part(0.8, 27.3)},
                  {Scale::large, "8192x8192x8192 half", part(0.85, 749)},
                  {Scale::large, "4096x4096x4096 half", part(0.75, 728)},
                  {Scale::large, "2048x2048x2048 half", part(0.75, 513)},
                  {Scale::large, "4097x4095x1023 half", part(2.5, 138)},
                  {Scale::large, "4096x4096x4096 bfloat16"},
                  {Scale::large, "4096x4096x4096 int8"},
                  {Scale::large, "4096x4096x4096 float --transpose-b --tf32"},
                  {Scale::large, "4096x4096x4096 double"}},
      .counted = "floating-point operations of the call",
  };
}

}  // namespace smem::operations
