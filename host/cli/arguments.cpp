#include "cli/arguments.hpp"

#include <bit>
#include <charconv>
#include <string_view>

namespace smem::cli {

namespace {

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

}  // namespace

Option add_device_option(Command command, std::string& device) {
  return command.add_option("-d,--device", device, "Index, part of a name, gpu, cpu or accelerator");
}

std::size_t packed_alignment(std::size_t row_bytes, std::size_t most) {
  return std::size_t{1} << std::countr_zero(most | row_bytes);
}

std::optional<std::size_t> parse_size(const std::string& text) { return parse_number(text); }

std::optional<Shape> parse_shape(const std::string& text) {
  const std::size_t x = text.find('x');
  if (x == std::string::npos) return std::nullopt;
  const auto rows = parse_number(std::string_view(text).substr(0, x));
  const auto cols = parse_number(std::string_view(text).substr(x + 1));
  if (!rows || !cols) return std::nullopt;
  return Shape{*rows, *cols};
}

Validator shape_validator() {
  return {[](const std::string& text) { return parse_shape(text).has_value(); }, "ROWSxCOLS",
          "not of the form ROWSxCOLS"};
}

Validator scalar_validator() {
  return {[](const std::string& text) { return parse_scalar(text).has_value(); }, "TYPE",
          "not a type of numbers"};
}

}  // namespace smem::cli
