// The test program: where it is, and which test cases it has.
#include "cli/described.hpp"
#include "cli/process.hpp"
#include "cli/selftest.hpp"

#include <smem/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

namespace smem::cli {

namespace fs = std::filesystem;

namespace {

/// What names of test cases have for operations, besides their own names.
constexpr std::pair<std::string_view, std::string_view> kWords[] = {
    {"rotat", "rotate"},       {"overrides:", "transpose"}, {"reduc", "reduce"},
    {"product", "gemm"},       {"filter", "separable"},     {"filter", "blur"},
    {"weighted", "histogram"}, {"many channels", "conv2d"}, {"moving mean", "moving_mean"},
};

bool has_word(std::string_view operation, const std::string& name) {
  return name.find(operation) != std::string::npos ||
         std::any_of(std::begin(kWords), std::end(kWords), [&](const auto& word) {
           return word.second == operation && name.find(word.first) != std::string::npos;
         });
}

/// A test case belongs to an operation by the beginning of its name, by its file's, "gemm.cpp" or
/// "gemm_nvidia.cpp", and in files of several by a word in its name.
std::string operation_of(const std::string& name, const std::string& stem) {
  const std::vector<std::string> all = selftest_operations();
  const auto first = [&](const auto& is_of) {
    const auto found = std::find_if(all.begin(), all.end(), is_of);
    return found == all.end() ? std::string() : *found;
  };
  std::string of = first([&](const std::string& one) { return name.starts_with(one); });
  if (of.empty())
    of = first([&](const std::string& one) { return stem == one || stem.starts_with(one + "_"); });
  return of.empty() ? first([&](const std::string& one) { return has_word(one, name); }) : of;
}

bool is_asked(const Test& test, const std::vector<std::string>& asked) {
  return asked.empty() || std::any_of(asked.begin(), asked.end(), [&](const std::string& name) {
           // Filters are several operations.
           return name == test.operation ||
                  (test.name.find("filter") != std::string::npos && has_word(name, test.name));
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
  std::vector<std::string> names = operation_names();
  names.insert(names.begin(), "blur");
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
                 .got = listed.text()});
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
