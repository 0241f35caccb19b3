#include "cli/table.hpp"

#include "cli/terminal.hpp"
#include "cli/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

namespace smem::cli {

Table::Table(std::vector<Column> columns, std::size_t note, std::size_t width)
    : columns_(std::move(columns)),
      width_(width > 0 ? width : columns_of(stdout)),
      is_narrow_(std::accumulate(columns_.begin(), columns_.end(), note,
                                 [](std::size_t sum, const Column& c) { return sum + c.width; }) > width_) {}

std::string Table::line_of(const std::vector<std::string>& cells, const std::string& note) const {
  std::string line = is_narrow_ ? "  " : "";
  for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i) {
    const Column& column = columns_[i];
    const bool is_text = column.kind == Column::Kind::title || column.kind == Column::Kind::text;
    if (is_narrow_ && (column.kind == Column::Kind::title || column.kind == Column::Kind::extra)) continue;
    line += is_text ? fmt::format("{:<{}} ", cells[i], column.width - 1)
                    : fmt::format("{:>{}}", cells[i], column.width);
  }
  line.resize(line.find_last_not_of(' ') + 1);
  if (note.empty()) return line + '\n';
  if (line.size() + 2 + note.size() <= width_) return line + "  " + note + '\n';
  return line + '\n' + fitted("      " + note, width_);
}

std::string Table::head() const {
  std::vector<std::string> heads;
  std::string titles;
  for (const Column& column : columns_) {
    heads.emplace_back(column.head);
    if (column.kind == Column::Kind::title) titles += (titles.empty() ? "" : ": ") + std::string(column.head);
  }
  return (is_narrow_ && !titles.empty() ? titles + '\n' : "") + line_of(heads, {});
}

void Table::print_head() const {
  fmt::print("{}", head());
  std::fflush(stdout);
}

void Table::print_row(const std::vector<std::string>& cells, const std::string& note) {
  fmt::print("{}", row(cells, note));
  std::fflush(stdout);
}

std::string Table::row(const std::vector<std::string>& cells, const std::string& note) {
  std::string title;
  for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i)
    if (columns_[i].kind == Column::Kind::title) title += (title.empty() ? "" : ": ") + cells[i];
  const bool is_new = is_narrow_ && title != std::exchange(title_, title);
  return (is_new ? fitted(title, width_) : "") + line_of(cells, note);
}

}  // namespace smem::cli
