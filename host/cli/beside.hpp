/// Programs beside the command, which do what needs libraries that the command is not linked with. They take
/// the command's words: "smem bench NAME …" runs the program of that name with "bench …".
#pragma once

#include "cli/cli11.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace smem::cli {

/// A program, and what the commands that it adds to say of it.
struct Beside {
  std::string_view name;     ///< the command's word
  std::string_view program;  ///< its file
  std::string_view folder;   ///< in the build folder, from the command's
  std::string_view needs;    ///< what it is built with
};

/// Below `command`, one for each program: "smem bench distributed". `what`: the program's own word.
void add_beside(CLI::App* command, const std::string& what, const std::string& summary);
/// Goes on as a program where the words after "smem" are a command's and the program's name, whatever comes
/// then: an operation's name would be taken for a command of smem's own.
void take_beside(const std::vector<std::string>& words);
/// Whether a launcher, such as mpirun, has started this process as one of several.
bool is_one_of_several();
/// Goes on as the program. \throws Error when it is not there.
[[noreturn]] void become_beside(std::string_view name, const std::vector<std::string>& arguments);

}  // namespace smem::cli
