#include "cli/child.hpp"

#include "cli/interrupt.hpp"

#include <smem/error.hpp>

#include <fmt/format.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

namespace smem::cli {

namespace {

[[noreturn]] void fail(const char* call, int error) {
  throw Error(
      {.operation = "bench", .expected = fmt::format("{} to succeed", call), .got = std::strerror(error)});
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::string run_child(const std::vector<std::string>& arguments,
                      const std::map<std::string, std::optional<std::string>>& environment) {
  std::vector<std::string> words{"smem"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!environment.contains(std::string(text.substr(0, text.find('='))))) variables.emplace_back(text);
  }
  for (const auto& [name, value] : environment) {
    if (value) variables.push_back(name + "=" + *value);
  }

  std::array<int, 2> pipe_ends{};
  if (::pipe(pipe_ends.data()) != 0) fail("pipe", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
  posix_spawn_file_actions_addclose(&actions, pipe_ends[1]);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, pointers(words).data(),
                                  pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe_ends[1]);
  if (error != 0) {
    ::close(pipe_ends[0]);
    fail("posix_spawn", error);
  }
  const OnInterrupt end_child([child] { ::kill(child, SIGTERM); });
  std::string output;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t got = ::read(pipe_ends[0], part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    output.append(part.data(), static_cast<std::size_t>(got));
  }
  ::close(pipe_ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw Error({.operation = "bench",
                 .expected = "a child process that succeeds",
                 .got = WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                          : fmt::format("the end by signal {}", WTERMSIG(status))});
  }
  return output;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "smem-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) fail("mkdtemp", errno);
  path_ = name;
  at_interrupt_.emplace([path = path_] {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  });
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace smem::cli
