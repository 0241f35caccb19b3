#include "cli/process.hpp"

#include "cli/interrupt.hpp"

#include <smem/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>
#include <thread>

namespace smem::cli {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

[[noreturn]] void fail(const char* call, int error) {
  throw Error({.operation = "child process",
               .expected = fmt::format("{} to succeed", call),
               .got = std::strerror(error)});
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> changed_environment(
    const std::map<std::string, std::optional<std::string>>& changes) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!changes.contains(std::string(text.substr(0, text.find('='))))) variables.emplace_back(text);
  }
  for (const auto& [name, value] : changes) {
    if (value) variables.push_back(fmt::format("{}={}", name, *value));
  }
  return variables;
}

/// The child's attributes: a process group of its own, so that Ctrl-C is this process's to handle; and
/// signals as a program expects them, which are blocked here.
void set_attributes(posix_spawnattr_t& attributes) {
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE})
    sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/// Starts the program with its output, and errors where asked for, going to `to`. `from`: its input.
pid_t spawn(const ProcessCommand& command, int from, int to) {
  std::vector<std::string> words{command.program};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> variables = changed_environment(command.environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
  if (command.errors_too) posix_spawn_file_actions_adddup2(&actions, to, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  set_attributes(attributes);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, command.program.c_str(), &actions, &attributes,
                                  pointers(words).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail("posix_spawn", error);
  return child;
}

/// Whether the process has ended; it can still be asked how.
bool has_ended(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == child;
}

/// Asks a process group to end, and ends it when it has not after `patience`.
void stop(pid_t child, Clock::duration patience) {
  ::kill(-child, SIGTERM);
  const Clock::time_point end = Clock::now() + patience;
  while (!has_ended(child) && Clock::now() < end)
    std::this_thread::sleep_for(10ms);
  ::kill(-child, SIGKILL);
}

}  // namespace

/// Output of which the beginning and the end are kept.
class KeptOutput {
 public:
  explicit KeptOutput(std::size_t most) : most_(most) {}
  void add(std::string_view text) {
    if (most_ == 0 || head_.size() < most_ / 2) {
      const std::size_t taken = most_ == 0 ? text.size() : std::min(text.size(), most_ / 2 - head_.size());
      head_ += text.substr(0, taken);
      text.remove_prefix(taken);
    }
    tail_ += text;
    if (tail_.size() > most_) {
      left_out_ += tail_.size() - most_ / 2;
      tail_.erase(0, tail_.size() - most_ / 2);
    }
  }
  std::string text() const {
    return left_out_ == 0 ? head_ + tail_ : fmt::format("{}\n... {} bytes ...\n{}", head_, left_out_, tail_);
  }

 private:
  std::size_t most_, left_out_ = 0;
  std::string head_, tail_;
};

namespace {

/// Reads what is there, waiting at most `milliseconds` for it. \returns whether more can come.
bool read_some(int from, int milliseconds, KeptOutput& output) {
  pollfd ready{from, POLLIN, 0};
  if (::poll(&ready, 1, milliseconds) <= 0) return true;
  std::array<char, 65536> part{};
  const ssize_t got = ::read(from, part.data(), part.size());
  if (got > 0) output.add({part.data(), static_cast<std::size_t>(got)});
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

/// How a process ended. One that a driver keeps from ending, in spite of SIGKILL, is left behind.
void collect(pid_t child, Ended& ended) {
  const Clock::time_point end = Clock::now() + 10s;
  while (!has_ended(child) && (!ended.stopped || Clock::now() < end))
    std::this_thread::sleep_for(2ms);
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) != child) {
    ended.signal = SIGKILL;
    ended.left = true;
  } else if (WIFSIGNALED(status)) {
    ended.signal = WTERMSIG(status);
  } else {
    ended.exit_code = WEXITSTATUS(status);
  }
}

}  // namespace

struct Worker::State {
  explicit State(const ProcessCommand& command) : most_output(command.most_output), output(most_output) {
    std::array<int, 2> output_ends{}, socket_ends{};
    if (::pipe2(output_ends.data(), O_CLOEXEC) != 0) fail("pipe", errno);
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket_ends.data()) != 0) {
      const int error = errno;
      ::close(output_ends[0]);
      ::close(output_ends[1]);
      fail("socketpair", error);
    }
    from = output_ends[0];
    socket = socket_ends[0];
    const NoInterrupt together;
    try {
      child = spawn(command, socket_ends[1], output_ends[1]);
    } catch (...) {
      for (const int end : {output_ends[0], output_ends[1], socket_ends[0], socket_ends[1]})
        ::close(end);
      throw;
    }
    ::close(output_ends[1]);
    ::close(socket_ends[1]);
    end_child.emplace([child = child] { smem::cli::stop(child, 500ms); });
  }
  ~State() {
    ::close(from);
    ::close(socket);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void read_rest() {
    for (pollfd ready{from, POLLIN, 0}; ::poll(&ready, 1, 0) > 0 && read_some(from, 0, output);) {
    }
  }

  std::size_t most_output;
  KeptOutput output;
  int from = -1, socket = -1;
  pid_t child = 0;
  std::optional<OnInterrupt> end_child;
  bool is_closed = false;  ///< the socket, by the child
  std::string answer;
  std::optional<Ended> ended;
};

Worker::Worker(const ProcessCommand& command) : state_(std::make_unique<State>(command)) {}

Worker::~Worker() { stop(); }

void Worker::ask(const std::string& line) {
  state_->read_rest();
  state_->output = KeptOutput(state_->most_output);
  state_->answer.clear();
  const std::string text = line + "\n";
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t sent = ::send(state_->socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // it has ended, which shows next
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::optional<std::string> Worker::answer() {
  constexpr int kOften = 100;
  std::array<pollfd, 2> ready{
      {{state_->from, POLLIN, 0}, {state_->is_closed ? -1 : state_->socket, POLLIN, 0}}};
  if (::poll(ready.data(), ready.size(), kOften) <= 0) return std::nullopt;
  if (ready[0].revents != 0 && !read_some(state_->from, 0, state_->output))
    std::this_thread::sleep_for(5ms);  // closed: it ends
  if (ready[1].revents == 0) return std::nullopt;
  std::array<char, 4096> part{};
  const ssize_t got = ::recv(state_->socket, part.data(), part.size(), MSG_DONTWAIT);
  state_->is_closed = got == 0;
  if (got > 0) state_->answer.append(part.data(), static_cast<std::size_t>(got));
  const std::size_t end = state_->answer.find('\n');
  if (end == std::string::npos) return std::nullopt;
  state_->read_rest();
  return state_->answer.substr(0, end);
}

bool Worker::has_ended() const { return state_->ended || smem::cli::has_ended(state_->child); }

double Worker::processor_seconds() const {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(state_->child, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string Worker::output() const { return state_->output.text(); }

Ended Worker::stop() {
  if (state_->ended) return *state_->ended;
  Ended ended;
  ended.stopped = !has_ended();
  if (ended.stopped) smem::cli::stop(state_->child, 2s);
  collect(state_->child, ended);
  state_->end_child.reset();
  state_->read_rest();
  ended.output = state_->output.text();
  state_->ended = ended;
  return ended;
}

void Worker::end_input() { ::shutdown(state_->socket, SHUT_WR); }

Ended Worker::finish() {
  if (!state_->ended) end_input();
  constexpr std::chrono::seconds kPatience(10);
  for (const Clock::time_point end = Clock::now() + kPatience; !has_ended() && Clock::now() < end;) {
    state_->read_rest();
    std::this_thread::sleep_for(5ms);
  }
  return stop();
}

Ended run_process(const ProcessCommand& command) {
  Worker process(command);
  process.end_input();
  // Until it has ended, not its output: what it started may hold that open.
  while (!process.has_ended() && (!command.may_go_on || command.may_go_on()))
    process.answer();
  return process.stop();
}

std::string Ended::text() const {
  return signal == 0 ? fmt::format("exit code {}", exit_code)
                     : fmt::format("the end by {}", signal_text(signal));
}

std::string signal_text(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace smem::cli
