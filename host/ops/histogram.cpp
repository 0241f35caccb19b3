// Histograms: views -> problem -> launch.
#include "formatted.hpp"
#include "ops/bins.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/histogram_types.hpp"
#include "plan/sizes.hpp"
#include "with_type.hpp"

#include <smem/histogram.hpp>

#include <bit>
#include <cstring>
#include <vector>

namespace smem {

using ops::refuse;

namespace {

constexpr const char* kHistogramName = "histogram";

struct HistogramOperands {
  ConstMatrix in;
  Vector out;
  ops::BinArguments bins;
};

cl::Event launch(const Context& context, const HistogramProblem& problem, const HistogramOperands& o,
                 const ops::Memory& out_memory, const CallOptions& options) {
  const auto bind = [&](const ops::Launching& launch) {
    const cl_mem tables = launch.scratch(0, o.out.buffer);
    if (!launch.is_main()) {
      return launch(tables, problem.entries(), launch.launch().number("tables"), problem.batch, o.out);
    }
    const auto count = [&](const ops::Launching& counting, cl_mem to, std::size_t first) {
      ConstMatrix in = o.in;
      if (in.buffer == nullptr) in.buffer = to;  // of nothing, nothing is read
      o.bins.with(in.buffer, [&](auto... how) {
        counting(in, problem.rows, problem.cols, problem.batch, launch.launch().number("parts"), how..., to,
                 first);
      });
    };
    if (!launch.plan().after.empty()) return count(launch, tables, 0);
    // By atomic additions to the results. A count of 64 bits is two words, which begin where `out` does.
    ops::require_readable(kHistogramName, "out", out_memory);
    const cl::Event zero = ops::fill_zero(context.runtime(), kHistogramName, o.out, launch.wait_for());
    count(launch.behind(zero), o.out.buffer, o.out.offset);
  };
  return ops::run(context, kHistogramName, plan_histogram, problem, options, bind);
}

cl::Event check_and_launch(const Context& context, HistogramProblem problem, HistogramOperands o,
                           const CallOptions& options) {
  plan::check_histogram(context.device(), problem);
  const bool nothing = ops::is_empty(o.in);
  ops::check_room(kHistogramName, "out", o.out.size, problem.results());
  if (problem.results() == 0)
    return ops::run_empty(context, kHistogramName, plan_histogram, problem, options);
  o.out.size = problem.results();
  const ConstMatrix out = ops::as_matrix(o.out);
  const ops::Memory out_memory = ops::check_view(context, kHistogramName, "out", out, true);
  std::size_t bits = 16;
  if (!nothing) {
    const ops::Memory memory = ops::check_view(context, kHistogramName, "in", o.in, false);
    ops::check_apart(kHistogramName, o.in, memory, out, out_memory);
    bits |= memory.host_address;
  }
  if (problem.rule == BinRule::edges) {
    const ConstMatrix edges = ops::as_matrix(o.bins.edges);
    const ops::Memory memory = ops::check_view(context, kHistogramName, "bins.edges", edges, false);
    ops::check_apart(kHistogramName, edges, memory, out, out_memory, "bins.edges");
  }
  problem.alignment = std::size_t{1} << std::countr_zero(bits);
  return launch(context, problem, o, out_memory, options);
}

}  // namespace

cl::Event histogram(const Context& context, const ConstVector& in, const Vector& out, const Bins& bins,
                    const CallOptions& options) {
  return histogram(context, ops::as_matrix(in), out, bins, options);
}

cl::Event histogram(const Context& context, const ConstMatrix& in, const Vector& out, const Bins& bins,
                    const CallOptions& options) {
  HistogramProblem problem;
  problem.in = ops::number_type(kHistogramName, "in", in.type);
  problem.out = ops::number_type(kHistogramName, "out", out.type);
  problem.channels = bins.channels;
  problem.rows = in.rows;
  problem.cols = in.cols;
  problem.batch = in.batch;
  HistogramOperands o{in, out, ops::bin_arguments(kHistogramName, bins, problem)};
  if (bins.channels != 0 && in.cols % bins.channels != 0) {
    refuse(kHistogramName, "in", formatted("rows of whole pixels of {} channels", bins.channels),
           formatted("{} elements", in.cols));
  }
  // Rows without gaps are one long row.
  if (in.pitch == in.cols || in.rows == 1) {
    problem.cols = plan::size_product(problem.cols, problem.rows);
    problem.rows = 1;
    // Of nothing, the results are zeros all the same.
    if (problem.cols == 0) o.in.buffer = nullptr;
  }
  return check_and_launch(context, problem, o, options);
}

void check_edges(const Context& context, const ConstVector& edges) {
  const Scalar type = ops::number_type("check_edges", "edges", edges.type);
  if (edges.size < 2 || edges.size > kMaxBins + 1)
    refuse("check_edges", "edges", formatted("2 to {}", kMaxBins + 1), edges.size);
  ops::check_view(context, "check_edges", "edges", ops::as_matrix(edges), false);
  const std::size_t width = edges.type.bytes;
  std::vector<std::byte> bytes(edges.size * width);
  ops::read_to_host(context, "check_edges", edges.buffer, edges.offset * width, bytes);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const auto at = [&](std::size_t i) {
      T value;
      std::memcpy(&value, bytes.data() + i * width, width);
      if constexpr (std::is_class_v<T>) {
        return static_cast<float>(value);
      } else {
        return value;
      }
    };
    for (std::size_t i = 0; i < edges.size; ++i) {
      const auto edge = at(i), before = at(i == 0 ? 0 : i - 1);
      if (!(before <= edge)) {
        refuse("check_edges", "edges", "ascending numbers",
               formatted("{} after {} at index {}", edge, before, i));
      }
    }
  });
}

std::vector<std::uint64_t> histogram(const Context& context, const ConstVector& in, const Bins& bins,
                                     const CallOptions& options) {
  return histogram(context, ops::as_matrix(in), bins, options);
}

std::vector<std::uint64_t> histogram(const Context& context, const ConstMatrix& in, const Bins& bins,
                                     const CallOptions& options) {
  const std::size_t channels = bins.channels;
  if (bins.edges.buffer != nullptr || bins.edges.size != 0) check_edges(context, bins.edges);
  // Checked before memory is taken for them.
  if (bins.count > kMaxBins || channels > kMaxChannels)
    histogram(context, in, Vector(nullptr, Scalar::uint64, 0), bins, options);
  const std::size_t most = context.device().global_bytes / sizeof(std::uint64_t);
  if (plan::size_product(bins.count, channels, in.batch) > most) {
    refuse(kHistogramName, "in",
           formatted("a batch of at most {} counts, as the device's memory holds", most),
           formatted("{} matrices of {} counts", in.batch, bins.count * channels));
  }
  std::vector<std::uint64_t> counts(bins.count * channels * in.batch);
  ops::run_to_host(context, kHistogramName, std::as_writable_bytes(std::span(counts)), [&](cl_mem memory) {
    return histogram(context, in, Vector(memory, Scalar::uint64, counts.size()), bins, options);
  });
  return counts;
}

}  // namespace smem
