// sort_rows, described: sort_rows, sort_pairs_rows and argsort_rows.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"
#include "operations/sorts.hpp"

#include "formatted.hpp"

#include <smem/error.hpp>
#include <smem/sort_rows.hpp>

namespace smem::operations {

namespace {

SortRowsProblem rows_problem_of(const Words& words) {
  const std::vector<std::size_t> shape = words.sizes("shape");
  SortRowsProblem p;
  p.keys = words.scalar("type");
  p.rows = shape[0];
  p.cols = shape[1];
  p.batch = words.number("batch");
  set_order(p, words, "sort_rows");
  p.in_place = words.flag("in-place");
  set_payload(p, words, "sort_rows", p.cols);
  return p;
}

Case read_sort_rows(const Words& words) {
  const SortRowsProblem p = rows_problem_of(words);
  const std::size_t rows = detail::size_product(p.rows, p.batch),
                    elements = detail::size_product(rows, p.cols);
  const bool pairs = p.payload == SortPayload::values, places = p.payload == SortPayload::places;
  const Scalar value = pairs ? words.scalar("value") : p.value_bytes == 8 ? Scalar::uint64 : Scalar::uint32;
  Case made = case_of(formatted("{}{} x {} {}{}", batch_text(p.batch), p.rows, p.cols, name_of(p.keys),
                                pairs    ? formatted(" with {}", name_of(value))
                                : places ? ", places"
                                         : ""),
                      p, plan_sort_rows);
  const std::size_t distinct = words.number("distinct");
  if (distinct > 0) made.text += formatted(", {} distinct", distinct);
  made.text += order_text(p);
  std::vector<ArrayRule> from{{"keys", p.keys, elements, with_nans(keys_of(p.keys, distinct), p)}};
  if (pairs) from.push_back({"values", value, elements, {}});
  if (p.in_place) {
    made.in_out = from;
  } else {
    made.in = from;
    if (places) {
      made.out = {{"places", value, elements}};
    } else {
      made.out = {{pairs ? "out_keys" : "out", p.keys, elements}};
      if (pairs) made.out.push_back({"out_values", value, elements});
    }
  }
  const double keys = static_cast<double>(size_of(p.keys)), values = static_cast<double>(p.value_bytes);
  // By "radix" a row takes passes of several groups, however short it is.
  if (p.cols < 1024 && p.rows > 1024) made.slow = {"radix"};
  made.bytes = static_cast<double>(elements) * (places ? keys + values : 2 * (keys + values));
  made.call = [p, pairs, places](const Context& context, const CallArrays& arrays,
                                 const CallOptions& options) {
    const auto matrix = [&](const PlacedArray& array) { return array.matrix(p.rows, p.cols, p.batch); };
    const auto& in = p.in_place ? arrays.in_out : arrays.in;
    const auto& out = p.in_place ? arrays.in_out : arrays.out;
    const SortOrder order = order_of(p);
    if (pairs) {
      return sort_pairs_rows(context, matrix(in[0]), matrix(in[1]), matrix(out[0]), matrix(out[1]), order,
                             options);
    }
    if (places) return argsort_rows(context, matrix(in[0]), matrix(out[0]), order, options);
    return sort_rows(context, matrix(in[0]), matrix(out[0]), order, options);
  };
  made.reference = [p, rows](const HostArrays& arrays) {
    const std::vector<HostArray> given = p.in_place ? arrays.in_out : arrays.in;
    std::vector<HostArray>& to = p.in_place ? arrays.in_out : arrays.out;
    for_each_in_parallel(rows, [&](std::size_t row) { sort_plainly(p, given, to, row * p.cols, p.cols); });
  };
  return made;
}

}  // namespace

Operation sort_rows_operation() {
  return {
      .name = "sort_rows",
      .summary = "Sorts each row of a matrix: sort_rows, sort_pairs_rows and argsort_rows",
      .steps = {{"radix", "8 bits a pass over all rows: count, scan, scatter"},
                {"tile", "a row in local memory, read once"},
                {"network", "rows in registers, several rows a group"},
                {"keys_only", "a network of the keys' images, without their places"},
                {"cpu", "one thread a row"}},
      .words = with_order(
          {shape_rule("Rows, and keys of each"),
           type_rule(WordKind::scalar, "Type of the keys, as uint32 or half", "float32"),
           batch_rule(),
           choice_rule("payload", "What moves with each key", names_to(SortPayload::places)),
           {.name = "value",
            .kind = WordKind::scalar,
            .help = "Type of the values, with --payload values",
            .usual = "uint32"},
           or_zero(number_rule("distinct", "Number of different keys; 0: random keys of all values", "0")),
           flag_rule("in-place", "Sort in place")}),
      .read = read_sort_rows,
      // PyTorch sorts 29.9, 19.3, 13.0 and 10.4 * 10^9 keys a second of these rows on an H200. smem aims at
      // 6, 6, 5 and 3 times that, which are so many shares of the copy bandwidth.
      .samples = {.edges = {"1x1", "37x31 --batch 2", "129x64 int --in-place", "65x200 half --payload values",
                            "9x1009 --descending", "5x3001 ulong --payload places",
                            "3x9001 double --payload values --value ushort --in-place", "2x70001 ushort",
                            "3x2049 uchar --distinct 3 --payload places",
                            "9x500 half --payload places --total-order",
                            "9x500 float --payload places --nan-least --begin-bit 7"},
                  .small = {"65536x32", "4096x512", "128x8192"},
                  .usual = {"1000000x32", "65536x512", "4096x8192", "16x1048576",
                            "65536x512 --payload places", "65536x512 --payload values", "4096x8192 uint"},
                  .large = {goal("1000000x32", 0.33), goal("65536x512", 0.21), goal("4096x8192", 0.12),
                            goal("128x1048576", 0.058), "1000000x32 --payload places",
                            "65536x512 --payload places", "4096x8192 --payload places",
                            "4096x8192 --payload values", "65536x1024", "4096x8192 half", "4096x8192 ulong"}},
      .programs = {{"1000000x32"},
                   {"1000000x32 ulong --payload values --value ulong"},
                   {"65536x512"},
                   {"65536x500 half --payload places"},
                   {"65536x256 double --payload places"},
                   {"65536x512 --payload values --in-place", {}, "value_bytes=16"},
                   {"4096x8192"},
                   {"4096x8192 uchar --payload places"},
                   {"4096x8192 --payload values --in-place"},
                   {"4096x4096 ulong --payload values", {}, "value_bytes=12"},
                   {"65536x1000 double"},
                   {"65536x100 half --descending --in-place"},
                   {"128x1048576"},
                   {"128x1048576 double --payload places"}},
  };
}

}  // namespace smem::operations
