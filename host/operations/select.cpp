// select, described: copy_if, copy_flagged, the partitions, unique and run_length_encode.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"

#include "formatted.hpp"

#include <smem/select.hpp>

#include <cmath>

namespace smem::operations {

namespace {

bool is_flagged(SelectOp op) {
  return op == SelectOp::copy_flagged || op == SelectOp::partition_flagged ||
         op == SelectOp::partition_flagged_reversed;
}
bool is_reversed(SelectOp op) {
  return op == SelectOp::partition_reversed || op == SelectOp::partition_flagged_reversed;
}
bool is_partition(SelectOp op) {
  return op == SelectOp::partition || op == SelectOp::partition_flagged || is_reversed(op);
}
bool has_runs(SelectOp op) { return op == SelectOp::unique || op == SelectOp::run_length_encode; }

/// Elements of 0 to 99, flags of 0 and 1; of runs zeros among other numbers.
std::vector<ArrayRule> inputs_of(const SelectProblem& p, double share) {
  std::vector<ArrayRule> in{{"in", p.in, p.size, {.most = 99}}};
  const auto part = [](std::uint64_t random) { return static_cast<double>(random >> 40) * 0x1p-24; };
  if (is_flagged(p.op)) {
    in.push_back({"flags", p.flags, p.size, {}});
    in[1].fill.number = [=](std::uint64_t random) { return part(random) < share ? 1.0 : 0.0; };
  } else if (has_runs(p.op)) {
    // A number begins a run, and so does the zero after it: 2 q - q^2 of the elements.
    const double q = 1 - std::sqrt(1 - share);
    in[0].fill.number = [=](std::uint64_t random) {
      return part(random) < q ? static_cast<double>(1 + random % 99) : 0.0;
    };
  }
  return in;
}

void select_plainly(const SelectProblem& p, double per_cent, const HostArrays& arrays) {
  const HostArray& in = arrays.in[0];
  const std::size_t bytes = size_of(p.in);
  std::vector<std::size_t> others;
  std::size_t count = 0, run = 0;
  for (std::size_t i = 0; i < p.size; ++i) {
    const double value = in.number(i);
    const bool takes = has_runs(p.op)     ? i == 0 || value != in.number(i - 1)
                       : is_flagged(p.op) ? arrays.in[1].number(i) != 0
                                          : value < per_cent;
    if (takes) {
      if (p.op == SelectOp::run_length_encode && count > 0)
        arrays.out[1].set(count - 1, static_cast<double>(run));
      copy_element(in, i, arrays.out[0], count++, bytes);
      run = 0;
    } else if (is_partition(p.op)) {
      others.push_back(i);
    }
    ++run;
  }
  if (p.op == SelectOp::run_length_encode && count > 0)
    arrays.out[1].set(count - 1, static_cast<double>(run));
  arrays.out.back().set(0, static_cast<double>(count));
  for (std::size_t i = 0; i < others.size(); ++i)
    copy_element(in, others[i], arrays.out[0], is_reversed(p.op) ? p.size - 1 - i : count + i, bytes);
}

cl::Event call_select(const Context& context, const SelectProblem& p, const CallArrays& a,
                      const CallOptions& options) {
  const Vector in = a.in[0].vector(), out = a.out[0].vector(), count = a.out.back().vector();
  switch (p.op) {
    case SelectOp::copy_if:
      return copy_if(context, in, out, count, p.predicate, options);
    case SelectOp::copy_flagged:
      return copy_flagged(context, in, a.in[1].vector(), out, count, options);
    case SelectOp::partition:
      return partition(context, in, out, count, p.predicate, options);
    case SelectOp::partition_flagged:
      return partition_flagged(context, in, a.in[1].vector(), out, count, options);
    case SelectOp::partition_reversed:
      return partition_reversed(context, in, out, count, p.predicate, options);
    case SelectOp::partition_flagged_reversed:
      return partition_flagged_reversed(context, in, a.in[1].vector(), out, count, options);
    case SelectOp::unique:
      return unique(context, in, out, count, options);
    default:
      return run_length_encode(context, in, out, a.out[1].vector(), count, options);
  }
}

Case read_select(const Words& words) {
  const double per_cent = words.real("per-cent");
  if (!(per_cent >= 0 && per_cent <= 100)) refuse("select", "per-cent", "0 to 100", words.text("per-cent"));
  SelectProblem problem;
  problem.op = words.enumerator<SelectOp>("op");
  problem.in = words.scalar("type");
  problem.size = words.number("size");
  if (!is_flagged(problem.op) && !has_runs(problem.op)) problem.predicate = formatted("x < {}", per_cent);
  Case made =
      case_of(formatted("{} {}, {} {} %", problem.size, name_of(problem.in), name_of(problem.op), per_cent),
              problem, plan_select);
  made.in = inputs_of(problem, per_cent / 100);
  const Scalar counter = problem.size > 0xffffffffU ? Scalar::uint64 : Scalar::uint32;
  const bool with_lengths = problem.op == SelectOp::run_length_encode;
  made.out = {{"out", problem.in, problem.size}};
  if (with_lengths) made.out.push_back({"lengths", counter, problem.size});
  made.out.push_back({"count", counter, 1});
  for (const ArrayRule& rule : made.in)
    made.bytes += static_cast<double>(rule.bytes());
  made.bytes += static_cast<double>(problem.size) * (is_partition(problem.op) ? 1 : per_cent / 100) *
                static_cast<double>(size_of(problem.in) + (with_lengths ? size_of(counter) : 0));
  made.call = [problem](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    return call_select(context, problem, arrays, options);
  };
  made.reference = [problem, per_cent](const HostArrays& arrays) {
    select_plainly(problem, per_cent, arrays);
  };
  return made;
}

}  // namespace

Operation select_operation() {
  return {
      .name = "select",
      .summary = "Selects elements: copy_if, copy_flagged, partition, unique, run_length_encode",
      .steps = {{"count_then_place", "count, scan, then read again and write"},
                {"look_back", "the input is read once: decoupled look-back gives each tile its place"},
                {"cpu", "one thread a chunk that fits its cache"}},
      .words = {{.name = "size", .kind = WordKind::number, .help = "Number of elements", .positional = true},
                scalar_rule(),
                choice_rule("op", "The call", names_to(SelectOp::run_length_encode)),
                {"per-cent", WordKind::real, "Share of the elements that are selected", "50"}},
      .read = read_select,
      // CUB's DeviceSelect::If takes 0.608 ms on an H200 for 2^28 floats of which half are selected: 0.62 of
      // the copy bandwidth, by the bytes that must be moved.
      .samples = {.edges = {"1", "1009", "300007", "70001 uchar --per-cent 99",
                            "70001 half --op copy_flagged", "70001 int --op partition --per-cent 7",
                            "70001 ushort --op partition_flagged", "70001 --op partition_reversed",
                            "70001 uchar --op partition_flagged_reversed --per-cent 10", "70001 --op unique",
                            "70001 ulong --op run_length_encode --per-cent 5"},
                  .small = {"65536", "4194304", "4194304 --op copy_flagged", "4194304 --op partition",
                            "4194304 --op run_length_encode --per-cent 5"},
                  .usual = {"16777216", "16777216 --per-cent 1", "16777216 --per-cent 99", "16777216 uint8",
                            "16777216 --op copy_flagged", "16777216 --op partition", "16777216 --op unique",
                            "16777216 int --op unique --per-cent 5",
                            "16777216 --op run_length_encode --per-cent 5"},
                  .large = {goal("268435456", 0.63), "268435456 --per-cent 1", "268435456 --per-cent 99",
                            "268435456 uint8", "268435456 --op copy_flagged", "268435456 --op partition",
                            "268435456 --op partition_reversed", "268435456 --op unique",
                            "268435456 int --op unique --per-cent 5",
                            "268435456 --op run_length_encode --per-cent 5"},
                  .weak = {"1000", "30000", "1000000", "5000000", goal("268435456 uint8", 0.60),
                           goal("268435456 --op partition", 0.66),
                           goal("268435456 --op run_length_encode --per-cent 5", 0.65)}},
      .programs = {{"268435456 --per-cent 1"},
                   {"268435456 --op copy_flagged"},
                   {"268435456 --op partition --per-cent 1"},
                   {"268435456 --op partition_reversed"},
                   {"268435456 --op unique"},
                   {"268435456 --op run_length_encode"},
                   {"268435456 int8 --op unique"},
                   {"268435456 half --per-cent 1"},
                   {"268435456 uint64 --op run_length_encode"},
                   {"268435456 int32 --per-cent 1", {}, "in_alignment=4"},
                   {"8589934592 int32 --op run_length_encode"}},
  };
}

}  // namespace smem::operations
