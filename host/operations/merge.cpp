// merge, described: merge and merge_pairs; bounds: lower_bound and upper_bound.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"

#include "formatted.hpp"

#include <smem/bounds.hpp>
#include <smem/error.hpp>
#include <smem/merge.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace smem::operations {

namespace {

/// Ascending keys, each a few times, which all types hold.
Fill ascending(Scalar type, std::size_t size) {
  const double most = size_of(type) == 1 ? 120 : size_of(type) == 2 ? 250 : 1e6;
  Fill fill;
  fill.at = [=](std::size_t i) {
    return std::floor(most * static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(size, 1)));
  };
  return fill;
}

/// a and b, merged: whose keys these are, and which.
std::vector<std::pair<std::size_t, std::size_t>> merged(const HostArray& a, const HostArray& b) {
  std::vector<std::pair<std::size_t, std::size_t>> from;
  for (std::size_t x = 0, y = 0; x < a.size() || y < b.size();) {
    const bool takes_a = y == b.size() || (x < a.size() && !(b.number(y) < a.number(x)));
    from.emplace_back(takes_a ? 0 : 1, takes_a ? x++ : y++);
  }
  return from;
}

Case read_merge(const Words& words) {
  MergeProblem p;
  p.keys = words.scalar("type");
  p.size = words.number("size");
  const bool pairs = words.flag("pairs");
  const Scalar value = words.scalar("value");
  if (pairs) p.value_bytes = size_of(value);
  const std::size_t a = p.size / 3, b = p.size - a;
  Case made = case_of(
      formatted("{} and {} {}{}", a, b, name_of(p.keys), pairs ? formatted(" with {}", name_of(value)) : ""),
      p, plan_merge);
  made.in = {{"a", p.keys, a, ascending(p.keys, a)}, {"b", p.keys, b, ascending(p.keys, b)}};
  made.out = {{pairs ? "out_keys" : "out", p.keys, p.size}};
  if (pairs) {
    made.in.push_back({"a_values", value, a, {}});
    made.in.push_back({"b_values", value, b, {}});
    made.out.push_back({"out_values", value, p.size});
  }
  made.bytes = 2.0 * static_cast<double>(p.size) * static_cast<double>(size_of(p.keys) + p.value_bytes);
  made.call = [pairs](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const auto in = [&](std::size_t i) { return arrays.in[i].vector(); };
    if (pairs) {
      return merge_pairs(context, in(0), in(2), in(1), in(3), arrays.out[0].vector(), arrays.out[1].vector(),
                         {}, options);
    }
    return merge(context, in(0), in(1), arrays.out[0].vector(), {}, options);
  };
  made.reference = [p, pairs](const HostArrays& arrays) {
    const auto from = merged(arrays.in[0], arrays.in[1]);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto& [whose, which] = from[i];
      copy_element(arrays.in[whose], which, arrays.out[0], i, size_of(p.keys));
      if (pairs) copy_element(arrays.in[2 + whose], which, arrays.out[1], i, p.value_bytes);
    }
  };
  return made;
}

Case read_bounds(const Words& words) {
  BoundsProblem p;
  p.op = words.enumerator<BoundsOp>("op");
  p.keys = words.scalar("type");
  p.size = words.number("size");
  p.count = words.number("count");
  p.places = p.size > 0xffffffffU ? Scalar::uint64 : Scalar::uint32;
  Case made = case_of(formatted("{} of {} in {} {}", name_of(p.op), p.count, p.size, name_of(p.keys)), p,
                      plan_bounds);
  const double most = size_of(p.keys) == 1 ? 120 : size_of(p.keys) == 2 ? 250 : 1e6;
  Fill any;
  any.number = [=](std::uint64_t random) {
    return std::floor(most * static_cast<double>(random >> 11) * 0x1p-53);
  };
  made.in = {{"sorted", p.keys, p.size, ascending(p.keys, p.size)}, {"keys", p.keys, p.count, any}};
  made.out = {{"places", p.places, p.count}};
  made.bytes = static_cast<double>(made.in[1].bytes() + made.out[0].bytes()) +
               static_cast<double>(std::min(p.count, p.size)) * static_cast<double>(size_of(p.keys));
  made.call = [p](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const auto call = p.op == BoundsOp::lower_bound ? lower_bound : upper_bound;
    return call(context, arrays.in[0].vector(), arrays.in[1].vector(), arrays.out[0].vector(), {}, options);
  };
  made.reference = [p](const HostArrays& arrays) {
    std::vector<double> sorted(p.size);
    for (std::size_t i = 0; i < p.size; ++i)
      sorted[i] = arrays.in[0].number(i);
    for_each_in_parallel(p.count, [&](std::size_t i) {
      const double key = arrays.in[1].number(i);
      const auto place = p.op == BoundsOp::lower_bound ? std::lower_bound(sorted.begin(), sorted.end(), key)
                                                       : std::upper_bound(sorted.begin(), sorted.end(), key);
      arrays.out[0].set(i, static_cast<double>(place - sorted.begin()));
    });
  };
  return made;
}

}  // namespace

Operation merge_operation() {
  return {
      .name = "merge",
      .summary = "Merges two sorted vectors: merge and merge_pairs",
      .steps = {{"tile", "merge path: each group merges one tile of the result in local memory"},
                {"cpu", "one thread for each part of the result"}},
      .words = {{.name = "size", .help = "Number of keys of both vectors together", .positional = true},
                type_rule(WordKind::scalar, "Type of the keys, as uint32 or half", "uint32"),
                flag_rule("pairs", "Merge values with the keys (merge_pairs)"),
                {.name = "value", .kind = WordKind::scalar, .help = "Type of the values", .usual = "uint32"}},
      .read = read_merge,
      .samples = {.edges = {"1", "1009", "70001 float", "9001 uchar --pairs",
                            "30011 double --pairs --value ushort"},
                  .small = {"1048576", "1048576 --pairs"},
                  .usual = {"16777216", "16777216 --pairs", "16777216 float", "8388608 ulong"},
                  .large = {"134217728", "134217728 --pairs", "134217728 float", "67108864 ulong"}},
      .programs = {{"134217728"},
                   {"134217728 half --pairs"},
                   {"134217728 double --pairs --value ulong"},
                   {"134217728 float --pairs", {}, "value_bytes=12"}},
  };
}

Operation bounds_operation() {
  return {
      .name = "bounds",
      .summary = "Searches many keys in a sorted vector: lower_bound and upper_bound",
      .steps = {{"bisection", "one work-item a key, by bisection"},
                {"sampled", "several keys a work-item, whose first steps are made in local memory"}},
      .words = {{.name = "size", .help = "Number of sorted keys", .positional = true},
                type_rule(WordKind::scalar, "Type of the keys, as uint32 or half", "uint32"),
                number_rule("count", "Number of keys to search for", "8"),
                choice_rule("op", "The call", names_to(BoundsOp::upper_bound))},
      .read = read_bounds,
      .samples = {.edges = {"1 --count 3", "1009 --count 70001 float",
                            "9001 uchar --count 999 --op upper_bound"},
                  .small = {"1048576 --count 1048576"},
                  .usual = {"16777216 --count 4194304", "65536 --count 16777216"},
                  .large = {"134217728 --count 33554432", "65536 --count 134217728"}},
      .programs = {{"134217728 --count 1000000"},
                   {"134217728 double --count 1000000 --op upper_bound"},
                   {"134217728", {}, "op=2"}},
  };
}

}  // namespace smem::operations
