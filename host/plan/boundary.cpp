#include "plan/sizes.hpp"

#include <smem/boundary.hpp>

#include <array>

namespace smem {

std::string_view name_of(Boundary boundary) {
  constexpr std::array<std::string_view, 7> kNames{"zero",   "constant", "clamp", "reflect",
                                                   "mirror", "wrap",     "leave"};
  return plan::name_among(kNames, boundary);
}

std::size_t reach_of(Boundary boundary, std::size_t extent) {
  switch (boundary) {
    case Boundary::reflect:
    case Boundary::wrap:
      return extent;
    case Boundary::mirror:
      return extent - 1;
    default:
      return static_cast<std::size_t>(-1);
  }
}

}  // namespace smem
