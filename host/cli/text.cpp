#include "cli/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace smem::cli {

namespace {

/// Where the lines after the first of a broken line begin.
std::size_t indent_of(const std::string& line, std::size_t width) {
  const std::size_t first = std::min(line.find_first_not_of(' '), width / 4);
  const std::size_t gap = line.find("  ", first);
  const std::size_t second = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
  return second <= width / 2 ? second : first + 2;
}

/// How much of a line of text from `begin` on stays in a line of `width`.
std::size_t cut_of(const std::string& line, std::size_t begin, std::size_t width) {
  const std::size_t space = line.rfind(' ', width);
  if (space != std::string::npos && space > begin) return space;
  const std::size_t comma = line.rfind(',', width - 1);
  if (comma != std::string::npos && comma > begin) return comma + 1;
  return std::min(line.find(' ', std::max(begin, width)), line.size());  // the name of a file, say
}

std::string fitted_line(std::string line, std::size_t width) {
  line.erase(line.find_last_not_of(' ') + 1);
  const std::size_t indent = indent_of(line, width);
  std::string text;
  while (line.size() > width) {
    const std::size_t cut = cut_of(line, std::max(line.find_first_not_of(' '), indent), width);
    text.append(line, 0, line.find_last_not_of(' ', cut - 1) + 1).append(1, '\n');
    const std::size_t next = line.find_first_not_of(' ', cut);
    if (next == std::string::npos) return text;
    line.replace(0, next, indent, ' ');
  }
  return text + line + '\n';
}

}  // namespace

std::string short_text(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string fitted(const std::string& text, std::size_t width) {
  constexpr std::size_t kLeast = 20;
  std::string all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    all += fitted_line(text.substr(begin, end - begin), std::max(width, kLeast));
    begin = end + 1;
  }
  return all;
}

std::string bytes_text(std::size_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0, size = 1;
  while (unit < 4 && bytes / size >= 1024) {
    size *= 1024;
    ++unit;
  }
  if (bytes % size == 0) return fmt::format("{} {}", bytes / size, units[unit]);
  return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(size), units[unit]);
}

std::string number_text(double number) {
  int decimals = 2;
  for (double least = 1; number >= 10 * least && decimals > 0; least *= 10)
    --decimals;
  for (double least = 1; number > 0 && number < least && decimals < 9; least /= 10)
    ++decimals;
  return fmt::format("{:.{}f}", number, decimals);
}

std::string device_text(const Device& device) {
  return fmt::format("{} ({}, driver {})", device.name, device.platform, device.driver);
}

std::string count_text(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string build_text(double seconds) { return seconds > 0 ? fmt::format("{:.0f}", seconds * 1e3) : ""; }

std::string host_text(double seconds) { return fmt::format("{:.1f}", seconds * 1e6); }

}  // namespace smem::cli
