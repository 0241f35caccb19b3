// smem bench select: GB/s read and written, and the share of the device's own copy bandwidth.
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/goals.hpp"
#include "cli/ladder.hpp"
#include "cli/select_case.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

struct Options : BenchOptions {
  std::string type = "float32", op = "copy_if";
  std::size_t size = 0, per_cent = 50;
};

std::optional<Scalar> parse_type(const std::string& text) {
  for (const Scalar type : {Scalar::uint8, Scalar::int32, Scalar::float32, Scalar::uint64}) {
    if (text == name_of(type) || text == opencl_name_of(type)) return type;
  }
  return std::nullopt;
}

template <class Visit>
auto with_type(Scalar type, const Visit& visit) {
  if (type == Scalar::uint8) return visit(std::uint8_t{});
  if (type == Scalar::int32) return visit(std::int32_t{});
  return type == Scalar::float32 ? visit(float{}) : visit(std::uint64_t{});
}

bool is_flagged(SelectOp op) { return op == SelectOp::copy_flagged || op == SelectOp::partition_flagged; }
bool has_runs(SelectOp op) { return op == SelectOp::unique || op == SelectOp::run_length_encode; }

/// 0 to 99, by a hash of a number (SplitMix64's last steps).
std::size_t draw(std::size_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return ((z ^ (z >> 31)) >> 32) * 100 >> 32;
}

/// The data of a case, and what a plain loop selects of it.
struct Data {
  std::vector<unsigned char> in, flags, out;
  std::vector<std::uint32_t> lengths;
  std::size_t count = 0;
};

/// An element that is selected is less than the number of per cent. Of runs it differs from the one before.
template <class T>
Data data_of(const SelectCase& c) {
  Data data;
  data.in.resize(c.size * sizeof(T));
  data.out.resize(c.size * sizeof(T));
  if (is_flagged(c.op)) data.flags.resize(c.size);
  auto* in = reinterpret_cast<T*>(data.in.data());
  auto* out = reinterpret_cast<T*>(data.out.data());
  std::vector<T> others;
  for (std::size_t i = 0; i < c.size; ++i) {
    const std::size_t number = draw(i);
    bool takes = number < c.per_cent;
    if (has_runs(c.op)) {
      takes = takes || i == 0;
      in[i] = i == 0 ? T(0) : takes ? static_cast<T>(in[i - 1] == T(9) ? 0 : in[i - 1] + 1) : in[i - 1];
    } else {
      in[i] = static_cast<T>(number);
    }
    if (is_flagged(c.op)) data.flags[i] = takes ? 1 : 0;
    if (takes) {
      out[data.count++] = in[i];
      if (c.op == SelectOp::run_length_encode) data.lengths.push_back(0);
    } else if (c.op == SelectOp::partition || c.op == SelectOp::partition_flagged) {
      others.push_back(in[i]);
    }
    if (!data.lengths.empty()) ++data.lengths.back();
  }
  std::copy(others.begin(), others.end(), out + data.count);
  data.out.resize((data.count + others.size()) * sizeof(T));
  return data;
}

/// Compares every result with the plain loop's.
std::optional<std::string> check(const Context& context, const Data& data, const cl::Buffer& results,
                                 const Array<std::uint32_t>& lengths, const Array<std::uint64_t>& count) {
  const std::uint64_t counted = count.to_host()[0];
  if (counted != data.count) return fmt::format("the count is {}, not {}", counted, data.count);
  std::vector<unsigned char> got(data.out.size());
  read_buffer(context, results, got.data(), got.size());
  if (got != data.out) return "an element";
  if (data.lengths.empty()) return std::nullopt;
  const std::vector<std::uint32_t> runs = lengths.to_host();
  if (std::memcmp(runs.data(), data.lengths.data(), data.lengths.size() * sizeof(std::uint32_t)) != 0)
    return "a length";
  return std::nullopt;
}

void run_case(BenchTable& table, const SelectCase& c, const std::vector<std::string>& variants) {
  const std::string label =
      fmt::format("{} {} % of {} {}", name_of(c.op), c.per_cent, c.size, name_of(c.type));
  const auto buffers = table.buffers(label, c.size * size_of(c.type), 4);
  if (!buffers) return;
  const Context& context = table.context();
  const Data data = with_type(c.type, [&](auto zero) { return data_of<decltype(zero)>(c); });
  table.fill(*buffers, data.in);
  const Array<std::uint8_t> flags(context, is_flagged(c.op) ? c.size : 1);
  if (is_flagged(c.op)) write_buffer(context, flags.buffer(), data.flags.data(), data.flags.size());
  const Array<std::uint32_t> lengths(context, c.op == SelectOp::run_length_encode ? c.size : 1);
  const Array<std::uint64_t> count(context, 1);
  SelectProblem problem;
  problem.op = c.op;
  problem.in = c.type;
  problem.size = c.size;
  problem.predicate = fmt::format("x < {}", c.per_cent);
  const auto bytes = static_cast<double>(data.in.size() + data.flags.size() + data.out.size() +
                                         data.lengths.size() * sizeof(std::uint32_t));
  for (const std::string& variant : variants) {
    const auto make_plan = [&](const std::string& name) {
      return plan_select(context.device(), problem, name);
    };
    const auto call = [&](const measure::BufferPair& pair) {
      return run_select(context, problem,
                        {Vector(pair.in(), c.type, c.size), flags.vector(),
                         Vector(pair.out(), c.type, c.size), lengths.vector(), count.vector()},
                        {.variant = variant});
    };
    table.row({label, variant, c.goal, bytes}, *buffers, make_plan, call,
              [&] { return check(context, data, buffers->pairs.front().out, lengths, count); });
  }
}

int run(const Options& options) {
  BenchTable table(options, "bytes of elements, flags and lengths that must be read or written, once each");
  std::vector<SelectCase> cases{
      {*parse_select_op(options.op), *parse_type(options.type), options.size, options.per_cent}};
  if (options.is_list()) cases = select_goals(table.device().type, options.goals_small);
  for (const SelectCase& c : cases)
    run_case(table, c, options.variants_of(select_variants()));
  return table.end();
}

}  // namespace

void ladder_select(const LadderOptions& options) {
  climb(options, select_variants(), [&](BenchTable& table, const std::vector<std::string>& variants) {
    const std::size_t bits = options.size(table.device(), 16, 24, 28);
    run_case(table, {.size = std::size_t{1} << bits}, variants);
  });
}

void add_bench_select(Command bench, int& exit_code) {
  const Command command = bench.add_command("select", "Speed of selections, beside the device's own copy");
  auto options = std::make_shared<Options>();
  const Option size = command.add_option("--size,--sizes", options->size, "Elements of a vector").positive();
  command.add_option("--op", options->op, "copy_if, copy_flagged, partition, ...")
      .show_default()
      .one_of(select_op_names());
  command.add_option("--type", options->type, "uint8, int32, uint64 or float32; or as OpenCL C has it")
      .show_default()
      .check({[](const std::string& text) { return parse_type(text).has_value(); }, "TYPE",
              "not one of these types"});
  command.add_option("--per-cent", options->per_cent, "Of the elements that are selected")
      .show_default()
      .between(0, 100);
  add_bench_options(command, *options, select_variants(), {size}, {size}, exit_code,
                    [options] { return run(*options); });
}

}  // namespace smem::cli
