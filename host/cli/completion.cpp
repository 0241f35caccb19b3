// smem completion: scripts by which shells complete smem's command line. They ask the command itself
// (smem --complete WORDS...), which knows its own words.
#include "cli/command_tree.hpp"
#include "cli/commands.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace smem::cli {

namespace {

constexpr std::string_view kFiles = ":files";  // a line that stands for the names of files

constexpr const char* kBash = R"(# bash completion of smem; made by: smem completion bash
_smem() {
  local current=${COMP_WORDS[COMP_CWORD]} word
  [ "$current" != = ] || current=
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    if [ "$word" = :files ]; then
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
    else
      COMPREPLY+=("$word")
    fi
  done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _smem smem
)";

constexpr const char* kZsh = R"(#compdef smem
# zsh completion of smem; made by: smem completion zsh
_smem() {
  local -a found
  local line
  for line in "${(@f)$(${words[1]} --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      (:files) _files ;;
      (?*) found+=("${${line//:/\\:}/$'\t'/:}") ;;
    esac
  done
  _describe smem found
}
if [ "${funcstack[1]}" = _smem ]; then _smem "$@"; else compdef _smem smem; fi
)";

constexpr const char* kFish = R"(# fish completion of smem; made by: smem completion fish
function __smem_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] --complete $words[2..-1] 2>/dev/null
end
complete -c smem -f -a '(__smem_complete | string match -v :files)'
complete -c smem -n '__smem_complete | string match -q :files' -F
)";

/// What can stand at a place, with a description each.
class Choices {
 public:
  explicit Choices(std::string_view current) : current_(current) {}
  void add(std::string_view word, std::string_view description) const {
    if (word.starts_with(current_)) fmt::print("{}\t{}\n", word, description);
  }
  void add_values(const OptionText& option) const {
    for (const std::string& value : option.values)
      add(value, option.description);
    if (option.is_file) fmt::print("{}\n", kFiles);
  }

 private:
  std::string_view current_;
};

/// The command that words name, as long as they are a path in the tree.
const CommandText& command_at(const CommandText& root, const std::vector<std::string>& words) {
  const CommandText* at = &root;
  for (const std::string& word : words) {
    const auto below = std::find_if(at->commands.begin(), at->commands.end(),
                                    [&](const CommandText& command) { return command.name == word; });
    if (below != at->commands.end()) at = &*below;
  }
  return *at;
}

}  // namespace

int complete(CLI::App* root, std::vector<std::string> words) {
  std::string current = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  if (current == "=") current.clear();  // bash takes --option=value apart
  std::erase(words, "=");
  const CommandText tree = command_tree(root);
  const CommandText& command = command_at(tree, words);
  std::vector<OptionText> options = command.options;
  options.insert(options.end(), command.inherited.begin(), command.inherited.end());
  const Choices choices(current);
  for (const OptionText& option : options) {
    const bool is_previous = !words.empty() && std::find(option.names.begin(), option.names.end(),
                                                         words.back()) != option.names.end();
    if (!is_previous || option.value.empty()) continue;
    choices.add_values(option);
    return kGood;
  }
  for (const CommandText& below : command.commands)
    choices.add(below.name, below.description);
  for (const OptionText& option : command.positionals)
    choices.add_values(option);
  if (!current.starts_with('-')) return kGood;
  for (const OptionText& option : options)
    for (const std::string& name : option.names)
      choices.add(name, option.description);
  return kGood;
}

void add_completion(CLI::App* root) {
  CLI::App* const command =
      root->add_subcommand("completion", "Print a script by which a shell completes smem's command line");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "The shell: bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "bash: source <(smem completion bash). zsh: the same after compinit. fish: smem completion fish | "
      "source");
  command->callback([shell] { fmt::print("{}", *shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish); });
}

}  // namespace smem::cli
