#include "cli/arguments.hpp"

#include <CLI/CLI.hpp>

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

CLI::Option* add_device_option(CLI::App* command, std::string& device) {
  return command->add_option("-d,--device", device, "Index, part of a name, gpu, cpu or accelerator");
}

std::optional<Shape> parse_shape(const std::string& text) {
  const std::size_t x = text.find('x');
  if (x == std::string::npos) return std::nullopt;
  const auto rows = parse_number(std::string_view(text).substr(0, x));
  const auto cols = parse_number(std::string_view(text).substr(x + 1));
  if (!rows || !cols) return std::nullopt;
  return Shape{*rows, *cols};
}

CLI::Validator shape_validator() {
  const auto fault_of = [](const std::string& text) {
    return parse_shape(text) ? std::string() : "not of the form ROWSxCOLS: " + text;
  };
  return {fault_of, "ROWSxCOLS"};
}

}  // namespace smem::cli
