// check_segments: the device looks; only where something is wrong do the offsets come to the host.
#include "plan/check_segments.hpp"
#include "formatted.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/sizes.hpp"
#include "runtime/status.hpp"

#include <smem/error.hpp>
#include <smem/reduce.hpp>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace smem {

void check_segments(const Context& context, const ConstVector& offsets, std::size_t size) {
  const auto refuse_offsets = [](std::string expected, std::string got) {
    ops::refuse("check_segments", "offsets", std::move(expected), std::move(got));
  };
  const Scalar type = ops::number_type("check_segments", "offsets", offsets.type);
  if (type != Scalar::uint32 && type != Scalar::uint64)
    refuse_offsets("uint32 or uint64", std::string(name_of(type)));
  if (offsets.size == 0) return;
  ops::check_view(context, "check_segments", "offsets", ops::as_matrix(offsets), false);
  runtime::Runtime& runtime = context.runtime();
  const cl::Buffer flag = runtime.scratch().take_zeroed();
  const cl::Event looked = ops::run(
      context, "check_segments", plan::plan_check_segments, plan::CheckSegmentsProblem{type, offsets.size},
      {}, [&](const ops::Launching& launch) {
        launch(offsets.buffer, cl_ulong{offsets.offset}, cl_ulong{offsets.size}, cl_ulong{size}, flag());
      });
  cl_uint bad = 0;
  const cl_uint zero = 0;
  runtime::check(
      clEnqueueReadBuffer(context.queue()(), flag(), CL_TRUE, 0, sizeof bad, &bad, 1, &looked(), nullptr),
      "clEnqueueReadBuffer", "check_segments");
  if (bad != 0) {
    runtime::check(
        clEnqueueWriteBuffer(context.queue()(), flag(), CL_TRUE, 0, sizeof zero, &zero, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer", "check_segments");
  }
  runtime.scratch().give_back_zeroed(flag, looked);
  runtime.settle();
  if (bad == 0) return;
  const std::size_t width = offsets.type.bytes;
  std::vector<unsigned char> bytes(offsets.size * width);
  runtime::check(clEnqueueReadBuffer(context.queue()(), offsets.buffer, CL_TRUE, offsets.offset * width,
                                     bytes.size(), bytes.data(), 0, nullptr, nullptr),
                 "clEnqueueReadBuffer", "check_segments");
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < offsets.size; ++i) {
    std::uint64_t bound = 0;  // little-endian, as all OpenCL hosts that smem knows
    std::memcpy(&bound, bytes.data() + i * width, width);
    if (bound > size || bound < before) {
      refuse_offsets(formatted("ascending offsets of at most {}", size),
                     formatted("{} after {} at index {}", bound, before, i));
    }
    before = bound;
  }
}

}  // namespace smem
