// sort_segments, described: sort_segments, sort_pairs_segments and argsort_segments.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"
#include "operations/sorts.hpp"

#include "formatted.hpp"

#include <smem/error.hpp>
#include <smem/sort_segments.hpp>

namespace smem::operations {

namespace {

SortSegmentsProblem segments_problem_of(const Words& words) {
  SortSegmentsProblem p;
  p.keys = words.scalar("type");
  p.size = words.number("size");
  p.segments = words.number("segments");
  set_order(p, words, "sort_segments");
  p.in_place = words.flag("in-place");
  set_payload(p, words, "sort_segments", p.size);
  p.offsets = p.size > 0xffffffffU ? Scalar::uint64 : Scalar::uint32;
  return p;
}

Case read_sort_segments(const Words& words) {
  const SortSegmentsProblem p = segments_problem_of(words);
  const bool pairs = p.payload == SortPayload::values, places = p.payload == SortPayload::places;
  const Scalar value = pairs ? words.scalar("value") : p.value_bytes == 8 ? Scalar::uint64 : Scalar::uint32;
  Case made = case_of(formatted("{} {} in {} segments{}", p.size, name_of(p.keys), p.segments,
                                pairs    ? formatted(" with {}", name_of(value))
                                : places ? ", places"
                                         : ""),
                      p, plan_sort_segments);
  made.text += order_text(p);
  Fill ascending;
  ascending.offsets_of = p.size;
  const ArrayRule keys{"keys", p.keys, p.size, with_nans(keys_of(p.keys, 0), p)},
      values{"values", value, p.size, {}}, offsets{"offsets", p.offsets, p.segments + 1, ascending};
  made.in = {offsets};
  if (p.in_place) {
    made.in_out = {keys};
    if (pairs) made.in_out.push_back(values);
  } else {
    made.in.push_back(keys);
    if (pairs) made.in.push_back(values);
    if (!places) made.out = {{pairs ? "out_keys" : "out", p.keys, p.size}};
    if (pairs || places) made.out.push_back({places ? "places" : "out_values", value, p.size});
  }
  const auto key_bytes = static_cast<double>(size_of(p.keys)),
             value_bytes = static_cast<double>(p.value_bytes);
  made.bytes =
      static_cast<double>(p.size) * (places ? key_bytes + value_bytes : 2 * (key_bytes + value_bytes)) +
      static_cast<double>(offsets.bytes());
  made.call = [p, pairs, places](const Context& context, const CallArrays& arrays,
                                 const CallOptions& options) {
    const ConstVector bounds = arrays.in[0].vector();
    const std::size_t first = p.in_place ? 0 : 1;
    const auto& in = p.in_place ? arrays.in_out : arrays.in;
    const auto& out = p.in_place ? arrays.in_out : arrays.out;
    const SortOrder order = order_of(p);
    if (pairs) {
      return sort_pairs_segments(context, in[first].vector(), in[first + 1].vector(), bounds, out[0].vector(),
                                 out[1].vector(), order, options);
    }
    if (places) return argsort_segments(context, in[first].vector(), bounds, out[0].vector(), order, options);
    return sort_segments(context, in[first].vector(), bounds, out[0].vector(), order, options);
  };
  made.reference = [p](const HostArrays& arrays) {
    const std::vector<HostArray> given =
        p.in_place ? arrays.in_out : std::vector<HostArray>(arrays.in.begin() + 1, arrays.in.end());
    std::vector<HostArray>& to = p.in_place ? arrays.in_out : arrays.out;
    const auto bound = [&](std::size_t i) { return static_cast<std::size_t>(arrays.in[0].number(i)); };
    for_each_in_parallel(
        p.segments, [&](std::size_t s) { sort_plainly(p, given, to, bound(s), bound(s + 1) - bound(s)); });
  };
  return made;
}

}  // namespace

Operation sort_segments_operation() {
  return {
      .name = "sort_segments",
      .summary = "Sorts each segment of a vector: sort_segments, sort_pairs_segments and argsort_segments",
      .steps = {{"by_length",
                 "by length: short segments in registers, others in local memory, long ones by radix passes"},
                {"cpu", "one thread for each range of segments"}},
      .words = with_order({{.name = "size", .help = "Number of keys", .positional = true},
                           type_rule(WordKind::scalar, "Type of the keys, as uint32 or half", "float32"),
                           number_rule("segments", "Number of segments, of random lengths", "100"),
                           choice_rule("payload", "What moves with each key", names_to(SortPayload::places)),
                           {.name = "value",
                            .kind = WordKind::scalar,
                            .help = "Type of the values, with --payload values",
                            .usual = "uint32"},
                           flag_rule("in-place", "Sort in place")}),
      .read = read_sort_segments,
      .samples = {.edges = {"1 --segments 1", "1009 --segments 100 int --in-place",
                            "70001 --segments 9 --payload values", "30011 half --segments 5000",
                            "20011 ulong --segments 40 --payload places --descending",
                            "50021 uchar --segments 3 --payload values --value ulong --in-place",
                            "9001 double --segments 40 --payload places --nan-least --end-bit 61"},
                  .small = {"1048576 --segments 10000"},
                  .usual = {"16777216 --segments 4000000", "16777216 --segments 100000",
                            "16777216 --segments 1000", "16777216 --segments 10",
                            "16777216 --segments 100000 --payload places"},
                  .large = {"134217728 --segments 32000000", "134217728 --segments 1000000",
                            "134217728 --segments 10000", "134217728 --segments 100",
                            "134217728 --segments 1000000 --payload places"}},
      .programs = {{"134217728 --segments 1000000"},
                   {"134217728 ulong --segments 1000000 --payload values --value ulong"},
                   {"134217728 half --segments 1000000 --payload places"},
                   {"134217728 --segments 1000000 --payload values --in-place", {}, "value_bytes=12"},
                   {"8589934592 uchar --segments 1000000 --payload places"}},
  };
}

}  // namespace smem::operations
