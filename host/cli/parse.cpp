// The command line's own errors.
#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smem::cli {

namespace {

/// How many letters must be put in, taken out or replaced (Levenshtein's distance).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t before = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = before + (a[i] == b[j] ? 0 : 1);
      before = row[j + 1];
      row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, replaced});
    }
  }
  return row.back();
}

/// Names the first word that stands for a command and is none, and the nearest one; empty: there is no such
/// word.
std::string unknown_command(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* at = &root;
  std::string path = root.get_name();
  for (const std::string& word : words) {
    const auto all = at->get_subcommands(
        [&](const CLI::App* app) { return !app->get_group().empty() || app->get_name() == word; });
    if (all.empty() || word.starts_with('-')) return {};
    const auto nearest = std::min_element(all.begin(), all.end(), [&](const CLI::App* a, const CLI::App* b) {
      return distance(word, a->get_name()) < distance(word, b->get_name());
    });
    if ((*nearest)->get_name() != word)
      return fmt::format("no command \"{}\" of {}; the nearest is \"{}\"", word, path,
                         (*nearest)->get_name());
    at = *nearest;
    path += " " + word;
  }
  return {};
}

/// What an option takes, in words; CLI11 would print its own names of types and checks.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const OptionText text = option_text(*option);
    if (text.value.empty()) return {};
    const bool is_listed = !option->nonpositional() && !text.values.empty();
    const int most = option->get_items_expected_max();
    return fmt::format("{}{}", is_listed ? "" : " " + text.value,
                       most == 2  ? " " + text.value
                       : most > 2 ? " ..."
                                  : "");
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const OptionText text = option_text(*option);
    std::string words = text.description;
    if (!text.values.empty()) words += fmt::format(" ({})", fmt::join(text.values, ", "));
    if (!text.usual.empty()) words += fmt::format(" [{}]", text.usual);
    return words;
  }
};

}  // namespace

void set_help(CLI::App& app) { app.formatter(std::make_shared<HelpFormatter>()); }

bool parse(CLI::App& app, int argc, char** argv) {
  if (argc < 2) {
    print_fitted(app.help());
    return true;
  }
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::CallForHelp&) {
    print_fitted(app.help());
    return true;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error) == 0;  // --version ends here too
    std::string what = unknown_command(app, std::vector<std::string>(argv + 1, argv + argc));
    if (what.empty()) what = error.what();
    // CLI11 says first which command is missing.
    if (const auto unknown = app.remaining(true);
        !unknown.empty() && what.find(unknown.front()) == std::string::npos)
      what = fmt::format("The following argument was not expected: {}", unknown.front());
    std::replace(what.begin(), what.end(), '\n', ' ');
    fmt::print(stderr, "{}: {}\n", app.get_name(), what);
    return false;
  }
}

}  // namespace smem::cli
