/// What a call of smem costs the host, beside the bare OpenCL calls that enqueue a kernel of as many
/// arguments.
#pragma once

#include "measure/measure.hpp"

#include <smem/smem.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace smem::measure {

/// Seconds of the host, each until the call returns.
struct HostTimes {
  Statistics smem;        ///< smem::transpose
  Statistics with_event;  ///< the bare calls, which return an event as smem does
  Statistics bare;        ///< the same without an event
  std::size_t calls;      ///< of each kind
  std::string variant;    ///< of the transpose
};

constexpr std::size_t kHostEdge = 64;   ///< of the matrix: the kernel ends before the next call
constexpr std::size_t kHostBatch = 64;  ///< calls between two waits: the queue never grows long

// The arguments of smem's transpose kernels, and about the same work.
inline constexpr const char* kBareSource = R"(
kernel void bare(global const uint* in, ulong in_offset, long in_pitch, ulong in_stride, global uint* out,
                 ulong out_offset, long out_pitch, ulong out_stride, ulong rows, ulong cols, ulong batch) {
  for (ulong k = get_global_id(0) + get_global_size(0) * get_global_id(1); k < rows * cols;
       k += get_global_size(0) * get_global_size(1))
    out[out_offset + k % cols * out_pitch + k / cols] = in[in_offset + k / cols * in_pitch + k % cols];
}
)";

/// Measures the three kinds of calls in turns, `batches` batches of each.
inline HostTimes host_times(const Context& context, std::size_t batches) {
  const std::size_t elements = kHostEdge * kHostEdge;
  const Plan plan = plan_transpose(context.device(), TransposeProblem{4, kHostEdge, kHostEdge});
  const cl::Buffer in = make_buffer(context, elements * 4), out = make_buffer(context, elements * 4);
  const std::vector<cl_uint> numbers(elements, 1);
  write_buffer(context, in, numbers.data(), numbers.size() * 4);
  const MatrixView<const cl_uint> from(in, kHostEdge, kHostEdge);
  const MatrixView<cl_uint> to(out, kHostEdge, kHostEdge);
  const cl::Kernel kernel = plain_kernel(context, kBareSource, "bare");
  const cl_command_queue queue = context.queue()();

  const auto by_smem = [&] { transpose(context, from, to); };  // the event is released here
  const auto bare = [&](bool with_event) {
    const cl_mem a = in(), b = out();
    const cl_ulong zero = 0, edge = kHostEdge, area = elements, one = 1;
    const cl_long pitch = kHostEdge;
    set_arguments(kernel(), a, zero, pitch, area, b, zero, pitch, area, edge, edge, one);
    cl_event event = nullptr;
    check(clEnqueueNDRangeKernel(queue, kernel(), 3, nullptr, plan.global.data(), plan.work_group.data(), 0,
                                 nullptr, with_event ? &event : nullptr),
          "clEnqueueNDRangeKernel");
    if (with_event) clReleaseEvent(event);
  };
  std::vector<double> smem_times, event_times, bare_times;
  const auto time_batch = [&](std::vector<double>& times, const auto& call) {
    for (std::size_t i = 0; i < kHostBatch; ++i) {
      const auto start = Clock::now();
      call();
      times.push_back(seconds_since(start));
    }
    context.finish();
  };
  constexpr std::size_t kWarmUp = 5;
  for (std::size_t i = 0; i < batches + kWarmUp; ++i) {
    if (i == kWarmUp) {
      for (auto* times : {&smem_times, &event_times, &bare_times})
        times->clear();
    }
    time_batch(smem_times, by_smem);
    time_batch(event_times, [&] { bare(true); });
    time_batch(bare_times, [&] { bare(false); });
  }
  return {statistics(smem_times), statistics(event_times), statistics(bare_times), smem_times.size(),
          plan.variant};
}

}  // namespace smem::measure
