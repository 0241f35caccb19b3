/// Tables that fit the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace smem::cli {

struct Column {
  enum class Kind {
    title,   ///< text; in a line of its own where rows do not fit, and not again where it is the same
    text,    ///< to the left
    number,  ///< to the right
    extra    ///< a number that is left out where rows do not fit
  };
  std::string_view head;
  std::size_t width = 0;
  Kind kind = Kind::number;
};

class Table {
 public:
  /// `note`: letters that a row may have after its columns. `width`: 0: of the output.
  explicit Table(std::vector<Column> columns, std::size_t note = 0, std::size_t width = 0);

  std::string head() const;
  /// Prints it, for a person who waits for the next row.
  void print_head() const;
  /// A row, or its first cells, and a note, which goes on in further lines where it must.
  std::string row(const std::vector<std::string>& cells, const std::string& note = {});
  void print_row(const std::vector<std::string>& cells, const std::string& note = {});

 private:
  std::string line_of(const std::vector<std::string>& cells, const std::string& note) const;

  std::vector<Column> columns_;
  std::size_t width_;
  bool is_narrow_;
  std::string title_;  ///< of the row before
};

}  // namespace smem::cli
