/// Devices and shapes, as the command line gives them.
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

}  // namespace smem::cli
