#include "cli/terminal.hpp"

#include "cli/text.hpp"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace smem::cli {

namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// A terminal that moves its cursor.
bool can_draw(std::FILE* stream) {
  return is_terminal(stream) && !environment("TERM").empty() && environment("TERM") != "dumb";
}

}  // namespace

void print_error(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

bool has_colours(std::FILE* stream) { return environment("NO_COLOR").empty() && can_draw(stream); }

std::size_t columns_of(std::FILE* stream) {
  winsize size{};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const std::string_view set = environment("COLUMNS");
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(set.data(), set.data() + set.size(), columns);
  return error == std::errc{} && end == set.data() + set.size() && columns > 0 ? columns : 80;
}

void print_fitted(const std::string& text) { fmt::print("{}", fitted(text, columns_of(stdout))); }

std::string painted(std::FILE* stream, Paint paint, const std::string& text) {
  if (!has_colours(stream)) return text;
  const char* codes[] = {"1", "31", "32", "33"};
  return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<int>(paint)], text);
}

Progress::Progress(std::size_t steps)
    : steps_(steps), on_(can_draw(stderr)), start_(std::chrono::steady_clock::now()) {
  if (on_) at_interrupt_.emplace([] { print_error(kClearLine); });
}

Progress::~Progress() { clear(); }

void Progress::show(std::size_t done, const std::string& what) {
  if (!on_) return;
  constexpr std::size_t kBar = 24, kLeast = kBar + 30;
  const std::size_t columns = columns_of(stderr);
  if (columns < kLeast) return;
  const std::size_t filled = steps_ == 0 ? kBar : std::min(done, steps_) * kBar / steps_;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start_;
  const std::string line = fmt::format("[{:=<{}}{: <{}}] {}/{} {:.0f} s  {}", "", filled, "", kBar - filled,
                                       done, steps_, took.count(), what);
  print_error(fmt::format("{}{}", kClearLine, short_text(line, columns - 1)));
}

void Progress::clear() {
  if (on_) print_error(kClearLine);
}

}  // namespace smem::cli
