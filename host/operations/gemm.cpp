// gemm, described.
#include "operations/activations.hpp"
#include "operations/matrices.hpp"
#include "operations/operation.hpp"
#include "operations/peers.hpp"

#include "formatted.hpp"

#include <smem/gemm.hpp>
#include <smem/gemm_plan.hpp>
#include <smem/sizes.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace smem::operations {

namespace {

/// Rows of A that differ, of products that are too large for a plain loop: no size of a tile is a multiple.
constexpr std::size_t kRows = 61;

/// A product of packed matrices, as passed by the caller.
struct Product {
  std::size_t m = 0, n = 0, k = 0;
  GemmProblem p;  ///< what plans are made for: row-major
  Gemm how;       ///< but for its arrays
  Scalar a = Scalar::float32, b = Scalar::float32;
  bool bias = false, residual = false, shares_residual = false;
  std::size_t rows = 0;  ///< of A that differ

  bool turned() const { return how.order == Order::column_major; }
  /// `body` on parts of a matrix's rows: on all cores, unless there are other products for them.
  void on_rows(std::size_t count, const std::function<void(std::size_t begin, std::size_t end)>& body) const {
    if (p.batch == 1) {
      in_parallel(count, body);
    } else {
      body(0, count);
    }
  }
  /// Where product `q` has its matrices: a list names them backwards.
  std::size_t place(std::size_t q) const { return p.listed ? p.batch - 1 - q : q; }
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

/// What the epilogue makes of alpha * sum + beta * C. The bias is the third input.
double finished(const Product& of, const HostArrays& arrays, double x, std::size_t row, std::size_t col) {
  const Epilogue& e = of.how.epilogue;
  if (of.bias) x += arrays.in[2].number(e.bias_of == BiasOf::row ? row : col);
  x = activated(e.activation, x);
  if (!e.expression.empty()) x = std::abs(x) + static_cast<double>(row);
  return x * e.scale;
}

void multiply(const Product& of, std::size_t q, const HostArrays& arrays) {
  const bool turned = of.turned();
  const std::vector<float> a = packed(of, arrays.in[0], q, of.m, of.k, of.how.transpose_a != turned);
  const std::vector<float> b = packed(of, arrays.in[1], q, of.k, of.n, of.how.transpose_b != turned);
  HostArray& c = of.p.reads_c ? arrays.in_out[0] : arrays.out[0];
  // A list has no residuals: they are in the order of its products.
  const std::size_t residual = of.shares_residual ? 0 : of.place(q) * of.m * of.n;
  of.on_rows(std::min(of.rows, of.m), [&](std::size_t begin, std::size_t end) {
    std::vector<double> sums(of.n);
    for (std::size_t i = begin; i < end; ++i) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::size_t x = 0; x < of.k; ++x) {
        const double factor = static_cast<double>(a[i * of.k + x]);
        const std::span<const float> row(b.data() + x * of.n, of.n);
        for (std::size_t j = 0; j < of.n; ++j)
          sums[j] += factor * static_cast<double>(row[j]);
      }
      for (std::size_t same = i; same < of.m; same += of.rows)
        for (std::size_t j = 0; j < of.n; ++j) {
          const std::size_t at = q * of.m * of.n + (turned ? j * of.m + same : same * of.n + j);
          double x = of.how.alpha * sums[j];
          if (of.p.reads_c) x += of.how.beta * c.number(at);
          x = finished(of, arrays, x, same, j);
          if (of.residual) x += arrays.in.back().number(residual + at - q * of.m * of.n);
          c.set(at, of.p.out == Scalar::int32 ? wrapped(x) : x);
        }
    }
  });
}

/// Small enough that every sum is exact in its type, and each number in its own.
Fill fill_of(const GemmProblem& p) {
  const unsigned most = p.in == Scalar::int8 ? 127 : p.k > 65536 ? 3 : is_fp8(p.in) ? 7 : 15;
  return {.most = most, .negative = true};
}

/// The three matrices of each product, the last product's first.
Fill list_of(const Product& of) {
  Fill fill;
  fill.at = [=](std::size_t i) {
    const std::size_t sizes[] = {of.m * of.k, of.k * of.n, of.m * of.n};
    return static_cast<double>(of.place(i / 3) * sizes[i % 3]);
  };
  return fill;
}

/// The words of a product's problem: what gemm() makes of its arguments.
void set_problem(Product& of) {
  GemmProblem& p = of.p;
  const Gemm& how = of.how;
  p.turned = of.turned();
  p.m = p.turned ? of.n : of.m, p.n = p.turned ? of.m : of.n, p.k = of.k;
  p.a_along_k = p.turned ? !how.transpose_b : !how.transpose_a;
  p.b_along_k = p.turned ? how.transpose_a : how.transpose_b;
  p.reads_c = how.beta != 0;
  p.activation = how.epilogue.activation;
  p.expression = how.epilogue.expression;
  p.residual = of.residual;
  p.row_bias = of.bias && (how.epilogue.bias_of == BiasOf::row) != p.turned;
  p.column_bias = of.bias && !p.row_bias;
  p.epilogue = of.bias || of.residual || how.epilogue.scale != 1 || p.activation != Activation::none ||
               !p.expression.empty();
  p.tf32 = how.tf32;
  const auto alignment = [&](std::size_t rows, std::size_t cols, Scalar type) {
    const std::size_t of_rows =
        packed_alignment(detail::size_product(rows, p.listed ? 1 : p.batch), cols * size_of(type));
    if (p.listed) p.list_alignment = std::min(p.list_alignment, of_rows);
    return p.listed ? size_of(type) : of_rows;  // a listed matrix may begin anywhere
  };
  p.a_alignment = alignment(p.a_along_k ? p.m : p.k, p.a_along_k ? p.k : p.m, p.in);
  p.b_alignment = alignment(p.b_along_k ? p.n : p.k, p.b_along_k ? p.k : p.n, p.in);
  p.c_alignment = alignment(p.m, p.n, p.out);
}

std::string product_text(const Product& of, const Words& words) {
  const GemmProblem& p = of.p;
  std::string text = formatted("{}{}x{}x{} {}{}{}", batch_text(p.batch), of.m, of.n, of.k, name_of(of.a),
                               of.a == of.b ? "" : formatted(" x {}", name_of(of.b)),
                               p.out == p.in ? "" : formatted(" to {}", name_of(p.out)));
  if (of.how.transpose_a || of.how.transpose_b)
    text += formatted(", {}{}", of.how.transpose_a ? "T" : "N", of.how.transpose_b ? "T" : "N");
  if (p.tf32) text += " by TF32";
  if (p.turned) text += ", column-major";
  if (p.listed) text += ", listed";
  for (const auto& [name, usual] : {std::pair{"alpha", "1"},
                                    {"beta", "0"},
                                    {"bias", "none"},
                                    {"activation", "none"},
                                    {"scale", "1"},
                                    {"residual", "none"}})
    if (words.text(name) != usual) text += formatted(", {} {}", name, words.text(name));
  if (words.flag("expression")) text += ", expression";
  return text;
}

/// What results may differ by: those of whole numbers are exact but for the last rounding; gelu's may be
/// smaller than any normal number.
void set_tolerance(Case& made, const GemmProblem& p) {
  made.relative = p.out == Scalar::half ? 0x1p-10 : p.out == Scalar::bfloat16 ? 0x1p-7 : 0;
  if (p.activation != Activation::gelu) return;
  made.relative = std::max(made.relative, p.out == Scalar::float64 ? 0x1p-44 : 0x1p-21);
  made.absolute = p.out == Scalar::half ? 0x1p-24 : 0x1p-126;
}

cl::Event call_gemm(const Product& of, const Context& context, const CallArrays& arrays,
                    const CallOptions& options) {
  const auto matrix = [&](const PlacedArray& at, bool transposed, std::size_t rows, std::size_t cols,
                          bool is_one) {
    if (transposed != of.turned()) std::swap(rows, cols);
    return at.matrix(rows, cols, is_one ? 1 : of.p.batch);
  };
  Gemm how = of.how;
  if (of.bias) how.epilogue.bias = arrays.in[2].vector();
  if (of.p.listed) how.list = arrays.in[of.bias ? 3 : 2].vector();
  if (of.residual) how.epilogue.residual = matrix(arrays.in.back(), false, of.m, of.n, of.shares_residual);
  const PlacedArray& out = of.p.reads_c ? arrays.in_out[0] : arrays.out[0];
  const bool listed = of.p.listed;
  return gemm(context, matrix(arrays.in[0], how.transpose_a, of.m, of.k, listed),
              matrix(arrays.in[1], how.transpose_b, of.k, of.n, listed),
              matrix(out, false, of.m, of.n, listed), how, options);
}

Case read_gemm(const Words& words) {
  Product of;
  const auto sizes = words.sizes("shape");
  of.m = sizes[0], of.n = sizes[1], of.k = sizes[2];
  of.p.batch = words.number("batch");
  of.a = of.b = words.scalar("type");
  if (words.text("b-type") != "same") {
    of.b = words.scalar("b-type");
    if (!is_fp8(of.a)) refuse("gemm", "b-type", "same, where A is not of fp8", words.text("b-type"));
  }
  if (words.flag("column-major")) of.how.order = Order::column_major;
  of.p.in = of.turned() ? of.b : of.a;
  of.p.mixed = of.a != of.b;
  of.p.out = words.text("out") == "sums" ? sums_of(of.p.in) : words.scalar("out");
  of.p.listed = words.flag("list");
  of.how.alpha = words.real("alpha"), of.how.beta = words.real("beta");
  of.how.transpose_a = words.flag("transpose-a"), of.how.transpose_b = words.flag("transpose-b");
  of.how.tf32 = words.flag("tf32");
  of.bias = words.text("bias") != "none", of.residual = words.text("residual") != "none";
  of.shares_residual = words.text("residual") == "one";
  Epilogue& epilogue = of.how.epilogue;
  if (words.text("bias") == "row") epilogue.bias_of = BiasOf::row;
  epilogue.activation = activation_of(words);
  if (words.flag("expression"))
    epilogue.expression = of.p.in == Scalar::int8 ? "abs(x) + row" : "fabs(x) + row";
  epilogue.scale = words.real("scale");
  set_problem(of);
  const GemmProblem& p = of.p;
  const double products = static_cast<double>(of.m) * static_cast<double>(of.n) * static_cast<double>(of.k);
  const bool repeats = products > 0x1p31 && !of.how.transpose_a && p.batch == 1 && !p.turned;
  of.rows = repeats ? kRows : std::max<std::size_t>(of.m, 1);
  Case made = case_of(product_text(of, words), p, plan_gemm);
  made.operations = 2 * products * static_cast<double>(p.batch);
  set_tolerance(made, p);
  const std::size_t results = detail::size_product(of.m, of.n, p.batch);
  const Fill fill = fill_of(p);
  made.in = {{"a", of.a, detail::size_product(of.m, of.k, p.batch), fill},
             {"b", of.b, detail::size_product(of.k, of.n, p.batch), fill}};
  if (repeats) made.in[0].fill.period = kRows * of.k;
  const ArrayRule c{"c", p.out, results, fill};
  (p.reads_c ? made.in_out : made.out) = {c};
  if (of.bias) made.in.push_back({"bias", p.out, epilogue.bias_of == BiasOf::row ? of.m : of.n, fill});
  if (p.listed) made.in.push_back({"list", Scalar::uint64, detail::size_product(3, p.batch), list_of(of)});
  if (of.residual) {
    made.in.push_back(
        {"residual", p.out, of.shares_residual ? detail::size_product(of.m, of.n) : results, fill});
    if (p.activation == Activation::gelu)  // which may cancel it
      made.absolute = std::max(made.absolute, made.relative * fill.most);
  }
  made.candidates = [p](const Device& device, std::string_view variant) {
    std::vector<Candidate> all;
    for (GemmCandidate& one : gemm_candidates(device, p, variant))
      all.push_back({std::move(one.plan), one.seconds, std::move(one.text)});
    return all;
  };
  made.call = [of](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    return call_gemm(of, context, arrays, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    const auto multiply_each = [&](std::size_t begin, std::size_t end) {
      for (std::size_t q = begin; q < end; ++q)
        multiply(of, q, arrays);
    };
    if (of.p.batch == 1) {
      multiply_each(0, 1);
    } else {
      in_parallel(of.p.batch, multiply_each);
    }
  };
  return made;
}

/// A sequence of numbers that is the same everywhere: G. Steele, D. Lea and C. Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014.
class Sequence {
 public:
  explicit Sequence(std::uint64_t state) : state_(state) {}
  /// Of 0 to 1, without 1.
  double next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t x = state_;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return static_cast<double>((x ^ x >> 31) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

/// m, n and k of 16 to 16384, each magnitude as often as any other; the sizes of every second shape are
/// multiples of 16; all transposes in turn.
std::string drawn(std::string_view kind, std::uint64_t seed, std::size_t number, double most) {
  Sequence random(seed * 1000003 + number);
  std::size_t sizes[3];
  double products = 0;
  do {
    products = 1;
    for (std::size_t& size : sizes) {
      size = static_cast<std::size_t>(std::lround(16 * std::exp2(10 * random.next())));
      if (number % 2 == 0) size = std::max<std::size_t>(size / 16, 1) * 16;
      products *= static_cast<double>(size);
    }
  } while (2 * products > most);
  std::string text = formatted("{}x{}x{} ", sizes[0], sizes[1], sizes[2]);
  if (kind == "tf32") {
    text += "float --tf32";
  } else {
    text += kind;
    if (kind == "half" || kind == "bfloat16") text += formatted(" --out {}", kind);
  }
  if (number / 2 % 2 != 0) text += " --transpose-a";
  if (number / 4 % 2 != 0) text += " --transpose-b";
  return text;
}

std::vector<Step> steps() {
  std::vector<Step> all;
  for (const std::string_view variant : gemm_variants())
    all.push_back({variant, gemm_step(variant)});
  return all;
}

/// What a problem is read from.
std::vector<WordRule> gemm_rules() {
  return {
      sizes_rule("shape", "Size of the product: MxNxK", "MxNxK", {3, 3}),
      type_rule(
          WordKind::choice, "Type of A and B", "float",
          {"float", "double", "half", "bfloat16", "int8", "e4m3", "e5m2", "float32", "float64", "char"}),
      choice_rule("b-type", "Type of B, where A is of fp8: that of A or another", {"same", "e4m3", "e5m2"}),
      choice_rule(
          "out",
          "Type of C: that of the sums, or, for half and bfloat16, that of A and B; for e4m3 and e5m2 "
          "also half or bfloat16",
          {"sums", "float", "double", "half", "bfloat16", "int32", "float32", "float64", "int"}),
      number_rule("batch", "Number of products", "1"),
      flag_rule("transpose-a", "A is K x M"),
      flag_rule("transpose-b", "B is N x K"),
      flag_rule("tf32", "Let matrix units round float to TF32"),
      flag_rule("column-major", "All matrices are in column-major order"),
      flag_rule("list", "Take the matrices from a list of offsets"),
      {.name = "alpha", .kind = WordKind::real, .help = "Factor of the product", .usual = "1"},
      {.name = "beta",
       .kind = WordKind::real,
       .help = "Factor of C, which is added to the product",
       .usual = "0"},
      choice_rule("bias", "Add a bias for each row or column of C", {"none", "row", "column"}),
      activation_rule("Activation of the sum and its bias"),
      flag_rule("expression", "Apply |x| + row as an expression"),
      {.name = "scale", .kind = WordKind::real, .help = "Factor of each result", .usual = "1"},
      choice_rule("residual", "Add a residual matrix: one for each product, or one for all",
                  {"none", "each", "one"})};
}

Samples gemm_samples() {
  return {
      .edges = {"1x1x1 float", "67x35x131 float",
                "67x35x131 half --out half --batch 2 --transpose-a --residual one",
                "33x70x65 bfloat16 --transpose-b", "64x64x64 int8",
                "13x130x37 double --transpose-a --transpose-b", "5x129x2050 float --transpose-b --tf32",
                "33x20x17 float --alpha 0.5 --beta -2 --bias column --activation relu --residual each "
                "--column-major",
                "20x33x40 half --out half --batch 3 --list --bias row --activation gelu --scale 0.5 "
                "--residual one",
                "5x7x3 float --batch 3 --list --residual each", "67x35x131 e4m3 --bias row --activation relu",
                "35x130x70 e4m3 --b-type e5m2 --out half --batch 2 --transpose-b --column-major",
                "33x20x300 e5m2 --out bfloat16 --transpose-a --beta 2 --list --batch 2",
                "35x18x9 int8 --alpha 3 --bias row --column-major --transpose-b --expression --scale -2"},
      .small = {"100x100x100 float", "256x256x256 float", "256x256x256 half", "100x33x77 float",
                "1x512x512 float"},
      .usual = {"1024x1024x1024 float", "512x512x512 float", "2048x2048x2048 float", "1000x333x777 float",
                "1024x1024x1024 half"},
      .large = {goal("4096x4096x4096 float", part(0.95, 51.3)),
                goal("8192x8192x8192 float", part(0.95, 51.3)),
                goal("2048x2048x2048 float", part(0.85, 49.7)),
                goal("1024x1024x1024 float", part(0.85, 33.6)), goal("4096x37x4096 float", part(0.7, 16.7)),
                goal("1000x333x777 float", part(0.7, 17.2)), goal("31x129x65536 float", part(0.7, 8.9)),
                goal("1x4096x4096 float", part(0.7, 1.34)), goal("4097x4095x1023 float", part(0.7, 48.5)),
                goal("64x64x64 float --batch 10000", part(0.8, 27.3)),
                goal("8192x8192x8192 half", part(0.85, 749)), goal("4096x4096x4096 half", part(0.75, 728)),
                goal("2048x2048x2048 half", part(0.75, 513)), goal("4097x4095x1023 half", part(2.5, 138)),
                "4096x4096x4096 bfloat16", "4096x4096x4096 int8", "4096x4096x4096 float --transpose-b --tf32",
                "4096x4096x4096 double"},
      // Goals are shares of OpenBLAS, beside which no row here is measured.
      .weak_usual = {"512x512x512 float", "1024x1024x1024 float", "2048x2048x2048 float"}};
}

/// What the catalogue of kernels compiles.
std::vector<Programs> gemm_programs() {
  return {
      {"4096x4096x4096"},
      {"4096x4096x4096 --transpose-a --transpose-b",
       {"registers_2d", "async", "multistage", ""},
       "a_alignment=4 b_alignment=4 c_alignment=4"},
      {"4096x4096x4096 --transpose-a --transpose-b", {"", "multistage"}},
      {"4096x4096x4096 half", {"", "async", "mma"}},
      {"4096x4096x4096 half --out half", {""}},
      {"304x1968x1776 half --out half --transpose-b", {"wgmma"}},
      {"11248x5248x448 bfloat16 --out bfloat16 --transpose-b", {"wgmma"}},
      {"16x8192x8192 half --out half", {"wgmma"}},
      {"64x64x64 half --out half --batch 10000", {"wgmma"}},
      {"4096x4096x4096 bfloat16 --out bfloat16", {""}},
      {"4096x4096x4096 int8", {""}},
      {"4096x4096x4096 double", {""}},
      {"4096x4096x4096 double --bias column --residual each", {""}},
      {"4096x4096x4096 --bias column --activation gelu --residual each", {"", "multistage"}},
      {"4096x4096x4096 --bias column --activation gelu --residual each",
       {""},
       "epilogue=0 listed=1 a_alignment=4 b_alignment=4 c_alignment=4"},
      {"4096x4096x4096 half --transpose-a --transpose-b",
       {"matrix_units"},
       "a_alignment=2 b_alignment=2 c_alignment=2"},
      {"4096x16x300 bfloat16 --transpose-b", {"matrix_units"}},
      {"16x4096x4096 int8 --transpose-a", {"matrix_units"}},
      {"128x128x4096 half", {"matrix_units"}},
      {"4096x4096x4096 half --out half --bias column --activation gelu --residual each", {"matrix_units"}},
      {"31x129x65536", {"split_k", ""}, "a_alignment=64 b_alignment=64 c_alignment=64"},
      {"4096x4096x4096 half", {"mma", "wgmma"}, "a_alignment=2 b_alignment=2 c_alignment=2"},
      {"4096x4096x4096 half --batch 2", {"wgmma"}, "a_alignment=2 b_alignment=2 c_alignment=2"},
      {"4096x4096x4096 --transpose-b --tf32", {"mma", "wgmma"}},
      {"4096x4096x4096 --transpose-a --tf32", {"mma", "wgmma"}},
      {"4096x4096x4096 --tf32", {"wgmma"}},
      {"4096x4096x4096 --transpose-a --transpose-b --bias row --tf32", {"wgmma"}},
      {"144x96x15264 --transpose-a --transpose-b --tf32", {"wgmma"}},
      {"4096x4096x4096 int8", {"wgmma"}, "a_alignment=1 b_alignment=1"},
      {"4096x4096x4096 e4m3", {"", "naive", "async", "mma", "wgmma", "matrix_units"}},
      {"4096x4096x4096 e5m2 --b-type e4m3 --out half --transpose-b",
       {"", "wgmma"},
       "a_alignment=1 b_alignment=1 c_alignment=2"},
      {"1000x4096x4096 e5m2 --out bfloat16 --transpose-b --bias column --activation gelu",
       {"double_buffered", "wgmma"}},
      {"300x300x20000 e4m3 --b-type e5m2 --transpose-b", {"wgmma"}},
      {"4096x4096x4096 double", {"mma"}},
      {"300x300x20000 double --transpose-a --transpose-b --bias row --activation gelu", {"mma"}},
      {"512x512x8192 double --transpose-b", {"mma"}, "a_alignment=8 b_alignment=8 c_alignment=8"},
      {"16x16x16 --batch 100000 --transpose-a", {"multistage"}},
      {"4096x4096x4096 --transpose-b", {"packed"}, "a_alignment=4 b_alignment=4 c_alignment=4"},
      {"4096x4096x4096 --transpose-a", {"packed"}, "a_alignment=4 b_alignment=4"},
      {"16x16x16 half --out half --batch 100000", {"mma"}},
      {"64x64x64 half --out half --batch 10000 --transpose-a", {"mma"}},
      {"16x16x16 double --batch 100000", {"mma"}},
      {"16x16x16 double --batch 100000 --transpose-a --transpose-b --beta 2", {"mma"}},
      {"13x11x15 bfloat16 --batch 100000 --transpose-b --bias row --activation gelu", {"mma"}},
      {"8192x16x8192 half --out half --transpose-b", {"mma"}},
      {"500x500x500 int8", {"mma"}, "a_alignment=4 b_alignment=4 c_alignment=8"},
      {"251x251x251 int8 --transpose-a", {"mma"}, "a_alignment=1 b_alignment=1 c_alignment=4"},
      {"944x912x16 int8 --transpose-a", {"mma"}},
      {"251x255x49 int8 --transpose-b", {"mma"}, "a_alignment=1 b_alignment=1 c_alignment=4"},
      {"250x250x250 --tf32", {"mma"}, "a_alignment=8 b_alignment=8 c_alignment=8"},
      {"122x1913x3881 --tf32 --transpose-b", {"mma"}, "a_alignment=4 b_alignment=4 c_alignment=4"},
      {"3595x211x773 --transpose-a", {"multistage"}, "a_alignment=4 b_alignment=4 c_alignment=4"},
      {"80x80x6112 --bias column --activation gelu", {"multistage"}},
      {"8x8192x8192 bfloat16 --transpose-b --bias column --activation gelu", {"mma"}}};
}

}  // namespace

Operation gemm_operation() {
  return {
      .name = "gemm",
      .summary = "Matrix products",
      .steps = steps(),
      .words = gemm_rules(),
      .read = read_gemm,
      .samples = gemm_samples(),
      .counted = "floating-point operations of the call",
      .programs = gemm_programs(),
      .draw = {.kinds = {"float", "half", "bfloat16", "tf32", "int8", "double"}, .words = drawn},
  };
}

}  // namespace smem::operations
