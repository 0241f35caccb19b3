// Products of complex matrices: views -> problem -> launches of complex numbers, or slices of one real
// product, whose factors are expanded before it.
#include "formatted.hpp"
#include "ops/products.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/complex_gemm_variants.hpp"
#include "runtime/scratch.hpp"

#include <smem/complex_gemm.hpp>
#include <smem/gemm.hpp>
#include <smem/transpose.hpp>

#include <algorithm>
#include <complex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace smem {

namespace {

namespace complex_plans = plan::complex_gemm;

/// A product as kernels know it: row-major, so that A and B of a column-major one are exchanged.
struct ComplexCall {
  const Context& context;
  ConstMatrix a, b, c;
  const char *a_name = "a", *b_name = "b";  ///< as the caller has them
  bool conjugate_a = false, conjugate_b = false;
  std::complex<double> alpha, beta;
  ComplexGemmProblem problem = {};
};

/// The type of the parts of a view's numbers, which are opaque to other operations.
Scalar part_type(const char* argument, const ElementType& type) {
  if (!type.scalar && type.bytes == 2 * sizeof(float)) return Scalar::float32;
  if (!type.scalar && type.bytes == 2 * sizeof(double)) return Scalar::float64;
  if (type.scalar) plan::require_known(complex_plans::kName, argument, *type.scalar);
  ops::refuse(complex_plans::kName, argument, "complex numbers of two floats or doubles",
              type.scalar ? std::string(name_of(*type.scalar))
                          : formatted("opaque elements of {} bytes", type.bytes));
}

/// \throws Error unless the shapes fit each other. \returns the call, row-major, but for what is read.
ComplexCall row_major_call(const Context& context, const ComplexGemm& product, const ConstMatrix& a,
                           const ConstMatrix& b, const Matrix& c) {
  const auto [turned, m, n, k] = ops::check_product(complex_plans::kName, product, a, b, c);
  for (const auto& [name, view] : {std::pair{"a", &a}, {"b", &b}}) {
    if (view->batch != c.batch && view->batch != 1) {
      ops::refuse(complex_plans::kName, name, formatted("a batch of {}, as c has, or 1", c.batch),
                  view->batch);
    }
  }
  ComplexCall call{.context = context,
                   .a = a,
                   .b = b,
                   .c = c,
                   .conjugate_a = product.conjugate_a,
                   .conjugate_b = product.conjugate_b,
                   .alpha = product.alpha,
                   .beta = product.beta};
  ComplexGemmProblem& p = call.problem;
  p.m = m;
  p.n = n;
  p.k = k;
  p.batch = c.batch;
  p.conjugates = product.conjugate_a != product.conjugate_b;
  p.a_along_k = !product.transpose_a;
  p.b_along_k = product.transpose_b;
  if (turned) {
    std::swap(call.a, call.b);
    std::swap(call.a_name, call.b_name);
    std::swap(call.conjugate_a, call.conjugate_b);
    std::swap(p.m, p.n);
    p.a_along_k = !product.transpose_b;
    p.b_along_k = product.transpose_a;
  }
  p.one_a = call.a.batch == 1 && p.batch != 1;
  p.one_b = call.b.batch == 1 && p.batch != 1;
  return call;
}

/// Checks the views' places, and notes their alignments. \throws Error naming the one that is wrong.
void check_places(ComplexCall& call) {
  ComplexGemmProblem& p = call.problem;
  const bool writes = !ops::is_empty(call.c);
  ops::Memory c_memory;
  if (writes) c_memory = ops::check_view(call.context, complex_plans::kName, "c", call.c, true);
  if (writes && p.reads_c) ops::require_readable(complex_plans::kName, "c", c_memory);
  if (writes) p.c_alignment = ops::row_alignment(call.c, c_memory);
  const auto check_factor = [&](const ConstMatrix& view, const char* name, std::size_t& alignment) {
    if (p.k == 0 || ops::is_empty(view)) return;
    const ops::Memory memory = ops::check_view(call.context, complex_plans::kName, name, view, false);
    if (writes) ops::check_apart(complex_plans::kName, view, memory, call.c, c_memory, name, "c");
    alignment = ops::row_alignment(view, memory);
  };
  check_factor(call.a, call.a_name, p.a_alignment);
  check_factor(call.b, call.b_name, p.b_alignment);
}

cl_ulong wide(std::size_t value) { return static_cast<cl_ulong>(value); }

/// From one matrix of a batch to the next; a batch of one is used for all.
cl_ulong stride_of(const ConstMatrix& view) { return view.batch == 1 ? 0 : wide(view.batch_stride); }

/// The matrices as those of real numbers, two for each complex one.
template <class Real>
Real as_real(const ConstMatrix& view, Scalar part) {
  Real real(view.buffer, part, view.rows, 2 * view.cols,
            {.offset = 2 * view.offset, .pitch = 2 * std::max(view.pitch, view.cols), .batch = view.batch});
  real.batch_stride = 2 * view.batch_stride;
  return real;
}

/// `count` of the batch from `first` on; of a batch of one, that.
ConstMatrix of_batch(ConstMatrix view, std::size_t first, std::size_t count) {
  if (view.batch == 1) return view;
  view.offset += first * view.batch_stride;
  view.batch = count;
  return view;
}

/// `depth` along k from `first` on, of a factor.
ConstMatrix of_depth(ConstMatrix view, bool along_k, std::size_t first, std::size_t depth) {
  view.offset += along_k ? first : first * view.pitch;
  (along_k ? view.cols : view.rows) = depth;
  return view;
}

/// "gemm": the plan has the launches of a whole slice. Products and transposes are calls of gemm() and
/// transpose(), since the last slice may be smaller. `T`: of a part.
template <class T>
class RealProducts {
 public:
  RealProducts(const ComplexCall& call, const runtime::Ready& ready, std::span<const cl::Event> wait_for)
      : call_(call),
        ready_(ready),
        wait_for_(wait_for),
        scratch_(call.context.runtime().scratch(), ready.plan.scratch.back().bytes),
        memory_(scratch_.memory_or(nullptr)) {}

  cl::Event run() {
    const ComplexGemmProblem& p = call_.problem;
    const std::size_t most_products = number("products"), most_depth = number("depth");
    for (std::size_t first = 0; first < p.batch; first += most_products) {
      const std::size_t products = std::min(most_products, p.batch - first);
      for (std::size_t begin = 0; begin < p.k; begin += most_depth) {
        const std::size_t depth = std::min(most_depth, p.k - begin);
        // What one factor of all products is made into stays, unless slices along k take its place.
        const bool is_first = first == 0 || most_depth < p.k;
        ConstMatrix a = of_depth(of_batch(call_.a, first, products), p.a_along_k, begin, depth);
        if (!p.a_along_k) a = transposed(a, depth, is_first || !p.one_a);
        if (is_first || !p.one_b)
          expand(of_depth(of_batch(call_.b, first, products), p.b_along_k, begin, depth));
        if (first == 0 && begin == 0 && p.complex_beta) scale();
        multiply(a, first, products, depth, begin == 0);
      }
    }
    return before_;
  }

 private:
  std::size_t number(const char* name) const { return ready_.plan.number(name); }
  const runtime::Ready::Step& step(std::string_view entry) const {
    return *std::find_if(ready_.steps.begin(), ready_.steps.end(),
                         [&](const runtime::Ready::Step& s) { return s.launch->entry_point == entry; });
  }
  /// What the next launch waits for: the one before it.
  void ran(cl::Event event) {
    before_ = std::move(event);
    scratch_.used_until(before_);
    wait_for_ = {&before_, 1};
  }
  std::vector<cl::Event> waits() const { return {wait_for_.begin(), wait_for_.end()}; }

  /// A, which lies along m, along k in temporary memory.
  ConstMatrix transposed(const ConstMatrix& a, std::size_t depth, bool is_new) {
    const std::size_t at = number("transposed_at") / a.type.bytes;
    const Matrix to(memory_, a.type, call_.problem.m, depth, {.offset = at, .batch = a.batch});
    if (is_new) ran(transpose(call_.context, a, to, {.wait_for = waits()}));
    return to;
  }
  void expand(const ConstMatrix& b) {
    const bool in_gemm = call_.alpha.imag() == 0;  // which multiplies by a real alpha itself
    const std::complex<double> factor = in_gemm ? 1 : call_.alpha;
    ran(call_.context.runtime().launch(
        step(complex_plans::kExpand), wait_for_, true, b.buffer, wide(b.offset), wide(b.pitch), stride_of(b),
        sign(call_.conjugate_a), sign(call_.conjugate_b), wide(b.rows), wide(b.cols), wide(b.batch),
        static_cast<T>(factor.real()), static_cast<T>(factor.imag()), memory_));
  }
  void scale() {
    const ConstMatrix& c = call_.c;
    ran(call_.context.runtime().launch(step(complex_plans::kScale), wait_for_, true, c.buffer, wide(c.offset),
                                       wide(c.pitch), stride_of(c), wide(c.rows), wide(c.cols), wide(c.batch),
                                       static_cast<T>(call_.beta.real()), static_cast<T>(call_.beta.imag())));
  }
  void multiply(const ConstMatrix& a, std::size_t first, std::size_t products, std::size_t depth,
                bool is_first) {
    const ComplexGemmProblem& p = call_.problem;
    const ConstMatrix b =
        p.b_along_k
            ? ConstMatrix(memory_, p.part, 2 * p.n, 2 * depth, {.batch = call_.b.batch == 1 ? 1 : products})
            : ConstMatrix(memory_, p.part, 2 * depth, 2 * p.n, {.batch = call_.b.batch == 1 ? 1 : products});
    const Gemm product{.alpha = call_.alpha.imag() == 0 ? call_.alpha.real() : 1,
                       .beta = !is_first || p.complex_beta ? 1 : call_.beta.real(),
                       .transpose_b = p.b_along_k};
    ran(gemm(call_.context, as_real<ConstMatrix>(a, p.part), b,
             as_real<Matrix>(of_batch(call_.c, first, products), p.part), product, {.wait_for = waits()}));
  }
  static T sign(bool conjugate) { return static_cast<T>(conjugate ? -1 : 1); }

  const ComplexCall& call_;
  const runtime::Ready& ready_;
  std::span<const cl::Event> wait_for_;
  runtime::Lease scratch_;
  cl_mem memory_;
  cl::Event before_;
};

/// The arguments of the variants that compute with complex numbers.
template <class T>
void bind_numbers(const ops::Launching& launch, const ComplexCall& call) {
  const ComplexGemmProblem& p = call.problem;
  const auto sign = [](bool conjugate) { return static_cast<T>(conjugate ? -1 : 1); };
  // Factors that are not read may be without a buffer; their kernel argument is C's.
  const bool reads = p.k > 0;
  const ConstMatrix &a = call.a, &b = call.b, &c = call.c;
  const auto bind = [&](const auto&... more) {
    launch(reads ? a.buffer : c.buffer, wide(a.offset), wide(a.pitch), stride_of(a), sign(call.conjugate_a),
           reads ? b.buffer : c.buffer, wide(b.offset), wide(b.pitch), stride_of(b), sign(call.conjugate_b),
           c.buffer, wide(c.offset), wide(c.pitch), stride_of(c), wide(p.m), wide(p.n), wide(p.k),
           wide(p.batch), static_cast<T>(call.alpha.real()), static_cast<T>(call.alpha.imag()),
           static_cast<T>(call.beta.real()), static_cast<T>(call.beta.imag()), more...);
  };
  const std::string_view variant = launch.plan().variant;
  if (variant != "multistage" && variant != "mma") return bind();
  bind(launch.scratch(0), launch.counters(), static_cast<cl_uint>(launch.plan().number("parts")),
       wide(launch.plan().number("part_depth")));
}

template <class T>
cl::Event run_numbers(const ComplexCall& call, const CallOptions& options) {
  return ops::run_by(call.context, complex_plans::kName, plan_complex_gemm, call.problem, options,
                     [&](const runtime::Ready& ready) {
                       if (ready.plan.variant == "gemm")
                         return RealProducts<T>(call, ready, options.wait_for).run();
                       return ops::launch_all(
                           call.context.runtime(), ready, options.wait_for,
                           [&](const ops::Launching& launch) { bind_numbers<T>(launch, call); }, nullptr,
                           options.event);
                     });
}

}  // namespace

cl::Event complex_gemm(const Context& context, const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
                       const ComplexGemm& product, const CallOptions& options) {
  const Scalar part = part_type("a", a.type);
  for (const auto& [name, view] : {std::pair<const char*, const ConstMatrix*>{"b", &b}, {"c", &c}}) {
    const Scalar type = part_type(name, view->type);
    if (type != part) {
      ops::refuse(complex_plans::kName, name, formatted("complex {}, as a has", name_of(part)),
                  formatted("complex {}", name_of(type)));
    }
  }
  ComplexCall call = row_major_call(context, product, a, b, c);
  ComplexGemmProblem& p = call.problem;
  p.part = part;
  complex_plans::check(context.device(), p);
  if (part == Scalar::float32) {
    call.alpha = std::complex<float>(product.alpha);
    call.beta = std::complex<float>(product.beta);
  }
  // What is multiplied by 0 is not read, whatever it is.
  if (call.alpha == 0.0) p.k = 0;
  if (p.k == 0) call.alpha = 0;
  p.reads_c = call.beta != 0.0;
  p.complex_beta = call.beta.imag() != 0;
  check_places(call);
  if (ops::is_empty(c)) return ops::run_empty(context, complex_plans::kName, plan_complex_gemm, p, options);
  return part == Scalar::float64 ? run_numbers<cl_double>(call, options)
                                 : run_numbers<cl_float>(call, options);
}

}  // namespace smem
