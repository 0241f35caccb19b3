/// Devices, shapes, numbers and files, as the command line gives them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace smem::cli {

/// -d, --device: which of the OpenCL devices, as contexts have it.
CLI::Option* add_device_option(CLI::App* command, std::string& device);

struct Shape {
  std::size_t rows = 0;
  std::size_t cols = 0;
};

/// "4097x3001"; empty when it is not of this form, or one of the two is 0.
std::optional<Shape> parse_shape(const std::string& text);
CLI::Validator shape_validator();

/// A whole number from 1 on that a size_t holds.
CLI::Validator count_validator();
/// A finite number above 0.
CLI::Validator positive_validator();

/// An option for a file to write. Refused where that file cannot be made, before anything is measured.
CLI::Option* add_output_option(CLI::App* command, const std::string& name, std::string& path,
                               const std::string& description);

}  // namespace smem::cli
