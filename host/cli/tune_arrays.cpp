// What smem tune measures of operations on arrays.
#include "cli/gemm_case.hpp"
#include "cli/tune_lists.hpp"

namespace smem::cli {

namespace tuned {

std::vector<TuneCase> products(Scale scale) {
  const std::size_t edge = sized(scale, 128, 1024, 4096);
  std::vector<GemmCase> asked{{{edge, edge, edge}}};
  if (scale != Scale::small) asked.push_back({{1000, 333, 777}});
  if (scale == Scale::gpu) asked.push_back({{edge, edge, edge}, Scalar::half});
  std::vector<TuneCase> cases;
  for (const GemmCase& c : asked) {
    cases.push_back(case_of(label_of(c), problem_of(c), gemm_variants(),
                            [](const auto&... all) { return plan_gemm(all...); }));
    cases.back().in = {c.in, bytes_of(c) / size_of(c.in), 7};
    cases.back().out = {c.out, c.shape.m * c.shape.n};
    cases.back().call = [c](const Context& context, const measure::BufferPair& pair, const CallOptions& o) {
      return run_gemm(context, c, pair, o);
    };
  }
  return cases;
}

}  // namespace tuned

}  // namespace smem::cli
