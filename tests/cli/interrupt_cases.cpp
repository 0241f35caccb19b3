// Whether an interrupt leaves nothing behind, whenever it comes: no folder, no part of a file.
//   interrupt_cases FOLDER   FOLDER: to be made
#include "cli/child.hpp"
#include "cli/interrupt.hpp"
#include "cli/process.hpp"
#include "cli/whole_file.hpp"

#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace {

using namespace smem;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Makes a folder, a file and a process that writes to the folder, and removes them.
void make_and_remove(const fs::path& folder) {
  const cli::TemporaryFolder temporary;
  for (const char* name : {"a", "b", "c"}) {
    fs::create_directory(temporary.path() / name);
    std::ofstream(temporary.path() / name / "file") << name;
  }
  cli::WholeFile file;
  file.open(folder / "file");
  file << "part";
  const std::string writes =
      "{ mkdir -p $0/d; for i in 1 2 3 4 5 6 7 8 9; do echo >$0/d/$i; done; } 2>/dev/null";
  cli::run_process({.program = "/bin/sh", .arguments = {"-c", writes, temporary.path().string()}});
}

/// Does that until it is interrupted. What fails then, because the folder is gone, waits for the end.
[[noreturn]] void be_busy(const fs::path& folder) {
  ::setenv("TMPDIR", folder.c_str(), 1);
  cli::end_on_interrupt();
  try {
    for (;;)
      make_and_remove(folder);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  ::_exit(EXIT_FAILURE);
}

/// What is left in `folder`, "" if nothing, by a process that is interrupted after `wait`.
std::string left_after(const fs::path& folder, std::chrono::microseconds wait) {
  fs::create_directory(folder);
  std::fflush(stdout);  // the child has a copy of what is not written yet
  const pid_t busy = ::fork();
  if (busy == 0) be_busy(folder);
  std::this_thread::sleep_for(20ms + wait);
  ::kill(busy, SIGTERM);  // SIGINT may be ignored here
  int status = 0;
  ::waitpid(busy, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 128 + SIGTERM) return fmt::format("status {}", status);
  std::string names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    names += fmt::format(" {}", entry.path().string());
  return names;
}

}  // namespace

int main(int, char** argv) {
  const fs::path folder = argv[1];
  constexpr int kTimes = 100;
  int faults = 0;
  // Blocked from the start of a child on: one that comes early waits until the child waits for it.
  sigset_t early;
  sigemptyset(&early);
  sigaddset(&early, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &early, nullptr);
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (int i = 0; i < kTimes; ++i) {
    const std::string left = left_after(folder / std::to_string(i), i * 197us);
    if (left.empty()) continue;
    fmt::print("after {} us:{}\n", i * 197, left);
    ++faults;
  }
  fs::remove_all(folder);
  fmt::print("{} of {} interrupts left something\n", faults, kTimes);
  return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
