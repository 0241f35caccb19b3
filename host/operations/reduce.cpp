// reduce, described: of vectors, of rows and columns of matrices, and of segments.
#include "operations/reductions.hpp"

#include "formatted.hpp"

#include <smem/reduce.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace smem::operations {

namespace {

/// What elements make of each other, whatever the operation.
struct State {
  double sum = 0, squares = 0, product = 1;
  double least = std::numeric_limits<double>::infinity(), greatest = -least;
  std::size_t least_at = ~std::size_t{0}, greatest_at = least_at;
  std::uint64_t both = ~std::uint64_t{0}, either = 0;
  bool any = false, all = true;

  void add(double value, std::size_t place) {
    sum += value;
    squares += value * value;
    product *= value;
    if (value < least) least = value, least_at = place;
    if (value > greatest) greatest = value, greatest_at = place;
    both &= static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    either |= static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    any = any || value != 0;
    all = all && value != 0;
  }
  /// Of elements that come after.
  void join(const State& after) {
    sum += after.sum;
    squares += after.squares;
    product *= after.product;
    if (after.least < least) least = after.least, least_at = after.least_at;
    if (after.greatest > greatest) greatest = after.greatest, greatest_at = after.greatest_at;
    both &= after.both;
    either |= after.either;
    any = any || after.any;
    all = all && after.all;
  }
  double result(ReduceOp op, std::size_t count) const {
    switch (op) {
      case ReduceOp::product:
        return product;
      case ReduceOp::max:
        return greatest;
      case ReduceOp::bit_and:
        return static_cast<double>(both);
      case ReduceOp::bit_or:
        return static_cast<double>(either);
      case ReduceOp::any:
        return any ? 1 : 0;
      case ReduceOp::all:
        return all ? 1 : 0;
      case ReduceOp::argmin:
        return static_cast<double>(least_at);
      case ReduceOp::argmax:
        return static_cast<double>(greatest_at);
      case ReduceOp::mean:
        return sum / static_cast<double>(count);
      case ReduceOp::norm:
        return std::sqrt(squares);
      case ReduceOp::min:
      case ReduceOp::minmax:  // its first number
        return least;
      default:
        return sum;
    }
  }
};

/// Sets result `i` to what reduce.hpp says of no elements, where no State has it: all bits set, the least or
/// the largest number.
void set_of_nothing(HostArray& out, std::size_t i, bool all_bits, bool least) {
  if (is_float(out.type)) return out.set(i, std::numeric_limits<double>::quiet_NaN());
  const std::size_t size = size_of(out.type);
  unsigned char* to = out.bytes.data() + i * size;
  std::fill_n(to, size, least ? 0x00 : 0xff);  // little endian
  if (!all_bits && is_signed(out.type)) to[size - 1] = least ? 0x80 : 0x7f;
}

/// Elements first, first + step, ...
State state_of(const HostArray& in, std::size_t first, std::size_t step, std::size_t begin, std::size_t end) {
  State state;
  for (std::size_t i = begin; i < end; ++i)
    state.add(in.number(first + i * step), i);
  return state;
}

/// The same on all cores.
State state_of_many(const HostArray& in, std::size_t count) {
  constexpr std::size_t kPieces = 64;
  std::vector<State> states(kPieces);
  for_each_in_parallel(kPieces, [&](std::size_t p) {
    states[p] = state_of(in, 0, 1, count * p / kPieces, count * (p + 1) / kPieces);
  });
  for (std::size_t p = 1; p < kPieces; ++p)
    states.front().join(states[p]);
  return states.front();
}

/// \throws Error naming the word that does not fit the shape.
void check_shape(const Words& words, const Extents& extents, bool by_columns, bool by_segments) {
  if (by_columns && !extents.is_matrix)
    refuse("reduce", "columns", "a matrix: ROWSxCOLS", words.text("shape"));
  if (by_segments && extents.is_matrix) refuse("reduce", "segments", "a vector", words.text("shape"));
}

Case read_reduce(const Words& words) {
  const Extents extents = extents_of("reduce", words);
  const ReduceOp op = words.enumerator<ReduceOp>("op");
  const bool compensated = words.flag("compensated"), by_columns = words.flag("columns");
  const bool by_segments = words.text("segments") != "0";
  check_shape(words, extents, by_columns, by_segments);
  ReduceProblem problem;
  problem.reduction = {op, compensated ? FloatMode::compensated : FloatMode::reproducible};
  problem.in = words.scalar("type");
  problem.out = usual_result(op, problem.in);
  problem.shape = by_segments         ? ReduceShape::segments
                  : by_columns        ? ReduceShape::columns
                  : extents.is_matrix ? ReduceShape::rows
                                      : ReduceShape::vector;
  problem.rows = by_segments ? words.number("segments") : extents.rows;
  problem.cols = extents.cols;
  problem.batch = extents.batch;
  const std::size_t aligned =
      packed_alignment(extents.rows * extents.batch, extents.cols * size_of(problem.in), 16);
  if (by_columns) problem.alignment = aligned;
  if (problem.shape == ReduceShape::rows) problem.packed_alignment = aligned;
  if (by_columns && extents.batch == 1) problem.packed_alignment = 16;
  Case made = case_of(formatted("{} {}, {}{}{}", extents.text(), name_of(problem.in),
                                compensated ? "compensated " : "", name_of(op),
                                by_segments         ? formatted(" of {} segments", problem.rows)
                                : by_columns        ? ", by column"
                                : extents.is_matrix ? ", by row"
                                                    : ""),
                      problem, plan_reduce);
  const std::size_t numbers = op == ReduceOp::minmax ? 2 : 1;
  // Segments that are longer than the others have sums that are exact too.
  const std::size_t count = by_segments ? problem.cols : problem.count();
  made.in = {{"in", problem.in, extents.elements(), fill_for(op, problem.in, count)}};
  if (by_segments)
    made.in.push_back({"offsets", Scalar::uint32, problem.rows + 1, {.offsets_of = problem.cols}});
  made.out = {{"out", problem.out, problem.results() * numbers}};
  if (op == ReduceOp::mean || op == ReduceOp::norm) made.relative = 1e-6;  // a division or a root, rounded
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const Vector in = arrays.in[0].vector(), out = arrays.out[0].vector();
    if (by_segments)
      return reduce_segments(context, in, arrays.in[1].vector(), out, problem.reduction, options);
    if (!extents.is_matrix) return reduce(context, in, out, problem.reduction, options);
    const Matrix matrix = arrays.in[0].matrix(extents.rows, extents.cols, extents.batch);
    return by_columns ? reduce_columns(context, matrix, out, problem.reduction, options)
                      : reduce_rows(context, matrix, out, problem.reduction, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    const HostArray& in = arrays.in[0];
    const bool is_extreme = op == ReduceOp::min || op == ReduceOp::max || op == ReduceOp::minmax;
    const bool is_place = op == ReduceOp::argmin || op == ReduceOp::argmax;
    const auto set = [&](std::size_t result, const State& state, std::size_t of) {
      if (of == 0 && (is_extreme || is_place || op == ReduceOp::bit_and)) {
        set_of_nothing(arrays.out[0], result * numbers, !is_extreme, op == ReduceOp::max);
        if (numbers == 2) set_of_nothing(arrays.out[0], 2 * result + 1, false, true);
        return;
      }
      arrays.out[0].set(result * numbers, state.result(op, of));
      if (numbers == 2) arrays.out[0].set(2 * result + 1, state.greatest);
    };
    if (problem.shape == ReduceShape::vector) return set(0, state_of_many(in, extents.cols), extents.cols);
    for_each_in_parallel(problem.results(), [&](std::size_t r) {
      if (by_segments) {
        const auto from = static_cast<std::size_t>(arrays.in[1].number(r));
        const auto to = static_cast<std::size_t>(arrays.in[1].number(r + 1));
        set(r, state_of(in, from, 1, 0, to - from), to - from);
      } else if (by_columns) {
        const std::size_t first = r / extents.cols * extents.rows * extents.cols + r % extents.cols;
        set(r, state_of(in, first, extents.cols, 0, extents.rows), extents.rows);
      } else {
        set(r, state_of(in, r * extents.cols, 1, 0, extents.cols), extents.cols);
      }
    });
  };
  return made;
}

/// Every operation on floats, and every type with the sum: the rest uses the same code.
std::vector<Programs> reduce_programs() {
  constexpr std::string_view kVector = "16777216";
  std::vector<Programs> all;
  const auto add = [&](std::string_view extents, ReduceOp op, Scalar in, const char* more = "",
                       const char* changes = "") {
    const bool average = op == ReduceOp::mean || op == ReduceOp::norm;
    const Scalar out = average || op == ReduceOp::any || op == ReduceOp::argmax ? usual_result(op, in) : in;
    all.push_back({formatted("{} {}{}", extents, name_of(in), more), reduction_variants(op, in),
                   formatted("op={} out={} {}", static_cast<int>(op), name_of(out), changes)});
    if (extents != kVector) return;
    all.push_back({formatted("1000 {}{}", name_of(in), more),
                   {"short"},
                   formatted("op={} out={} {}", static_cast<int>(op), name_of(out), changes)});
  };
  for (const Scalar in : {Scalar::float32, Scalar::int8, Scalar::uint64, Scalar::half}) {
    for (const ReduceOp op :
         {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::any, ReduceOp::minmax, ReduceOp::argmax,
          ReduceOp::mean, ReduceOp::norm, ReduceOp::dot}) {
      if (in != Scalar::float32 && op != ReduceOp::sum) continue;
      add(kVector, op, in);
      if (op != ReduceOp::sum && op != ReduceOp::minmax && op != ReduceOp::argmax) continue;
      add("4096x4096", op, in, " --columns");
      all.push_back({formatted("40000x100 {}", name_of(in)),
                     {"short_rows"},
                     formatted("op={} out={}", static_cast<int>(op),
                               name_of(op == ReduceOp::argmax ? usual_result(op, in) : in))});
      if (in != Scalar::float32) continue;
      add("4096x4096", op, in);
      add("4096", op, in, " --segments 4096");
      all.push_back({"16777216 float32 --segments 250000",
                     {"balanced"},
                     formatted("op={} out={}", static_cast<int>(op),
                               name_of(op == ReduceOp::argmax ? usual_result(op, in) : in))});
    }
  }
  add(kVector, ReduceOp::bit_or, Scalar::int32);
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::dot})
    for (const std::string_view size : {kVector, std::string_view("4096")})
      add(size, op, Scalar::float32, " --compensated");
  // Operations that do not commute.
  for (const auto& [extents, more] : {std::pair{kVector, ""}, {std::string_view("4096x4096"), " --columns"}})
    add(extents, ReduceOp::sum, Scalar::float32, more, "commutes=0");
  return all;
}

}  // namespace

Operation reduce_operation() {
  return {
      .name = "reduce",
      .summary = "Reduces vectors, rows, columns and segments: sums, extremes and others",
      .steps = reduction_steps(),
      .words = extent_rules(
          {reduction_rule(ReduceOp::norm), flag_rule("columns", "Reduce each column; default: each row"),
           number_rule("segments", "Number of segments of the vector, reduced separately; 0: no segments",
                       "0"),
           flag_rule("compensated", "Compensated summation: carries rounding errors along")}),
      .read = read_reduce,
      // Shares of the copy bandwidth, which counts reads and writes: a reduction only reads. Of 2^20 floats:
      // 1.5 times the 8.0 us that CUB takes on an H200 in a queue of many, beside a copy kernel's 6.9 us.
      .samples = {.edges = {"1", "1009", "70001", "70001 --compensated", "70001 uchar --op minmax",
                            "70001 short --op argmax", "37x131 --batch 3", "131x37 --columns --batch 3",
                            "333x77 half --op norm --columns", "5003 int --segments 67",
                            "300 int16 --op minmax --segments 400", "70001 --segments 3"},
                  .small = {"65536", "4194304", "2048x2048", "2048x2048 --columns", "4194304 --op argmin",
                            "16777216 int8"},
                  .usual = {goal("67108864", 0.85), "1048576", goal("8192x8192", 0.85),
                            goal("8192x8192 --columns", 0.85), "67108864 --compensated", "268435456 int8",
                            "134217728 half", "67108864 --op min", "67108864 --op minmax",
                            "67108864 --op argmin", "67108864 --op norm", "268435456 uint8 --op max"},
                  .large = {goal("268435456", 0.85), goal("1048576", 0.289), goal("16384x16384", 0.85),
                            goal("16384x16384 --columns", 0.85), "268435456 --compensated", "1073741824 int8",
                            "536870912 half", "268435456 --op min", "268435456 --op minmax",
                            "268435456 --op argmin", "268435456 --op norm", "1073741824 uint8 --op max"},
                  .weak_usual = {goal("67108864", 0.95), goal("8192x8192", 0.95),
                                 goal("67108864 --op minmax", 0.80), goal("67108864 --op argmin", 0.80),
                                 goal("134217728 half", 0.80),
                                 goal("268435456 int8", 0.48)},  // twice the elements of float
                  .weak = {"1000", "30000", "1000000", "5000000"}},
      .programs = reduce_programs(),
  };
}

}  // namespace smem::operations
