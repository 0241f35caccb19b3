#include "cli/parser.hpp"

#include <CLI/CLI.hpp>

#include <utility>

namespace smem::cli {

namespace {

std::vector<Command> handles(const std::vector<CLI::App*>& apps) {
  std::vector<Command> commands;
  for (CLI::App* app : apps)
    commands.emplace_back(app);
  return commands;
}

}  // namespace

Option Option::check(const Validator& validator) const {
  const auto fault_of = [validator](const std::string& value) {
    return validator.accepts(value) ? std::string() : validator.fault + ": " + value;
  };
  return Option(option_->check(CLI::Validator(fault_of, validator.type_name)));
}
Option Option::one_of(const std::vector<std::string>& values) const {
  return Option(option_->check(CLI::IsMember(values)));
}
Option Option::positive() const { return Option(option_->check(CLI::PositiveNumber)); }
Option Option::between(int least, int most) const { return Option(option_->check(CLI::Range(least, most))); }
Option Option::between(std::size_t least, std::size_t most) const {
  return Option(option_->check(CLI::Range(least, most)));
}
Option Option::between(double least, double most) const {
  return Option(option_->check(CLI::Range(least, most)));
}
Option Option::required() const { return Option(option_->required()); }
Option Option::needs(Option other) const { return Option(option_->needs(other.option_)); }
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }
Option Option::takes(int least, int most) const { return Option(option_->expected(least, most)); }
Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::show_default() const { return Option(option_->capture_default_str()); }
Option Option::hidden() const { return Option(option_->group("")); }

std::string Option::name() const { return option_->get_name(); }
bool Option::is_given() const { return option_->count() > 0; }

Command Command::add_command(const std::string& name, const std::string& description) const {
  return Command(app_->add_subcommand(name, description));
}
Option Command::add_option(const std::string& names, std::string& value,
                           const std::string& description) const {
  return Option(app_->add_option(names, value, description));
}
Option Command::add_option(const std::string& names, std::size_t& value,
                           const std::string& description) const {
  return Option(app_->add_option(names, value, description));
}
Option Command::add_option(const std::string& names, double& value, const std::string& description) const {
  return Option(app_->add_option(names, value, description));
}
Option Command::add_option(const std::string& names, std::vector<std::string>& values,
                           const std::string& description) const {
  return Option(app_->add_option(names, values, description));
}
Option Command::add_flag(const std::string& names, bool& value, const std::string& description) const {
  return Option(app_->add_flag(names, value, description));
}
void Command::on_run(std::function<void()> run) const { app_->callback(std::move(run)); }
void Command::on_chosen(std::function<void()> call) const {
  app_->preparse_callback([call = std::move(call)](std::size_t) { call(); });
}
void Command::require_commands(std::size_t least, std::size_t most) const {
  app_->require_subcommand(least, most);
}
void Command::fall_through() const { app_->fallthrough(); }
void Command::footer(const std::string& text) const { app_->footer(text); }
Command Command::hidden() const { return Command(app_->group("")); }

Command Command::parent() const { return Command(app_->get_parent()); }
Command Command::command(const std::string& name) const { return Command(app_->get_subcommand(name)); }
std::vector<Command> Command::commands() const {
  return handles(app_->get_subcommands([](const CLI::App*) { return true; }));
}
std::vector<Command> Command::chosen() const { return handles(app_->get_subcommands()); }
bool Command::is_given(const std::string& name) const {
  const CLI::Option* option = app_->get_option_no_throw(name);
  return option != nullptr && option->count() > 0;
}

Parser::Parser(const std::string& name, const std::string& version, const std::string& description)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", name + " " + version);
}
Parser::~Parser() = default;

bool Parser::run(int argc, char** argv) const {
  try {
    app_->parse(argc, argv);
    return true;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0;  // --help and --version end here too
  }
}

void throw_required(const std::string& what) { throw CLI::RequiredError(what); }

}  // namespace smem::cli
