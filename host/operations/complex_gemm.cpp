// complex_gemm, described.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"

#include "formatted.hpp"

#include <smem/complex_gemm.hpp>
#include <smem/sizes.hpp>

#include <algorithm>
#include <complex>
#include <string>
#include <utility>
#include <vector>

namespace smem::operations {

namespace {

/// A complex product of packed matrices, as passed by the caller.
struct ComplexProduct {
  std::size_t m = 0, n = 0, k = 0;
  ComplexGemmProblem p;  ///< what plans are made for: row-major
  ComplexGemm how;
  bool one_a = false, one_b = false;  ///< for all products

  bool turned() const { return how.order == Order::column_major; }
  std::size_t of_a() const { return detail::size_product(m, k, one_a ? 1 : p.batch); }
  std::size_t of_b() const { return detail::size_product(k, n, one_b ? 1 : p.batch); }
  std::size_t of_c() const { return detail::size_product(m, n, p.batch); }
};

std::complex<double> complex_at(const HostArray& array, std::size_t i) {
  return {array.number(2 * i), array.number(2 * i + 1)};
}

/// A matrix of a factor, row by row, as it is multiplied.
std::vector<std::complex<double>> complex_factor(const HostArray& from, std::size_t first, std::size_t rows,
                                                 std::size_t cols, bool transposed, bool conjugated) {
  std::vector<std::complex<double>> to(rows * cols);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) {
      const std::complex<double> x = complex_at(from, first + (transposed ? j * rows + i : i * cols + j));
      to[i * cols + j] = conjugated ? std::conj(x) : x;
    }
  }
  return to;
}

void multiply_complex(const ComplexProduct& of, const HostArrays& arrays) {
  HostArray& c = of.p.reads_c ? arrays.in_out[0] : arrays.out[0];
  for (std::size_t q = 0; q < of.p.batch; ++q) {
    const auto a = complex_factor(arrays.in[0], of.one_a ? 0 : q * of.m * of.k, of.m, of.k,
                                  of.how.transpose_a != of.turned(), of.how.conjugate_a);
    const auto b = complex_factor(arrays.in[1], of.one_b ? 0 : q * of.k * of.n, of.k, of.n,
                                  of.how.transpose_b != of.turned(), of.how.conjugate_b);
    for_each_in_parallel(of.m, [&](std::size_t i) {
      std::vector<std::complex<double>> sums(of.n);
      for (std::size_t x = 0; x < of.k; ++x) {
        const double re = a[i * of.k + x].real(), im = a[i * of.k + x].imag();
        for (std::size_t j = 0; j < of.n; ++j) {
          const std::complex<double> y = b[x * of.n + j];
          sums[j] += std::complex<double>(re * y.real() - im * y.imag(), re * y.imag() + im * y.real());
        }
      }
      for (std::size_t j = 0; j < of.n; ++j) {
        const std::size_t at = (q * of.m * of.n) + (of.turned() ? j * of.m + i : i * of.n + j);
        std::complex<double> x = of.how.alpha * sums[j];
        if (of.p.reads_c) x += of.how.beta * complex_at(c, at);
        c.set(2 * at, x.real());
        c.set(2 * at + 1, x.imag());
      }
    });
  }
}

/// The problem that complex_gemm() makes of its arguments.
void set_complex_problem(ComplexProduct& of) {
  ComplexGemmProblem& p = of.p;
  const ComplexGemm& how = of.how;
  const bool turned = of.turned();
  p.m = turned ? of.n : of.m, p.n = turned ? of.m : of.n, p.k = of.k;
  p.a_along_k = turned ? !how.transpose_b : !how.transpose_a;
  p.b_along_k = turned ? how.transpose_a : how.transpose_b;
  p.one_a = p.batch != 1 && (turned ? of.one_b : of.one_a);
  p.one_b = p.batch != 1 && (turned ? of.one_a : of.one_b);
  p.reads_c = how.beta != 0.0;
  p.complex_beta = how.beta.imag() != 0;
  p.conjugates = how.conjugate_a != how.conjugate_b;
  const auto alignment = [&](std::size_t rows, std::size_t cols, bool one) {
    return packed_alignment(detail::size_product(rows, one ? 1 : p.batch), cols * 2 * size_of(p.part));
  };
  p.a_alignment = alignment(p.a_along_k ? p.m : p.k, p.a_along_k ? p.k : p.m, p.one_a);
  p.b_alignment = alignment(p.b_along_k ? p.n : p.k, p.b_along_k ? p.k : p.n, p.one_b);
  p.c_alignment = alignment(p.m, p.n, false);
}

std::string text_of_complex(const ComplexProduct& of, const Words& words) {
  std::string text =
      formatted("{}{}x{}x{} complex {}", batch_text(of.p.batch), of.m, of.n, of.k, name_of(of.p.part));
  const auto letter = [](bool transposed, bool conjugated) {
    return transposed ? (conjugated ? 'C' : 'T') : conjugated ? 'J' : 'N';
  };
  const std::string factors{letter(of.how.transpose_a, of.how.conjugate_a),
                            letter(of.how.transpose_b, of.how.conjugate_b)};
  if (factors != "NN") text += ", " + factors;
  if (of.turned()) text += ", column-major";
  if (of.one_a) text += ", one A";
  if (of.one_b) text += ", one B";
  for (const char* name : {"alpha", "beta"}) {
    const std::string re = words.text(name), im = words.text(std::string(name) + "-imaginary");
    if (im != "0") {
      text += formatted(", {} {} + {}i", name, re, im);
    } else if (re != (name == std::string("alpha") ? "1" : "0")) {
      text += formatted(", {} {}", name, re);
    }
  }
  return text;
}

Case read_complex(const Words& words) {
  ComplexProduct of;
  const auto sizes = words.sizes("shape");
  of.m = sizes[0], of.n = sizes[1], of.k = sizes[2];
  of.p.batch = words.number("batch");
  of.p.part = words.scalar("type");
  ComplexGemm& how = of.how;
  how.alpha = {words.real("alpha"), words.real("alpha-imaginary")};
  how.beta = {words.real("beta"), words.real("beta-imaginary")};
  how.transpose_a = words.flag("transpose-a"), how.transpose_b = words.flag("transpose-b");
  how.conjugate_a = words.flag("conjugate-a"), how.conjugate_b = words.flag("conjugate-b");
  if (words.flag("column-major")) how.order = Order::column_major;
  of.one_a = words.flag("one-a"), of.one_b = words.flag("one-b");
  set_complex_problem(of);
  Case made = case_of(text_of_complex(of, words), of.p, plan_complex_gemm);
  made.operations = 8 * static_cast<double>(of.of_c()) * static_cast<double>(of.k);
  // Small enough that every sum is exact in its type.
  const Fill fill{.most = of.k > 8192 ? 3U : 15U, .negative = true};
  made.in = {{"a", of.p.part, detail::size_product(2, of.of_a()), fill},
             {"b", of.p.part, detail::size_product(2, of.of_b()), fill}};
  const ArrayRule c{"c", of.p.part, detail::size_product(2, of.of_c()), fill};
  (of.p.reads_c ? made.in_out : made.out) = {c};
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const auto matrix = [&](const PlacedArray& at, bool transposed, std::size_t rows, std::size_t cols,
                            bool is_one) {
      if (transposed != of.turned()) std::swap(rows, cols);
      return Matrix(at.buffer, ElementType::of_bytes(2 * size_of(of.p.part)), rows, cols,
                    {.offset = at.first / 2, .batch = is_one ? 1 : of.p.batch});
    };
    const PlacedArray& out = of.p.reads_c ? arrays.in_out[0] : arrays.out[0];
    return complex_gemm(context, matrix(arrays.in[0], of.how.transpose_a, of.m, of.k, of.one_a),
                        matrix(arrays.in[1], of.how.transpose_b, of.k, of.n, of.one_b),
                        matrix(out, false, of.m, of.n, false), of.how, options);
  };
  made.reference = [=](const HostArrays& arrays) { multiply_complex(of, arrays); };
  return made;
}

}  // namespace

Operation complex_gemm_operation() {
  const auto real_rule = [](const char* name, const char* help, const char* usual) {
    return WordRule{.name = name, .kind = WordKind::real, .help = help, .usual = usual};
  };
  return {
      .name = "complex_gemm",
      .summary = "Matrix products of complex numbers",
      .steps = {{"naive", "one result a work-item, all from global memory"},
                {"tiled", "a work-group shares tiles of complex numbers in local memory"},
                {"registers", "a block of results in registers"},
                {"multistage", "asynchronous copies fill tiles ahead"},
                {"mma", "matrix units multiply the parts of doubles"},
                {"gemm", "one real product, of an expanded factor"}},
      .words = {sizes_rule("shape", "Size of the product: MxNxK", "MxNxK", {3, 3}),
                type_rule(WordKind::choice, "Type of a number's parts", "float",
                          {"float", "double", "float32", "float64"}),
                number_rule("batch", "Number of products", "1"), flag_rule("transpose-a", "A is K x M"),
                flag_rule("transpose-b", "B is N x K"), flag_rule("conjugate-a", "A is conjugated"),
                flag_rule("conjugate-b", "B is conjugated"),
                flag_rule("column-major", "All matrices are in column-major order"),
                flag_rule("one-a", "One A for all products"), flag_rule("one-b", "One B for all products"),
                real_rule("alpha", "Factor of the product", "1"),
                real_rule("alpha-imaginary", "Its imaginary part", "0"),
                real_rule("beta", "Factor of C, which is added to the product", "0"),
                real_rule("beta-imaginary", "Its imaginary part", "0")},
      .read = read_complex,
      .samples =
          {.edges = {"1x1x1 float", "67x35x131 float",
                     "33x70x65 float --transpose-a --conjugate-a --alpha 2 --alpha-imaginary -1 --beta 1 "
                     "--beta-imaginary 2",
                     "13x130x37 double --transpose-a --transpose-b --conjugate-b --column-major --beta -2",
                     "19x18x40 float --batch 3 --transpose-b --one-b --conjugate-a",
                     "20x33x9 double --batch 2 --transpose-a --one-a --alpha-imaginary 1"},
           .small = {"100x100x100 float", "256x256x256 float", "256x256x256 double", "100x33x77 float",
                     "2x512x512 float"},
           .usual = {"512x512x512 float", "1024x1024x1024 float", "512x512x512 double", "1000x333x777 float",
                     "64x64x64 float --batch 100", "512x512x512 float --transpose-a --conjugate-a"},
           .large = {"4096x4096x4096 float", "2048x2048x2048 float", "1024x1024x1024 float",
                     "512x512x512 float", "256x256x256 float", "1000x333x777 float",
                     "4096x4096x4096 float --transpose-a --conjugate-a", "64x64x64 float --batch 10000",
                     "16x16x16 float --batch 100000", "8x4096x4096 float", "2048x2048x2048 double"}},
      .counted = "floating-point operations of the call",
      .programs = {{"4096x4096x4096"},
                   {"4096x4096x4096 --transpose-a --beta 1 --beta-imaginary 1"},
                   {"4096x4096x4096 --transpose-b", {"tiled", "registers", "gemm"}},
                   {"4096x4096x4096 --transpose-a --transpose-b", {"registers"}},
                   {"300x500x700 --transpose-a --transpose-b --conjugate-a", {"multistage"}},
                   {"128x128x16384 --transpose-b", {"multistage"}},
                   {"1000x16x4096", {"multistage"}},
                   {"16x16x16 --batch 10000", {"multistage"}},
                   {"300x500x700 double --transpose-b --conjugate-a", {"mma"}},
                   {"128x128x16384 double --transpose-a", {"mma"}},
                   {"16x4096x4096 double", {"mma"}},
                   {"4096x4096x4096 double"},
                   {"4096x4096x4096 double --transpose-a --transpose-b --beta 1 --beta-imaginary 1"}},
  };
}

}  // namespace smem::operations
