#include "cli/interrupt.hpp"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace smem::cli {

namespace {

/// What is to be tidied up. Never destroyed: the waiting thread may outlive main().
struct Tidying {
  std::recursive_mutex mutex;  ///< an action may write a file, which is an action while it is written
  std::map<int, std::function<void()>> actions;
  int next = 0;
};

Tidying& tidying() {
  static auto* const all = new Tidying;
  return *all;
}

[[noreturn]] void end(int signal) {
  // Held to the end: what other threads would destroy meanwhile, they wait with.
  const std::scoped_lock lock(tidying().mutex);
  for (auto action = tidying().actions.rbegin(); action != tidying().actions.rend(); ++action)
    action->second();
  if (::ftrylockfile(stdout) == 0) ::fflush_unlocked(stdout);  // a thread that writes to a full pipe holds it
  ::_exit(128 + signal);
}

}  // namespace

void end_on_interrupt() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  if (::pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return;
  std::thread([set] {
    int signal = 0;
    if (::sigwait(&set, &signal) == 0) end(signal);
  }).detach();
}

OnInterrupt::OnInterrupt(std::function<void()> tidy) {
  const std::scoped_lock lock(tidying().mutex);
  number_ = tidying().next++;
  tidying().actions[number_] = std::move(tidy);
}

OnInterrupt::~OnInterrupt() {
  const std::scoped_lock lock(tidying().mutex);
  tidying().actions.erase(number_);
}

NoInterrupt::NoInterrupt() { tidying().mutex.lock(); }

NoInterrupt::~NoInterrupt() { tidying().mutex.unlock(); }

}  // namespace smem::cli
