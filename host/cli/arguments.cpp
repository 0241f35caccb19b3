#include "cli/arguments.hpp"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace smem::cli {

namespace {

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

/// Why a file cannot be written there; empty: it can, as far as one sees without writing.
std::string output_fault(const std::string& text) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path path(text);
  if (text.empty()) return "no name of a file";
  if (fs::is_directory(path, error)) return "a folder, not a file: " + text;
  const bool exists = fs::exists(path, error);
  if (exists && ::access(path.c_str(), W_OK) != 0) return "cannot be written: " + text;
  if (exists && !fs::is_regular_file(path, error)) return {};  // a device or a pipe
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) return "no such folder: " + folder.string();
  return ::access(folder.c_str(), W_OK) == 0 ? "" : "no file can be made in the folder " + folder.string();
}

}  // namespace

CLI::Option* add_device_option(CLI::App* command, std::string& device) {
  return command->add_option("-d,--device", device,
                             "The device: an index, a part of its name, gpu, cpu or accelerator");
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

CLI::Validator count_validator() {
  const auto fault_of = [](const std::string& text) {
    return parse_number(text) ? std::string() : "not a whole number from 1 on: " + text;
  };
  return {fault_of, "NUMBER"};
}

CLI::Validator positive_validator() {
  const auto fault_of = [](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool is_number = !text.empty() && *end == '\0';
    return is_number && std::isfinite(value) && value > 0 ? std::string() : "not a number above 0: " + text;
  };
  return {fault_of, "NUMBER"};
}

PlanOverrides FixedWords::with(const std::string& variant) const {
  const Shape shape = parse_shape(tile).value_or(Shape{});
  return {.variant = variant, .tile_rows = shape.rows, .tile_cols = shape.cols, .work_items = work_items};
}

void add_fixed_options(CLI::App* command, FixedWords& fixed) {
  command->add_option("--tile", fixed.tile, "Fix the tile, in elements: ROWSxCOLS")->check(shape_validator());
  command->add_option("--work-items", fixed.work_items, "Fix the work-items of a work-group")
      ->check(count_validator());
}

CLI::Validator variant_validator(const operations::Operation& operation) {
  const std::vector<std::string_view> names = operation.variants();
  return CLI::IsMember(std::vector<std::string>(names.begin(), names.end()));
}

CLI::Option* add_output_option(CLI::App* command, const std::string& name, std::string& path,
                               const std::string& description) {
  return command->add_option(name, path, description)
      ->type_name("FILE")
      ->check(CLI::Validator(output_fault, ""));
}

}  // namespace smem::cli
