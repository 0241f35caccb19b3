// What a device reaches: measured once, and kept.
#include "formatted.hpp"
#include "ops/run.hpp"
#include "runtime/status.hpp"

#include <smem/rates.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>
#include <system_error>

namespace smem {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostCopied = std::size_t{1} << 30;   // of a buffer that is copied
constexpr std::size_t kLittleBytes = std::size_t{1} << 26;  // of the first measurement
constexpr cl_uint kMostRounds = 1 << 20;
constexpr double kMostRate = 1e18;       // a second: no device is near
constexpr std::size_t kRepetitions = 7;  // the best one counts: others were disturbed

/// Seconds of what `enqueue` enqueues, by the host's clock: the work is long enough, and every queue has one.
template <class Enqueue>
double seconds_of(const Context& context, const Enqueue& enqueue) {
  context.finish();
  const auto start = Clock::now();
  enqueue();
  context.finish();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr double kEnough = 5e-3;   // seconds of a repetition, beside which waiting for the queue is little
constexpr double kPatience = 0.3;  // seconds after which no further repetition is begun

/// The best of several repetitions; each is as many launches as take kEnough.
template <class Enqueue>
double best_of(const Context& context, const Enqueue& enqueue) {
  seconds_of(context, enqueue);
  double best = std::max(seconds_of(context, enqueue), 1e-6);
  const auto launches = static_cast<std::size_t>(std::clamp(kEnough / best, 1.0, 1000.0));
  const auto start = Clock::now();
  for (std::size_t i = 0; i < kRepetitions; ++i) {
    const double seconds = seconds_of(context, [&] {
      for (std::size_t k = 0; k < launches; ++k)
        enqueue();
    });
    best = std::min(best, seconds / static_cast<double>(launches));
    if (std::chrono::duration<double>(Clock::now() - start).count() > kPatience) break;
  }
  return best;
}

/// Bytes read and written a second, with buffers of `bytes` bytes.
double copy_rate(const Context& context, std::size_t bytes) {
  const cl::Buffer from = make_buffer(context, bytes), to = make_buffer(context, bytes);
  const cl_uint zero = 0;
  for (const cl::Buffer& buffer : {from, to}) {  // touched, so that the pages exist
    runtime::check(
        clEnqueueFillBuffer(context.queue()(), buffer(), &zero, sizeof zero, 0, bytes, 0, nullptr, nullptr),
        "clEnqueueFillBuffer", "rates");
  }
  const RatesProblem problem{Rate::copy, bytes};
  const Plan plan = plan_rates(context.device(), problem);
  const cl_ulong items = bytes / (plan.vector_width * sizeof(cl_float));
  const double by_kernel = best_of(context, [&] {
    ops::run(context, "rates", plan_rates, problem, {},
             [&](const ops::Launching& launch) { launch(from(), to(), items); });
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

double copy_rate(const Context& context) {
  const Device& device = context.device();
  const std::size_t most =
      std::max<std::size_t>(std::min(device.max_allocation, device.global_bytes / 8) / 4096 * 4096, 4096);
  const std::size_t little = std::min(kLittleBytes, most);
  const double rate = copy_rate(context, little);
  // Far more than a cache holds, where that does not take long.
  const std::size_t wanted = device.type == DeviceType::cpu ? kMostCopied / 8 : kMostCopied;
  const std::size_t bytes = std::min(wanted, most);
  return bytes > little && 2.0 * static_cast<double>(bytes) / rate < 0.05 ? copy_rate(context, bytes) : rate;
}

double fp32_rate(const Context& context) {
  // From one round on, as many as take long enough.
  for (cl_uint rounds = 1;; rounds *= 4) {
    const RatesProblem problem{Rate::fp32, rounds};
    const Plan plan = plan_rates(context.device(), problem);
    const cl::Buffer sums = make_buffer(context, plan.global[0] * sizeof(cl_float));
    const cl_float factor = 0.5F;
    const auto enqueue = [&] {
      ops::run(context, "rates", plan_rates, problem, {},
               [&](const ops::Launching& launch) { launch(sums(), factor, rounds); });
    };
    seconds_of(context, enqueue);
    if (rounds < kMostRounds && seconds_of(context, enqueue) < kEnough) continue;
    return plan.prediction.operations / best_of(context, enqueue);
  }
}

/// What "COPY FP32" says, where it can be.
std::optional<Rates> rates_in(std::string_view text) {
  Rates rates;
  for (double* rate : {&rates.copy, &rates.fp32}) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *rate);
    if (error != std::errc() || !(*rate > 0 && *rate < kMostRate)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return text.empty() ? std::optional(rates) : std::nullopt;
}

}  // namespace

Rates measure_rates(const Context& context, bool again) {
  const runtime::Programs& programs = context.runtime().programs();
  const std::string key =
      "rates 1\n" + programs.device_key();  // the number is the version of what is measured
  if (!again) {
    const runtime::DiskCache::Lookup kept = programs.disk().load(key);
    const std::string text(kept.content.begin(), kept.content.end());
    if (const std::optional<Rates> rates = rates_in(text)) return *rates;
  }
  const Rates rates{copy_rate(context), fp32_rate(context)};
  const std::string text = formatted("{:.6e} {:.6e}", rates.copy, rates.fp32);
  programs.disk().store(key, {text.begin(), text.end()});  // what cannot be kept is measured again
  return rates;
}

std::size_t registers_of(const Context& context, const Plan& plan) {
  return context.runtime().programs().registers(plan);
}

}  // namespace smem
