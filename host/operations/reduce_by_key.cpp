// reduce_by_key, described, with unique_by_key.
#include "operations/reductions.hpp"

#include "formatted.hpp"

#include <smem/reduce_by_key.hpp>

namespace smem::operations {

namespace {

void reduce_plainly(const ReduceByKeyProblem& p, const HostArrays& arrays) {
  const HostArray &keys = arrays.in[0], &in = arrays.in[1];
  const ReduceOp op = p.operation.op;
  std::size_t runs = 0;
  double value = 0;
  for (std::size_t i = 0; i < p.size; ++i) {
    const bool begins = i == 0 || keys.number(i) != keys.number(i - 1);
    if (begins) copy_element(keys, i, arrays.out[0], runs++, size_of(p.keys));
    if (p.unique) {
      if (begins) copy_element(in, i, arrays.out[1], runs - 1, size_of(p.in));
      continue;
    }
    const bool is_truth = op == ReduceOp::any || op == ReduceOp::all;
    const double own = is_truth ? in.number(i) != 0 : in.number(i);
    value = begins ? own : combined(op, value, own);
    arrays.out[1].set(runs - 1, value);
  }
  arrays.out[2].set(0, static_cast<double>(runs));
}

Case read_reduce_by_key(const Words& words) {
  const double run = words.real("run-length");
  if (!(run >= 1 && run <= 1e12))
    refuse("reduce_by_key", "run-length", "1 to 10^12", words.text("run-length"));
  const Scalar type = words.scalar("type");
  ReduceByKeyProblem problem;
  problem.unique = words.flag("unique");
  problem.operation = words.enumerator<ReduceOp>("op");
  problem.keys = words.scalar("keys");
  problem.in = type;
  problem.out = type;
  const ReduceOp op = problem.operation.op;
  if (problem.unique) {
    problem.in = problem.out = size_of(type) == 1   ? Scalar::uint8
                               : size_of(type) == 2 ? Scalar::uint16
                               : size_of(type) == 4 ? Scalar::uint32
                                                    : Scalar::uint64;
  } else if (op == ReduceOp::any || op == ReduceOp::all) {
    problem.out = Scalar::uint8;
  }
  problem.size = words.number("size");
  Case made = case_of(formatted("{} {} by {}, {}, runs of {}", problem.size, name_of(type),
                                name_of(problem.keys), problem.unique ? "the first" : name_of(op), run),
                      problem, plan_reduce_by_key);
  const Scalar counter = problem.size > 0xffffffffU ? Scalar::uint64 : Scalar::uint32;
  made.in = {{"keys", problem.keys, problem.size, runs_of(run)},
             {"in", problem.in, problem.size, fill_for(op, problem.in, problem.size)}};
  made.out = {
      {"unique_keys", problem.keys, problem.size}, {"out", problem.out, problem.size}, {"count", counter, 1}};
  const double elements = static_cast<double>(problem.size);
  const auto bytes = [](Scalar a, Scalar b) { return static_cast<double>(size_of(a) + size_of(b)); };
  made.bytes = elements * (bytes(problem.keys, problem.in) + bytes(problem.keys, problem.out) / run);
  made.call = [problem](const Context& context, const CallArrays& a, const CallOptions& options) {
    const Vector keys = a.in[0].vector(), in = a.in[1].vector(), unique_keys = a.out[0].vector(),
                 out = a.out[1].vector(), count = a.out[2].vector();
    return problem.unique
               ? unique_by_key(context, keys, in, unique_keys, out, count, options)
               : reduce_by_key(context, keys, in, unique_keys, out, count, problem.operation, options);
  };
  made.reference = [problem](const HostArrays& arrays) { reduce_plainly(problem, arrays); };
  return made;
}

}  // namespace

Operation reduce_by_key_operation() {
  return {
      .name = "reduce_by_key",
      .summary = "Reductions of runs of equal keys, and the first element of each",
      .steps = {{"reduce_then_scan", "reduce parts, then read the input again and write their runs"},
                {"look_back", "the input is read once: decoupled look-back gives each tile its prefix"},
                {"cpu", "one thread a chunk that fits its cache"}},
      .words = {{.name = "size", .kind = WordKind::number, .help = "Elements", .positional = true},
                scalar_rule(),
                {"keys", WordKind::scalar, "The keys' type", "uint32"},
                reduction_rule(ReduceOp::all),
                flag_rule("unique", "Keep the first element of each run, do not reduce (unique_by_key)"),
                {"run-length", WordKind::real, "Elements of a run, in the mean", "8"}},
      .read = read_reduce_by_key,
      .samples = {.edges = {"1", "1009", "300007", "300007 --run-length 1 --unique",
                            "70001 uchar --op max --keys ulong",
                            "70001 half --op min --keys half --run-length 100",
                            "70001 int --op any --keys ushort",
                            "70001 ushort --unique --keys float --run-length 2",
                            "70001 ulong --run-length 1000000"},
                  .small = {"65536", "4194304", "4194304 --unique"},
                  .usual = {"16777216", "16777216 --run-length 1", "16777216 --run-length 1000",
                            "16777216 ulong --keys ulong", "16777216 --unique"},
                  .large = {"268435456", "268435456 --run-length 1", "268435456 --run-length 1000",
                            "134217728 ulong --keys ulong", "268435456 --unique"}},
      .programs = {{"268435456"},
                   {"268435456 int8 --op max"},
                   {"268435456 half --keys half"},
                   {"268435456 uint64 --keys uint64"},
                   {"268435456 --unique"},
                   {"268435456 int32", {}, "in_alignment=4"},
                   {"8589934592 int32 --keys float"}},
  };
}

}  // namespace smem::operations
