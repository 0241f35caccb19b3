// Plans of stencils for devices that are not here: they fit, and they say why.
#include <smem/error.hpp>
#include <smem/stencil_plan.hpp>

#include "support/failure.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

using smem::Scalar;
using test::target;

namespace {

using Sizes = std::array<std::size_t, 3>;

}  // namespace

TEST_CASE("plan of stencil: problems of all kinds fit every target and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits : {"", "local=16K,work_group=64", "local=512", "work_group=1", "local=0"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      for (const Scalar type : {Scalar::uint8, Scalar::half, Scalar::float32}) {
        for (const Sizes& size :
             {Sizes{1, 1, 1}, Sizes{std::size_t{1} << 33, 1, 1}, Sizes{3, std::size_t{1} << 33, 1},
              Sizes{4096, 4096, 1}, Sizes{256, 256, 256}}) {
          for (const Sizes& radius : {Sizes{0, 0, 0}, Sizes{1, 1, 0}, Sizes{7, 7, 0}, Sizes{1, 1, 1},
                                      Sizes{100, 100, 100}, Sizes{100000, 0, 0}}) {
            const smem::StencilProblem problem = smem::stencil_problem(type, size, radius, 3);
            for (const std::string_view variant : {"", "naive", "tiled", "rows", "march", "cpu"}) {
              try {
                const smem::Plan plan = smem::plan_stencil(device, problem, variant);
                CAPTURE(plan.to_string());
                CHECK(plan.local_bytes <= device.local_bytes);
                CHECK(plan.work_items() <= device.max_work_group);
                for (std::size_t d = 0; d < 3; ++d) {
                  CHECK(plan.work_group.at(d) <= device.max_work_items.at(d));
                  CHECK(plan.global.at(d) > 0);
                  CHECK(plan.global.at(d) % plan.work_group.at(d) == 0);
                  if (d > 0) CHECK(plan.global.at(d) / plan.work_group.at(d) <= 65535);
                }
                if (variant.empty()) CHECK(plan.alternatives.size() + 1 == smem::stencil_variants().size());
              } catch (const smem::Error& error) {
                CHECK(error.details().argument == "variant");
                CHECK(!variant.empty());
                CHECK(variant != "naive");
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("plan of stencil: what each kind of device and window gets") {
  const smem::Device h200 = target("sm_90");
  CHECK(
      smem::plan_stencil(h200, smem::stencil_problem(Scalar::float32, {8192, 8192, 1}, {1, 1, 0})).variant ==
      "rows");
  CHECK(smem::plan_stencil(h200, smem::stencil_problem(Scalar::float32, {8192, 8192, 1}, {2, 2, 0}))
            .items_per_work_item == 32);
  CHECK(smem::plan_stencil(h200, smem::stencil_problem(Scalar::uint8, {8192, 8192, 1}, {1, 1, 0}, 4))
            .vector_width == 16);
  CHECK(
      smem::plan_stencil(h200, smem::stencil_problem(Scalar::float32, {512, 512, 512}, {1, 1, 1})).variant ==
      "march");
  CHECK(smem::plan_stencil(h200, smem::stencil_problem(Scalar::float32, {8192, 8192, 1}, {20, 20, 0}))
            .variant == "tiled");
  CHECK(smem::plan_stencil(h200, smem::stencil_problem(Scalar::float32, {512, 512, 1}, {500, 500, 0}))
            .variant == "naive");
  smem::StencilProblem strided = smem::stencil_problem(Scalar::float32, {512, 512, 1}, {1, 1, 0});
  strided.stride = {2, 2, 1};
  strided.out_size = {256, 256, 1};
  CHECK(smem::plan_stencil(h200, strided).variant == "tiled");
}
