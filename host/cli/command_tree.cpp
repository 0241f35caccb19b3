#include "cli/command_tree.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sstream>

namespace smem::cli {

// CLI11 describes a set of values as "TEXT:{a,b}", other checks as "TEXT:FILE".
OptionText option_text(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames())
    text.names.push_back(fmt::format("-{}", name));
  for (const std::string& name : option.get_lnames())
    text.names.push_back(fmt::format("--{}", name));
  if (text.names.empty()) text.names.push_back(option.get_name(true));
  text.description = option.get_description();
  if (option.get_items_expected_max() == 0) return text;
  text.usual = option.get_default_str();
  std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.rfind('}');
  if (begin != std::string::npos && end != std::string::npos) {
    std::istringstream values(type.substr(begin + 1, end - begin - 1));
    for (std::string value; std::getline(values, value, ',');)
      text.values.push_back(value);
    type.erase(begin, end + 1 - begin);
  }
  while (!type.empty() && type.back() == ':')
    type.pop_back();
  text.is_file = type.find("FILE") != std::string::npos || type.find("PATH") != std::string::npos;
  text.value = type.substr(type.rfind(':') + 1);
  if (text.value.empty() || text.value == "TEXT") text.value = "VALUE";
  for (const char* number : {"POSITIVE", "NONNEGATIVE", "INT", "UINT", "FLOAT"}) {
    if (text.value == number || text.value.starts_with(fmt::format("{} in [", number))) text.value = "NUMBER";
  }
  return text;
}

namespace {

CommandText described(const CLI::App& app, const std::string& above) {
  CommandText text;
  text.name = app.get_name();
  text.path = above.empty() ? text.name : fmt::format("{} {}", above, text.name);
  text.description = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->nonpositional() ? text.options : text.positionals).push_back(option_text(*option));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    text.commands.push_back(described(*command, text.path));
    if (!command->get_fallthrough()) continue;
    for (const OptionText& option : text.options) {
      const std::string& name = option.names.back();
      const bool own = command->get_option_no_throw(name) != nullptr;
      if (name != "--help" && !own) text.commands.back().inherited.push_back(option);
    }
  }
  return text;
}

void append(const CommandText& command, std::vector<const CommandText*>& all) {
  all.push_back(&command);
  for (const CommandText& below : command.commands)
    append(below, all);
}

}  // namespace

CommandText command_tree(CLI::App* root) { return described(*root, ""); }

std::vector<const CommandText*> all_commands(const CommandText& root) {
  std::vector<const CommandText*> all;
  append(root, all);
  return all;
}

}  // namespace smem::cli
