// Histograms: views -> problem -> launch.
#include "formatted.hpp"
#include "ops/bins.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/histogram_types.hpp"
#include "plan/sizes.hpp"
#include "runtime/status.hpp"

#include <smem/error.hpp>
#include <smem/histogram.hpp>

#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace smem {

using ops::refuse;

namespace {

constexpr const char* kOperation = "histogram";

struct Operands {
  ConstMatrix in;
  Vector out;
  ops::BinArguments bins;
};

cl::Event launch(const Context& context, const HistogramProblem& problem, const Operands& o,
                 const ops::Memory& out_memory, const CallOptions& options) {
  const auto number = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const cl_ulong out_offset = o.out.offset, rows = problem.rows, cols = problem.cols, batch = problem.batch;
  const auto bind = [&](const ops::Launching& launch) {
    const cl_mem tables = launch.scratch(0, o.out.buffer);
    if (!launch.is_main()) {
      launch(tables, number(problem.entries()), number(launch.launch().number("tables")), batch, o.out.buffer,
             out_offset);
      return;
    }
    const auto count = [&](const ops::Launching& counting, cl_mem to, cl_ulong first) {
      const cl_mem in = o.in.buffer != nullptr ? o.in.buffer : to;  // of nothing, nothing is read
      o.bins.with(in, [&](auto... how) {
        counting(in, number(o.in.offset), number(o.in.pitch), number(o.in.batch_stride), rows, cols, batch,
                 number(launch.launch().number("parts")), how..., to, first);
      });
    };
    if (!launch.plan().after.empty()) return count(launch, tables, 0);
    // By atomic additions to the results. A count of 64 bits is two words, which begin where `out` does.
    ops::require_readable(kOperation, "out", out_memory);
    const cl::Event zero = ops::fill_zero(context.runtime(), kOperation, o.out, launch.wait_for());
    count(launch.behind(zero), o.out.buffer, out_offset);
  };
  return ops::run(context, kOperation, plan_histogram, problem, options, bind);
}

cl::Event check_and_launch(const Context& context, HistogramProblem problem, Operands o,
                           const CallOptions& options) {
  plan::check_histogram(context.device(), problem);
  const bool nothing = ops::is_empty(o.in);
  if (o.out.size < problem.results())
    refuse(kOperation, "out", formatted("at least {} elements", problem.results()),
           formatted("{}", o.out.size));
  if (problem.results() == 0) return ops::run_empty(context, kOperation, plan_histogram, problem, options);
  o.out.size = problem.results();
  const ConstMatrix out = ops::as_matrix(o.out);
  const ops::Memory out_memory = ops::check_view(context, kOperation, "out", out, true);
  std::size_t bits = 16;
  if (!nothing) {
    const ops::Memory memory = ops::check_view(context, kOperation, "in", o.in, false);
    ops::check_apart(kOperation, o.in, memory, out, out_memory);
    bits |= memory.host_address;
  }
  if (problem.rule == BinRule::edges) {
    const ConstMatrix edges = ops::as_matrix(o.bins.edges);
    const ops::Memory memory = ops::check_view(context, kOperation, "bins.edges", edges, false);
    ops::check_apart(kOperation, edges, memory, out, out_memory);
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
  problem.in = ops::number_type(kOperation, "in", in.type);
  problem.out = ops::number_type(kOperation, "out", out.type);
  problem.channels = bins.channels;
  problem.rows = in.rows;
  problem.cols = in.cols;
  problem.batch = in.batch;
  Operands o{in, out, ops::bin_arguments(kOperation, bins, problem)};
  if (bins.channels != 0 && in.cols % bins.channels != 0) {
    refuse(kOperation, "in", formatted("rows of whole pixels of {} channels", bins.channels),
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
  const auto refuse_edges = [](std::string expected, std::string got) {
    refuse("check_edges", "edges", std::move(expected), std::move(got));
  };
  const Scalar type = ops::number_type("check_edges", "edges", edges.type);
  if (edges.size < 2 || edges.size > kMaxBins + 1)
    refuse_edges(formatted("2 to {}", kMaxBins + 1), formatted("{}", edges.size));
  ops::check_view(context, "check_edges", "edges", ops::as_matrix(edges), false);
  const std::size_t width = edges.type.bytes;
  std::vector<unsigned char> bytes(edges.size * width);
  runtime::check(clEnqueueReadBuffer(context.queue()(), edges.buffer, CL_TRUE, edges.offset * width,
                                     bytes.size(), bytes.data(), 0, nullptr, nullptr),
                 "clEnqueueReadBuffer", "check_edges");
  const auto ascend = [&](auto zero) {
    using T = decltype(zero);
    const auto at = [&](std::size_t i) {
      T value;
      std::memcpy(&value, bytes.data() + i * width, width);
      if constexpr (std::is_same_v<T, half>) {
        return static_cast<float>(value);
      } else {
        return value;
      }
    };
    for (std::size_t i = 0; i < edges.size; ++i) {
      const auto edge = at(i), before = at(i == 0 ? 0 : i - 1);
      if (!(before <= edge))
        refuse_edges("ascending numbers", formatted("{} after {} at index {}", edge, before, i));
    }
  };
  switch (type) {
    case Scalar::int8:
      return ascend(std::int8_t{});
    case Scalar::int16:
      return ascend(std::int16_t{});
    case Scalar::int32:
      return ascend(std::int32_t{});
    case Scalar::int64:
      return ascend(std::int64_t{});
    case Scalar::uint8:
      return ascend(std::uint8_t{});
    case Scalar::uint16:
      return ascend(std::uint16_t{});
    case Scalar::uint32:
      return ascend(std::uint32_t{});
    case Scalar::uint64:
      return ascend(std::uint64_t{});
    case Scalar::half:
      return ascend(half{});
    case Scalar::float32:
      return ascend(float{});
    case Scalar::float64:
      return ascend(double{});
    case Scalar::bfloat16:  // refused with the numbers, whose type edges have
      return;
  }
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
    refuse(kOperation, "in", formatted("a batch of at most {} counts, as the device's memory holds", most),
           formatted("{} matrices of {} counts", in.batch, bins.count * channels));
  }
  std::vector<std::uint64_t> counts(bins.count * channels * in.batch);
  const std::size_t bytes = counts.size() * sizeof counts[0];
  runtime::ScratchPool& pool = context.runtime().scratch();
  const cl::Buffer buffer = pool.take(std::max<std::size_t>(bytes, 64));
  cl::Event ended;
  try {
    ended = histogram(context, in, Vector(buffer(), Scalar::uint64, counts.size()), bins, options);
    if (bytes > 0) {
      runtime::check(clEnqueueReadBuffer(context.queue()(), buffer(), CL_TRUE, 0, bytes, counts.data(), 1,
                                         &ended(), nullptr),
                     "clEnqueueReadBuffer", kOperation);
    }
  } catch (...) {
    pool.give_back(buffer, ended);
    throw;
  }
  pool.give_back(buffer, ended);
  context.runtime().settle();
  return counts;
}

}  // namespace smem
