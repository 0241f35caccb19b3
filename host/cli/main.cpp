// smem: see, measure and compare the library on one's own device.
#include "cli/beside.hpp"
#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/results.hpp"
#include "cli/terminal.hpp"

#include <smem/smem.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

/// Keeps files that are opened later from taking the place of a standard stream that is closed.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // What is printed fails as before; on the error stream it is dropped.
    ::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// The exit code, or failure when not all that was printed has arrived, as on a full disk.
int with_output(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  smem::cli::print_error(fmt::format("smem: cannot write the output: {}\n", std::strerror(errno)));
  return exit_code == smem::cli::kGood ? smem::cli::kFailure : exit_code;
}

/// Prints why the command failed. \returns the exit code.
int failed(const std::string& what, int exit_code) {
  using namespace smem::cli;
  std::fflush(stdout);
  print_error(fmt::format("{} {}\n", painted(stderr, Paint::red, "smem:"), what));
  return exit_code;
}

/// The option that sets this argument of the library; empty: an option of the same name, or none.
std::string_view option_of(std::string_view argument) {
  constexpr std::pair<std::string_view, std::string_view> kOptions[] = {{"tile_rows", "--tile"},
                                                                        {"tile_cols", "--tile"},
                                                                        {"work_items", "--work-items"},
                                                                        {"device", "--device"}};
  for (const auto& [name, option] : kOptions)
    if (name == argument) return option;
  return {};
}

/// An argument that the library refuses comes from the command line, unless the environment gave it or a
/// call of OpenCL failed with it.
int refused(const smem::Error& error) {
  const smem::ErrorDetails& details = error.details();
  if (details.argument.empty() || details.argument.starts_with("SMEM_") || details.code != 0 ||
      !details.build_log.empty())
    return failed(error.what(), smem::cli::kFailure);
  const std::string_view option = option_of(details.argument);
  return failed(option.empty() ? error.what() : fmt::format("{}: {}", option, error.what()),
                smem::cli::kUsage);
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): a throw before the try block is a fault of this program
int main(int argc, char** argv) {
  using namespace smem::cli;
  hold_standard_streams();
  end_on_interrupt();
  int exit_code = kGood;
  CLI::App app("OpenCL kernels around local memory: explain, measure and tune them on your devices.", "smem");
  CLI::App* const root = &app;
  set_help(app);
  root->set_version_flag("--version", "smem " SMEM_VERSION);
  root->require_subcommand(1, 1);
  root->footer(
      "Exit codes: 0 success, 1 failure, 2 usage, 130 interrupted. Without --device: SMEM_DEVICE, else the "
      "best "
      "GPU, else a CPU.");
  add_devices(root, exit_code);
  add_explain(root);
  add_ladder(root, exit_code);
  add_roofline(root, exit_code);
  add_bench(root, exit_code);
  add_selftest(root, exit_code);
  add_tune(root, exit_code);
  add_cache(root, exit_code);
  add_completion(root);
  add_man(root);

  // Benchmarks compare what smem ships, whatever was tuned here. Variables are read by contexts, which open
  // later.
  for (const char* name : {"bench", "ladder", "roofline"})
    root->get_subcommand(name)->preparse_callback([](std::size_t) { ::setenv("SMEM_TUNING", "0", 1); });

  recorded().command = "smem";
  for (int i = 1; i < argc; ++i)
    recorded().command.append(" ").append(argv[i]);

  try {
    if (argc > 1 && std::strcmp(argv[1], "--complete") == 0)
      return complete(root, std::vector<std::string>(argv + 2, argv + argc));
    take_beside(std::vector<std::string>(argv + 1, argv + std::max(argc, 1)));
    return with_output(parse(app, argc, argv) ? exit_code : kUsage);
  } catch (const ChildFailed& child) {
    return child.exit_code;
  } catch (const smem::Error& error) {
    return refused(error);
  } catch (const std::exception& error) {
    return failed(error.what(), kFailure);
  }
}
