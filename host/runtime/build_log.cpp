#include "runtime/build_log.hpp"

#include "formatted.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <vector>

namespace smem::runtime {

namespace {

constexpr std::size_t kMostErrors = 50;  // searched for one whose place is in the source
constexpr std::size_t kMostText = 1000;  // letters of a line of source that are shown

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The decimal number that a text begins with, taken from it.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

/// A line of an expanded source and where it comes from.
struct Line {
  std::string_view file;
  std::size_t number;
  std::string_view text;
};

struct Directive {
  std::size_t number;
  std::string_view file;  ///< empty: as before
};

/// Of a well-formed `#line NUMBER` or `#line NUMBER "NAME"`; a compiler complains of others.
std::optional<Directive> line_directive(std::string_view text) {
  constexpr std::string_view kLine = "#line ";
  if (!text.starts_with(kLine)) return std::nullopt;
  text = without_blanks(text.substr(kLine.size()));
  const std::optional<std::size_t> number = take_number(text);
  if (!number) return std::nullopt;
  text = without_blanks(text);
  if (text.empty() || text.front() != '"') return Directive{*number, {}};
  const std::size_t end = text.find('"', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return Directive{*number, text.substr(1, end - 1)};
}

std::vector<Line> lines_of(std::string_view source) {
  std::vector<Line> lines;
  std::string_view file;
  std::size_t number = 0;
  while (!source.empty()) {
    const std::string_view text = next_line(source);
    const std::optional<Directive> directive = line_directive(text);
    if (directive) {
      number = directive->number - 1;  // of this line; the next has the directive's
      if (!directive->file.empty()) file = directive->file;
      lines.push_back({file, 0, {}});
    } else {
      lines.push_back({file, ++number, text});
    }
  }
  return lines;
}

/// The place of a compiler's message.
struct Place {
  std::string_view file;
  std::size_t line;
  std::size_t column;     ///< from 1; 0: unknown
  std::string_view rest;  ///< what follows in the log's line
};

bool is_name(char c) { return std::string_view(" \t\n\v\f\r:()").find(c) == std::string_view::npos; }

/// The first "NAME:LINE:COLUMN", "NAME:LINE:" or "NAME(LINE)" in a line.
std::optional<Place> place_in(std::string_view line) {
  for (std::size_t begin = 0; begin < line.size();) {
    if (!is_name(line[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < line.size() && is_name(line[end]))
      ++end;
    const std::string_view file = line.substr(begin, end - begin);
    begin = end;
    if (end == line.size() || (line[end] != ':' && line[end] != '(')) continue;
    if (file.find_first_not_of("0123456789") == std::string_view::npos) continue;
    std::string_view rest = line.substr(end + 1);
    const std::optional<std::size_t> number = take_number(rest);
    if (!number || rest.empty() || std::string_view(":),").find(rest.front()) == std::string_view::npos)
      continue;
    rest.remove_prefix(1);
    std::string_view behind = rest;
    const std::optional<std::size_t> column = take_number(behind);
    if (column) rest = behind;
    return Place{file, *number, column.value_or(0), rest};
  }
  return std::nullopt;
}

/// Of the rest of a line, what a person reads.
std::string_view message_in(std::string_view rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(": \t>),"), rest.size()));
  constexpr std::string_view kError = "error: ";
  if (rest.starts_with(kError)) rest.remove_prefix(kError.size());
  return rest;
}

/// The index of the line that a place means: by its file, or, of a compiler that ignores #line, by its number
/// in the whole text.
std::optional<std::size_t> index_of(const std::vector<Line>& lines, const Place& place) {
  if (!place.file.ends_with(".cl") && !place.file.ends_with(".clh")) {
    if (place.line == 0 || place.line > lines.size() || lines[place.line - 1].number == 0)
      return std::nullopt;
    return place.line - 1;
  }
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
    return line.number == place.line && line.number != 0 && !line.file.empty() &&
           place.file.ends_with(line.file);
  });
  if (found == lines.end()) return std::nullopt;
  return static_cast<std::size_t>(found - lines.begin());
}

/// What is shown above the log.
struct Shown {
  std::size_t index;   ///< of the line
  std::size_t column;  ///< from 1; 0: none
  std::string_view message;
};

struct Problem {
  std::vector<Place> places;  ///< of the error, then of the macros that it is in
  std::string_view message;
};

/// The error in the log's first line.
Problem problem_at(std::string_view log) {
  const std::string_view first = next_line(log);
  Problem problem;
  const std::optional<Place> place = place_in(first);
  if (!place) return problem;
  problem.places.push_back(*place);
  problem.message = message_in(place->rest);
  // PoCL: "NAME:LINE:COLUMN <Spelling=NAME:LINE:COLUMN>: MESSAGE", the second of them in the macro.
  constexpr std::string_view kSpelling = " <Spelling=";
  if (place->rest.starts_with(kSpelling)) {
    const std::string_view inner = place->rest.substr(kSpelling.size());
    if (const std::optional<Place> spelled = place_in(inner)) {
      problem.places.push_back(*spelled);
      problem.message = message_in(spelled->rest);
    }
  }
  // Clang: notes below the error.
  while (!log.empty() && problem.places.size() < kMostErrors) {
    const std::string_view line = next_line(log);
    const std::optional<Place> found = place_in(line);
    if (found && line.find("error") != std::string_view::npos) break;
    if (found && line.find("expanded from macro") != std::string_view::npos) problem.places.push_back(*found);
  }
  return problem;
}

/// "#define NAME (BODY)", which a plan makes of an expression that cannot be a function.
struct Macro {
  std::string_view name, body;
  std::size_t column;  ///< where the body begins, from 1
};

std::optional<Macro> macro_in(std::string_view text) {
  constexpr std::string_view kDefine = "#define ";
  const std::size_t open = text.find(" (", kDefine.size());
  if (!text.starts_with(kDefine) || open == std::string_view::npos || !text.ends_with(')'))
    return std::nullopt;
  const std::size_t begin = open + 2;
  return Macro{text.substr(kDefine.size(), open - kDefine.size()),
               text.substr(begin, text.size() - begin - 1), begin + 1};
}

/// What of the caller's own a line of a kernel holds, by a macro of the first `own` lines.
std::optional<Shown> used_in(const std::vector<Line>& lines, std::size_t own, const Shown& use) {
  for (std::size_t i = 0; i < own; ++i) {
    const std::optional<Macro> macro = macro_in(lines[i].text);
    if (macro && lines[use.index].text.find(macro->name) != std::string_view::npos)
      return Shown{i, macro->column, use.message};
  }
  return std::nullopt;
}

std::string marked(Line line, Shown shown, bool by_plan) {
  if (const std::optional<Macro> macro = by_plan ? macro_in(line.text) : std::nullopt) {
    line.text = macro->body;
    if (shown.column != 0) {
      shown.column =
          std::clamp(shown.column, macro->column, macro->column + line.text.size()) - macro->column + 1;
    }
  }
  const std::string_view text = line.text.substr(0, kMostText);
  std::string result = formatted("{}:{}: ", line.file, line.number);
  const std::size_t margin = result.size();
  result += text;
  result += '\n';
  if (shown.column == 0 || shown.column > text.size() + 1) return result;
  result.append(margin, ' ');
  for (std::size_t i = 0; i + 1 < shown.column; ++i)
    result += text[i] == '\t' ? '\t' : ' ';
  return result + formatted("^ {}\n", shown.message);
}

/// A function that the linker does not find, which it says without a place: where the caller's own text calls
/// it.
std::optional<Shown> unresolved_in(std::string_view log, const std::vector<Line>& lines, std::size_t own) {
  constexpr std::string_view kUnresolved = "Unresolved extern function '";
  const std::size_t found = log.find(kUnresolved);
  if (found == std::string_view::npos) return std::nullopt;
  std::string_view name = log.substr(found + kUnresolved.size());
  name = name.substr(0, name.find('\''));
  for (std::size_t i = 0; i < own; ++i) {
    const Line& line = lines[i];
    const std::size_t column = line.text.find(name);
    if (line.number == 0 || line.file.empty() || line.file == kWrapper || column == std::string_view::npos)
      continue;
    return Shown{i, column + 1, "no such function"};
  }
  return std::nullopt;
}

}  // namespace

std::string explained_log(std::string_view log, std::string_view preamble, std::string_view source) {
  const std::vector<Line> lines = lines_of(source);
  const auto own = static_cast<std::size_t>(std::count(preamble.begin(), preamble.end(), '\n'));
  std::string_view rest = log;
  for (std::size_t errors = 0; !rest.empty() && errors < kMostErrors;) {
    const std::string_view from_here = rest;
    const std::string_view line = next_line(rest);
    if (line.find("error") == std::string_view::npos || !place_in(line)) continue;
    ++errors;
    std::optional<Shown> shown;
    const Problem problem = problem_at(from_here);
    for (const Place& place : problem.places) {
      const std::optional<std::size_t> index = index_of(lines, place);
      if (!index) continue;
      const bool is_own = *index < own;
      if (!shown || is_own) shown = Shown{*index, place.column, problem.message};
      if (is_own) break;
    }
    if (!shown) continue;
    if (shown->index >= own) shown = used_in(lines, own, *shown).value_or(*shown);
    if (shown->index < own && lines[shown->index].file == kWrapper) {
      for (std::size_t i = shown->index; i-- > 0;) {
        if (lines[i].number == 0 || lines[i].file == kWrapper || lines[i].file.empty()) continue;
        shown->index = i;
        shown->column = lines[i].text.size() + 1;
        break;
      }
    }
    return marked(lines[shown->index], *shown, shown->index < own && own < lines.size()) + std::string(log);
  }
  if (const std::optional<Shown> shown = unresolved_in(log, lines, own))
    return marked(lines[shown->index], *shown, own < lines.size()) + std::string(log);
  return std::string(log);
}

}  // namespace smem::runtime
