// smem cache warm: one small call of each kind, so that what it needs is built and stored.
//
// A program depends on the operation, the types, the device, and on sizes only where a plan chooses another
// kernel for them; so each call is made with a few elements, with many, and with rows that are not aligned.
// What has an expression or custom operation in it cannot be built before it is known.
#include "cli/commands.hpp"
#include "cli/described.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "operations/list.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <functional>
#include <string_view>

namespace smem::cli {

namespace {

using Call = std::function<void(const Context&)>;

struct Work {
  std::string name;
  std::vector<Call> calls;
};

/// A call on each small sample, and on each that the device would be measured with.
std::vector<Call> calls_of(const operations::Operation& operation, const Device& device) {
  std::vector<Call> calls;
  for (const bool small : {true, false}) {
    for (const operations::Sample& sample : operation.at(operations::scale_for(device, small))) {
      calls.emplace_back([&operation, words = sample.words](const Context& context) {
        const operations::Case one = operation.parse(words);
        if (!can_compute(context.device(), one)) return;
        const CaseData data(one);
        const measure::BufferPair pair{make_buffer(context, data.bytes()),
                                       make_buffer(context, data.bytes())};
        data.write_offsets(context, pair);
        one.call(context, data.arrays(pair), {}).wait();
      });
    }
  }
  return calls;
}

std::vector<Work> asked_work(const std::vector<std::string>& names, const Device& device) {
  std::vector<Work> all;
  for (const operations::Operation& operation : operations::all())
    if (is_asked(operation.name, names))
      all.push_back({std::string(operation.name), calls_of(operation, device)});
  return all;
}

/// The first failure of an operation's calls; those that follow are made all the same.
std::string make_calls(const Context& context, const Work& work, std::size_t done, Progress& progress) {
  std::string failure;
  for (const Call& call : work.calls) {
    progress.show(done++, work.name);
    try {
      call(context);
      context.finish();  // stores what it built
    } catch (const Error& error) {
      if (failure.empty()) failure = error.what();
    }
  }
  return failure;
}

}  // namespace

int warm_cache(const std::string& device, const std::vector<std::string>& operations) {
  const Context context({.device = device});
  if (cache_folder().empty()) {
    throw Error({.operation = "cache warm", .expected = "a cache on disk", .got = "SMEM_CACHE: off"});
  }
  const auto start = measure::Clock::now();
  const std::vector<Work> all = asked_work(operations, context.device());
  std::size_t steps = 0, done = 0, failures = 0;
  for (const Work& work : all)
    steps += work.calls.size();
  fmt::print("{}\n", context.device().name);
  Progress progress(steps);
  CacheStatistics before;
  for (const Work& work : all) {
    const auto since = measure::Clock::now();
    const std::string failure = make_calls(context, work, done, progress);
    done += work.calls.size();
    const CacheStatistics now = context.cache_statistics();
    progress.clear();
    fmt::print("{:<12}{:>4} built, {:>3} already stored {:>8.1f} s\n", work.name,
               now.built_from_source - before.built_from_source,
               now.loaded_from_disk - before.loaded_from_disk, measure::seconds_since(since));
    std::fflush(stdout);
    if (!failure.empty()) {
      ++failures;
      fmt::print(stderr, "smem: {}: {}\n", work.name, failure);
    }
    before = now;
  }
  fmt::print("{} built, {} stored in {}: {:.1f} s\n", count_text(before.built_from_source, "program"),
             before.stored_on_disk, cache_folder().string(), measure::seconds_since(start));
  if (failures == 0 && before.stored_on_disk == before.built_from_source) return kGood;
  std::fflush(stdout);
  if (failures == 0) fmt::print(stderr, "smem: not all could be stored\n");
  return kFailure;
}

}  // namespace smem::cli
