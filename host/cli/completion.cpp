// smem completion: scripts by which shells complete smem's command line. They are made from the command line
// itself, so they know what it knows.
//
// All three find the subcommand first: the words so far, as long as they are a path in the tree.
#include "cli/command_tree.hpp"
#include "cli/commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

std::string replaced(std::string text, char what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, 1, by);
  return text;
}

/// In single quotes, as bash and zsh have them.
std::string quoted(const std::string& text) { return fmt::format("'{}'", replaced(text, '\'', "'\\''")); }

/// 'smem bench' | 'smem bench gemm' | ...: the patterns of all commands below the root.
std::string paths(const std::vector<const CommandText*>& commands, const char* between) {
  std::vector<std::string> patterns;
  for (const CommandText* command : commands) {
    if (command != commands.front()) patterns.push_back(quoted(command->path));
  }
  return fmt::format("{}", fmt::join(patterns, between));
}

/// The patterns "path option" of an option's names.
std::string option_patterns(const CommandText& command, const OptionText& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names)
    patterns.push_back(quoted(fmt::format("{} {}", command.path, name)));
  return fmt::format("{}", fmt::join(patterns, " | "));
}

/// What can stand at a place without an option: subcommands, else the values of positional ones.
std::vector<std::string> words_of(const CommandText& command) {
  std::vector<std::string> words;
  for (const CommandText& below : command.commands)
    words.push_back(below.name);
  for (const OptionText& option : command.positionals)
    words.insert(words.end(), option.values.begin(), option.values.end());
  return words;
}

/// The command's own options, and those of the command above that can stand after it.
std::vector<OptionText> options_of(const CommandText& command) {
  std::vector<OptionText> all = command.options;
  all.insert(all.end(), command.inherited.begin(), command.inherited.end());
  return all;
}

bool takes_files(const CommandText& command) {
  for (const OptionText& option : command.positionals) {
    if (option.is_file) return true;
  }
  return false;
}

std::string bash_script(const CommandText& root) {
  const std::vector<const CommandText*> commands = all_commands(root);
  std::string script = fmt::format(R"(# bash completion of smem; made by: smem completion bash
# shellcheck disable=SC2207  # no word holds a blank
_smem() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} at=smem i
  if [ "$current" = = ]; then
    current=
  elif [ "$previous" = = ]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at ${{COMP_WORDS[i]}}" in
      {}) at="$at ${{COMP_WORDS[i]}}" ;;
    esac
  done
  COMPREPLY=()
  case "$at $previous" in
)",
                                   paths(commands, " | "));
  for (const CommandText* command : commands) {
    for (const OptionText& option : options_of(*command)) {
      if (option.value.empty()) continue;
      const std::string action = option.is_file ? "COMPREPLY=($(compgen -f -- \"$current\")); "
                                 : option.values.empty()
                                     ? ""
                                     : fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$current\")); ",
                                                   fmt::join(option.values, " "));
      script += fmt::format("    {}) {}return ;;\n", option_patterns(*command, option), action);
    }
  }
  script += "  esac\n  case \"$at\" in\n";
  for (const CommandText* command : commands) {
    std::vector<std::string> options;
    for (const OptionText& option : options_of(*command))
      options.insert(options.end(), option.names.begin(), option.names.end());
    const std::vector<std::string> words = words_of(*command);
    script += fmt::format("    {})\n      COMPREPLY=($(compgen -W '{}' -- \"$current\"))\n",
                          quoted(command->path), fmt::join(words, " "));
    if (takes_files(*command)) script += "      COMPREPLY+=($(compgen -f -- \"$current\"))\n";
    script += fmt::format(
        "      case \"$current\" in -*) COMPREPLY+=($(compgen -W '{}' -- \"$current\")) ;; esac ;;\n",
        fmt::join(options, " "));
  }
  return script + "  esac\n}\ncomplete -F _smem smem\n";
}

/// "name:description", as zsh's _describe takes it.
std::string zsh_entry(const std::string& name, const std::string& description) {
  return quoted(fmt::format("{}:{}", replaced(name, ':', "\\:"), description));
}

std::string zsh_script(const CommandText& root) {
  const std::vector<const CommandText*> commands = all_commands(root);
  std::string script = fmt::format(R"(#compdef smem
# zsh completion of smem; made by: smem completion zsh
_smem() {{
  local at=smem
  integer i
  for ((i = 2; i < CURRENT; i++)); do
    case "$at ${{words[i]}}" in
      ({}) at="$at ${{words[i]}}" ;;
    esac
  done
  case "$at ${{words[CURRENT - 1]}}" in
)",
                                   paths(commands, " | "));
  for (const CommandText* command : commands) {
    for (const OptionText& option : options_of(*command)) {
      if (option.value.empty()) continue;
      const std::string action = option.is_file ? "_files"
                                 : option.values.empty()
                                     ? fmt::format("_message {}", quoted(option.description))
                                     : fmt::format("compadd -- {}", fmt::join(option.values, " "));
      script += fmt::format("    ({}) {}; return ;;\n", option_patterns(*command, option), action);
    }
  }
  script += "  esac\n  local -a found options\n  case \"$at\" in\n";
  for (const CommandText* command : commands) {
    script += fmt::format("    ({})\n      found=(", quoted(command->path));
    for (const CommandText& below : command->commands)
      script += fmt::format("\n        {}", zsh_entry(below.name, below.description));
    for (const OptionText& option : command->positionals) {
      for (const std::string& value : option.values)
        script += fmt::format("\n        {}", zsh_entry(value, option.description));
    }
    script += ")\n      options=(";
    for (const OptionText& option : options_of(*command)) {
      for (const std::string& name : option.names)
        script += fmt::format("\n        {}", zsh_entry(name, option.description));
    }
    script += takes_files(*command) ? ")\n      _files ;;\n" : ") ;;\n";
  }
  return script +
         "  esac\n  [[ ${words[CURRENT]} == -* ]] && _describe option options\n"
         "  _describe command found\n}\n"
         "if [ \"${funcstack[1]}\" = _smem ]; then _smem \"$@\"; else compdef _smem smem; fi\n";
}

/// In single quotes, as fish has them.
std::string fish_quoted(const std::string& text) {
  return fmt::format("'{}'", replaced(replaced(text, '\\', "\\\\"), '\'', "\\'"));
}

std::string fish_script(const CommandText& root) {
  const std::vector<const CommandText*> commands = all_commands(root);
  std::string script = fmt::format(R"(# fish completion of smem; made by: smem completion fish
function __smem_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l at smem
    for word in $words
        switch "$at $word"
            case {}
                set at "$at $word"
        end
    end
    test "$at" = "$argv"
end
complete -c smem -f
)",
                                   paths(commands, " "));
  for (const CommandText* command : commands) {
    const std::string start = fmt::format("complete -c smem -n '__smem_at {}'", command->path);
    for (const CommandText& below : command->commands)
      script += fmt::format("{} -a {} -d {}\n", start, below.name, fish_quoted(below.description));
    for (const OptionText& option : command->positionals) {
      if (option.is_file) script += fmt::format("{} -F\n", start);
      if (!option.values.empty()) {
        script += fmt::format("{} -a '{}' -d {}\n", start, fmt::join(option.values, " "),
                              fish_quoted(option.description));
      }
    }
    for (const OptionText& option : options_of(*command)) {
      std::string names;
      for (const std::string& name : option.names)
        names += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                        : fmt::format(" -s {}", name.substr(1));
      script +=
          fmt::format("{}{}{} -d {}\n", start, names,
                      option.value.empty()    ? ""
                      : option.is_file        ? " -r -F"
                      : option.values.empty() ? " -x"
                                              : fmt::format(" -x -a '{}'", fmt::join(option.values, " ")),
                      fish_quoted(option.description));
    }
  }
  return script;
}

}  // namespace

void add_completion(Command root) {
  const Command command =
      root.add_command("completion", "Print a script by which a shell completes smem's command line");
  auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, "The shell: bash, zsh or fish")
      .required()
      .one_of({"bash", "zsh", "fish"});
  command.footer(
      "bash: source <(smem completion bash). zsh: the same after compinit. fish: smem completion fish | "
      "source");
  command.on_run([shell, root] {
    const CommandText tree = command_tree(root);
    fmt::print("{}", *shell == "bash"  ? bash_script(tree)
                     : *shell == "zsh" ? zsh_script(tree)
                                       : fish_script(tree));
  });
}

}  // namespace smem::cli
