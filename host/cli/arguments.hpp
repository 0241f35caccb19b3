/// Devices, shapes, numbers and files, as the command line gives them.
#pragma once

#include "cli/cli11.hpp"
#include "operations/operation.hpp"

#include <smem/plan.hpp>

#include <cstddef>
#include <optional>
#include <string>

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

/// --tile and --work-items: what of a plan is fixed by hand.
struct FixedWords {
  std::string tile;
  std::size_t work_items = 0;

  PlanOverrides with(const std::string& variant) const;
};
void add_fixed_options(CLI::App* command, FixedWords& fixed);
/// Checks that an option's values are variants of the operation.
CLI::Validator variant_validator(const operations::Operation& operation);

/// A whole number from 1 on that a size_t holds.
CLI::Validator count_validator();
/// A finite number above 0.
CLI::Validator positive_validator();

/// An option for a file to write. Refused where that file cannot be made, before anything is measured.
CLI::Option* add_output_option(CLI::App* command, const std::string& name, std::string& path,
                               const std::string& description);

}  // namespace smem::cli
