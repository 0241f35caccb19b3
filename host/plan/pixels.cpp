#include "plan/pixels.hpp"
#include "formatted.hpp"

#include "plan/sizes.hpp"

#include <smem/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace smem::plan {

void check_pixels(const char* operation, const Device& device, Scalar in, Scalar out, std::size_t channels) {
  const auto refuse = [&](const char* argument, std::string expected, std::string got) {
    throw Error({.operation = operation,
                 .argument = argument,
                 .expected = std::move(expected),
                 .got = std::move(got),
                 .device = device.name});
  };
  require_known(operation, "in", in);
  require_known(operation, "out", out);
  using enum Scalar;
  if (in != uint8 && in != uint16 && in != half && in != float32 && in != float64)
    refuse("in", "uint8, uint16, half, float32 or float64", std::string(name_of(in)));
  if (out != in && out != float32 && !(in == uint8 && out == int16)) {
    refuse("out", formatted("{} or float32{}", name_of(in), in == uint8 ? ", or int16" : ""),
           std::string(name_of(out)));
  }
  if (in == float64 && !device.fp64)
    refuse("in", "a type that the device computes with; it has no fp64", "float64");
  if (channels < 1 || channels > 4) refuse("in", "1 to 4 interleaved channels", formatted("{}", channels));
}

void define_pixels(Plan& plan, Scalar in, Scalar out, Boundary boundary, std::size_t channels) {
  plan.text_defines.emplace_back("ELEMENT", opencl_name_of(in));
  plan.text_defines.emplace_back("RESULT", opencl_name_of(out));
  plan.text_defines.emplace_back("VALUE", opencl_name_of(pixel_value(in, out)));
  define(plan, "PACK", 1);
  define(plan, "BOUNDARY", static_cast<std::size_t>(boundary));
  define(plan, "CHANNELS", channels);
  if (in == Scalar::half) define(plan, "ELEMENT_HALF", 1);
  if (out == Scalar::half) define(plan, "RESULT_HALF", 1);
  if (in == Scalar::float64) define(plan, "USE_DOUBLE", 1);
  if (is_float(out)) return;
  define(plan, "RESULT_INTEGER", 1);
  const long high = out == Scalar::uint8 ? 255 : out == Scalar::int16 ? 32767 : 65535;
  plan.defines.emplace_back("RESULT_LOW", out == Scalar::int16 ? -32768 : 0);
  plan.defines.emplace_back("RESULT_HIGH", high);
}

void define_folds(Plan& plan, Boundary boundary, std::size_t across, std::size_t width, std::size_t down,
                  std::size_t height) {
  const bool folds =
      (width > 0 && across > reach_of(boundary, width)) || (height > 0 && down > reach_of(boundary, height));
  if (folds) define(plan, "FOLDS", 1);
}

std::size_t cpu_band(const Device& device, std::size_t rows, std::size_t planes, std::size_t halo) {
  const std::size_t threads = std::max<std::size_t>(device.compute_units, 1);
  const std::size_t shared = divide_up(rows, divide_up(4 * threads, std::max<std::size_t>(planes, 1)));
  const std::size_t least = std::max<std::size_t>(1, std::min(8 + 4 * halo, divide_up(rows, threads)));
  return std::clamp(shared, least, std::size_t{1} << 20);
}

}  // namespace smem::plan
