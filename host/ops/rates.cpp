// What a device reaches: measured once, and kept.
#include "runtime/runtime.hpp"
#include "runtime/status.hpp"

#include <smem/error.hpp>
#include <smem/rates.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <vector>

namespace smem {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of a buffer that is copied
constexpr std::size_t kRepetitions = 7;                   // the best one counts: others were disturbed

/// Seconds of what `enqueue` enqueues, by the host's clock: the work is long enough, and every queue has one.
template <class Enqueue>
double seconds_of(const Context& context, const Enqueue& enqueue) {
  context.finish();
  const auto start = Clock::now();
  enqueue();
  context.finish();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The best of several repetitions; each is as many launches as take some milliseconds, so that waiting for
/// the queue costs little.
template <class Enqueue>
double best_of(const Context& context, const Enqueue& enqueue) {
  seconds_of(context, enqueue);
  const double once = std::max(seconds_of(context, enqueue), 1e-6);
  const auto launches = static_cast<std::size_t>(std::clamp(10e-3 / once, 1.0, 1000.0));
  double best = once;
  for (std::size_t i = 0; i < kRepetitions; ++i) {
    best = std::min(best, seconds_of(context, [&] {
                            for (std::size_t k = 0; k < launches; ++k)
                              enqueue();
                          }) / static_cast<double>(launches));
  }
  return best;
}

double copy_rate(const Context& context) {
  const Device& device = context.device();
  // Far more than a cache holds, and little enough to be had.
  const std::size_t wanted = device.type == DeviceType::cpu ? kMostBytes / 8 : kMostBytes;
  const std::size_t most = std::min(device.max_allocation, device.global_bytes / 8);
  const std::size_t bytes = std::max<std::size_t>(std::min(wanted, most) / 4096 * 4096, 4096);
  const cl::Buffer from = make_buffer(context, bytes), to = make_buffer(context, bytes);
  runtime::Runtime& runtime = context.runtime();
  const cl_uint zero = 0;
  for (const cl::Buffer& buffer : {from, to}) {  // touched, so that the pages exist
    runtime::check(
        clEnqueueFillBuffer(context.queue()(), buffer(), &zero, sizeof zero, 0, bytes, 0, nullptr, nullptr),
        "clEnqueueFillBuffer", "rates");
  }
  const runtime::ProblemKey key{3, 0, bytes};
  const Plan plan = plan_rates_copy(device, bytes);
  const cl_ulong items = bytes / (plan.vector_width * sizeof(cl_float));
  const double by_kernel = best_of(context, [&] {
    runtime.run(
        key, [&](const Device& d) { return plan_rates_copy(d, bytes); }, {}, from(), to(), items);
  });
  const double by_driver = best_of(context, [&] {
    runtime::check(clEnqueueCopyBuffer(context.queue()(), from(), to(), 0, 0, bytes, 0, nullptr, nullptr),
                   "clEnqueueCopyBuffer", "rates");
  });
  // A driver that is far faster than a kernel did not copy: rusticl of Mesa 22.3 says so of 128 TB/s.
  constexpr double kPlausible = 3;
  return plan.prediction.bytes() /
         (by_driver * kPlausible < by_kernel ? by_kernel : std::min(by_kernel, by_driver));
}

double fp32_rate(const Context& context) {
  const Device& device = context.device();
  const cl_uint rounds = device.type == DeviceType::cpu ? 1000 : 100;
  const Plan plan = plan_rates_fp32(device, rounds);
  const cl::Buffer sums = make_buffer(context, plan.global[0] * sizeof(cl_float));
  const cl_float factor = 0.5f;
  const runtime::ProblemKey key{3, 1, rounds};
  const double seconds = best_of(context, [&] {
    context.runtime().run(
        key, [&](const Device& d) { return plan_rates_fp32(d, rounds); }, {}, sums(), factor, rounds);
  });
  return plan.prediction.operations / seconds;
}

}  // namespace

Rates measure_rates(const Context& context, bool again) {
  const runtime::Programs& programs = context.runtime().programs();
  const std::string key =
      "rates 1\n" + programs.device_key();  // the number is the version of what is measured
  if (!again) {
    const runtime::DiskCache::Lookup kept = programs.disk().load(key);
    Rates rates;
    const std::string text(kept.content.begin(), kept.content.end());
    if (kept.outcome == runtime::DiskCache::Outcome::found &&
        std::sscanf(text.c_str(), "%lf %lf", &rates.copy, &rates.fp32) == 2 && rates.copy > 0 &&
        rates.fp32 > 0) {
      return rates;
    }
  }
  const Rates rates{copy_rate(context), fp32_rate(context)};
  const std::string text = fmt::format("{:.6e} {:.6e}", rates.copy, rates.fp32);
  programs.disk().store(key, {text.begin(), text.end()});  // what cannot be kept is measured again
  return rates;
}

std::size_t registers_of(const Context& context, const Plan& plan) {
  return context.runtime().programs().registers(plan);
}

}  // namespace smem
