/// What only a terminal shows: colours and progress bars. Pipes and files get plain text.
#pragma once

#include "cli/interrupt.hpp"

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace smem::cli {

/// Writes to the error stream. Where that is closed or full, nothing can say so.
void print_error(std::string_view text);
/// Whether a person sees what is written to `stream`.
bool is_terminal(std::FILE* stream);

/// Whether to colour what is written to `stream`: on a terminal that can, unless NO_COLOR is set
/// (no-color.org).
bool has_colours(std::FILE* stream);

/// Columns of a line: the terminal's; else COLUMNS, or 80.
std::size_t columns_of(std::FILE* stream);

/// Prints text to the output in lines that fit it.
void print_fitted(const std::string& text);

enum class Paint { bold, red, green, yellow };

/// The text in that colour where `stream` has colours; else as it is.
std::string painted(std::FILE* stream, Paint paint, const std::string& text);

/// A bar on the error stream, in one line that is drawn anew; nothing at all where that is no terminal.
class Progress {
 public:
  explicit Progress(std::size_t steps);
  ~Progress();  ///< clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Says what is done next, after `done` steps.
  void show(std::size_t done, const std::string& what);
  /// Clears the line, so that something else can be written; the next show() draws it again.
  void clear();

 private:
  std::size_t steps_;
  bool on_;
  std::chrono::steady_clock::time_point start_;
  std::optional<OnInterrupt> at_interrupt_;
};

}  // namespace smem::cli
