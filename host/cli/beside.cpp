// Finds the programs beside the command, and goes on as one of them.
#include "cli/beside.hpp"

#include <smem/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace smem::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::array<Beside, 1> kBeside = {{
    {"distributed", "smem_distributed", "../distributed",
     "StarPU and MPI (Debian: libstarpu-dev libopenmpi-dev openmpi-bin)"},
}};

}  // namespace

void add_beside(CLI::App* command, const std::string& what, const std::string& summary) {
  for (const Beside& one : kBeside) {
    CLI::App* const added = command->add_subcommand(std::string(one.name), summary);
    added->set_help_flag();  // the program's own help
    added->prefix_command();
    added->callback([added, what, &one] {
      std::vector<std::string> arguments = added->remaining();
      arguments.insert(arguments.begin(), what);
      become_beside(one.name, arguments);
    });
  }
}

void take_beside(const std::vector<std::string>& words) {
  if (words.size() < 2 || (words[0] != "bench" && words[0] != "explain")) return;
  for (const Beside& one : kBeside) {
    if (words[1] != one.name) continue;
    std::vector<std::string> arguments(words.begin() + 2, words.end());
    arguments.insert(arguments.begin(), words[0]);
    become_beside(one.name, arguments);
  }
}

bool is_one_of_several() {
  // Open MPI's, and those of launchers that speak PMI: MPICH, Intel MPI, Slurm.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* ranks = std::getenv(name); ranks != nullptr && std::atoi(ranks) > 1) return true;
  return false;
}

void become_beside(std::string_view name, const std::vector<std::string>& arguments) {
  const Beside* found = nullptr;
  for (const Beside& one : kBeside)
    if (one.name == name) found = &one;
  std::error_code error;
  const fs::path folder = fs::canonical("/proc/self/exe", error).parent_path();
  for (const fs::path& place : {fs::path(SMEM_LIBEXEC_FROM_BIN) / "smem", fs::path(found->folder)}) {
    const fs::path program = (folder / place / found->program).lexically_normal();
    if (!fs::is_regular_file(program, error)) continue;
    std::vector<std::string> words = arguments;
    words.insert(words.begin(), program.string());
    std::vector<char*> pointers;
    for (std::string& word : words)
      pointers.push_back(word.data());
    pointers.push_back(nullptr);
    std::fflush(stdout);
    execv(program.c_str(), pointers.data());
    throw Error({.operation = std::string(name), .got = std::strerror(errno), .call = "execv"});
  }
  throw Error(
      {.operation = std::string(name),
       .expected = fmt::format("{} beside this command: smem built with {}", found->program, found->needs),
       .got = "no such file"});
}

}  // namespace smem::cli
