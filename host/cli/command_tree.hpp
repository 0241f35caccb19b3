/// The command line as a tree of plain values: what completion scripts and the manual page are made from.
#pragma once

#include "cli/cli11.hpp"

#include <string>
#include <vector>

namespace smem::cli {

struct OptionText {
  std::vector<std::string> names;  ///< "-d", "--device"; of a positional one its name alone
  std::string description;
  std::string value;                ///< "FILE", "SIZE"; empty for a flag
  std::vector<std::string> values;  ///< all that it takes, where they can be listed
  std::string usual;                ///< the value without the option
  bool is_file = false;             ///< whether the value is the name of a file
};

struct CommandText {
  std::string path;  ///< "smem bench gemm"
  std::string name;  ///< "gemm"
  std::string description;
  std::vector<OptionText> options, positionals;
  std::vector<OptionText> inherited;  ///< options of the command above that can stand here too
  std::vector<CommandText> commands;
};

OptionText option_text(const CLI::Option& option);

/// Hidden options and commands are left out.
CommandText command_tree(CLI::App* root);

/// All commands of the tree, each before those below it.
std::vector<const CommandText*> all_commands(const CommandText& root);

}  // namespace smem::cli
