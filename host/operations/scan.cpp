// scan, described: of vectors, along rows and down columns of matrices, of segments and by keys.
#include "operations/reductions.hpp"

#include "formatted.hpp"

#include <smem/scan.hpp>
#include <smem/sizes.hpp>

#include <cmath>
#include <limits>

namespace smem::operations {

namespace {

/// What an exclusive scan begins with.
double identity_of(ReduceOp op, Scalar type) {
  const double bits = 8.0 * static_cast<double>(size_of(type));
  switch (op) {
    case ReduceOp::product:
    case ReduceOp::all:
      return 1;
    case ReduceOp::min:
      return is_float(type) ? std::numeric_limits<double>::quiet_NaN()
                            : std::exp2(bits - (is_signed(type) ? 1 : 0)) - 1;
    case ReduceOp::max:
      if (is_float(type)) return std::numeric_limits<double>::quiet_NaN();
      return is_signed(type) ? -std::exp2(bits - 1) : 0;
    case ReduceOp::bit_and:
      return is_signed(type) ? -1 : std::exp2(bits) - 1;
    default:
      return 0;
  }
}

ScanShape shape_of(const Words& words, const Extents& extents) {
  const bool columns = words.flag("columns"), keys = words.flag("by-key");
  const bool segments = words.text("segments") != "0";
  if (columns && !extents.is_matrix) refuse("scan", "columns", "a matrix: ROWSxCOLS", words.text("shape"));
  if (segments && extents.is_matrix) refuse("scan", "segments", "a vector", words.text("shape"));
  if (keys && extents.is_matrix) refuse("scan", "by-key", "a vector", words.text("shape"));
  if (keys && segments) refuse("scan", "by-key", "keys or segments", "both");
  return columns             ? ScanShape::columns
         : extents.is_matrix ? ScanShape::rows
         : segments          ? ScanShape::segments
         : keys              ? ScanShape::keys
                             : ScanShape::vector;
}

cl::Event call_scan(const Context& context, const ScanProblem& p, const PlacedArray& in,
                    const ConstVector& marks, const PlacedArray& out, const CallOptions& options) {
  const Vector from = in.vector(), to = out.vector();
  switch (p.shape) {
    case ScanShape::keys:
      return p.exclusive ? exclusive_scan_by_key(context, marks, from, to, p.operation, {}, options)
                         : inclusive_scan_by_key(context, marks, from, to, p.operation, options);
    case ScanShape::segments:
      return p.exclusive ? exclusive_scan_segments(context, from, marks, to, p.operation, {}, options)
                         : inclusive_scan_segments(context, from, marks, to, p.operation, options);
    case ScanShape::vector:
      return p.exclusive ? exclusive_scan(context, from, to, p.operation, {}, options)
                         : inclusive_scan(context, from, to, p.operation, options);
    default:
      break;
  }
  const Matrix a = in.matrix(p.rows, p.cols, p.batch), b = out.matrix(p.rows, p.cols, p.batch);
  if (p.shape == ScanShape::columns) {
    return p.exclusive ? exclusive_scan_columns(context, a, b, p.operation, {}, options)
                       : inclusive_scan_columns(context, a, b, p.operation, options);
  }
  return p.exclusive ? exclusive_scan_rows(context, a, b, p.operation, {}, options)
                     : inclusive_scan_rows(context, a, b, p.operation, options);
}

/// Where segments or runs of equal keys begin.
std::vector<bool> begins_of(const ScanProblem& p, const std::vector<HostArray>& marks) {
  std::vector<bool> begins(p.cols);
  if (p.shape == ScanShape::keys) {
    for (std::size_t i = 1; i < p.cols; ++i)
      begins[i] = marks[0].number(i) != marks[0].number(i - 1);
  } else if (p.shape == ScanShape::segments) {
    for (std::size_t s = 0; s < marks[0].size(); ++s) {
      const auto at = static_cast<std::size_t>(marks[0].number(s));
      if (at < p.cols) begins[at] = true;
    }
  }
  return begins;
}

void scan_plainly(const ScanProblem& p, const HostArray& in, const std::vector<HostArray>& marks,
                  HostArray& out) {
  const bool by_columns = p.shape == ScanShape::columns;
  const std::size_t lines = (by_columns ? p.cols : p.rows) * p.batch, length = by_columns ? p.rows : p.cols;
  const std::size_t step = by_columns ? p.cols : 1;
  const double identity = identity_of(p.operation.op, p.in);
  const std::vector<bool> begins = begins_of(p, marks);
  for_each_in_parallel(lines, [&](std::size_t line) {
    std::size_t at = by_columns ? line / p.cols * p.rows * p.cols + line % p.cols : line * p.cols;
    double value = identity;
    for (std::size_t i = 0; i < length; ++i, at += step) {
      if (!by_columns && begins[at % p.cols]) value = identity;
      const double next = combined(p.operation.op, value, in.number(at));
      out.set(at, p.exclusive ? value : next);
      value = next;
    }
  });
}

Case read_scan(const Words& words) {
  const Extents extents = extents_of("scan", words);
  const ReduceOp op = words.enumerator<ReduceOp>("op");
  const bool in_place = words.flag("in-place");
  ScanProblem problem;
  problem.operation = op;
  problem.shape = shape_of(words, extents);
  problem.exclusive = words.flag("exclusive");
  problem.in = words.scalar("type");
  problem.out = op == ReduceOp::any || op == ReduceOp::all ? Scalar::uint8 : problem.in;
  problem.rows = extents.rows;
  problem.cols = extents.cols;
  problem.batch = extents.batch;
  problem.in_alignment =
      packed_alignment(extents.rows * extents.batch, extents.cols * size_of(problem.in), 16);
  problem.out_alignment =
      packed_alignment(extents.rows * extents.batch, extents.cols * size_of(problem.out), 16);
  if (problem.shape == ScanShape::rows) problem.packed_alignment = 16;
  if (in_place && size_of(problem.in) != size_of(problem.out))
    refuse("scan", "in-place", "results of the elements' size", std::string(name_of(problem.out)));
  const std::size_t segments = problem.shape == ScanShape::segments ? words.number("segments") : 0;
  const bool by_key = problem.shape == ScanShape::keys;
  const double run = words.real("run-length");
  if (!(run >= 1 && run <= 1e12)) refuse("scan", "run-length", "1 to 10^12", words.text("run-length"));
  if (by_key) problem.marks = words.scalar("keys");
  Case made = case_of(formatted("{} {}, {} {}{}{}", extents.text(), name_of(problem.in),
                                problem.exclusive ? "exclusive" : "inclusive", name_of(op),
                                segments != 0 ? formatted(" of {} segments", segments)
                                : by_key      ? formatted(" by {}, runs of {}", name_of(problem.marks), run)
                                : problem.shape == ScanShape::columns ? ", by column"
                                : problem.shape == ScanShape::rows    ? ", by row"
                                                                      : "",
                                in_place ? ", in place" : ""),
                      problem, plan_scan);
  const std::size_t length = problem.shape == ScanShape::columns ? extents.rows : extents.cols;
  const ArrayRule elements{"in", problem.in, extents.elements(), fill_for(op, problem.in, length)};
  if (by_key) made.in.push_back({"keys", problem.marks, extents.cols, runs_of(run)});
  if (segments != 0)
    made.in.push_back(
        {"offsets", problem.marks, detail::size_sum(segments, 1), {.offsets_of = extents.cols}});
  if (in_place) {
    made.in_out = {elements};
    made.in_out[0].name = "in and out";
  } else {
    made.in.push_back(elements);
    made.out = {{"out", problem.out, extents.elements()}};
  }
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const PlacedArray& in = in_place ? arrays.in_out[0] : arrays.in.back();
    PlacedArray out = in_place ? arrays.in_out[0] : arrays.out[0];
    out.type = problem.out;
    const bool has_marks = by_key || segments != 0;
    return call_scan(context, problem, in, has_marks ? ConstVector(arrays.in[0].vector()) : ConstVector(),
                     out, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    const HostArray from = in_place ? arrays.in_out[0] : HostArray();
    scan_plainly(problem, in_place ? from : arrays.in.back(), arrays.in,
                 in_place ? arrays.in_out[0] : arrays.out[0]);
  };
  return made;
}

std::vector<Programs> scan_programs() {
  const std::vector<std::string> usual{"reduce_then_scan", "short_rows", "look_back", "cpu"};
  return {{"268435456"},
          {"268435456 uint64 --exclusive", usual},
          {"268435456 int8", usual},
          {"268435456 int32", usual, "in_alignment=4 out_alignment=4"},
          {"268435456 --segments 1000", usual},
          {"268435456 --by-key", usual},
          {"65536x100", usual},
          {"3000x5001 half", {"short_rows"}},
          {"4096x4096 --columns", usual},
          {"4096x4097 --columns", usual},
          {"4096x4096 half --columns", usual},
          {"4096x4097 half --columns --exclusive", usual},
          {"4096x4096 double --columns", usual},
          {"4096x4096 uint8 --columns", usual},
          {"100000x7 --columns", usual}};
}

}  // namespace

Operation scan_operation() {
  return {
      .name = "scan",
      .summary = "Inclusive and exclusive scans of vectors, rows, columns, segments and keys",
      .steps = {{"hillis_steele", "log n steps over the tile, n log n additions"},
                {"blelloch", "up and down a tree: 2 n additions"},
                {"reduce_then_scan", "several elements a work-item; the input is read twice"},
                {"short_rows", "whole rows in a tile: one launch, however short they are"},
                {"look_back", "the input is read once: decoupled look-back gives each tile its prefix"},
                {"cpu", "one thread a chunk that fits its cache"}},
      .words = extent_rules(
          {reduction_rule(ReduceOp::all),
           flag_rule("exclusive", "Exclusive scan"),
           flag_rule("columns", "Scan each column; default: each row"),
           flag_rule("by-key", "Scan each run of equal keys separately"),
           {"keys", WordKind::scalar, "The keys' type", "uint32"},
           {"run-length", WordKind::real, "Elements of a run of equal keys, in the mean", "8"},
           number_rule("segments", "Number of segments of the vector, scanned separately; 0: no segments",
                       "0"),
           flag_rule("in-place", "Scan in place")}),
      .read = read_scan,
      // CUB's inclusive scan of 2^28 elements has 0.74 of an H200's copy bandwidth; smem aims at 0.90.
      .samples = {.edges = {"1", "1009", "300007", "70001 uchar --op max --exclusive",
                            "70001 --op min --exclusive", "37x131 --batch 3",
                            "131x37 int --columns --batch 2", "70001 int --by-key",
                            "70001 --segments 97 --exclusive", "300007 --in-place",
                            "300007 --by-key --run-length 1000 --exclusive",
                            "70001 half --by-key --keys ulong", "70001 double --by-key --keys ushort",
                            "300007 uchar --segments 30000", "1000003 --segments 500000"},
                  .small = {"65536", "4194304", "512x512", "4194304 int --exclusive"},
                  .usual = {"16777216", "16777216 uint", "16777216 int --exclusive", "8388608 ulong",
                            "1048576", "4096x4096", "4096x4096 --columns", "16777216 --by-key",
                            "16777216 --in-place"},
                  .large = {goal("268435456", 0.74), goal("268435456 uint", 0.74),
                            "268435456 int --exclusive", "134217728 ulong", "1048576", "16384x16384",
                            "16384x16384 --columns", "268435456 --by-key", "268435456 --in-place"},
                  .weak_usual = {goal("16777216", 0.75)},
                  .weak = {"1000", "30000", "1000000", "5000000"}},
      .programs = scan_programs(),
  };
}

}  // namespace smem::operations
