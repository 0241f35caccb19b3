// sort, described: sort, sort_pairs and argsort of vectors.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"
#include "operations/sorts.hpp"

#include "formatted.hpp"

#include <smem/error.hpp>
#include <smem/sort.hpp>

namespace smem::operations {

namespace {

Case read_sort(const Words& words) {
  SortProblem problem;
  problem.keys = words.scalar("type");
  problem.size = words.number("size");
  set_order(problem, words, "sort");
  problem.in_place = words.flag("in-place");
  const std::string& op = words.text("op");
  Scalar value = words.scalar("value");
  if (op == "sort_pairs") {
    problem.payload = SortPayload::values;
    problem.value_bytes = size_of(value);
  } else if (op == "argsort") {
    problem.payload = SortPayload::places;
    value = problem.size > 0xffffffffU ? Scalar::uint64 : Scalar::uint32;
    problem.value_bytes = size_of(value);
    if (problem.in_place) {
      throw Error(
          {.operation = "sort", .argument = "in-place", .expected = "sort or sort_pairs", .got = "argsort"});
    }
  }
  Case made =
      case_of(formatted("{} {}, {}{}", problem.size, name_of(problem.keys), op,
                        problem.payload == SortPayload::values ? formatted(" with {}", name_of(value)) : ""),
              problem, plan_sort);
  made.text += keys_text(words) + order_text(problem);
  if (problem.in_place) made.text += ", in place";
  std::vector<ArrayRule> from{{"keys", problem.keys, problem.size,
                               with_nans(keys_of("sort", problem.keys, problem.size, words), problem)}};
  if (problem.payload == SortPayload::values) from.push_back({"values", value, problem.size, {}});
  if (problem.in_place) {
    made.in_out = from;
  } else {
    made.in = from;
    if (problem.payload != SortPayload::places) {
      made.out = {{problem.payload == SortPayload::none ? "out" : "out_keys", problem.keys, problem.size}};
      if (problem.payload == SortPayload::values) made.out.push_back({"out_values", value, problem.size});
    } else {
      made.out = {{"places", value, problem.size}};
    }
  }
  const auto size = static_cast<double>(problem.size);
  const auto keys = static_cast<double>(size_of(problem.keys)),
             values = static_cast<double>(problem.value_bytes);
  made.bytes = size * (problem.payload == SortPayload::places ? keys + values : 2 * (keys + values));
  made.call = [problem](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const auto& in = problem.in_place ? arrays.in_out : arrays.in;
    const auto& out = problem.in_place ? arrays.in_out : arrays.out;
    const SortOrder order = order_of(problem);
    if (problem.payload == SortPayload::values) {
      return sort_pairs(context, in[0].vector(), in[1].vector(), out[0].vector(), out[1].vector(), order,
                        options);
    }
    if (problem.payload == SortPayload::places)
      return argsort(context, in[0].vector(), out[0].vector(), order, options);
    return sort(context, in[0].vector(), out[0].vector(), order, options);
  };
  made.reference = [problem](const HostArrays& arrays) {
    const std::vector<HostArray> given = problem.in_place ? arrays.in_out : arrays.in;
    sort_plainly(problem, given, problem.in_place ? arrays.in_out : arrays.out, 0, problem.size);
  };
  return made;
}

}  // namespace

Operation sort_operation() {
  return {
      .name = "sort",
      .summary = "Sorts vectors: sort, sort_pairs and argsort",
      .steps = {{"bitonic", "a sorting network over one tile in local memory: log^2 n steps"},
                {"one_row", "one group, in registers or by passes in local memory: as a row of sort_rows"},
                {"merge", "tiles are sorted in local memory, then merged in pairs: log n passes"},
                {"four_bits",
                 "4 bits a pass, three launches: twice the passes, and counts of 16 digits only"},
                {"three_launches",
                 "8 bits a pass: count digits, scan the counts, scatter runs of equal digits"},
                {"onesweep", "8 bits a pass, keys read once: decoupled look-back gives each tile its places"},
                {"cpu", "one thread a block; keys of a digit are collected in cache lines"}},
      .words = with_order(
          {{.name = "size", .help = "Number of keys", .positional = true},
           type_rule(WordKind::scalar, "Type of the keys, as uint32 or half", "uint32"),
           choice_rule("op", "The call", {"sort", "sort_pairs", "argsort"}),
           {.name = "value",
            .kind = WordKind::scalar,
            .help = "Type of the values of sort_pairs",
            .usual = "uint32"},
           or_zero(number_rule("distinct", "Number of different keys; 0: random keys of all values", "0")),
           spread_rule(),
           flag_rule("in-place", "Sort in place")}),
      .read = read_sort,
      // CUB sorts 48.8 * 10^9 uint32 keys a second on an H200, and 30.7 * 10^9 pairs: 0.092 and 0.116 of its
      // copy bandwidth, by the bytes that go in and come out; 2^27 floats in 2.91 ms, 2^26 uint64 in 4.23,
      // 2^28 halves in 3.04: 0.087, 0.060 and 0.083. smem aims at 0.95 of that.
      .samples = {.edges = {"1", "1009", "70001", "300007 float", "9001 uchar --descending",
                            "30011 ushort --op sort_pairs --value ulong --distinct 3",
                            "70001 int --op sort_pairs --in-place", "30011 double --op argsort --descending",
                            "5003 char --in-place", "30011 --spread zipf", "20011 float --spread reversed",
                            "9001 half --op argsort --total-order",
                            "9001 float --op argsort --nan-least --descending",
                            "30011 --op argsort --begin-bit 5 --end-bit 21"},
                  .small = {"65536", "1048576", "1048576 --op sort_pairs", "1048576 float --op argsort"},
                  .usual = {"16777216", "16777216 --distinct 1", "16777216 --op sort_pairs", "16777216 float",
                            "16777216 float --op argsort", "8388608 ulong", "33554432 half", "1048576",
                            "16777216 --in-place"},
                  .large = {goal("134217728", 0.087), goal("67108864 --op sort_pairs", 0.11),
                            goal("134217728 float", 0.082), "134217728 float --op argsort",
                            goal("67108864 ulong", 0.057), goal("268435456 half", 0.079),
                            "134217728 --distinct 1", "134217728 --distinct 2", "134217728 --spread zipf",
                            "134217728 --spread sorted", "1048576", "65536", "134217728 --in-place"}},
      .programs = {{"2000", {"bitonic"}},
                   {"2000 half --op sort_pairs --value uchar", {"bitonic"}},
                   {"2000 double --op argsort", {"bitonic"}},
                   {"268435456"},
                   {"268435456", {"four_bits"}},
                   {"268435456", {"merge"}},
                   {"268435456 double --op argsort --descending", {"merge"}},
                   {"268435456 half --op sort_pairs --value ulong", {"merge"}},
                   {"268435456 float --op sort_pairs"},
                   {"268435456 half"},
                   {"268435456 double --op argsort"},
                   {"268435456 ulong --op sort_pairs --value ulong"},
                   {"268435456 char --op sort_pairs", {}, "value_bytes=12"},
                   {"268435456 ushort --op sort_pairs", {}, "value_bytes=16"},
                   {"268435456 long"},
                   {"268435456 uchar"},
                   {"8589934592 float --op argsort --descending", {}, "total_order=1"}},
  };
}

}  // namespace smem::operations
