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

std::optional<GridSize> parse_grid(const std::string& text) {
  std::size_t extents[] = {1, 1, 1};
  std::string_view rest = text;
  for (std::size_t& extent : extents) {
    const std::size_t x = rest.find('x');
    const auto number = parse_number(rest.substr(0, x));
    if (!number) return std::nullopt;
    extent = *number;
    if (x == std::string_view::npos) return GridSize{extents[0], extents[1], extents[2]};
    rest.remove_prefix(x + 1);
  }
  return std::nullopt;
}

Validator grid_validator() {
  return {[](const std::string& text) { return parse_grid(text).has_value(); }, "WIDTHxHEIGHTxDEPTH",
          "not of the form WIDTH, WIDTHxHEIGHT or WIDTHxHEIGHTxDEPTH"};
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

Validator element_validator() {
  return {[](const std::string& text) { return parse_element(text).has_value(); }, "TYPE",
          "not a type of 1, 2, 4, 8 or 16 bytes"};
}

std::optional<Scalar> parse_scalar(const std::string& text) {
  for (int i = 0; i <= static_cast<int>(Scalar::float64); ++i) {
    if (text == name_of(static_cast<Scalar>(i)) || text == opencl_name_of(static_cast<Scalar>(i)))
      return static_cast<Scalar>(i);
  }
  return std::nullopt;
}

std::optional<ReduceOp> parse_reduce_op(const std::string& text) {
  for (int i = 0; i < static_cast<int>(ReduceOp::dot); ++i) {
    if (text == name_of(static_cast<ReduceOp>(i))) return static_cast<ReduceOp>(i);
  }
  return std::nullopt;
}

Scalar usual_result(ReduceOp op, Scalar in) {
  switch (op) {
    case ReduceOp::argmin:
    case ReduceOp::argmax:
      return Scalar::uint64;
    case ReduceOp::any:
    case ReduceOp::all:
      return Scalar::uint8;
    case ReduceOp::sum:
    case ReduceOp::product:
      return !is_float(in)           ? (is_signed(in) ? Scalar::int64 : Scalar::uint64)
             : in == Scalar::float64 ? in
                                     : Scalar::float32;
    case ReduceOp::mean:
    case ReduceOp::norm:
      return in == Scalar::float64 ? in : Scalar::float32;
    default:
      return in;
  }
}

Validator scalar_validator() {
  return {[](const std::string& text) { return parse_scalar(text).has_value(); }, "TYPE",
          "not a type of numbers"};
}

Validator reduce_op_validator() {
  return {[](const std::string& text) { return parse_reduce_op(text).has_value(); }, "OP",
          "not an operation"};
}

TransposeProblem packed_problem(std::size_t element_bytes, Shape shape, std::size_t batch) {
  TransposeProblem problem{element_bytes, shape.rows, shape.cols, batch};
  problem.in_alignment = shape.rows * batch > 1 ? packed_alignment(shape.cols * element_bytes) : 64;
  problem.out_alignment = shape.cols * batch > 1 ? packed_alignment(shape.rows * element_bytes) : 64;
  return problem;
}

}  // namespace smem::cli
