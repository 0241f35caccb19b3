// The command line's own errors.
#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <memory>
#include <numeric>
#include <sstream>
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

/// A name, and what help says of it.
struct Named {
  std::string name, description;
};

std::string in_words(std::string_view text) {
  std::string words(text);
  for (char& letter : words)
    letter = letter == '_' || letter == '-' ? ' ' : static_cast<char>(std::tolower(letter & 0x7f));
  return words;
}

/// The name that a word was meant for: one of few other letters, else the first one that has the word in it
/// or in its description, as "gaussian_blur" is in that of separable filters, else one that the word has in
/// it; empty: none.
std::string meant(std::string_view word, const std::vector<Named>& names) {
  const auto nearest = std::min_element(names.begin(), names.end(), [&](const Named& a, const Named& b) {
    return distance(word, a.name) < distance(word, b.name);
  });
  if (nearest == names.end() || distance(word, nearest->name) <= (word.size() + 1) / 3)
    return nearest == names.end() ? std::string() : nearest->name;
  const std::string words = in_words(word);
  for (const Named& named : names)
    if (in_words(named.name).find(words) != std::string::npos) return named.name;
  for (const Named& named : names)
    if (in_words(named.description).find(words) != std::string::npos) return named.name;
  for (const Named& named : names)
    if (words.find(in_words(named.name)) != std::string::npos) return named.name;
  return {};
}

/// Names the first word that stands for a command and is none, and what it was meant for; empty: there is no
/// such word.
std::string unknown_command(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* at = &root;
  std::string path = root.get_name();
  for (const std::string& word : words) {
    std::vector<Named> names;
    for (const CLI::App* command : at->get_subcommands([](const CLI::App*) { return true; })) {
      if (!command->get_group().empty() || command->get_name() == word)
        names.push_back({command->get_name(), command->get_description()});
    }
    if (names.empty() || word.starts_with('-')) return {};
    const std::string name = meant(word, names);
    if (name != word) {
      return fmt::format("no command \"{}\" of {}; {}", word, path,
                         name.empty() ? fmt::format("{} --help lists all", path)
                                      : fmt::format("the nearest is \"{}\"", name));
    }
    at = at->get_subcommand(name);
    path += " " + word;
  }
  return {};
}

/// CLI11's "NAME: WORD not in {VALUE,...}", with the nearest value in place of a list that is long.
std::string with_nearest(const std::string& what) {
  constexpr std::string_view kList = " not in {";
  constexpr std::size_t kLong = 80;
  const std::size_t list = what.find(kList), end = what.rfind('}');
  const std::size_t name = what.rfind(": ", list);
  if (list == std::string::npos || end < list || name == std::string::npos || what.size() < kLong)
    return what;
  const std::string word = what.substr(name + 2, list - name - 2);
  std::istringstream text(what.substr(list + kList.size(), end - list - kList.size()));
  std::vector<Named> values;
  for (std::string value; std::getline(text, value, ',');)
    values.push_back({value, {}});
  const std::string near = meant(word, values);
  return fmt::format("{}: no \"{}\"; {}", what.substr(0, name), word,
                     near.empty() ? "--help lists all" : fmt::format("the nearest is \"{}\"", near));
}

/// print_fitted() breaks lines for the terminal; CLI11 from 2.5 on would break them before, for 95 columns,
/// and leave a gap between short and long names, where print_fitted() sees a column.
template <class Formatter>
void leave_lines_whole(Formatter& formatter) {
  if constexpr (requires { formatter.right_column_width(1U); }) {
    constexpr std::size_t kWhole = 10000;
    formatter.right_column_width(kWhole);
    formatter.description_paragraph_width(kWhole);
    formatter.footer_paragraph_width(kWhole);
  }
  if constexpr (requires { formatter.long_option_alignment_ratio(1.0F); })
    formatter.long_option_alignment_ratio(6.0F / static_cast<float>(formatter.get_column_width()));
}

/// What an option takes, in words; CLI11 would print its own names of types and checks.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { leave_lines_whole(*this); }
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

/// Operations are commands too, and a command ends an option's values: names after --operations become one
/// word.
std::vector<std::string> with_joined_names(const std::vector<char*>& words) {
  std::vector<std::string> joined;
  bool is_list = false;  // names follow
  for (const std::string_view word : words) {
    if (is_list && joined.back() != "--operations" && !word.starts_with('-'))
      joined.back().append(",").append(word);
    else
      joined.emplace_back(word);
    is_list = word == "--operations" || (is_list && !word.starts_with('-'));
  }
  return joined;
}

}  // namespace

void set_help(CLI::App& app) { app.formatter(std::make_shared<HelpFormatter>()); }

bool parse(CLI::App& app, int argc, char** argv) {
  if (argc < 2) {
    print_fitted(app.help());
    return true;
  }
  // smem help COMMAND... is smem COMMAND... --help.
  std::vector<char*> words(argv, argv + argc);
  char help[] = "--help";
  if (std::string_view(argv[1]) == "help") {
    words.erase(words.begin() + 1);
    if (const std::string what = unknown_command(app, {words.begin() + 1, words.end()}); !what.empty()) {
      print_error(fmt::format("{}: {}\n", app.get_name(), what));
      return false;
    }
    words.push_back(help);
  }
  try {
    std::vector<std::string> joined = with_joined_names({words.begin() + 1, words.end()});
    std::ranges::reverse(joined);  // as CLI11 takes them
    app.parse(std::move(joined));
    return true;
  } catch (const CLI::CallForHelp&) {
    print_fitted(app.help());
    return true;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error) == 0;  // --version ends here too
    std::string what = unknown_command(app, {words.begin() + 1, words.end()});
    if (what.empty()) what = with_nearest(error.what());
    // CLI11 says first which command is missing.
    if (const auto unknown = app.remaining(true);
        !unknown.empty() && what.find(unknown.front()) == std::string::npos)
      what = fmt::format("The following argument was not expected: {}", unknown.front());
    std::replace(what.begin(), what.end(), '\n', ' ');
    print_error(fmt::format("{}: {}\n", app.get_name(), what));
    return false;
  }
}

}  // namespace smem::cli
