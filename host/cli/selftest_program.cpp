// The test program: where it is, and which test cases it has.
#include "cli/process.hpp"
#include "cli/selftest.hpp"

#include <smem/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace smem::cli {

namespace fs = std::filesystem;

namespace {

/// Test cases belong to an operation by their file's name, and in files of several by a word in their own.
struct Operation {
  const char* name;
  std::vector<std::string_view> words;
};

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all{
      {"rotate", {"rotat"}},
      {"flip", {"flip"}},
      {"transpose", {"transpose", "overrides:"}},
      {"reduce", {"reduc"}},
      {"matvec", {"matvec"}},
      {"histogram", {"histogram"}},
      {"scan", {"scan"}},
      {"select", {"select"}},
      {"gemm", {"gemm", "product"}},
      {"heat", {"heat"}},
      {"separable", {"separable", "filter"}},
      {"blur", {"blur", "filter"}},
      {"pool", {"pool"}},
      {"stencil", {"stencil"}},
      {"convolve2d", {"convolve2d"}},
      {"conv2d", {"conv2d", "many channels"}},
      {"moving_mean", {"moving_mean", "moving mean"}},
  };
  return all;
}

bool has_word(const Operation& operation, std::string_view name) {
  return std::any_of(operation.words.begin(), operation.words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

/// Whether a file is of one operation: "gemm.cpp" and "gemm_nvidia.cpp".
bool is_file_of(const Operation& operation, const std::string& stem) {
  return stem == operation.name || stem.starts_with(fmt::format("{}_", operation.name));
}

std::string operation_of(const std::string& name, const std::string& stem) {
  for (const Operation& operation : operations()) {
    if (name.starts_with(operation.name)) return operation.name;
  }
  for (const Operation& operation : operations()) {
    if (is_file_of(operation, stem)) return operation.name;
  }
  for (const Operation& operation : operations()) {
    if (has_word(operation, name)) return operation.name;
  }
  return {};
}

bool is_asked(const Test& test, const std::vector<std::string>& asked) {
  return asked.empty() || std::any_of(asked.begin(), asked.end(), [&](const std::string& name) {
           if (name == test.operation) return true;
           const auto operation = std::find_if(operations().begin(), operations().end(),
                                               [&](const Operation& one) { return one.name == name; });
           // Filters are several operations.
           return operation != operations().end() && test.name.find("filter") != std::string::npos &&
                  has_word(*operation, test.name);
         });
}

/// The value of an attribute of a line of XML; empty when it is not there.
std::string attribute(std::string_view line, std::string_view name) {
  const std::string begin = fmt::format(" {}=\"", name);
  std::size_t at = line.find(begin);
  if (at == std::string_view::npos) return {};
  at += begin.size();
  std::string value(line.substr(at, line.find('"', at) - at));
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kEntities{
      {{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}, {"&amp;", "&"}}};
  for (const auto& [entity, letter] : kEntities) {
    for (std::size_t found = 0; (found = value.find(entity, found)) != std::string::npos; ++found)
      value.replace(found, entity.size(), letter);
  }
  return value;
}

}  // namespace

std::vector<std::string> selftest_operations() {
  std::vector<std::string> names;
  for (const Operation& operation : operations())
    names.emplace_back(operation.name);
  std::sort(names.begin(), names.end());
  return names;
}

fs::path test_program() {
  std::error_code error;
  const fs::path folder = fs::canonical("/proc/self/exe", error).parent_path();
  // Installed, and in the build folder.
  for (const char* place : {SMEM_LIBEXEC_FROM_BIN "/smem/smem_tests", "../../tests/smem_tests"}) {
    fs::path program = (folder / place).lexically_normal();
    if (fs::is_regular_file(program, error)) return program;
  }
  throw Error({.operation = "selftest",
               .expected = fmt::format(
                   "the test program beside this command, {} (build and install smem with "
                   "-DSMEM_BUILD_TESTS=ON)",
                   (folder / SMEM_LIBEXEC_FROM_BIN "/smem/smem_tests").lexically_normal().string()),
               .got = "no such file"});
}

std::vector<Test> selected_tests(const fs::path& program, const SelftestOptions& options) {
  const Ended listed = run_process(
      {.program = program.string(),
       .arguments = {fmt::format("--selftest={}", options.level), "--list-test-cases", "--reporters=xml"}});
  if (!listed.is_good()) {
    throw Error({.operation = "selftest",
                 .expected = fmt::format("the test cases of {}", program.string()),
                 .got = listed.signal == 0 ? fmt::format("exit code {}", listed.exit_code)
                                           : fmt::format("the end by {}", signal_text(listed.signal))});
  }
  std::vector<Test> tests;
  std::string_view rest = listed.output;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.find("<TestCase ") == std::string_view::npos) continue;
    Test test{attribute(line, "name"), {}};
    test.operation = operation_of(test.name, fs::path(attribute(line, "filename")).stem().string());
    if (is_asked(test, options.operations)) tests.push_back(std::move(test));
  }
  return tests;
}

}  // namespace smem::cli
