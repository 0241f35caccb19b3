// Objects that were moved from: every function but assignment throws by name, and none crashes.
#include <smem/smem.hpp>

#include "support/failure.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

template <class Call>
void must_refuse(const std::string& operation, const Call& call) {
  const auto error = test::failure_of(call);
  CHECK(error.operation == operation);
  CHECK(error.got == "one that was moved from");
}

const char* const kOne = "kernel void one(global int* x) { *x = 1; }";

}  // namespace

// NOLINTBEGIN(bugprone-use-after-move): that is what is tested
TEST_CASE("moved from: contexts") {
  smem::Context context;
  const smem::Array<float> x(context, {1, 2, 3, 4}), y(context, smem::Count{4});
  const smem::Context taken = std::move(context);
  const std::vector<std::function<void()>> calls{
      [&] { (void)context.device(); },
      [&] { (void)context.cl_context(); },
      [&] { (void)context.cl_device(); },
      [&] { (void)context.queue(); },
      [&] { context.finish(); },
      [&] { (void)context.cache_statistics(); },
      [&] { (void)context.runtime(); },
      [&] { context.build({.source = kOne, .entry_point = "one"}); },
      [&] { smem::make_buffer(context, 4); },
      [&] { smem::make_buffer(context, 0); },
      [&] { smem::write_buffer(context, x.buffer(), kOne, 4); },
      [&] {
        char bytes[4];
        smem::read_buffer(context, x.buffer(), bytes, 4);
      },
      [&] { const smem::Array<int> array(context, smem::Count{3}); },
      [&] { smem::transpose(context, x.matrix(2, 2), y.matrix(2, 2)); },
      [&] { smem::reduce(context, x, smem::ReduceOp::sum); },
      [&] { smem::measure_rates(context); },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CAPTURE(i);
    must_refuse("Context", calls[i]);
  }
  const smem::Context copy = context;  // of nothing is nothing
  must_refuse("Context", [&] { copy.finish(); });
  context = taken;
  CHECK(smem::reduce(context, x, smem::ReduceOp::sum) == 10.0F);
}

TEST_CASE("moved from: arrays") {
  const smem::Context context;
  smem::Array<float> x(context, {1, 2, 3, 4}), y(context, smem::Count{4});
  const smem::Kernel one = context.build({.source = kOne, .entry_point = "one"});
  const smem::Array<float> taken = std::move(x);
  const std::vector<float> host{1, 2};
  const std::vector<std::function<void()>> calls{
      [&] { (void)x.size(); },
      [&] { (void)x.buffer(); },
      [&] { x.write(host); },
      [&] { x.write(std::vector<float>()); },
      [&] { x.to_host(); },
      [&] { (void)x.vector(); },
      [&] { (void)x.vector(0, 1); },
      [&] { (void)x.matrix(2, 2); },
      [&] {
        (void)x.grid({2, 2});
      },
      [&] { one({}, x); },
      [&] { smem::reduce(context, x, smem::ReduceOp::sum); },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CAPTURE(i);
    must_refuse("Array", calls[i]);
  }
  x = taken;
  CHECK(x.to_host() == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("moved from: kernels") {
  const smem::Context context;
  const smem::Array<int> x(context, std::vector<int>(1));
  smem::Kernel one = context.build({.source = kOne, .entry_point = "one"});
  const smem::Kernel taken = std::move(one);
  must_refuse("Kernel", [&] { one({}, x); });
  must_refuse("Kernel", [&] { one({.global = {0, 1, 1}}, x); });
  must_refuse("Kernel", [&] { (void)one.max_work_group(); });
  one = taken;
  one({}, x);
  CHECK(x.to_host() == std::vector<int>{1});
}
// NOLINTEND(bugprone-use-after-move)
