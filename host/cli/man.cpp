// smem man: the manual page, made from the command line itself. Hidden: it is for the build, which installs
// the page.
#include "cli/command_tree.hpp"
#include "cli/commands.hpp"

#include <smem/version.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <string>
#include <utility>

namespace smem::cli {

namespace {

constexpr std::pair<const char*, const char*> kExitCodes[] = {
    {"0", "Good."},
    {"1", "Failure: an error, a wrong result, or a goal that was missed."},
    {"2", "The command line is wrong."},
    {"130", "Interrupted (Ctrl-C)."},
};

constexpr std::pair<const char*, const char*> kEnvironment[] = {
    {"SMEM_DEVICE",
     "The device to use when no other is asked for: an index, a part of a device's or platform's name, or "
     "gpu, cpu, accelerator."},
    {"SMEM_CACHE_DIR",
     "Folder of the program cache; else $XDG_CACHE_HOME/smem, else ~/.cache/smem. Not used where other users "
     "can write or replace it."},
    {"SMEM_CACHE_LIMIT",
     "Its size limit in MiB, a whole number (256); the least recently used entries are removed first."},
    {"SMEM_CACHE", "0 or off: no cache on disk."},
    {"SMEM_TUNING", "0 or off: tuned plans are not used."},
    {"SMEM_TUNING_DIR",
     "Folder of tuned plans; else $XDG_DATA_HOME/smem/tuning, else ~/.local/share/smem/tuning."},
    {"SMEM_FAILURES", "0 or off: variants that failed smem selftest --remember are not avoided."},
    {"SMEM_CLAMP", "Pretend a smaller device, for example local=32K,work_group=64."},
    {"SMEM_KERNEL_DIR", "Read the kernels from this folder instead of the library."},
    {"SMEM_TRACE",
     "One line on the error stream for each program built or loaded, and for each cache or tuning file that "
     "is not trusted."},
    {"NO_COLOR", "No colours, also on a terminal."},
};

constexpr std::pair<const char*, const char*> kExamples[] = {
    {"smem devices", "List the devices."},
    {"smem explain transpose 4096x4096 float --run", "Print the plan, its reasons and its time."},
    {"smem bench reduce --goals", "Reductions beside the device's own copy."},
    {"smem tune transpose --minutes 5", "Search for plans that are faster here."},
    {"smem cache warm scan select", "Build what scans and selections need."},
};

/// Text that roff takes as it is: its own characters escaped, and no line that begins as a request does.
std::string plain(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) {
      (result += "\\&") += c;
    } else {
      result += c;
    }
  }
  return result;
}

std::string bold(const std::string& text) { return fmt::format("\\fB{}\\fR", plain(text)); }
std::string italic(const std::string& text) { return fmt::format("\\fI{}\\fR", plain(text)); }

std::string entry(const std::string& head, const std::string& body) {
  return fmt::format(".TP\n{}\n{}\n", head, body.empty() ? "\\&" : plain(body));
}

std::string option_entry(const OptionText& option, bool is_positional) {
  std::string head;
  for (const std::string& name : option.names)
    head += fmt::format("{}{}", head.empty() ? "" : ", ", is_positional ? italic(name) : bold(name));
  if (!option.value.empty() && !is_positional) head += fmt::format(" {}", italic(option.value));
  std::string body = option.description;
  if (!option.usual.empty()) body += fmt::format(" [{}]", option.usual);
  if (!option.values.empty()) body += fmt::format(" ({})", fmt::join(option.values, ", "));
  return entry(head, body);
}

std::string command_section(const CommandText& command) {
  std::string head = bold(command.path), options;
  for (const OptionText& option : command.positionals)
    head += fmt::format(" {}", italic(option.names.front()));
  // Each command has --help; it is listed once.
  for (const OptionText& option : command.options) {
    if (option.names.back() != "--help") options += option_entry(option, false);
  }
  if (!options.empty()) head += fmt::format(" [{}]", italic("options"));
  std::string text = fmt::format(".SS {}\n{}\n", head, plain(fmt::format("{}.", command.description)));
  for (const OptionText& option : command.positionals)
    text += option_entry(option, true);
  return text + options;
}

std::string page(const CommandText& root) {
  std::string text =
      fmt::format(".TH SMEM 1 \"\" \"smem {}\" \"User Commands\"\n.SH NAME\nsmem \\- {}\n", SMEM_VERSION,
                  "OpenCL kernels around local memory: see, measure and compare them");
  text +=
      ".SH SYNOPSIS\n\\fBsmem\\fR \\fIcommand\\fR [\\fIoptions\\fR]\n.br\n\\fBsmem\\fR \\fIcommand\\fR "
      "\\fB\\-\\-help\\fR\n";
  text += fmt::format(".SH DESCRIPTION\n{}\n", plain(root.description));
  text += ".SH OPTIONS\n";
  for (const OptionText& option : root.options)
    text += option_entry(option, false);
  text += ".SH COMMANDS\n";
  for (const CommandText* command : all_commands(root)) {
    // A command that is but the sum of those below it needs no section of its own.
    if (command != &root && (command->commands.empty() || command->options.size() > 1))
      text += command_section(*command);
  }
  text += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitCodes)
    text += entry(bold(code), meaning);
  text += ".SH ENVIRONMENT\n";
  for (const auto& [name, meaning] : kEnvironment)
    text += entry(bold(name), meaning);
  text += ".SH EXAMPLES\n";
  for (const auto& [example, meaning] : kExamples)
    text += entry(bold(example), meaning);
  return text;
}

}  // namespace

void add_man(CLI::App* root) {
  CLI::App* const command = root->add_subcommand("man", "Print the manual page")->group("");
  command->callback([root] { fmt::print("{}", page(command_tree(root))); });
}

}  // namespace smem::cli
