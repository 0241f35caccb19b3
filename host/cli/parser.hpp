/// The command line: commands, their options, and what the values must be like. CLI11 parses it. Its headers
/// take a compiler seconds, so they are kept out of this one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace smem::cli {

struct CommandText;

/// What a value must be like.
struct Validator {
  std::function<bool(const std::string& value)> accepts;
  std::string type_name;  ///< of the value in the help: "ROWSxCOLS"
  std::string fault;      ///< of another value: "not of the form ROWSxCOLS"
};

/// An option, a flag or a positional argument of a command. A handle: copies are the same option.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option check(const Validator& validator) const;
  Option one_of(const std::vector<std::string>& values) const;
  Option positive() const;  ///< above 0
  /// Both ends are allowed. The help and the errors name their type.
  Option between(int least, int most) const;
  Option between(std::size_t least, std::size_t most) const;
  Option between(double least, double most) const;
  Option required() const;
  Option needs(Option other) const;
  Option excludes(Option other) const;
  /// How many values it takes.
  Option takes(int least, int most) const;
  /// What the help calls a value.
  Option type_name(const std::string& name) const;
  /// The help has the value that the variable has now.
  Option show_default() const;
  /// Not in the help.
  Option hidden() const;

  /// The name that errors have.
  std::string name() const;
  bool is_given() const;

 private:
  CLI::Option* option_;
};

/// A command with its options and the commands below it. A handle: copies are the same command. Variables
/// that options write to must live as long as the parser.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command add_command(const std::string& name, const std::string& description) const;
  /// `names`: "-d,--device", or of a positional argument its name alone.
  Option add_option(const std::string& names, std::string& value, const std::string& description = "") const;
  Option add_option(const std::string& names, std::size_t& value, const std::string& description) const;
  Option add_option(const std::string& names, double& value, const std::string& description) const;
  Option add_option(const std::string& names, std::vector<std::string>& values,
                    const std::string& description) const;
  Option add_flag(const std::string& names, bool& value, const std::string& description) const;
  /// Called when all is parsed, if the command was chosen; after those of the commands below it.
  void on_run(std::function<void()> run) const;
  /// Called when the command is chosen, before its options are parsed.
  void on_chosen(std::function<void()> call) const;
  /// How many of the commands below it must be chosen; `most` 0: any number.
  void require_commands(std::size_t least, std::size_t most) const;
  /// Options that it does not know are those of the command above.
  void fall_through() const;
  /// Below the options in the help.
  void footer(const std::string& text) const;
  /// Not in the help.
  Command hidden() const;

  Command parent() const;
  /// The command of this name below it.
  Command command(const std::string& name) const;
  /// All commands below it.
  std::vector<Command> commands() const;
  /// Those that were chosen.
  std::vector<Command> chosen() const;
  /// Whether it has an option of this name, and that was given.
  bool is_given(const std::string& name) const;

 private:
  friend CommandText command_tree(Command root);

  CLI::App* app_;
};

/// The whole command line.
class Parser {
 public:
  Parser(const std::string& name, const std::string& version, const std::string& description);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  Command root() const { return Command(app_.get()); }
  /// Parses, and runs what was chosen. Prints what --help and --version ask for. \returns false after an
  /// error of usage, which was printed.
  bool run(int argc, char** argv) const;

 private:
  std::unique_ptr<CLI::App> app_;
};

/// Ends the parsing with the error that `what` is required.
[[noreturn]] void throw_required(const std::string& what);

}  // namespace smem::cli
