// smem bench scan: GB/s read and written, and the share of the device's own copy bandwidth.
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/goals.hpp"
#include "cli/ladder.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct Options : BenchOptions {
  std::string type = "float32";
  std::size_t size = 0;
  bool exclusive = false;
};

std::optional<Scalar> parse_type(const std::string& text) {
  for (const Scalar type : {Scalar::int32, Scalar::uint32, Scalar::float32, Scalar::int64, Scalar::uint64}) {
    if (text == name_of(type) || text == opencl_name_of(type)) return type;
  }
  return std::nullopt;
}

/// Element i: 0, 1 and -1 in a fixed mixture, so that sums of floats stay exact.
int element(std::size_t i) {
  const std::size_t bits = (i * 0x9e3779b97f4a7c15U) >> 60;
  return i % 2 == 1 ? -static_cast<int>((((i - 1) * 0x9e3779b97f4a7c15U) >> 60) & 1)
                    : static_cast<int>(bits & 1);
}

template <class Visit>
auto with_type(Scalar type, const Visit& visit) {
  if (type == Scalar::float32) return visit(float{});
  return size_of(type) == 4 ? visit(std::int32_t{}) : visit(std::int64_t{});
}

std::vector<unsigned char> data(const ScanCase& c) {
  std::vector<unsigned char> bytes(c.size * size_of(c.type));
  with_type(c.type, [&](auto zero) {
    auto* to = reinterpret_cast<decltype(zero)*>(bytes.data());
    for (std::size_t i = 0; i < c.size; ++i)
      to[i] = static_cast<decltype(zero)>(element(i));
  });
  return bytes;
}

/// Compares every result with a plain loop's.
std::optional<std::string> check(const Context& context, const ScanCase& c, const cl::Buffer& results) {
  std::vector<unsigned char> got(c.size * size_of(c.type));
  read_buffer(context, results, got.data(), got.size());
  return with_type(c.type, [&](auto zero) -> std::optional<std::string> {
    const auto* values = reinterpret_cast<const decltype(zero)*>(got.data());
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < c.size; ++i) {
      const std::int64_t before = sum;
      sum += element(i);
      const std::int64_t expected = c.exclusive ? before : sum;
      if (values[i] != static_cast<decltype(zero)>(expected))
        return fmt::format("element {} is {}, not {}", i, values[i], expected);
    }
    return std::nullopt;
  });
}

void run_case(BenchTable& table, const ScanCase& c, const std::vector<std::string>& variants) {
  ScanProblem problem;
  problem.in = problem.out = c.type;
  problem.exclusive = c.exclusive;
  problem.cols = c.size;
  const std::string label =
      fmt::format("{} sum of {} {}", c.exclusive ? "exclusive" : "inclusive", c.size, name_of(c.type));
  const auto buffers = table.buffers(label, c.size * size_of(c.type), 3);
  if (!buffers) return;
  const Context& context = table.context();
  table.fill(*buffers, data(c));
  for (const std::string& variant : variants) {
    const auto make_plan = [&](const std::string& name) {
      return plan_scan(context.device(), problem, name);
    };
    const auto call = [&](const measure::BufferPair& pair) {
      const CallOptions options{.variant = variant};
      const Vector in(pair.in(), c.type, c.size), out(pair.out(), c.type, c.size);
      return c.exclusive ? exclusive_scan(context, in, out, ReduceOp::sum, {}, options)
                         : inclusive_scan(context, in, out, ReduceOp::sum, options);
    };
    table.row({label, variant, c.goal}, *buffers, make_plan, call,
              [&] { return check(context, c, buffers->pairs.front().out); });
  }
}

int run(const Options& options) {
  BenchTable table(options, "bytes read and written");
  std::vector<ScanCase> cases{{*parse_type(options.type), options.size, 0, options.exclusive}};
  if (options.is_list()) cases = scan_goals(table.device().type, options.goals_small);
  for (const ScanCase& c : cases)
    run_case(table, c, options.variants_of(scan_variants()));
  return table.end();
}

}  // namespace

void ladder_scan(const LadderOptions& options) {
  climb(options, scan_variants(), [&](BenchTable& table, const std::vector<std::string>& variants) {
    const std::size_t bits = options.size(table.device(), 16, 24, 28);
    run_case(table, {.size = std::size_t{1} << bits}, variants);
  });
}

void add_bench_scan(Command bench, int& exit_code) {
  const Command command = bench.add_command("scan", "Speed of scans, beside the device's own copy");
  auto options = std::make_shared<Options>();
  const Option size = command.add_option("--size,--sizes", options->size, "Elements of a vector").positive();
  command
      .add_option("--type", options->type, "int32, uint32, int64, uint64 or float32; or as OpenCL C has it")
      .show_default()
      .check({[](const std::string& text) { return parse_type(text).has_value(); }, "TYPE",
              "not one of these types"});
  command.add_flag("--exclusive", options->exclusive, "Without the element itself");
  add_bench_options(command, *options, scan_variants(), {size}, {size}, exit_code,
                    [options] { return run(*options); });
}

}  // namespace smem::cli
