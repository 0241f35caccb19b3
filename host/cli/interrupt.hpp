/// Ctrl-C: what was begun is tidied up, and the exit code is that of a shell: 128 and the signal's number.
#pragma once

#include <functional>

namespace smem::cli {

/// From now on SIGINT, SIGTERM and SIGHUP run what OnInterrupt objects ask for and end this process, also
/// while a kernel that hangs is waited for. Those that were ignored stay so (nohup). To be called before any
/// thread starts: the signals are blocked in all of them, and a thread of its own waits for one.
void end_on_interrupt();

/// While it exists, an interrupt runs `tidy`, the latest object's first, on another thread.
class OnInterrupt {
 public:
  explicit OnInterrupt(std::function<void()> tidy);
  ~OnInterrupt();
  OnInterrupt(const OnInterrupt&) = delete;
  OnInterrupt& operator=(const OnInterrupt&) = delete;

 private:
  int number_;
};

/// While it exists, an interrupt waits: what must be tidied up is made, or removed, together with its
/// OnInterrupt object. For short work only. It may be nested.
class NoInterrupt {
 public:
  NoInterrupt();
  ~NoInterrupt();
  NoInterrupt(const NoInterrupt&) = delete;
  NoInterrupt& operator=(const NoInterrupt&) = delete;
};

}  // namespace smem::cli
