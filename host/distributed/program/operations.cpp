// The distributed operations: their problems, their data, and the same on one device.
#include "distributed/program/operation.hpp"

#include <smem/array.hpp>
#include <smem/distributed/distributed.hpp>
#include <smem/smem.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <type_traits>

namespace smem::distributed::program {

namespace {

using std::size_t;

/// Numbers that look random, the same on all ranks: those from `first` on. They repeat after 2^22.
template <class T>
std::vector<T> numbers(size_t first, size_t count, std::uint32_t range) {
  constexpr size_t kPeriod = size_t{1} << 22;
  std::vector<T> pattern(std::min(count, kPeriod));
  for (size_t i = 0; i < pattern.size(); ++i) {
    std::uint64_t x = ((first + i) % kPeriod + 1) * 0x9e3779b97f4a7c15u;
    x ^= x >> 32;
    const auto number = static_cast<std::uint32_t>(x * 0xd6e8feb86659fd93u >> 32) % range;
    if constexpr (std::is_same_v<T, half>) {
      pattern[i] = half(static_cast<float>(number));
    } else {
      pattern[i] = static_cast<T>(number);
    }
  }
  std::vector<T> all;
  all.reserve(count);
  while (all.size() < count)
    all.insert(all.end(), pattern.begin(),
               pattern.begin() + static_cast<std::ptrdiff_t>(std::min(pattern.size(), count - all.size())));
  return all;
}

/// Data of all ranks, and on rank 0 the same on one device once it is asked for.
template <class T>
struct Both {
  TypedRows<T> rows;
  std::uint32_t range;
  std::unique_ptr<Array<T>> one;

  Both(const Session& session, size_t count, size_t row_elements, std::uint32_t of_range)
      : rows(session, count, row_elements, Layout::even()), range(of_range) {
    if (range == 0) return;
    rows.write_local(numbers<T>(rows.first_row() * row_elements, rows.local_elements(), range));
  }
  const Array<T>& on(const Context& context) {
    if (!one) {
      one = range == 0 ? std::make_unique<Array<T>>(context, Count{rows.elements()})
                       : std::make_unique<Array<T>>(context, numbers<T>(0, rows.elements(), range));
    }
    return *one;
  }
  /// This rank's part of what one device has must be the rank's own.
  bool is_same(const Context& context, double tolerance) {
    const std::vector<T> here = rows.read_local(), all = on(context).to_host();
    const size_t first = rows.first_row() * rows.row_elements();
    for (size_t i = 0; i < here.size(); ++i) {
      const double difference = std::fabs(static_cast<double>(here[i]) - static_cast<double>(all[first + i]));
      if (difference > tolerance * std::max(1.0, std::fabs(static_cast<double>(all[first + i]))))
        return false;
    }
    return true;
  }
};

template <class T>
std::shared_ptr<Both<T>> data(const Session& session, size_t rows, size_t row_elements,
                              std::uint32_t range = 0) {
  return std::make_shared<Both<T>>(session, rows, row_elements, range);
}

Prepared reduce_of(const Session& session, const PlanProblem& p) {
  auto in = data<std::int32_t>(session, p.rows, 1, 100);
  auto found = std::make_shared<std::int32_t>();
  auto one = std::make_shared<std::unique_ptr<Array<std::int32_t>>>();
  return {[=] { *found = distributed::reduce(in->rows, ReduceOp::sum); },
          [=](const Context& context) {
            if (!*one) *one = std::make_unique<Array<std::int32_t>>(context, Count{1});
            smem::reduce(context, in->on(context), **one, ReduceOp::sum);
          },
          [=](const Context&) { return (*one)->to_host()[0] == *found; }};
}

Prepared scan_of(const Session& session, const PlanProblem& p) {
  auto in = data<std::int32_t>(session, p.rows, 1, 100), out = data<std::int32_t>(session, p.rows, 1);
  return {[=] { distributed::inclusive_scan(in->rows, out->rows); },
          [=](const Context& context) { smem::inclusive_scan(context, in->on(context), out->on(context)); },
          [=](const Context& context) { return out->is_same(context, 0); }};
}

Prepared histogram_of(const Session& session, const PlanProblem& p) {
  constexpr size_t kBins = 256;
  auto in = data<std::uint8_t>(session, p.rows, 1, kBins);
  auto found = std::make_shared<std::vector<std::uint64_t>>();
  auto one = std::make_shared<std::unique_ptr<Array<std::uint64_t>>>();
  return {[=] { *found = distributed::histogram(in->rows, Bins{.count = kBins, .low = 0, .high = kBins}); },
          [=](const Context& context) {
            if (!*one) *one = std::make_unique<Array<std::uint64_t>>(context, Count{kBins});
            smem::histogram(context, in->on(context), **one, Bins{.count = kBins, .low = 0, .high = kBins});
          },
          [=](const Context&) { return (*one)->to_host() == *found; }};
}

Prepared transpose_of(const Session& session, const PlanProblem& p) {
  auto in = data<float>(session, p.rows, p.cols, 1 << 20), out = data<float>(session, p.cols, p.rows);
  return {[=] { distributed::transpose(in->rows, out->rows); },
          [=](const Context& context) {
            smem::transpose(context, ConstMatrix(in->on(context).buffer()(), Scalar::float32, p.rows, p.cols),
                            smem::Matrix(out->on(context).buffer()(), Scalar::float32, p.cols, p.rows));
          },
          [=](const Context& context) { return out->is_same(context, 0); }};
}

template <class T>
Prepared gemm_of(const Session& session, const PlanProblem& p) {
  auto a = data<T>(session, p.rows, p.depth, 3), b = data<T>(session, p.depth, p.cols, 3);
  auto c = data<float>(session, p.rows, p.cols);
  return {[=] { distributed::gemm(a->rows, b->rows, c->rows); },
          [=](const Context& context) {
            smem::gemm(context, ConstMatrix(a->on(context).buffer()(), scalar_of<T>, p.rows, p.depth),
                       ConstMatrix(b->on(context).buffer()(), scalar_of<T>, p.depth, p.cols),
                       smem::Matrix(c->on(context).buffer()(), Scalar::float32, p.rows, p.cols));
          },
          [=](const Context& context) { return c->is_same(context, 1e-5); }};
}

Prepared product_of(const Session& session, const PlanProblem& p) {
  return p.element_bytes == 2 ? gemm_of<half>(session, p) : gemm_of<float>(session, p);
}

constexpr size_t kHeadSize = 64;

template <class T>
Prepared attention_of(const Session& session, const PlanProblem& p) {
  const SequenceAttention how{.heads = p.cols / kHeadSize, .key_heads = p.depth / kHeadSize};
  auto q = data<T>(session, p.rows, p.cols, 3), k = data<T>(session, p.rows, p.depth, 3),
       v = data<T>(session, p.rows, p.depth, 3), out = data<T>(session, p.rows, p.cols);
  return {[=] { distributed::attention(q->rows, k->rows, v->rows, out->rows, how); },
          [=](const Context& context) {
            const auto heads = [&](Both<T>& of, size_t count) {
              const HeadsShape shape{1, count, p.rows, kHeadSize};
              return Heads(of.on(context).buffer()(), scalar_of<T>, shape, tokens_before_heads(shape));
            };
            smem::attention(context, heads(*q, how.heads), heads(*k, how.key_heads), heads(*v, how.key_heads),
                            heads(*out, how.heads));
          },
          [=](const Context& context) { return out->is_same(context, sizeof(T) == 2 ? 4e-3 : 1e-5); }};
}

Prepared sequence_of(const Session& session, const PlanProblem& p) {
  return p.element_bytes == 2 ? attention_of<half>(session, p) : attention_of<float>(session, p);
}

Prepared sort_of(const Session& session, const PlanProblem& p) {
  auto in = data<std::uint32_t>(session, p.rows, 1, UINT32_MAX),
       out = data<std::uint32_t>(session, p.rows, 1);
  return {[=] { distributed::sort(in->rows, out->rows); },
          [=](const Context& context) { smem::sort(context, in->on(context), out->on(context)); },
          [=](const Context& context) { return out->is_same(context, 0); }};
}

Prepared top_k_of(const Session& session, const PlanProblem& p) {
  const size_t k = std::min<size_t>(p.rows, 1024);
  auto in = data<float>(session, p.rows, 1, 1 << 20);
  auto found = std::make_shared<TopKResult<float>>();
  struct One {
    Array<float> values;
    Array<std::uint64_t> places;
  };
  auto one = std::make_shared<std::unique_ptr<One>>();
  return {[=] { *found = distributed::top_k(in->rows, k); },
          [=](const Context& context) {
            if (!*one) *one = std::make_unique<One>(One{{context, Count{k}}, {context, Count{k}}});
            smem::top_k(context, in->on(context), (*one)->values, (*one)->places);
          },
          [=](const Context&) {
            return (*one)->values.to_host() == found->values && (*one)->places.to_host() == found->places;
          }};
}

Prepared grid_of(const Session& session, const PlanProblem& p) {
  const GridSize size = p.depth > 1 ? GridSize{p.cols, p.rows, p.depth} : GridSize{p.cols, p.rows};
  auto in = std::make_shared<Grid<float>>(session, size), out = std::make_shared<Grid<float>>(session, size);
  const bool is_heat = p.operation == "heat";
  in->write_local(numbers<float>(in->first_row() * in->row_elements(), in->local_elements(), 1000));
  struct One {
    Array<float> before, after;
    std::optional<Array<float>> between = {};
  };
  auto one = std::make_shared<std::unique_ptr<One>>();
  const smem::Heat heat{.steps = p.steps, .dt = 0.1};
  const smem::Stencil stencil = p.depth > 1 ? smem::Stencil::star(0.4, {0.1, 0.1}, {0.1, 0.1}, {0.1, 0.1})
                                            : smem::Stencil::star(0.4, {0.15, 0.15}, {0.15, 0.15});
  return {
      [=] {
        if (is_heat) {
          distributed::heat(*in, *out, heat, {.steps = p.steps_per_halo});
        } else {
          distributed::stencil(*in, *out, stencil, p.steps, {.steps = p.steps_per_halo});
        }
      },
      [=](const Context& context) {
        if (!*one) {
          *one = std::make_unique<One>(
              One{{context, numbers<float>(0, in->elements(), 1000)}, {context, Count{in->elements()}}});
        }
        if (is_heat) {
          smem::heat(context, (*one)->before.grid(size), (*one)->after.grid(size), heat);
          return;
        }
        if (p.steps > 1 && !(*one)->between) (*one)->between.emplace(context, Count{in->elements()});
        for (size_t step = 0; step < p.steps; ++step) {
          // The last step writes `after`.
          const bool to_after = (p.steps - step) % 2 == 1;
          const Array<float>& from = step == 0 ? (*one)->before : to_after ? *(*one)->between : (*one)->after;
          const Array<float>& to = to_after ? (*one)->after : *(*one)->between;
          smem::stencil(context, from.grid(size), to.grid(size), stencil);
        }
      },
      [=](const Context&) {
        const std::vector<float> here = out->read_local(), all = (*one)->after.to_host();
        return std::equal(here.begin(), here.end(),
                          all.begin() + static_cast<std::ptrdiff_t>(out->first_row() * out->row_elements()));
      }};
}

PlanProblem problem(std::string name, size_t rows, size_t cols = 1, size_t depth = 1, size_t bytes = 4,
                    size_t steps = 1) {
  return {.operation = std::move(name),
          .rows = rows,
          .cols = cols,
          .depth = depth,
          .element_bytes = bytes,
          .steps = steps};
}

}  // namespace

double Operation::work(const PlanProblem& p) const {
  const double elements =
      static_cast<double>(p.rows) * static_cast<double>(p.cols) * static_cast<double>(p.depth);
  if (name == "attention")
    return 4 * static_cast<double>(p.rows) * static_cast<double>(p.rows) * static_cast<double>(p.cols);
  return name == "gemm" ? 2 * elements : elements * static_cast<double>(p.element_bytes * p.steps);
}

const std::vector<Operation>& operations() {
  constexpr size_t kMi = size_t{1} << 20, kGi = size_t{1} << 30;
  static const std::vector<Operation> all = {
      {"reduce", "The sum of numbers", problem("reduce", 4 * kMi), problem("reduce", 2 * kGi), reduce_of},
      {"inclusive_scan", "Running sums", problem("inclusive_scan", 2 * kMi),
       problem("inclusive_scan", 2 * kGi), scan_of},
      {"histogram", "Bytes in 256 bins", problem("histogram", 8 * kMi, 1, 1, 1),
       problem("histogram", 2 * kGi, 1, 1, 1), histogram_of},
      {"transpose", "A matrix, by tiles that are exchanged", problem("transpose", 1536, 1536),
       problem("transpose", 32768, 32768), transpose_of},
      {"gemm", "A product, panels going round a grid of ranks", problem("gemm", 512, 512, 512),
       problem("gemm", 16384, 16384, 16384), product_of},
      {"sort", "Keys, by splitters among samples", problem("sort", kMi), problem("sort", kGi), sort_of},
      {"top_k", "The 1024 greatest numbers", problem("top_k", 4 * kMi), problem("top_k", kGi), top_k_of},
      {"attention", "Attention, heads of 64 elements, keys and values on all ranks",
       problem("attention", 1024, 512, 128), problem("attention", 65536, 2048, 512, 2), sequence_of},
      {"stencil", "Steps of a stencil, halos every few steps", problem("stencil", 1024, 1024, 1, 4, 20),
       problem("stencil", 1024, 1024, 1024, 4, 20), grid_of},
      {"heat", "Heat in a grid, halos every few steps", problem("heat", 512, 512, 1, 4, 200),
       problem("heat", 1024, 1024, 1024, 4, 200), grid_of},
  };
  return all;
}

const Operation* find(std::string_view name) {
  for (const Operation& operation : operations())
    if (operation.name == name) return &operation;
  return nullptr;
}

std::string text_of(const PlanProblem& p) {
  std::string text = std::to_string(p.rows);
  if (p.cols > 1 || p.depth > 1) text += " x " + std::to_string(p.cols);
  if (p.depth > 1) text += " x " + std::to_string(p.depth);
  if (p.steps > 1) text += ", " + std::to_string(p.steps) + " steps";
  return text;
}

}  // namespace smem::distributed::program
