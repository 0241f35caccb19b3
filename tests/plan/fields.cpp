// The members of problems as text, JSON and classes for tuning.
#include <smem/fields.hpp>
#include <smem/reduce_plan.hpp>
#include <smem/stencil_plan.hpp>
#include <smem/transpose_plan.hpp>
#include <smem/tuning_plan.hpp>

#include <doctest/doctest.h>

#include <string>

TEST_CASE("fields: a problem as text and JSON") {
  const smem::TransposeProblem problem{.element_bytes = 4, .rows = 30, .cols = 50, .in_place = true};
  const auto values = smem::values_of(problem);
  CHECK(values.size() == 10);
  CHECK(smem::text_of(values) ==
        "30 x 50 x 1, element_bytes 4, in_place, in_alignment 64, out_alignment 64, base_alignment 64");
  CHECK(smem::json_of(values) ==
        R"({"element_bytes":4,"rows":30,"cols":50,"batch":1,"in_place":true,"in_alignment":64,)"
        R"("out_alignment":64,"base_alignment":64,"in_packed":false,"out_packed":false})");
}

TEST_CASE("fields: parts of a problem stand in its place, arrays are one member") {
  const auto reduce = smem::values_of(smem::ReduceProblem{.reduction = smem::ReduceOp::max});
  CHECK(reduce.front().name == "op");
  CHECK(reduce.front().text == "max");
  smem::StencilProblem stencil;
  stencil.window = {3, 5, 1};
  bool found = false;
  for (const smem::FieldValue& value : smem::values_of(stencil))
    found = found || (value.name == "window" && value.text == "3 x 5 x 1");
  CHECK(found);
}
