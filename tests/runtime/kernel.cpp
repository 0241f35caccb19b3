// Kernels of the caller's own, made of smem's building blocks.
#include <smem/array.hpp>
#include <smem/context.hpp>
#include <smem/error.hpp>
#include <smem/kernel.hpp>
#include <smem/options.hpp>

#include "support/failure.hpp"
#include "support/folder.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

/// Turns a tile in local memory, and writes what the work-group's largest element was.
const char* const kTile = R"(
#include "common/tile.clh"
#include "common/work_group.clh"
DEFINE_TEAM_REDUCE(largest, int, max)

kernel void turn(global const int* in, global int* out, global int* most) {
  local int tile[PLACES];
  local int scratch[EDGE * EDGE];
  const uint row = get_local_id(1), col = get_local_id(0), item = row * EDGE + col;
  int mine = in[item];
  tile[TILE_AT(row, col)] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[item] = tile[TILE_AT(col, row)];
  largest(&mine, scratch, item, EDGE * EDGE);
  if (item == 0) *most = mine;
}
)";

constexpr std::size_t kEdge = 8;

smem::KernelSource turn_with(const smem::LocalLayout& layout) {
  smem::KernelSource source{.source = kTile, .entry_point = "turn"};
  source.defines = {{"EDGE", kEdge}, {"PLACES", static_cast<long>(layout.items())}};
  return source.with(layout);
}

smem::LocalLayout layout_of(const smem::Device& device, smem::LocalLayout::Kind kind) {
  const smem::Tile tile{.rows = kEdge, .cols = kEdge, .item_bytes = 4, .work_items = kEdge * kEdge};
  return smem::infer_layout(device, tile, {.kind = kind});
}

const char* const kScale =
    R"(kernel void scale(global float* x, float factor) { x[get_global_id(0)] *= factor; })";

}  // namespace

TEST_CASE("kernel: a tile of every layout, and a function of the work-group") {
  const smem::Context context;
  if (context.device().max_work_group < kEdge * kEdge) return;
  std::vector<int> values(kEdge * kEdge);
  std::iota(values.begin(), values.end(), -20);
  const smem::Array<int> in(context, values);
  for (const auto kind :
       {smem::LocalLayout::Kind::plain, smem::LocalLayout::Kind::padded, smem::LocalLayout::Kind::swizzled}) {
    const smem::Array<int> out(context, smem::Count{values.size()}), most(context, smem::Count{1});
    const smem::Kernel turn = context.build(turn_with(layout_of(context.device(), kind)));
    CHECK(turn.max_work_group() >= 1);  // rusticl says 32, and runs more
    CHECK(turn.max_work_group() <= context.device().max_work_group);
    turn({.global = {kEdge, kEdge, 1}, .work_group = {kEdge, kEdge, 1}}, in, out, most);
    const std::vector<int> got = out.to_host();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      wrong += got[i] != values[i % kEdge * kEdge + i / kEdge];
    CHECK(wrong == 0);
    CHECK(most.to_host() == std::vector<int>{43});
  }
}

TEST_CASE("kernel: values, local memory and wait lists as arguments") {
  const smem::Context context;
  const smem::Array<float> x(context, {1, 2, 3, 4});
  const smem::Kernel scale = context.build({.source = kScale, .entry_point = "scale"});
  const std::vector<cl::Event> first{scale({.global = {4, 1, 1}}, x, cl_float{3})};
  scale({.global = {2, 1, 1}}, first, x.buffer(), cl_float{-1}).wait();
  CHECK(x.to_host() == std::vector<float>{-3, -6, 9, 12});
  scale({.global = {0, 1, 1}}, x, cl_float{0}).wait();
  CHECK(x.to_host() == std::vector<float>{-3, -6, 9, 12});

  const smem::Kernel swap = context.build({.source = "kernel void swap(global float* x, local float* y) { "
                                                     "y[0] = x[0]; x[0] = x[OTHER]; x[OTHER] = y[0]; }",
                                           .entry_point = "swap",
                                           .defines = {{"OTHER", 3}}});
  swap({}, x, smem::LocalBytes{4}).wait();
  CHECK(x.to_host() == std::vector<float>{12, -6, 9, -3});

  const smem::Kernel begin = context.build(
      {.source = "kernel void begin(global float* x, local float* y) { x[0] = 1; }", .entry_point = "begin"});
  begin({}, x, smem::LocalBytes{0}).wait();
  CHECK(x.to_host() == std::vector<float>{1, -6, 9, -3});
}

TEST_CASE("kernel: more local memory than the device has is refused") {
  const smem::Context context;
  const smem::Array<float> x(context, {1, 2});
  const smem::Kernel one = context.build(
      {.source = "kernel void one(global float* x, local float* y) { y[0] = x[0]; x[1] = y[0]; }",
       .entry_point = "one"});
  const smem::Kernel two =
      context.build({.source = "kernel void two(global float* x, local float* y, local float* z) { "
                               "y[0] = z[0] = x[0]; x[1] = y[0] + z[0]; }",
                     .entry_point = "two"});
  const std::size_t most = context.device().local_bytes;
  for (const std::size_t bytes : {most + 4, std::size_t{1} << 40, SIZE_MAX}) {
    const auto error = test::failure_of([&] { one({}, x, smem::LocalBytes{bytes}); });
    CHECK(error.operation == "Kernel(one)");
    CHECK(error.argument == "argument 1");
    CHECK(error.got == std::to_string(bytes));
  }
  for (const std::size_t bytes : {most, SIZE_MAX})
    CHECK(test::failure_of([&] { two({}, x, smem::LocalBytes{most}, smem::LocalBytes{bytes}); }).argument ==
          "argument 2");
  CHECK(x.to_host() == std::vector<float>{1, 2});
}

TEST_CASE("kernel: built once for many threads, and loaded from disk by the next context") {
  const test::CacheFolder folder;
  {
    const smem::Context context;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        const smem::Array<float> x(context, std::vector<float>(100, 1.0F));
        for (int i = 0; i < 20; ++i)
          context.build({.source = kScale, .entry_point = "scale"})({.global = {100, 1, 1}}, x, cl_float{2});
        CHECK(x.to_host() == std::vector<float>(100, 1048576.0F));
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    CHECK(context.cache_statistics().built_from_source == 1);
  }
  const smem::Context context;
  context.build({.source = kScale, .entry_point = "scale"});
  CHECK(context.cache_statistics().loaded_from_disk == 1);
  context.build({.source = std::string(kScale) + "// another text", .entry_point = "scale"});
  CHECK(context.cache_statistics().built_from_source == 1);
}

TEST_CASE("kernel: what does not build is refused by name") {
  const test::Variable own_kernels("SMEM_KERNEL_DIR", "");  // its name would stand in the errors
  const smem::Context context;
  const auto failure = [&](const smem::KernelSource& source) {
    auto error = test::failure_of([&] { context.build(source); });
    CHECK(error.operation == "Context::build");
    return error;
  };
  auto error =
      failure({.source = "#include \"common/tile.clh\"\nkernel void k(global int* x) {\n  *x = nosuch;\n}",
               .entry_point = "k"});
  CHECK(error.argument == "source");
  CHECK(error.code == CL_BUILD_PROGRAM_FAILURE);
  CHECK(error.build_log.starts_with("source.cl:3:   *x = nosuch;"));
  error = failure({.source = "#include \"common/nosuch.clh\"\n", .entry_point = "k"});
  CHECK(error.argument == "source");
  CHECK(error.got == "#include \"common/nosuch.clh\"");
  error = failure({.source = kScale, .entry_point = "nosuch"});
  CHECK(error.argument == "entry_point");
  CHECK(error.got == "\"nosuch\"");
  CHECK(failure({.source = kScale, .entry_point = ""}).argument == "entry_point");
  CHECK(failure({.source = kScale, .entry_point = "scale", .defines = {{"A B", 1}}}).argument == "defines");
  CHECK(
      failure({.source = kScale, .entry_point = "scale", .text_defines = {{"T", "unsigned int"}}}).argument ==
      "text_defines");
  CHECK(failure({.source = kScale, .entry_point = "scale", .language = ""}).argument == "language");
  // Compilers are given options as text that ends at a NUL.
  const std::string nul("A\0B", 3);
  CHECK(failure({.source = kScale, .entry_point = "scale", .defines = {{nul, 1}}}).argument == "defines");
  CHECK(failure({.source = kScale, .entry_point = "scale", .text_defines = {{"T", nul}}}).argument ==
        "text_defines");
  CHECK(failure({.source = kScale, .entry_point = "scale", .language = nul}).argument == "language");
}

TEST_CASE("kernel: a launch that does not fit is refused by name and changes nothing") {
  const smem::Context context;
  const smem::Array<float> x(context, {1, 2, 3, 4});
  const smem::Kernel scale = context.build({.source = kScale, .entry_point = "scale"});
  auto error = test::failure_of([&] {
    scale({.global = {3, 1, 1}, .work_group = {2, 1, 1}}, x, cl_float{9});
  });
  CHECK(error.operation == "Kernel(scale)");
  CHECK(error.argument == "size");
  CHECK(error.expected == "a multiple of the work-group's 2 in dimension 0");
  CHECK(error.got == "3");
  CHECK(test::failure_of([&] { scale({.work_group = {0, 1, 1}}, x, cl_float{9}); }).argument == "size");
  const std::size_t many = context.device().max_work_group * 2;
  error = test::failure_of([&] {
    scale({.global = {many, 1, 1}, .work_group = {many, 1, 1}}, x, cl_float{9});
  });
  CHECK(error.argument == "size");
  CHECK(error.got == std::to_string(many) + " x 1 x 1");
  const smem::Context other;
  const smem::Array<float> foreign(other, {1});
  CHECK(test::failure_of([&] { scale({}, foreign, cl_float{9}); }).argument == "argument 0");
  CHECK(test::failure_of([&] { scale({}, foreign.buffer()(), cl_float{9}); }).got ==
        "a buffer of another context");
  error = test::failure_of([&] { scale({.global = {4, 1, 1}}, x); });
  CHECK(error.argument == "arguments");
  CHECK(error.expected == "2");
  CHECK(error.got == "1");
  error = test::failure_of([&] { scale({.global = {4, 1, 1}}, x, cl_double{9}); });
  CHECK(error.argument == "argument 1");
  CHECK(error.code == CL_INVALID_ARG_SIZE);
  CHECK(x.to_host() == std::vector<float>{1, 2, 3, 4});
}
