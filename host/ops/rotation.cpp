#include "ops/rotation.hpp"

#include "formatted.hpp"
#include "ops/views.hpp"

#include <cmath>
#include <cstdint>
#include <numbers>

namespace smem::ops {

namespace {

constexpr double kMostScale = 1024;
constexpr std::int64_t kMostPosition = std::int64_t{1} << 31;

}  // namespace

void check_rotation(const char* operation, const Rotary& what) {
  if (!(what.base >= 1 && std::isfinite(what.base)))
    refuse(operation, "base", "a number of 1 or more", what.base);
  if (!(std::abs(what.scale) <= kMostScale))
    refuse(operation, "scale", formatted("a number from -{0} to {0}", kMostScale), what.scale);
  if (what.first_position < -kMostPosition || what.first_position > kMostPosition)
    refuse(operation, "first_position", "a number from -2^31 to 2^31", what.first_position);
}

std::vector<cl_ulong> rotation_turns(const Rotary& what, std::size_t rotated) {
  std::vector<cl_ulong> turns(rotated / 2);
  for (std::size_t k = 0; k < turns.size(); ++k) {
    const double exponent = -2.0 * static_cast<double>(k) / static_cast<double>(rotated);
    const double turn = what.scale * std::pow(what.base, exponent) / (2 * std::numbers::pi);
    const double part = std::ldexp(turn - std::floor(turn), 64);
    turns[k] = part < 0x1p64 ? static_cast<cl_ulong>(part) : 0;
  }
  return turns;
}

}  // namespace smem::ops
