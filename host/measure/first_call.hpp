/// The first call of a process.
#pragma once

#include "measure/measure.hpp"

#include <smem/smem.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace smem::measure {

constexpr std::size_t kFirstEdge = 1024;  ///< of the float matrix that it transposes

inline constexpr const char* kPlainTranspose = R"(
kernel void plain(global const float* in, global float* out, uint rows, uint cols) {
  const uint col = get_global_id(0), row = get_global_id(1);
  out[(size_t)col * rows + row] = in[(size_t)row * cols + col];
}
)";

struct FirstCall {
  double call = 0;             ///< seconds until the call has ended
  double closed = 0;           ///< the same until the context is closed
  CacheStatistics statistics;  ///< what the program cache did
};

/// Makes the first call in a context, by smem or by a plain kernel that OpenCL builds, and closes the
/// context.
inline FirstCall first_call(std::unique_ptr<Context> context, bool by_smem) {
  const std::vector<float> numbers(kFirstEdge * kFirstEdge, 1.0f);
  const cl::Buffer in = make_buffer(*context, numbers.size() * sizeof(float));
  const cl::Buffer out = make_buffer(*context, numbers.size() * sizeof(float));
  write_buffer(*context, in, numbers.data(), numbers.size() * sizeof(float));
  write_buffer(*context, out, numbers.data(), numbers.size() * sizeof(float));

  FirstCall result;
  const auto start = Clock::now();
  cl::Kernel kernel;
  if (by_smem) {
    transpose(*context, MatrixView<const float>(in, kFirstEdge, kFirstEdge),
              MatrixView<float>(out, kFirstEdge, kFirstEdge));
  } else {
    kernel = plain_kernel(*context, kPlainTranspose, "plain");
    const cl_mem from = in(), to = out();
    const cl_uint edge = kFirstEdge;
    set_arguments(kernel(), from, to, edge, edge);
    const std::size_t global[] = {kFirstEdge, kFirstEdge}, local[] = {16, 16};
    check(
        clEnqueueNDRangeKernel(context->queue()(), kernel(), 2, nullptr, global, local, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  }
  // The queue's own wait, so that what smem does in Context::finish counts as work of the time until the end.
  check(clFinish(context->queue()()), "clFinish");
  result.call = seconds_since(start);
  result.statistics = context->cache_statistics();
  context.reset();
  result.closed = seconds_since(start);
  return result;
}

}  // namespace smem::measure
