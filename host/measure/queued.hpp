/// The time of a call among others in a queue.
#pragma once

#include "measure/measure.hpp"

#include <smem/smem.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace smem::measure {

/// Seconds of a call in a queue without profiling: each repetition takes some milliseconds, so that the wait
/// at its end does not count.
template <class Call>
Statistics seconds_in_queue(const Context& context, const Call& call) {
  const auto of = [&](std::size_t calls) {
    const auto start = Clock::now();
    for (std::size_t i = 0; i < calls; ++i)
      call();
    context.finish();
    return seconds_since(start) / static_cast<double>(calls);
  };
  of(1);  // builds
  const double first = of(2);
  const auto calls = static_cast<std::size_t>(std::clamp(4e-3 / first, 1.0, 500.0));
  std::vector<double> seconds;
  repeat({.least = 5, .most = 9, .seconds = 0.05}, [&] {
    seconds.push_back(of(calls));
    return true;
  });
  return statistics(seconds);
}

}  // namespace smem::measure
