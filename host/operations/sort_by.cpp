// sort_by, described: sorts by a comparison of the elements' first numbers.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"
#include "operations/sorts.hpp"

#include "formatted.hpp"

#include <smem/sort_by.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

namespace smem::operations {

namespace {

Case read_sort_by(const Words& words) {
  const Scalar number = words.scalar("type");
  // OpenCL C compares no others by name.
  if (is_fp8(number) || number == Scalar::half || number == Scalar::bfloat16)
    refuse("sort_by", "type", "an integer, float32 or float64", std::string(name_of(number)));
  const std::size_t size = words.number("size"), count = words.flag("pairs") ? 2 : 1;
  const bool descending = words.flag("descending");
  SortByProblem p;
  p.size = size;
  p.type = formatted("{}{}", opencl_name_of(number), count == 2 ? "2" : "");
  p.precedes = formatted("a{0} {1} b{0}", count == 2 ? ".x" : "", descending ? ">" : "<");
  Case made = case_of(formatted("{} {}, {}", size, p.type, p.precedes), p, plan_sort_by);
  const std::size_t numbers = detail::size_product(size, count), bytes = size_of(number) * count;
  made.in = {{"in", number, numbers, keys_of(number, words.number("distinct"))}};
  made.out = {{"out", number, numbers}};
  made.bytes = 2.0 * static_cast<double>(made.in[0].bytes());
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const auto view = [&](const PlacedArray& array) {
      const ElementType type = count == 2 ? ElementType::of_bytes(bytes) : ElementType(number);
      return Vector(array.buffer, type, size, array.first / count);
    };
    return sort_by(context, view(arrays.in[0]), view(arrays.out[0]), {.precedes = p.precedes, .type = p.type},
                   options);
  };
  made.reference = [=](const HostArrays& arrays) {
    std::vector<double> keys(size);
    for (std::size_t i = 0; i < size; ++i)
      keys[i] = arrays.in[0].number(i * count);
    std::vector<std::size_t> places(size);
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
      return descending ? keys[a] > keys[b] : keys[a] < keys[b];
    });
    for (std::size_t i = 0; i < size; ++i)
      copy_element(arrays.in[0], places[i], arrays.out[0], i, bytes);
  };
  return made;
}

}  // namespace

Operation sort_by_operation() {
  return {
      .name = "sort_by",
      .summary = "Sorts vectors by a comparison of the caller",
      .steps = {{"merge", "tiles are sorted in local memory, then merged in pairs"},
                {"cpu", "one thread a block; blocks are merged in pairs"}},
      .words = {{.name = "size", .help = "Number of elements", .positional = true},
                type_rule(WordKind::scalar, "Type of the numbers, as uint32 or double", "uint32"),
                flag_rule("pairs", "Elements are pairs of numbers; the first number is compared"),
                or_zero(number_rule("distinct",
                                    "Number of different numbers; 0: random numbers of all values", "0")),
                flag_rule("descending", "Sort in descending order")},
      .read = read_sort_by,
      .samples = {.edges = {"1", "1009 --pairs --distinct 5", "70001 float --descending",
                            "9001 double --pairs", "30011 uchar"},
                  .small = {"1048576"},
                  .usual = {"4194304", "4194304 float --pairs", "4194304 --distinct 2"},
                  .large = {goal("67108864", 0.043), "67108864 float --pairs", "33554432 double",
                            "67108864 --distinct 2"}},
      .programs = {{"67108864"}, {"67108864 double --pairs"}, {"67108864 uchar"}},
  };
}

}  // namespace smem::operations
