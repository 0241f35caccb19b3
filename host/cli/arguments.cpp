#include "cli/arguments.hpp"

#include <bit>
#include <charconv>
#include <map>
#include <string_view>

namespace smem::cli {

namespace {

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

/// Of every row's start, for packed rows of `cols` elements.
std::size_t packed_alignment(std::size_t row_count, std::size_t row_bytes) {
  return row_count > 1 ? std::size_t{1} << std::countr_zero(std::size_t{64} | row_bytes) : 64;
}

}  // namespace

std::optional<Shape> parse_shape(const std::string& text) {
  const std::size_t x = text.find('x');
  if (x == std::string::npos) return std::nullopt;
  const auto rows = parse_number(std::string_view(text).substr(0, x));
  const auto cols = parse_number(std::string_view(text).substr(x + 1));
  if (!rows || !cols) return std::nullopt;
  return Shape{*rows, *cols};
}

std::optional<std::size_t> parse_element(const std::string& text) {
  static const std::map<std::string, std::size_t> scalars{
      {"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2}, {"half", 2},  {"int", 4},
      {"uint", 4}, {"float", 4}, {"long", 8},  {"ulong", 8},  {"double", 8}};
  std::size_t bytes = 0;
  if (const auto number = parse_number(text)) {
    bytes = *number;
  } else {
    const std::size_t digits = text.find_first_of("0123456789");
    const auto scalar = scalars.find(text.substr(0, digits));
    const auto width = digits == std::string::npos ? 1 : parse_number(std::string_view(text).substr(digits));
    if (scalar == scalars.end() || !width || *width > 16) return std::nullopt;
    bytes = scalar->second * *width;
  }
  if (!std::has_single_bit(bytes) || bytes > 16) return std::nullopt;
  return bytes;
}

TransposeProblem packed_problem(std::size_t element_bytes, Shape shape, std::size_t batch) {
  TransposeProblem problem{element_bytes, shape.rows, shape.cols, batch};
  problem.in_alignment = packed_alignment(shape.rows * batch, shape.cols * element_bytes);
  problem.out_alignment = packed_alignment(shape.cols * batch, shape.rows * element_bytes);
  return problem;
}

}  // namespace smem::cli
