// One context, many threads.
#include <smem/smem.hpp>

#include "support/environment.hpp"
#include "support/matrices.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 8;

/// Runs `work(number)` in many threads which start together.
template <class Work>
void in_threads(const Work& work) {
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      start.arrive_and_wait();
      work(number);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

}  // namespace

TEST_CASE("threads: one build when all ask for the same program at once") {
  const test::Variable off("SMEM_CACHE", "0");
  const smem::Context context;
  std::mutex mutex;
  std::vector<std::string> faults;
  in_threads([&](int number) {
    test::Random random(static_cast<std::uint64_t>(number));
    const smem::Context copy = context;  // a handle to the same
    for (std::size_t i = 0; i < 5; ++i) {
      test::Case c{test::Operation::transpose, "swizzled", 4, 64 + i, 96, {}, {}};
      const std::string fault = test::run(copy, c, random).fault;
      const std::scoped_lock lock(mutex);
      if (!fault.empty()) faults.push_back(fault);
    }
  });
  CHECK(faults.empty());
  const smem::CacheStatistics done = context.cache_statistics();
  CHECK(done.built_from_source == 1);
  CHECK(done.loaded_from_disk == 0);
  CHECK(done.stored_on_disk == 0);
}

TEST_CASE("threads: every operation and size at once gives right results and one build a program") {
  const test::Variable off("SMEM_CACHE", "0");
  const smem::Context context;
  std::mutex mutex;
  std::vector<std::string> faults;
  std::set<std::string> programs;
  in_threads([&](int number) {
    test::Random random(static_cast<std::uint64_t>(100 + number));
    for (int round = 0; round < 20; ++round) {
      const auto operation = test::kOperations[random.next() % std::size(test::kOperations)];
      const std::size_t n = random.chance(2) ? 70 : 90;
      test::Case c{operation, "", random.chance(2) ? std::size_t{4} : std::size_t{1}, n, n, {}, {}};
      const smem::Matrix view(nullptr, smem::ElementType::of_bytes(c.element_bytes), n, n);
      const smem::Plan plan = test::plan_of(context, c, view, view);
      const std::string fault = test::run(context, c, random).fault;
      const std::scoped_lock lock(mutex);
      programs.insert(plan.kernel_file + plan.build_options());
      if (!fault.empty()) faults.push_back(c.text() + ": " + fault);
    }
  });
  for (const std::string& fault : faults)
    FAIL_CHECK(fault);
  CHECK(context.cache_statistics().built_from_source == programs.size());
}

TEST_CASE("threads: contexts of their own beside each other") {
  std::mutex mutex;
  std::vector<std::string> faults;
  in_threads([&](int number) {
    std::string fault;
    try {
      const smem::Context context;
      test::Random random(static_cast<std::uint64_t>(200 + number));
      fault = test::run(context, {test::Operation::transpose, "", 4, 65, 33, {}, {}}, random).fault;
    } catch (const std::exception& error) {
      fault = error.what();
    }
    const std::scoped_lock lock(mutex);
    if (!fault.empty()) faults.push_back(fault);
  });
  for (const std::string& fault : faults)
    FAIL_CHECK(fault);
}

TEST_CASE("threads: copies of a context are one context") {
  const test::Variable off("SMEM_CACHE", "0");
  smem::Context first;
  const smem::Context second = first;
  test::Random random;
  CHECK(test::run(second, {test::Operation::transpose, "", 4, 40, 40, {}, {}}, random).fault.empty());
  CHECK(first.cache_statistics().built_from_source == 1);
  CHECK(first.queue()() == second.queue()());
  first = smem::Context();  // the other handle keeps what it needs
  CHECK(first.cache_statistics().built_from_source == 0);
  CHECK(test::run(second, {test::Operation::transpose, "", 4, 40, 40, {}, {}}, random).fault.empty());
  CHECK(second.cache_statistics().built_from_source == 1);
}
