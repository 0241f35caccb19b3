// What lies beyond the edges, and the version's two ways to be written.
#include <smem/boundary.hpp>
#include <smem/version.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using smem::Boundary;

TEST_CASE("plan of boundaries: names, and how far beyond the edge each reaches") {
  constexpr Boundary kAll[] = {Boundary::zero,   Boundary::constant, Boundary::clamp, Boundary::reflect,
                               Boundary::mirror, Boundary::wrap,     Boundary::leave};
  std::set<std::string> names;
  for (const Boundary boundary : kAll)
    names.emplace(smem::name_of(boundary));
  CHECK(names.size() == std::size(kAll));
  CHECK(smem::name_of(Boundary::mirror) == "mirror");
  for (const std::size_t extent : {std::size_t{1}, std::size_t{2}, std::size_t{7}}) {
    CHECK(smem::reach_of(Boundary::reflect, extent) == extent);
    CHECK(smem::reach_of(Boundary::wrap, extent) == extent);
    CHECK(smem::reach_of(Boundary::mirror, extent) == extent - 1);
    for (const Boundary boundary : {Boundary::zero, Boundary::constant, Boundary::clamp, Boundary::leave})
      CHECK(smem::reach_of(boundary, extent) > std::size_t{1} << 40);
  }
}

TEST_CASE("plan of versions: the text says the numbers") {
  CHECK(std::to_string(SMEM_VERSION_MAJOR) + "." + std::to_string(SMEM_VERSION_MINOR) + "." +
            std::to_string(SMEM_VERSION_PATCH) ==
        SMEM_VERSION);
}
