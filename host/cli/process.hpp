/// Other programs, run as child processes.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

struct ProcessCommand {
  std::string program;  ///< its path
  std::vector<std::string> arguments;
  /// Changes of the environment; an empty optional removes the variable.
  std::map<std::string, std::optional<std::string>> environment;
  bool errors_too = false;          ///< whether the output has what is written to the error stream
  std::size_t most_output = 0;      ///< bytes to keep, of the beginning and of the end; 0: all
  std::function<bool()> may_go_on;  ///< asked some times a second; on false the process is stopped
};

struct Ended {
  int exit_code = 0;
  int signal = 0;        ///< that ended it; 0: none
  bool stopped = false;  ///< because it might not go on
  bool left = false;     ///< behind: a driver keeps it from ending
  std::string output;
  bool is_good() const { return signal == 0 && exit_code == 0; }
  std::string text() const;  ///< "exit code 1", or "the end by SIGSEGV"
};

/// Runs a program to its end, in a process group of its own, which ends too when this process is interrupted.
/// To stop it: SIGTERM, and two seconds later SIGKILL. \throws Error when it cannot be started.
Ended run_process(const ProcessCommand& command);

/// A program that runs in the same way and works on lines: it reads them from its standard input, a socket,
/// and answers each there with a line. `may_go_on` is not asked.
class Worker {
 public:
  explicit Worker(const ProcessCommand& command);
  ~Worker();  ///< stops it
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Sends a line that names the next work, and drops the output so far.
  void ask(const std::string& line);
  /// Waits for at most a tenth of a second. \returns the answer, once it has come.
  std::optional<std::string> answer();
  bool has_ended() const;
  /// There is no more input.
  void end_input();
  /// Processor time of all its threads, in seconds.
  double processor_seconds() const;
  /// What it wrote since it was asked.
  std::string output() const;
  /// Stops it, if it has not ended yet.
  Ended stop();
  /// Ends its input, waits some seconds for it to end, then stops it.
  Ended finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// "SIGSEGV"; "signal 77" where it has no name.
std::string signal_text(int signal);

}  // namespace smem::cli
