// gather, described: gather_rows and scatter_rows.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"

#include "formatted.hpp"

#include <smem/error.hpp>
#include <smem/gather.hpp>

namespace smem::operations {

namespace {

Case read_gather(const Words& words) {
  const std::vector<std::size_t> shape = words.sizes("shape");
  const std::size_t rows = shape[0], cols = shape[1], bytes = words.element_bytes("type");
  const bool sorted = words.flag("ascending");
  GatherProblem p;
  p.op = words.enumerator<GatherOp>("op");
  p.rows = rows;
  p.row_bytes = detail::size_product(cols, bytes);
  p.alignment =
      std::min(packed_alignment(rows, p.row_bytes, 16), std::size_t{1} << std::countr_zero(p.row_bytes));
  Case made = case_of(formatted("{} of {} x {}, {} B{}", name_of(p.op), rows, cols, bytes,
                                sorted ? ", ascending places" : ""),
                      p, plan_gather);
  Fill places;
  // A permutation: 2654435761 is prime, and no number of rows that is measured is a multiple of it.
  places.at = [=](std::size_t i) {
    return static_cast<double>(sorted ? i
                                      : static_cast<std::size_t>((i * std::uint64_t{2654435761U}) % rows));
  };
  const std::size_t elements = detail::size_product(rows, cols);
  made.in = {moved("in", bytes, elements), {"places", Scalar::uint32, rows, places}};
  made.out = {moved("out", bytes, elements)};
  made.bytes = 2.0 * static_cast<double>(made.in[0].bytes()) + static_cast<double>(made.in[1].bytes());
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    const Matrix in = moved_matrix(arrays.in[0], bytes, rows, cols, 1);
    const Matrix out = moved_matrix(arrays.out[0], bytes, rows, cols, 1);
    if (p.op == GatherOp::scatter) return scatter_rows(context, in, arrays.in[1].vector(), out, {}, options);
    return gather_rows(context, in, arrays.in[1].vector(), out, {}, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    for_each_in_parallel(rows, [&](std::size_t i) {
      const auto place = static_cast<std::size_t>(arrays.in[1].number(i));
      const bool gathers = p.op == GatherOp::gather;
      copy_element(arrays.in[0], gathers ? place : i, arrays.out[0], gathers ? i : place, p.row_bytes);
    });
  };
  return made;
}

}  // namespace

Operation gather_operation() {
  return {
      .name = "gather",
      .summary = "Gathers or scatters rows by index; rows of 1 element: elements",
      .steps = {{"teams", "a team of work-items moves a row, with several rows in flight"},
                {"cpu", "one thread for each range of rows"}},
      .words = {shape_rule("Rows, and elements of each"), element_rule(),
                choice_rule("op", "The call", names_to(GatherOp::scatter)),
                flag_rule("ascending", "Ascending places, not shuffled ones")},
      .read = read_gather,
      .samples = {.edges = {"1x1", "1009x1 uchar", "70001x1 --op scatter", "1009x7 ushort", "333x64 float4",
                            "501x33 double --op scatter"},
                  .small = {"1048576x1", "65536x64"},
                  .usual = {"16777216x1", "16777216x1 --ascending", "16777216x1 --op scatter", "262144x64",
                            "65536x1024"},
                  .large = {"134217728x1", "134217728x1 --ascending", "134217728x1 --op scatter",
                            "4194304x64", goal("1048576x256", 0.85), "262144x1024 --op scatter"}},
      .programs = {{"134217728x1"},
                   {"134217728x1 uchar --op scatter"},
                   {"4194304x64"},
                   {"1000003x6 --op scatter"},
                   {"1048576x256", {}, "places=uint64"}},
  };
}

}  // namespace smem::operations
