// top_k, described: top_k_rows and nth_element.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"
#include "operations/sorts.hpp"

#include "formatted.hpp"

#include <smem/error.hpp>
#include <smem/top_k.hpp>

#include <algorithm>
#include <numeric>

namespace smem::operations {

namespace {

/// The results of a row, by a sort.
void select_plainly(const TopKProblem& p, std::size_t row, const HostArrays& arrays) {
  const HostArray& in = arrays.in[0];
  const std::size_t first = row * p.cols;
  std::vector<double> numbers(p.cols);
  for (std::size_t i = 0; i < p.cols; ++i)
    numbers[i] = in.number(first + i);
  std::vector<std::uint64_t> places(p.cols);
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  std::partial_sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(p.k), places.end(),
                    [&](std::uint64_t a, std::uint64_t b) {
                      const double x = numbers[a], y = numbers[b];
                      return x == y ? a < b : p.least ? x < y : x > y;
                    });
  const std::size_t bytes = size_of(p.type);
  if (p.op == TopKOp::nth_element)
    return copy_element(in, first + places[p.k - 1], arrays.out[0], row, bytes);
  if (!p.sorted) std::sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(p.k));
  for (std::size_t q = 0; q < p.k; ++q) {
    copy_element(in, first + places[q], arrays.out[0], row * p.k + q, bytes);
    arrays.out[1].set(row * p.k + q, static_cast<double>(places[q]));
  }
}

Case read_top_k(const Words& words) {
  const std::vector<std::size_t> shape = words.sizes("shape");
  TopKProblem p;
  p.op = words.enumerator<TopKOp>("op");
  p.type = words.scalar("type");
  p.rows = shape.size() > 1 ? shape[0] : 1;
  p.cols = shape.back();
  p.k = words.number("k");
  p.batch = words.number("batch");
  p.least = words.flag("least");
  p.sorted = !words.flag("unsorted");
  const bool is_nth = p.op == TopKOp::nth_element;
  if (p.k > p.cols) refuse("top_k", "k", formatted("at most {} of a row", p.cols), formatted("{}", p.k));
  if (is_nth && (p.rows != 1 || p.batch != 1)) refuse("top_k", "shape", "a vector for nth_element", "rows");
  if (is_nth && !p.sorted) refuse("top_k", "unsorted", "top_k", "nth_element");
  const std::size_t rows = detail::size_product(p.rows, p.batch);
  const std::size_t elements = detail::size_product(rows, p.cols);
  p.row_alignment = packed_alignment(rows, detail::size_product(p.cols, size_of(p.type)), 16);
  Case made =
      case_of(formatted("{} {} of {}{} x {} {}{}", p.least ? "least" : "greatest", p.k, batch_text(p.batch),
                        p.rows, p.cols, name_of(p.type), is_nth ? ", the last" : ""),
              p, plan_top_k);
  made.text += keys_text(words);
  made.in = {{"in", p.type, elements, keys_of("top_k", p.type, elements, words)}};
  if (is_nth) {
    made.out = {{"out", p.type, 1}};
  } else {
    const std::size_t results = detail::size_product(rows, p.k);
    made.out = {{"values", p.type, results}, {"places", p.places, results}};
  }
  made.bytes = static_cast<double>(made.in[0].bytes());
  for (const ArrayRule& out : made.out)
    made.bytes += static_cast<double>(out.bytes());
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    if (is_nth) {
      return nth_element(context, arrays.in[0].vector(), arrays.out[0].vector(),
                         {.n = p.k - 1, .descending = !p.least}, options);
    }
    return top_k_rows(context, arrays.in[0].matrix(p.rows, p.cols, p.batch),
                      arrays.out[0].matrix(p.rows, p.k, p.batch), arrays.out[1].matrix(p.rows, p.k, p.batch),
                      {.least = p.least, .sorted = p.sorted}, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    for_each_in_parallel(rows, [&](std::size_t row) { select_plainly(p, row, arrays); });
  };
  return made;
}

}  // namespace

Operation top_k_operation() {
  return {
      .name = "top_k",
      .summary = "Selects the greatest or least elements of rows, with their places; or the n-th element",
      .steps = {{"radix_select", "each pass fixes one digit of the k-th element, the highest first"},
                {"delegates", "one pass finds the best element of each span; then only k spans are read"},
                {"tile", "a row in local memory, read once"},
                {"registers", "a row in registers; few candidates remain beside the best of each work-item"},
                {"network", "several short rows a group, each sorted in registers"},
                {"row_delegates",
                 "the best of each span of a row in registers; then only few spans are read"},
                {"cpu", "one thread a row; delegates in vectors"}},
      .words = {sizes_rule("shape", "Elements, or rows and elements of each: SIZE or ROWSxCOLS",
                           "SIZE or ROWSxCOLS", {1, 2}),
                type_rule(WordKind::scalar, "Type of the elements, as uint32 or half", "float32"),
                number_rule("k", "Number of elements that are selected from each row", "8"), batch_rule(),
                choice_rule("op", "The call: the k elements, or only the k-th",
                            names_to(TopKOp::nth_element)),
                flag_rule("least", "Select the least elements, not the greatest"),
                flag_rule("unsorted", "Results in the order of their places, not sorted"),
                or_zero(number_rule("distinct",
                                    "Number of different elements; 0: random elements of all values", "0")),
                spread_rule()},
      .read = read_top_k,
      // 2^28 floats in 0.40 ms are 0.63 of an H200's copy bandwidth; PyTorch takes 5.1 ms.
      .samples = {.edges = {"1 --k 1", "37x131 --k 7 --batch 2", "5x4099 half --k 200 --unsorted",
                            "70001 --k 64 --least", "3x30011 uchar --k 1000 --distinct 3",
                            "20011 double --k 20011 --distinct 5", "9001 int --k 4501 --op nth_element",
                            "2x40009 ulong --k 5000 --unsorted --least", "3x100003 ushort --k 9"},
                  .small = {"1048576 --k 64", "4096x1024 --k 8", "1048576 --k 10000"},
                  .usual = {"16777216 --k 64", "16777216 --k 64 --distinct 1", "16777216 --k 2048",
                            "16777216 --k 100000", "4096x8192 --k 64", "65536x512 --k 8",
                            "16777216 --k 8388608 --op nth_element", "16777216 half --k 64"},
                  .large = {goal("268435456 --k 64", 0.60), "268435456 --k 1",
                            goal("268435456 --k 2048", 0.60), goal("268435456 --k 100000", 0.24),
                            "268435456 --k 64 --distinct 1", "268435456 --k 64 --distinct 2",
                            "268435456 --k 64 --spread high-bits", "268435456 --k 2048 --spread high-bits",
                            "268435456 --k 2048 --distinct 1", "268435456 --k 100000 --distinct 1",
                            goal("4096x8192 --k 64", 0.50), "65536x512 --k 8", "512x131072 --k 50",
                            "128x1048576 --k 64", "268435456 half --k 64", "134217728 double --k 64",
                            "268435456 --k 134217728 --op nth_element"}},
      .programs = {{"268435456 --k 64"},
                   {"268435456 half --k 1 --unsorted"},
                   {"268435456 uchar --k 100 --least"},
                   {"134217728 double --k 64"},
                   {"268435456 long --k 2048"},
                   {"268435456 --k 100000"},
                   {"4096x8192 --k 64"},
                   {"4096x8192 double --k 100 --unsorted"},
                   {"4096x8192 --k 200"},
                   {"65536x512 bfloat16 --k 8"},
                   {"1000003x30 ulong --k 5"},
                   {"268435456 --k 100 --op nth_element"},
                   {"512x131071 --k 50"},
                   {"268435456 --k 64", {}, "total_order=1 places=uint64"}},
  };
}

}  // namespace smem::operations
