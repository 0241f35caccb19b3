/// What a call costs besides the device's time.
#pragma once

#include "measure/measure.hpp"

#include <smem/smem.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace smem::measure {

struct CallCosts {
  double build = 0;  ///< seconds of compilers, in the first call; 0: nothing was built from source
  double host = 0;   ///< seconds until a later call returns: the host's part
};

/// Makes the first call of a kind on a pair of buffers, and some more.
template <class Call>
CallCosts costs_of(const Context& context, const BufferPair& pair, const Call& call) {
  constexpr std::size_t kCalls = 9;
  constexpr double kSeconds = 0.05;  // after which no further call is made: of long ones few are enough
  const std::size_t before = context.cache_statistics().built_from_source;
  const auto start = Clock::now();
  call(pair);
  context.finish();
  const double first = seconds_since(start);
  const bool built = context.cache_statistics().built_from_source > before;
  const auto later = Clock::now();
  std::vector<double> hosts, wholes;
  do {
    const auto begin = Clock::now();
    call(pair);
    hosts.push_back(seconds_since(begin));
    context.finish();
    wholes.push_back(seconds_since(begin));
  } while (hosts.size() < kCalls && seconds_since(later) < kSeconds);
  const double whole = statistics(wholes).median;
  return {built ? std::max(first - whole, 0.0) : 0, statistics(hosts).median};
}

}  // namespace smem::measure
