// What a sort takes.
#include "plan/sort_types.hpp"

#include "formatted.hpp"
#include "plan/sizes.hpp"

#include <smem/error.hpp>

#include <array>
#include <string>
#include <utility>

namespace smem::plan {

const char* operation_name(const SortProblem& problem) {
  static constexpr std::array<const char*, 3> kNames{"sort", "sort_pairs", "argsort"};
  require_known("sort", "payload", problem.payload, SortPayload::places);
  return kNames.at(static_cast<std::size_t>(problem.payload));
}

const char* word_of(std::size_t bytes) {
  static constexpr std::array<const char*, 4> kNames{"uchar", "ushort", "uint", "ulong"};
  return kNames.at(static_cast<std::size_t>(std::countr_zero(bytes)));
}

void define_order(Launch& launch, Scalar keys, const KeyOrder& order) {
  const std::size_t bytes = size_of(keys);
  launch.text_defines.emplace_back("KEY", word_of(bytes));
  define(launch, "KEY_BYTES", bytes);
  if (is_float(keys)) {
    define(launch, "ORDER", order.total_order ? 3 : 2);
    if (order.nan_least) define(launch, "NAN_LEAST", 1);
    define(launch, "MANTISSA_BITS",
           keys == Scalar::half       ? 10
           : keys == Scalar::bfloat16 ? 7
           : keys == Scalar::float32  ? 23
                                      : 52);
  } else {
    define(launch, "ORDER", is_signed(keys) ? 1 : 0);
  }
  if (order.descending) define(launch, "DESCENDING", 1);
}

void require_order(const char* operation, const KeyOrder& order) {
  if (order.total_order && order.nan_least) {
    throw Error({.operation = operation,
                 .argument = "nan_least",
                 .expected = "false with total_order, which orders NaNs by their bits",
                 .got = "true"});
  }
}

void check_sort(const Device& /*device*/, const SortProblem& problem) {
  check_order(operation_name(problem), problem);
}

void check_order(const char* operation, const SortProblem& problem) {
  const auto refuse = [&](const char* argument, std::string expected, std::size_t got) {
    throw Error({.operation = operation,
                 .argument = argument,
                 .expected = std::move(expected),
                 .got = std::to_string(got)});
  };
  require_known(operation, "keys", problem.keys);
  require_order(operation, key_order(problem));
  require_elements(operation, "keys", {problem.size});
  const std::size_t bits = 8 * size_of(problem.keys), bytes = problem.value_bytes;
  if (problem.end_bit > bits)
    refuse("end_bit", formatted("at most {}, the bits of {}", bits, name_of(problem.keys)), problem.end_bit);
  if (problem.begin_bit > problem.end_bit)
    refuse("begin_bit", formatted("at most end_bit, {}", problem.end_bit), problem.begin_bit);
  if (problem.payload == SortPayload::none && bytes != 0)
    refuse("value_bytes", "0 where there are none", bytes);
  if (problem.payload == SortPayload::values && (bytes == 0 || bytes > 16))
    refuse("values", "elements of 1 to 16 bytes", bytes);
  if (problem.payload == SortPayload::places && bytes != 4 && bytes != 8)
    refuse("places", "elements of 4 or 8 bytes", bytes);
  if (problem.payload == SortPayload::places && bytes == 4 && problem.size > 0xffffffff)
    refuse("places", formatted("uint64 for {} keys", problem.size), bytes);
  if (problem.payload == SortPayload::places && problem.in_place)
    refuse("in_place", "0: keys and places are others", 1);
}

}  // namespace smem::plan

namespace smem {

std::string_view name_of(SortPayload payload) {
  static constexpr std::array<std::string_view, 3> kNames{"none", "values", "places"};
  return plan::name_among(kNames, payload);
}

}  // namespace smem
