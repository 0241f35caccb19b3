// Plans of convolutions of many channels for described devices: they fit, and have reasons.
#include <smem/conv2d_plan.hpp>
#include <smem/error.hpp>

#include "support/conv2d_layers.hpp"
#include "support/failure.hpp"
#include "support/fits.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>

#include <string>

using smem::Conv2dProblem;
using test::failure_of;
using test::layer;
using test::target;

TEST_CASE("plan of conv2d: layers of all kinds fit every target and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits : {"", "local=16K,work_group=64", "local=512", "work_group=1", "local=0"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      Conv2dProblem winograd = layer(32, 64, 56, 64, 3);
      winograd.winograd = smem::Winograd::f4x4;
      Conv2dProblem cells = winograd;
      cells.in_interleaved = cells.weights_interleaved = cells.out_interleaved = true;
      Conv2dProblem depthwise = layer(4, 40, 28, 40, 5, 40);
      depthwise.in_interleaved = depthwise.out_interleaved = true;
      Conv2dProblem of_bytes = layer(8, 48, 14, 36, 3), of_bfloat16 = cells;
      of_bytes.type = smem::Scalar::int8, of_bytes.out = smem::Scalar::int32;
      of_bfloat16.type = smem::Scalar::bfloat16, of_bfloat16.winograd = smem::Winograd::none;
      // Products of one image: by copies of boxes where there are tensor maps.
      Conv2dProblem one = layer(1, 256, 56, 256, 3), one_of_cells = layer(1, 256, 56, 512, 1);
      one.type = one.out = one_of_cells.type = one_of_cells.out = smem::Scalar::half;
      one_of_cells.in_interleaved = one_of_cells.weights_interleaved = one_of_cells.out_interleaved = true;
      for (const Conv2dProblem& problem :
           {one, one_of_cells, of_bytes, of_bfloat16, layer(1, 1, 1, 1, 1), layer(32, 64, 56, 64, 3),
            layer(2, 3, 224, 64, 7), layer(8, 256, 14, 256, 1), layer(1, 32, 112, 32, 3, 32),
            layer(1, 48, 7, 96, 5, 3), winograd, cells, depthwise}) {
        for (const std::string_view variant :
             {"", "naive", "direct", "implicit", "depthwise", "cpu", "gemm", "winograd_2x2", "winograd_4x4",
              "mma", "wgmma", "wgmma_halo", "wgmma_few", "matrix_units"}) {
          CAPTURE(variant);
          const smem::PlanOverrides fixed{.variant = std::string(variant)};
          try {
            const smem::Plan plan = smem::plan_conv2d(device, problem, fixed);
            test::check_fits(device, plan, variant, smem::conv2d_variants().size());
            for (const smem::Launch* launch : plan.launches()) {
              CHECK(launch->local_bytes <= device.local_bytes);
              CHECK(launch->work_items() <= device.max_work_group);
            }
          } catch (const smem::Error& error) {
            test::check_refused_variant(error, variant);
          }
        }
      }
    }
  }
}

TEST_CASE("plan of conv2d: what each kind of device and layer gets") {
  const smem::Device h200 = target("sm_90"), cpu = target("cpu");
  // Many filters are a product, whose columns are gathered, but for matrix units.
  CHECK(smem::plan_conv2d(h200, layer(32, 64, 56, 64, 3)).variant == "implicit");
  CHECK(smem::plan_conv2d(h200, layer(64, 3, 224, 64, 7)).variant == "implicit");
  Conv2dProblem of_half = layer(32, 64, 56, 64, 3);
  of_half.type = of_half.out = smem::Scalar::half;
  const smem::Plan units = smem::plan_conv2d(h200, of_half);
  CHECK(units.variant == "wgmma_halo");
  CHECK(units.target == "sm_90a");
  REQUIRE(units.before.size() == 1);  // the input and the filters are copied
  CHECK(units.before[0].entry_point == "conv2d_pack_both");
  CHECK(units.number("in_area") == 1);
  CHECK(units.number("weights_area") == 2);
  CHECK(units.scratch.at(0).bytes == std::size_t{32} * 64 * 56 * 56 * 2);
  CHECK(units.groups() == h200.compute_units);
  Conv2dProblem cells = of_half;
  cells.in_interleaved = cells.weights_interleaved = cells.out_interleaved = true;
  CHECK(smem::plan_conv2d(h200, cells).before.empty());
  CHECK(smem::plan_conv2d(h200, cells, {.variant = "wgmma"}).number("maps_area") == 1);
  // Maps for each group.
  REQUIRE(smem::plan_conv2d(h200, cells).scratch.size() == 1);
  CHECK(smem::plan_conv2d(h200, cells).scratch[0].bytes == h200.compute_units * 512);
  CHECK(smem::plan_conv2d(h200, cells).number("maps_area") == 1);
  cells.in_alignment = 8;  // cells that copies of 16 bytes would not find
  CHECK(smem::plan_conv2d(h200, cells).before.size() == 1);
  CHECK(smem::plan_conv2d(target("sm_86"), cells).variant == "mma");
  CHECK(smem::plan_conv2d(target("sm_75"), cells).variant == "implicit");
  // 16 MiB of columns at a time, as its cache is small: of 4 of the 32 images.
  const smem::Plan columns = smem::plan_conv2d(h200, of_half, {.variant = "gemm"});
  CHECK(columns.entry_point == "gemm_wgmma");
  REQUIRE(columns.before.size() == 1);
  CHECK(columns.before[0].entry_point == "conv2d_columns");
  CHECK(columns.number("images") == 4);
  CHECK(columns.rounds == 8);
  // On CPUs: int8 and deep layers are products, interleaved ones are not; a filter for each channel.
  Conv2dProblem of_bytes = layer(1, 16, 56, 16, 3);
  CHECK(smem::plan_conv2d(cpu, of_bytes).variant == "cpu");
  of_bytes.type = smem::Scalar::int8, of_bytes.out = smem::Scalar::int32;
  CHECK(smem::plan_conv2d(cpu, of_bytes).variant == "gemm");
  CHECK(smem::plan_conv2d(cpu, layer(1, 128, 28, 128, 3)).variant == "gemm");
  Conv2dProblem depthwise = layer(1, 32, 56, 32, 3, 32);
  CHECK(smem::plan_conv2d(cpu, depthwise).variant == "cpu");
  depthwise.in_interleaved = depthwise.weights_interleaved = depthwise.out_interleaved = true;
  CHECK(smem::plan_conv2d(cpu, depthwise).variant == "depthwise");
  Conv2dProblem of_cells = layer(1, 256, 14, 256, 3);
  CHECK(smem::plan_conv2d(cpu, of_cells).variant == "gemm");
  of_cells.in_interleaved = of_cells.weights_interleaved = of_cells.out_interleaved = true;
  for (const smem::Scalar type : {smem::Scalar::float32, smem::Scalar::half, smem::Scalar::int8}) {
    of_cells.type = type;
    of_cells.out = type == smem::Scalar::int8 ? smem::Scalar::int32 : type;
    CHECK(smem::plan_conv2d(cpu, of_cells).variant == "cpu");
  }
  Conv2dProblem shallow = layer(64, 3, 224, 64, 7);  // three channels that are copied as four
  shallow.type = shallow.out = smem::Scalar::half;
  CHECK(smem::plan_conv2d(h200, shallow, {.variant = "mma"}).number("channels") == 4);
  CHECK(smem::plan_conv2d(h200, shallow).variant == "wgmma_few");  // as they are
  CHECK(smem::plan_conv2d(h200, shallow).before.empty());
  shallow.images = 1;  // copies take longer than its product
  CHECK(smem::plan_conv2d(h200, shallow).variant == "wgmma_few");
  CHECK(smem::plan_conv2d(h200, layer(32, 64, 56, 16, 3)).variant == "direct");
  CHECK(smem::plan_conv2d(h200, layer(32, 64, 56, 64, 3, 64)).variant == "depthwise");
  CHECK(smem::plan_conv2d(h200, layer(32, 64, 56, 64, 17)).variant == "direct");  // more than its bits
  // A window of one cell needs no columns: its plan is the product's own.
  const smem::Plan straight = smem::plan_conv2d(h200, layer(32, 64, 56, 64, 1));
  CHECK(straight.variant == "gemm");
  CHECK(straight.entry_point.starts_with("gemm_"));
  CHECK(straight.before.empty());
  CHECK(straight.rounds == 1);
  CHECK(smem::plan_conv2d(cpu, layer(1, 64, 56, 64, 3)).variant == "cpu");
  CHECK(smem::plan_conv2d(cpu, layer(1, 32, 112, 32, 3, 32)).entry_point == "conv2d_depthwise_cpu");
  CHECK(smem::plan_conv2d(cpu, layer(1, 32, 112, 32, 3)).entry_point != "conv2d_depthwise_cpu");
}

TEST_CASE("plan of conv2d: strips of interleaved channels, a filter for each") {
  const auto cells = [](Conv2dProblem p, smem::Scalar type = smem::Scalar::half) {
    p.type = type, p.out = type == smem::Scalar::int8 ? smem::Scalar::int32 : type;
    p.in_interleaved = p.out_interleaved = true;
    return p;
  };
  const smem::Device turing = target("sm_75");
  const Conv2dProblem large = cells(layer(64, 32, 112, 32, 3, 32));
  const smem::Plan plan = smem::plan_conv2d(turing, large);
  CHECK(plan.entry_point == "conv2d_depthwise_cells");
  CHECK(plan.before.empty());
  CHECK(plan.number("tile_h") == plan.tile_rows);
  // No column or row twice, and none left out.
  CHECK(plan.global[0] * plan.vector_width == 32);
  CHECK(plan.global[1] >= 64 * (112 / plan.tile_cols) * ((112 + plan.tile_rows - 1) / plan.tile_rows));
  // A layer that fills the device has long strips; of one image they are shorter.
  CHECK(plan.tile_rows >= 8);
  const smem::Plan one = smem::plan_conv2d(turing, cells(layer(1, 32, 112, 32, 3, 32)));
  CHECK(one.tile_rows < plan.tile_rows);
  const smem::Plan many = smem::plan_conv2d(turing, cells(layer(4096, 32, 112, 32, 3, 32)));
  CHECK(many.tile_rows > plan.tile_rows);
  // Packs that cells allow; larger windows have fewer channels in registers, and the largest none.
  CHECK(smem::plan_conv2d(turing, cells(layer(8, 30, 56, 30, 3, 30))).vector_width == 2);
  CHECK(smem::plan_conv2d(turing, cells(layer(8, 31, 56, 31, 3, 31))).vector_width == 1);
  Conv2dProblem loose = large;
  loose.in_alignment = 4;
  CHECK(smem::plan_conv2d(turing, loose).vector_width == 2);
  CHECK(smem::plan_conv2d(turing, cells(layer(64, 256, 14, 256, 5, 256))).vector_width < plan.vector_width);
  CHECK(smem::plan_conv2d(turing, cells(layer(64, 256, 14, 256, 7, 256))).entry_point == plan.entry_point);
  CHECK(smem::plan_conv2d(turing, cells(layer(64, 256, 14, 256, 9, 256))).entry_point != plan.entry_point);
  // Rows and columns by hand, and where there are none.
  const smem::Plan fixed =
      smem::plan_conv2d(turing, large, {.variant = "depthwise", .tile_rows = 28, .tile_cols = 2});
  CHECK(fixed.tile_rows == 28);
  CHECK(fixed.tile_cols == 2);
  const auto refused = [&](const Conv2dProblem& p, const smem::PlanOverrides& by_hand) {
    return failure_of([&] { smem::plan_conv2d(turing, p, by_hand); }).argument;
  };
  CHECK(refused(large, {.variant = "depthwise", .tile_cols = 9}) == "tile_cols");
  CHECK(refused(large, {.variant = "depthwise", .tile_cols = std::size_t{1} << 61}) == "tile_cols");
  CHECK(refused(large, {.variant = "direct", .tile_rows = 4}) == "tile_rows");
  CHECK(refused(layer(64, 32, 112, 32, 3, 32), {.variant = "depthwise", .tile_rows = 4}) == "tile_rows");
  CHECK(refused(layer(64, 32, 112, 32, 3, 32), {.variant = "depthwise", .tile_cols = 4}) == "tile_cols");
}

TEST_CASE("plan of conv2d: matrix units for half, bfloat16 and int8, by each vendor's") {
  using enum smem::Scalar;
  for (const auto& types :
       {std::pair{half, half}, {bfloat16, bfloat16}, {bfloat16, float32}, {half, float32}, {int8, int32}}) {
    const smem::Scalar type = types.first, out = types.second;
    CAPTURE(smem::name_of(type));
    Conv2dProblem p = layer(32, 64, 56, 64, 3);
    p.type = type, p.out = out;
    for (const auto& wanted : {std::pair{"sm_90", type == int8 ? "wgmma" : "wgmma_halo"},
                               {"sm_86", "mma"},
                               {"sm_75", "implicit"},
                               {"gfx90a", "matrix_units"},
                               {"gfx942", "matrix_units"},
                               {"gfx1100", "matrix_units"},
                               {"gfx1201", "matrix_units"},
                               {"dg2-g10", "matrix_units"},
                               {"pvc", "matrix_units"},
                               {"gfx1030", "implicit"},
                               {"cpu", type == int8 ? "gemm" : "cpu"}}) {
      CAPTURE(wanted.first);
      const smem::Plan plan = smem::plan_conv2d(target(wanted.first), p);
      CHECK(plan.variant == wanted.second);
      CHECK_FALSE(plan.evidence.empty());
    }
    // Channels that copies of 16 bytes find, or of 8 where there are no more.
    const std::size_t bytes = smem::size_of(type);
    CHECK(smem::plan_conv2d(target("sm_90"), p).vector_width == 16 / bytes);
    Conv2dProblem few = layer(64, 3, 224, 64, 7);
    few.type = type, few.out = out;
    CHECK(smem::plan_conv2d(target("sm_90"), few, {.variant = "mma"}).number("channels") == 8 / bytes);
    CHECK(smem::plan_conv2d(target("gfx90a"), few).number("channels") == 8 / bytes);
    // A window of one cell is a product of the input as it lies.
    Conv2dProblem straight = layer(32, 64, 56, 128, 1);
    straight.type = type, straight.out = out;
    straight.in_interleaved = straight.weights_interleaved = straight.out_interleaved = true;
    CHECK(smem::plan_conv2d(target("sm_90"), straight).variant == "gemm");
    CHECK(smem::plan_conv2d(target("gfx90a"), straight).variant == "gemm");
    straight.in_interleaved = straight.weights_interleaved = straight.out_interleaved = false;
    CHECK(smem::plan_conv2d(target("sm_90"), straight).variant == (type == int8 ? "wgmma" : "gemm"));
    // Of a result of four bytes four are written at once, of two eight.
    CHECK(smem::plan_conv2d(target("sm_90"), p).prediction.bytes_written ==
          doctest::Approx(32.0 * 64 * 56 * 56 * static_cast<double>(smem::size_of(out))));
  }
  // A unit that is emulated is not chosen.
  Conv2dProblem p = layer(32, 64, 56, 64, 3);
  p.type = p.out = half;
  const smem::Device emulated = smem::clamp(target("cpu"), "matrix_unit=mfma");
  CHECK(smem::plan_conv2d(emulated, p).variant != "matrix_units");
  CHECK(smem::plan_conv2d(emulated, p, {.variant = "matrix_units"}).variant == "matrix_units");
}

TEST_CASE("plan of conv2d: few filters, and rows that are too long for a strip") {
  // A tile of matrix units that is nearly empty is faster than few groups without them.
  for (const smem::Scalar type : {smem::Scalar::half, smem::Scalar::bfloat16}) {
    Conv2dProblem p = layer(2, 320, 64, 4, 3);
    p.type = p.out = type;
    CHECK(smem::plan_conv2d(target("sm_90"), p).variant == "mma");
    p.in_interleaved = p.weights_interleaved = p.out_interleaved = true;
    CHECK(smem::plan_conv2d(target("sm_90"), p).variant == "mma");
    p.in_channels = 3;
    CHECK(smem::plan_conv2d(target("sm_90"), p).variant == "direct");
  }
  // Of one channel, strips of a few channels are worth it for as many filters as units need, others for many.
  Conv2dProblem one = layer(8, 1, 224, 64, 3);
  one.type = one.out = smem::Scalar::half;
  one.out_interleaved = true;
  CHECK(smem::plan_conv2d(target("sm_90"), one).variant == "wgmma_few");
  one.out_channels = 8;
  CHECK(smem::plan_conv2d(target("sm_90"), one).variant == "wgmma_few");
  one.out_channels = 7;
  CHECK(smem::plan_conv2d(target("sm_90"), one).variant == "direct");
  one.out_channels = 48;
  CHECK(smem::plan_conv2d(target("sm_86"), one).variant == "mma");
  one.out_channels = 47;
  CHECK(smem::plan_conv2d(target("sm_86"), one).variant == "direct");
  one.out_interleaved = false;
  CHECK(smem::plan_conv2d(target("sm_90"), one).variant == "direct");
  CHECK(smem::plan_conv2d(target("sm_90"), layer(2, 320, 64, 4, 3)).variant == "implicit");
  CHECK(smem::plan_conv2d(target("sm_90"), layer(1, 128, 512, 3, 3)).variant == "direct");

  Conv2dProblem p = layer(8, 3, 640, 32, 3);
  p.type = p.out = smem::Scalar::half;
  p.in_interleaved = p.weights_interleaved = p.out_interleaved = true;
  p.out_alignment = 64;
  const auto few = [&] { return smem::plan_conv2d(target("sm_90"), p, {.variant = "wgmma_few"}); };
  CHECK(few().repeats == 3);
  CHECK(few().number("part_cols") == 216);
  p.in_channels = 33;
  CHECK_THROWS(few());
  p.in_channels = 3;
  p.out_width = 240, p.padding.right = 0;
  CHECK(few().repeats == 1);
  CHECK(few().number("part_cols") == 0);
  p.out_width = 241;
  CHECK(few().repeats == 2);
  CHECK(few().number("part_cols") == 128);
}

TEST_CASE("plan of conv2d: windows of one cell and few filters or channels") {
  const auto variant = [](std::size_t channels, std::size_t edge, std::size_t filters,
                          std::size_t images = 64) {
    Conv2dProblem p = layer(images, channels, edge, filters, 1);
    p.type = p.out = smem::Scalar::half;
    p.in_interleaved = p.weights_interleaved = p.out_interleaved = true;
    p.in_alignment = p.out_alignment = p.weight_alignment = 16;
    return smem::plan_conv2d(target("sm_90"), p).variant;
  };
  CHECK(variant(32, 112, 16) == "wgmma_halo");
  CHECK(variant(192, 28, 32) == "wgmma_halo");
  CHECK(variant(24, 56, 144) == "wgmma_few");
  CHECK(variant(16, 112, 96) == "wgmma_few");
  CHECK(variant(64, 56, 256) == "gemm");
  CHECK(variant(256, 56, 32) == "gemm");
  CHECK(variant(192, 28, 32, 1) == "gemm");
  CHECK(variant(960, 7, 160) == "gemm");
}

TEST_CASE("plan of conv2d: the input and the filters are copied by one launch") {
  Conv2dProblem p = layer(64, 256, 14, 256, 3);
  p.type = p.out = smem::Scalar::half;
  const auto copies = [&](const char* device) { return smem::plan_conv2d(target(device), p).before; };
  for (const char* const device : {"sm_90", "sm_86", "gfx90a", "pvc"}) {
    CAPTURE(device);
    REQUIRE(copies(device).size() == 1);
    const smem::Launch both = copies(device)[0];
    CHECK(both.entry_point == "conv2d_pack_both");
    p.weights_interleaved = true;  // and lie as they are wanted
    REQUIRE(copies(device).size() == 1);
    const smem::Launch one = copies(device)[0];
    p.weights_interleaved = false;
    CHECK(one.entry_point == "conv2d_pack");
    CHECK(both.groups() == one.groups() + both.number("filter_tiles"));
    CHECK(both.local_bytes >= one.local_bytes);
    CHECK(both.prediction.bytes_read == one.prediction.bytes_read + 256 * 256 * 9 * 2);
  }
  p.in_interleaved = p.out_interleaved = true;
  REQUIRE(copies("sm_90").size() == 1);
  CHECK(copies("sm_90")[0].variant == "pack_filters");
}

TEST_CASE("plan of conv2d: windows by tensor maps, and tiles that several groups share") {
  const smem::Device h200 = target("sm_90");
  Conv2dProblem p = layer(64, 128, 28, 128, 3);
  p.type = p.out = smem::Scalar::half;
  p.in_interleaved = p.weights_interleaved = p.out_interleaved = true;
  // By a tile that no other copies fill.
  const auto has_maps = [&] {
    try {
      return smem::plan_conv2d(h200, p, {.variant = "wgmma", .tile_rows = 256, .tile_cols = 64})
                 .number("maps_area") > 0;
    } catch (const smem::Error&) {
      return false;
    }
  };
  const Conv2dProblem usual = p;
  CHECK(has_maps());
  CHECK(smem::plan_conv2d(h200, p, {.variant = "wgmma"}).number("parts") == 1);
  // Strides of at most 8, windows of at most 256 cells, channels in whole pieces, of groups in whole rows.
  p.stride = {8, 8}, p.out_width = p.out_height = 4;
  CHECK(has_maps());
  p.stride = {9, 8};
  CHECK_FALSE(has_maps());
  p = usual;
  p.dilation.x = 127, p.padding = {127, 1};
  CHECK(has_maps());
  p.dilation.x = 128, p.padding = {128, 1};
  CHECK_FALSE(has_maps());
  p = usual;
  p.in_channels = 72;
  CHECK(has_maps());
  p.in_channels = 4;
  CHECK_FALSE(has_maps());
  p.in_channels = 128, p.groups = 2;
  CHECK(has_maps());
  p.in_channels = 192, p.groups = 2;
  CHECK_FALSE(has_maps());
  // First cells from 128 before the plane to 127 after its last.
  p = usual;
  p.padding = {128, 1}, p.out_width = 28 + 127;
  CHECK(has_maps());
  p.padding = {129, 1};
  CHECK_FALSE(has_maps());
  p.padding = {1, 1}, p.out_width = 28 + 128;
  CHECK(has_maps());
  p.out_width = 28 + 129;
  CHECK_FALSE(has_maps());
  // One image has fewer tiles than there are multiprocessors.
  p = layer(1, 512, 7, 512, 3);
  p.type = p.out = smem::Scalar::half;
  p.in_interleaved = p.weights_interleaved = p.out_interleaved = true;
  const smem::Plan shared = smem::plan_conv2d(h200, p);
  CHECK(shared.variant == "wgmma");
  CHECK(shared.number("parts") > 1);
  CHECK(shared.counters);
  CHECK(shared.groups() <= h200.compute_units);
  const std::size_t tiles = shared.groups() / shared.number("parts");
  CHECK(shared.groups() == tiles * shared.number("parts"));
  CHECK(shared.scratch.at(shared.number("maps_area") - 1).bytes ==
        shared.groups() * (256 + shared.tile_rows * shared.tile_cols * 4));
}

TEST_CASE("plan of conv2d: Winograd's minimal filtering, where it is allowed and worth its transforms") {
  Conv2dProblem deep = layer(32, 256, 28, 256, 3);
  for (const char* name : {"sm_75", "sm_90", "gfx90a", "dg2-g10", "cpu"}) {
    const smem::Device device = target(name);
    CAPTURE(name);
    CHECK_FALSE(smem::plan_conv2d(device, deep).variant.starts_with("winograd"));
    Conv2dProblem allowed = deep;
    allowed.winograd = smem::Winograd::f4x4;
    const smem::Plan plan = smem::plan_conv2d(device, allowed);
    CHECK(plan.variant == "winograd_4x4");
    CHECK(plan.prediction.operations ==
          doctest::Approx(2.0 * 36 * 7 * 7 * 32 * 256 * 256));  // 7 x 7 tiles of each plane
    CHECK(plan.evidence.find("measure") != std::string::npos);
    // What is allowed is the largest tile.
    allowed.winograd = smem::Winograd::f2x2;
    CHECK(smem::plan_conv2d(device, allowed).variant != "winograd_4x4");
    CHECK(failure_of([&] { smem::plan_conv2d(device, allowed, {.variant = "winograd_4x4"}); }).argument ==
          "variant");
    // Few channels save little; of planes of a few cells most of a tile is wasted.
    for (Conv2dProblem other : {layer(32, 3, 56, 8, 3), layer(32, 64, 56, 64, 3, 64), layer(8, 64, 1, 64, 3),
                                layer(8, 256, 14, 256, 1), layer(8, 256, 14, 256, 5)}) {
      other.winograd = smem::Winograd::f4x4;
      CHECK_FALSE(smem::plan_conv2d(device, other).variant.starts_with("winograd"));
    }
    // Every variant that was not chosen has a reason.
    allowed.winograd = smem::Winograd::f4x4;
    for (const smem::Alternative& other : smem::plan_conv2d(device, allowed).alternatives)
      CHECK_FALSE(other.why_not.empty());
  }
  // What was measured on Hopper.
  const auto on_hopper = [](std::size_t images, std::size_t channels, std::size_t edge, smem::Winograd most) {
    Conv2dProblem problem = layer(images, channels, edge, channels, 3);
    problem.winograd = most;
    smem::Device h200 = target("sm_90");
    h200.compute_units = 132;
    return smem::plan_conv2d(h200, problem).variant;
  };
  using enum smem::Winograd;
  CHECK(on_hopper(64, 64, 56, f4x4) == "winograd_4x4");
  CHECK(on_hopper(64, 128, 28, f4x4) == "winograd_4x4");
  CHECK(on_hopper(64, 128, 28, f2x2) == "winograd_2x2");
  CHECK(on_hopper(64, 256, 14, f4x4) == "winograd_4x4");
  CHECK(on_hopper(64, 256, 14, f2x2) == "winograd_2x2");
  CHECK(on_hopper(64, 512, 7, f4x4) == "winograd_4x4");
  CHECK(on_hopper(64, 512, 7, f2x2) == "winograd_2x2");
  CHECK(on_hopper(64, 16, 112, f4x4) == "winograd_4x4");
  CHECK(on_hopper(64, 16, 112, f2x2) == "direct");
  CHECK(on_hopper(4, 16, 112, f4x4) == "direct");
  CHECK(on_hopper(1, 64, 56, f4x4) == "implicit");
  CHECK(on_hopper(1, 512, 7, f4x4) == "gemm");
  CHECK(on_hopper(4, 64, 56, f4x4) == "winograd_4x4");
  CHECK(on_hopper(4, 256, 14, f4x4) == "winograd_4x4");
  CHECK(on_hopper(4, 128, 28, f4x4) == "winograd_4x4");
  CHECK(on_hopper(1, 256, 14, f4x4) == "gemm");
  CHECK(on_hopper(4, 512, 7, f4x4) == "winograd_4x4");
  // Temporary memory is that of a slice, and the filters'. On Hopper slices are few, since each waits for its
  // launches.
  Conv2dProblem many = deep;
  many.winograd = smem::Winograd::f4x4;
  many.images = 4096;
  const smem::Plan plan = smem::plan_conv2d(target("sm_90"), many, {.variant = "winograd_4x4"});
  CHECK(plan.rounds > 5);
  CHECK(plan.rounds < 40);
  CHECK(plan.scratch_bytes <= (std::size_t{512} << 20) + std::size_t{36} * 256 * 256 * 4 + 4096);
  const smem::Plan cached = smem::plan_conv2d(target("sm_86"), many, {.variant = "winograd_4x4"});
  CHECK(cached.rounds > 100);
  CHECK(cached.scratch_bytes <= (std::size_t{64} << 20) + std::size_t{36} * 256 * 256 * 4 + 4096);
}

TEST_CASE("plan of conv2d: tiles that are gathered fill the device, without conflicts where it is read") {
  const smem::Device h200 = target("sm_90");
  for (const Conv2dProblem& problem :
       {layer(64, 64, 56, 64, 3), layer(64, 128, 28, 128, 3), layer(64, 256, 14, 256, 3),
        layer(64, 512, 7, 512, 3), layer(64, 64, 56, 32, 3), layer(64, 3, 224, 64, 7)}) {
    const smem::Plan plan = smem::plan_conv2d(h200, problem, {.variant = "implicit"});
    CAPTURE(plan.to_string());
    CHECK(plan.groups() >= h200.compute_units);
    CHECK(plan.layout.load_degree() == 1);
    CHECK(plan.layout.store_degree() <= 2);
    CHECK(plan.groups() * plan.tile_rows * plan.tile_cols >=
          problem.images * problem.out_channels * problem.plane_results());
    // What waits for memory and barriers has others of its unit beside it.
    CHECK(3 * plan.local_bytes <= h200.local_bytes);
  }
}

TEST_CASE("plan of conv2d: what cannot be is refused by its name") {
  const smem::Device device = target("pvc");
  const auto argument_of = [&](const Conv2dProblem& problem, const smem::PlanOverrides& fixed = {}) {
    return failure_of([&] { smem::plan_conv2d(device, problem, fixed); }).argument;
  };
  Conv2dProblem p = layer(1, 6, 9, 4, 3, 4);
  CHECK(argument_of(p) == "groups");
  p = layer(1, 8, 9, 4, 3);
  p.stride.x = 0;
  CHECK(argument_of(p) == "weights");
  p = layer(1, 8, 9, 4, 3);
  p.type = smem::Scalar::int32;
  CHECK(argument_of(p) == "in");
  p.type = smem::Scalar::int8;
  CHECK(argument_of(p) == "out");
  p.out = smem::Scalar::int32;
  CHECK_NOTHROW(smem::plan_conv2d(device, p));
  p.activation = smem::Activation::gelu;
  CHECK(argument_of(p) == "activation");
  p = layer(1, 8, 9, 4, 3);
  p.type = smem::Scalar::bfloat16, p.out = smem::Scalar::half;
  CHECK(argument_of(p) == "out");
  p.out = static_cast<smem::Scalar>(99);
  CHECK(argument_of(p) == "out");
  p = layer(1, 8, 9, 4, 3);
  CHECK(argument_of(p, {.work_items = 64}) == "work_items");
  CHECK(argument_of(p, {.variant = "nosuch"}) == "variant");
  CHECK(argument_of(p, {.variant = "cpu"}) == "variant");
  CHECK(argument_of(layer(1, 8, 9, 4, 17), {.variant = "implicit"}) == "variant");
}
