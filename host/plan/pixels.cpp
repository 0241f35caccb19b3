#include "plan/pixels.hpp"
#include "formatted.hpp"

#include "plan/band_policy.hpp"
#include "plan/sizes.hpp"

#include <algorithm>

namespace smem::plan {

void check_pixels(const char* operation, const Device& device, Scalar in, Scalar out, std::size_t channels) {
  require_known(operation, "in", in);
  require_known(operation, "out", out);
  using enum Scalar;
  require_one_of(operation, "in", in, {uint8, uint16, half, float32, float64});
  if (out != in && out != float32 && !(in == uint8 && out == int16)) {
    refuse(operation, "out", formatted("{} or float32{}", name_of(in), in == uint8 ? ", or int16" : ""),
           name_of(out));
  }
  require_fp64(operation, device, "in", in);
  if (channels < 1 || channels > 4)
    refuse(operation, "in", "1 to 4 interleaved channels", formatted("{}", channels));
}

void define_pixels(Plan& plan, Scalar in, Scalar out, Boundary boundary, std::size_t channels) {
  define_types(plan, {{"ELEMENT", in}, {"RESULT", out}, {"VALUE", pixel_value(in, out)}});
  define(plan, {{"PACK", 1}, {"BOUNDARY", static_cast<int>(boundary)}, {"CHANNELS", channels}});
  if (in == Scalar::half) define(plan, "ELEMENT_HALF", 1);
  if (out == Scalar::half) define(plan, "RESULT_HALF", 1);
  if (in == Scalar::float64) define(plan, "USE_DOUBLE", 1);
  if (is_float(out)) return;
  define(plan, "RESULT_INTEGER", 1);
  const long high = out == Scalar::uint8 ? 255 : out == Scalar::int16 ? 32767 : 65535;
  define(plan, {{"RESULT_LOW", out == Scalar::int16 ? -32768 : 0}, {"RESULT_HIGH", high}});
}

void define_folds(Plan& plan, Boundary boundary, std::size_t across, std::size_t width, std::size_t down,
                  std::size_t height) {
  const bool folds =
      (width > 0 && across > reach_of(boundary, width)) || (height > 0 && down > reach_of(boundary, height));
  if (folds) define(plan, "FOLDS", 1);
}

std::size_t cpu_band(const Device& device, std::size_t rows, std::size_t planes, std::size_t halo) {
  const BandPolicy& policy = band_policy(device);
  const std::size_t threads = at_least_1(device.compute_units);
  const std::size_t shared = divide_up(rows, divide_up(policy.bands_a_thread * threads, at_least_1(planes)));
  const std::size_t mostly_rows = policy.least_rows + policy.rows_a_halo_row * halo;
  const std::size_t least = at_least_1(std::min(mostly_rows, divide_up(rows, threads)));
  const std::size_t band = std::clamp(shared, least, policy.most_rows);
  // The few bands of a wide halo: as many for each thread, none of which waits for the last one.
  const std::size_t round = divide_up(threads, at_least_1(planes)), bands = divide_up(rows, band);
  if (bands <= round || bands >= policy.bands_a_thread * round) return band;
  return std::min(divide_up(rows, bands / round * round), policy.most_rows);
}

}  // namespace smem::plan
