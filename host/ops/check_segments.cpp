// check_segments: the device checks; only where offsets are wrong does the host read them.
#include "plan/check_segments.hpp"
#include "formatted.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/sizes.hpp"
#include "runtime/status.hpp"

#include <smem/reduce.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace smem {

void check_segments(const Context& context, const ConstVector& offsets, std::size_t size) {
  constexpr const char* kOperation = "check_segments";
  const Scalar type = ops::number_type(kOperation, "offsets", offsets.type);
  if (type != Scalar::uint32 && type != Scalar::uint64)
    ops::refuse(kOperation, "offsets", "uint32 or uint64", std::string(name_of(type)));
  if (offsets.size == 0) return;
  ops::check_view(context, kOperation, "offsets", ops::as_matrix(offsets), false);
  runtime::Runtime& runtime = context.runtime();
  const cl::Buffer flag = runtime.scratch().take_zeroed();
  const cl::Event looked =
      ops::run(context, kOperation, plan::plan_check_segments, plan::CheckSegmentsProblem{type, offsets.size},
               {}, [&](const ops::Launching& launch) { launch(offsets, offsets.size, size, flag()); });
  std::uint32_t bad = 0;
  const cl_uint zero = 0;
  ops::read_to_host(context, kOperation, flag(), 0, std::as_writable_bytes(std::span(&bad, 1)), looked);
  if (bad != 0) {
    runtime::check(
        clEnqueueWriteBuffer(context.queue()(), flag(), CL_TRUE, 0, sizeof zero, &zero, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer", kOperation);
  }
  runtime.scratch().give_back_zeroed(flag, looked);
  runtime.settle();
  if (bad == 0) return;
  const std::size_t width = offsets.type.bytes;
  std::vector<std::byte> bytes(offsets.size * width);
  ops::read_to_host(context, kOperation, offsets.buffer, offsets.offset * width, bytes);
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < offsets.size; ++i) {
    std::uint64_t bound = 0;  // little-endian, as all OpenCL hosts that smem knows
    std::memcpy(&bound, bytes.data() + i * width, width);
    if (bound > size || bound < before) {
      ops::refuse(kOperation, "offsets", formatted("ascending offsets of at most {}", size),
                  formatted("{} after {} at index {}", bound, before, i));
    }
    before = bound;
  }
}

}  // namespace smem
