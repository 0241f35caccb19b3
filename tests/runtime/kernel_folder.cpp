// SMEM_KERNEL_DIR: kernels from a folder, to be edited without a build of the library.
#include <smem/smem.hpp>

#include "runtime/sources.hpp"

#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/folder.hpp"
#include "support/separables.hpp"
#include "support/stencils.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;
using test::contains;

namespace {

/// A copy of cl/ that a test may change, in use as long as the object lives.
struct KernelFolder {
  test::Folder folder;
  test::Variable variable{"SMEM_KERNEL_DIR", folder.string()};
  KernelFolder() { fs::copy(SMEM_TEST_KERNELS, folder.path(), fs::copy_options::recursive); }

  void replace(const fs::path& file, const std::string& what, const std::string& by) const {
    std::string text = test::text_of(folder.path() / file);
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    test::write_text(folder.path() / file, text.replace(at, what.size(), by));
  }
  /// The number of the line of `file` that holds `what`, from 1.
  std::size_t line_of(const fs::path& file, const std::string& what) const {
    const std::string text = test::text_of(folder.path() / file);
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return 1 + static_cast<std::size_t>(
                   std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }
};

std::vector<int> naive_transpose() {
  const smem::Context context;
  const smem::Array<int> in(context, {1, 2, 3, 4, 5, 6}), out(context, std::vector<int>(6, -1));
  smem::CallOptions options;
  options.variant = "naive";
  smem::transpose(context, in.matrix(2, 3), out.matrix(3, 2), options);
  return out.to_host();
}

const std::vector<int> kRight{1, 4, 2, 5, 3, 6};
constexpr const char* kNaive = "transpose/naive.cl";
constexpr const char* kStore = "to[j * out_pitch + i] = from[i * in_pitch + j];\n#endif";

}  // namespace

// A way through cl/stencil/rows.cl that plans choose on NVIDIA's devices alone.
TEST_CASE("kernel folder: bytes become floats by their bits") {
  const KernelFolder kernels;
  kernels.replace("stencil/row.clh", "#define BITS_TO_FLOAT 0", "#define BITS_TO_FLOAT 1");
  const smem::Context context;
  if ((context.cl_device().getInfo<CL_DEVICE_SINGLE_FP_CONFIG>() & CL_FP_DENORM) == 0) {
    MESSAGE("skipped: " << context.device().name << " takes denormal numbers for zeros");
    return;
  }
  test::StencilSweep sweep(context);
  for (const smem::Boundary boundary : {smem::Boundary::constant, smem::Boundary::mirror}) {
    test::StencilCase c;
    c.type = smem::Scalar::uint8;
    c.variant = "rows";
    c.boundary = boundary;
    c.radius = {1, 1};
    c.in.channels = c.out.channels = 4;
    c.size = {64, 19};  // rows of whole vectors, so that bytes come in words
    sweep.run(c);
    c.variant = "planes";
    c.shape = smem::StencilShape::star;
    c.radius = {1, 1, 1};
    c.size = {64, 19, 9};
    sweep.run(c);
  }
  CHECK(sweep.ran() == 4);
}

// A work-item then makes more rows than the plan thinks, and the last groups find nothing left.
TEST_CASE("kernel folder: sums of a stencil go on from turn to turn") {
  const KernelFolder kernels;
  kernels.replace("stencil/rows.cl", "#define TURNS 1 ", "#define TURNS 3 ");
  const smem::Context context;
  test::StencilSweep sweep(context);
  for (const smem::Boundary boundary :
       {smem::Boundary::constant, smem::Boundary::wrap, smem::Boundary::leave}) {
    for (const smem::Scalar type : {smem::Scalar::uint8, smem::Scalar::float32}) {
      test::StencilCase c;
      c.type = type;
      c.variant = "rows";
      c.boundary = boundary;
      c.radius = {1, 2};
      c.size = {64, 61};
      sweep.run(c);
      if (type != smem::Scalar::uint8) continue;
      c.int8_weights = true;
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == 9);
}

// As rows above; plans of CPUs make one row of each plane.
TEST_CASE("kernel folder: rows of volumes share what they read") {
  const KernelFolder kernels;
  kernels.replace("stencil/planes.cl", "#define ROWS 1 ", "#define ROWS 3 ");
  const smem::Context context;
  test::StencilSweep sweep(context);
  for (const smem::Boundary boundary :
       {smem::Boundary::constant, smem::Boundary::wrap, smem::Boundary::leave}) {
    for (const smem::StencilShape shape : {smem::StencilShape::star, smem::StencilShape::box}) {
      test::StencilCase c;
      c.variant = "planes";
      c.shape = shape;
      c.boundary = boundary;
      c.radius = {1, 2, 1};
      c.size = {36, 23, 31};
      sweep.run(c);
    }
  }
  CHECK(sweep.ran() == 6);
}

TEST_CASE("kernel folder: bytes become floats by their bits in separable filters") {
  const KernelFolder kernels;
  kernels.replace("separable/march.cl", "#define BITS_TO_FLOAT 0", "#define BITS_TO_FLOAT 1");
  const smem::Context context;
  test::SeparableSweep sweep(context);
  for (const smem::Scalar type : {smem::Scalar::uint8, smem::Scalar::uint16}) {
    test::SeparableCase c;
    c.grids.in = c.grids.out = type;
    c.variant = "march";
    c.grids.size = {64, 19};
    sweep.run(c);
  }
  CHECK(sweep.ran() == 2);
}

TEST_CASE("kernel folder: the embedded sources are the files of cl") {
  std::size_t files = 0;
  for (const auto& file : smem::runtime::embedded_files()) {
    CHECK(file.text == test::text_of(fs::path(SMEM_TEST_KERNELS) / file.path));
    CHECK(file.sha256.size() == 64);
    ++files;
  }
  std::size_t on_disk = 0;
  for (const auto& file : fs::recursive_directory_iterator(SMEM_TEST_KERNELS))
    on_disk += file.path().extension() == ".cl" || file.path().extension() == ".clh";
  CHECK(files == on_disk);
}

TEST_CASE("kernel folder: an edited kernel is used at once and the cache is not fooled") {
  const test::CacheFolder cache;
  CHECK(naive_transpose() == kRight);
  {
    const KernelFolder kernels;
    CHECK(naive_transpose() == kRight);
    kernels.replace(kNaive, kStore, "to[j * out_pitch + i] = from[i * in_pitch + j] + 1;\n#endif");
    CHECK(naive_transpose() == std::vector<int>{2, 5, 3, 6, 4, 7});
    // An included header is part of the key too.
    kernels.replace(kNaive, "in_pitch + j] + 1;", "in_pitch + j] + EXTRA;");
    kernels.replace("common/element.clh", "typedef uint element;", "typedef uint element;\n#define EXTRA 2");
    CHECK(naive_transpose() == std::vector<int>{3, 6, 4, 7, 5, 8});
    kernels.replace("common/element.clh", "#define EXTRA 2", "#define EXTRA 3");
    CHECK(naive_transpose() == std::vector<int>{4, 7, 5, 8, 6, 9});
  }
  CHECK(naive_transpose() == kRight);
}

TEST_CASE("kernel folder: a kernel that does not build shows the log and the failing line") {
  const KernelFolder kernels;
  kernels.replace(kNaive, kStore, "to[j * out_pitch + i] = from[i * in_pitch + j] + undeclared;\n#endif");
  const std::size_t line = kernels.line_of(kNaive, "undeclared");
  const auto error = test::failure_of([] { naive_transpose(); });
  CHECK(error.operation == "transpose");
  CHECK(error.argument == kNaive);
  CHECK(error.call == "clBuildProgram");
  CHECK(smem::status_name(error.code) == "CL_BUILD_PROGRAM_FAILURE");
  CHECK_FALSE(error.device.empty());
  CHECK(contains(error.expected, "-DELEMENT_BYTES=4"));
  CAPTURE(error.build_log);
  // First the place as it lies in cl/ and the text of the line; then the compiler's own words.
  const std::string first = error.build_log.substr(0, error.build_log.find('\n'));
  CHECK(first.starts_with("transpose/naive.cl:" + std::to_string(line) + ": "));
  CHECK(contains(first, "from[i * in_pitch + j] + undeclared;"));
  CHECK(contains(error.build_log.substr(first.size()), "undeclared"));
}

TEST_CASE("kernel folder: an error in an included header names the header") {
  const KernelFolder kernels;
  kernels.replace("common/element.clh", "typedef uint element;", "typedef no_such_type element;");
  const std::size_t line = kernels.line_of("common/element.clh", "no_such_type");
  const auto error = test::failure_of([] { naive_transpose(); });
  CAPTURE(error.build_log);
  CHECK(error.build_log.starts_with("common/element.clh:" + std::to_string(line) +
                                    ": typedef no_such_type element;"));
}

TEST_CASE("kernel folder: after a failed build the next call tries again") {
  const KernelFolder kernels;
  const smem::Context context;
  const smem::Array<int> in(context, {1, 2, 3, 4, 5, 6}), out(context, std::vector<int>(6, -1));
  smem::CallOptions options;
  options.variant = "naive";
  const auto call = [&] { smem::transpose(context, in.matrix(2, 3), out.matrix(3, 2), options); };
  kernels.replace(kNaive, kStore, "broken\n#endif");
  CHECK(test::failure_of(call).call == "clBuildProgram");
  CHECK(test::failure_of(call).call == "clBuildProgram");
  CHECK(out.to_host() == std::vector<int>(6, -1));
  kernels.replace(kNaive, "broken\n#endif", kStore);
  call();
  CHECK(out.to_host() == kRight);
}

TEST_CASE("kernel folder: a missing entry point is an error that names it") {
  const KernelFolder kernels;
  kernels.replace(kNaive, "void transpose_naive(", "void transpose_other(");
  const auto error = test::failure_of([] { naive_transpose(); });
  CHECK(error.call == "clCreateKernel");
  CHECK(error.code == CL_INVALID_KERNEL_NAME);
  CHECK(error.operation == "transpose");
  CHECK(error.argument == kNaive);
  CHECK(error.expected == "a kernel of the name \"transpose_naive\"");
  CHECK(contains(error.got, kernels.folder.string() + "/" + kNaive));
}

TEST_CASE("kernel folder: a missing file or folder is named") {
  const KernelFolder kernels;
  fs::remove(kernels.folder.path() / kNaive);
  auto error = test::failure_of([] { naive_transpose(); });
  CHECK(error.argument == "SMEM_KERNEL_DIR");
  CHECK(contains(error.expected, kNaive));
  CHECK(contains(error.got, kernels.folder.string()));
  fs::create_directory(kernels.folder.path() / kNaive);  // there, but no file
  error = test::failure_of([] { naive_transpose(); });
  CHECK(error.argument == "SMEM_KERNEL_DIR");
  const test::Variable nowhere("SMEM_KERNEL_DIR", "/nowhere/at/all");
  error = test::failure_of([] { naive_transpose(); });
  CHECK(error.argument == "SMEM_KERNEL_DIR");
  CHECK(contains(error.got, "/nowhere/at/all"));
}

TEST_CASE("kernel folder: a file that two branches of a condition include is in both") {
  KernelFolder kernels;
  const fs::path folder = kernels.folder.path();
  test::write_text(folder / "both.clh", "int both;\n");
  test::write_text(folder / "one.clh", "#include \"both.clh\"\n#if ONE\n#include \"one.clh\"\n#endif\n");
  test::write_text(folder / "other.clh", "#include \"both.clh\"\n");
  const std::string text = smem::runtime::with_includes(
      "#if ONE\n#include \"one.clh\"\n#else\n#include \"other.clh\"\n#endif\n", "sample.cl");
  const std::size_t other = text.find("#else");
  REQUIRE(other != std::string::npos);
  CHECK(text.substr(0, other).find("int both;") != std::string::npos);
  CHECK(text.substr(other).find("int both;") != std::string::npos);

  // Outside of conditions a file stands once.
  const std::string twice =
      smem::runtime::with_includes("#include \"both.clh\"\n#include \"other.clh\"\n", "sample.cl");
  CHECK(twice.find("int both;") == twice.rfind("int both;"));
}
