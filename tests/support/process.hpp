/// Runs this test program again, in a process of its own: for what only a fresh process can show.
#pragma once

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace test {

struct Ended {
  int status = -1;  ///< exit status; 128 and the signal's number when a signal ended it
  std::string output;
  /// Whether the test case was found and passed: a filter that matches nothing also exits with 0.
  bool passed() const { return status == 0 && output.find("test cases: 1 | 1 passed") != std::string::npos; }
};

/// A hidden test case of this program (marked with doctest::skip()), running in a child process.
class Child {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  /// Starts the case named `test_case` with these variables added to the environment.
  Child(const std::string& test_case, const Variables& variables) {
    // All strings are made before fork(): the parent may have threads, so the child must not allocate.
    std::vector<std::string> words{"smem_tests", "--no-skip", "--no-colors", "--test-case=" + test_case};
    std::vector<std::string> lines;
    for (char** line = environ; *line != nullptr; ++line) {
      const std::string text = *line;
      bool replaced = false;
      for (const auto& [name, value] : variables)
        replaced = replaced || text.starts_with(name + "=");
      if (!replaced) lines.push_back(text);
    }
    for (const auto& [name, value] : variables)
      lines.push_back(name + "=" + value);
    std::vector<char*> arguments, environment;
    for (std::string& word : words)
      arguments.push_back(word.data());
    for (std::string& line : lines)
      environment.push_back(line.data());
    arguments.push_back(nullptr);
    environment.push_back(nullptr);

    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(ends[1], STDERR_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      ::close_range(3, ~0U, 0);  // a driver's open files are its parent's
      ::execve("/proc/self/exe", arguments.data(), environment.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    from_ = ends[0];
  }
  ~Child() {
    if (from_ >= 0) wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Ended wait() {
    Ended ended;
    std::array<char, 4096> part{};
    for (ssize_t got = 0; (got = ::read(from_, part.data(), part.size())) > 0;)
      ended.output.append(part.data(), static_cast<std::size_t>(got));
    ::close(from_);
    from_ = -1;
    int status = 0;
    ::waitpid(process_, &status, 0);
    ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ended;
  }

 private:
  pid_t process_ = -1;
  int from_ = -1;
};

inline Ended run_child(const std::string& test_case, const Child::Variables& variables) {
  return Child(test_case, variables).wait();
}

}  // namespace test
