// Suites over all described operations.
#include "operations/list.hpp"
#include "ops/run.hpp"
#include "support/case_sweep.hpp"
#include "support/failure.hpp"
#include "support/level.hpp"
#include "support/one_group.hpp"
#include "support/targets.hpp"
#include "support/turn.hpp"

#include "plan/policy.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using smem::operations::ArrayRule;
using smem::operations::Case;
using smem::operations::HostArray;
using smem::operations::Member;
using smem::operations::PlacedArray;
using smem::operations::Sample;
using smem::operations::Scale;

/// The arrays of a case in buffers of their own size, so that a sanitizer or Oclgrind sees each end.
class CaseBuffers {
 public:
  CaseBuffers(const smem::Context& context, const Case& c) : context_(context), case_(c) {
    std::uint64_t seed = 0;
    for (const ArrayRule& rule : c.in)
      in_.push_back(filled(rule, ++seed));
    for (const ArrayRule& rule : c.in_out)
      in_out_.push_back(filled(rule, ++seed));
    for (const ArrayRule& rule : c.out)
      out_.push_back(poisoned(rule));
    arrays_.in = upload(in_);
    arrays_.in_out = upload(in_out_);
    arrays_.out = upload(out_);
    c.reference({in_, in_out_, out_});
  }
  const smem::operations::CallArrays& arrays() const { return arrays_; }
  /// What is wrong after a call; empty: nothing.
  std::string wrong() const {
    const auto compare = [&](const std::vector<ArrayRule>& rules, const std::vector<HostArray>& expected,
                             const std::vector<PlacedArray>& places, double relative,
                             double absolute) -> std::string {
      for (std::size_t i = 0; i < rules.size(); ++i) {
        HostArray got{expected[i].type, std::vector<unsigned char>(expected[i].bytes.size())};
        smem::read_buffer(context_, cl::Buffer(places[i].buffer, true), got.bytes.data(), got.bytes.size());
        if (const auto text = difference(rules[i].name, expected[i], got, relative, absolute)) return *text;
      }
      return {};
    };
    for (const std::string& text :
         {compare(case_.out, out_, arrays_.out, case_.relative, case_.absolute),
          compare(case_.in_out, in_out_, arrays_.in_out, case_.relative, case_.absolute),
          compare(case_.in, in_, arrays_.in, 0, 0)})
      if (!text.empty()) return text;
    return {};
  }

 private:
  std::vector<PlacedArray> upload(const std::vector<HostArray>& arrays) {
    std::vector<PlacedArray> places;
    for (const HostArray& array : arrays) {
      buffers_.push_back(smem::make_buffer(context_, array.bytes.size()));
      smem::write_buffer(context_, buffers_.back(), array.bytes.data(), array.bytes.size());
      places.push_back({buffers_.back()(), array.type, 0, array.size()});
    }
    return places;
  }

  const smem::Context& context_;
  const Case& case_;
  std::vector<HostArray> in_, in_out_, out_;
  std::vector<cl::Buffer> buffers_;
  smem::operations::CallArrays arrays_;
};

/// Calls a case by a variant; empty: the plan's choice. \returns whether the device runs it.
bool run(const smem::Context& context, const Case& c, std::string_view variant) {
  CAPTURE(c.text);
  CAPTURE(variant);
  const CaseBuffers buffers(context, c);
  try {
    c.call(context, buffers.arrays(), {.variant = variant}).wait();
  } catch (const smem::Error& error) {
    INFO(std::string(error.what()));
    CHECK((!variant.empty() && error.details().argument == "variant"));
    CHECK_THROWS_AS(c.plan(context.device(), {.variant = std::string(variant)}), smem::Error);
    return false;
  }
  CHECK(buffers.wrong().empty());
  return true;
}

/// Each number among a problem's members, changed alone, gives another key of the plan.
template <class Problem>
void check_keys(smem::ops::PlanFunction<Problem> plan_of) {
  const auto key_of = [&](const Problem& problem) {
    return smem::ops::problem_key<Problem>(plan_of, problem, {});
  };
  std::vector<Member> members;
  smem::operations::changed(Problem{}, [&](const Member& member, std::size_t value) {
    members.push_back(member);
    return value;
  });
  CHECK(key_of(Problem{}) == key_of(Problem{}));
  for (const Member& member : members) {
    CAPTURE(member.name);
    const Problem other = smem::operations::changed(Problem{}, [&](const Member& m, std::size_t value) {
      return m.name == member.name && m.index == member.index ? value ^ 1 : value;
    });
    CHECK_FALSE(key_of(other) == key_of(Problem{}));
  }
}

/// Every variant of each eighth operation, at sizes around its tiles: of all, hundreds of programs.
void check_variants(std::size_t share) {
  const smem::Context context;
  const std::vector<smem::operations::Operation>& operations = smem::operations::all();
  for (std::size_t i = share; i < operations.size(); i += 8) {
    const smem::operations::Operation& operation = operations[i];
    CAPTURE(operation.name);
    std::set<std::string_view> ran;
    for (const Sample& sample : operation.at(Scale::edges)) {
      const Case c = operation.parse(sample.words);
      if (!can_compute(context.device(), c)) continue;
      for (const std::string_view variant : operation.variants()) {
        if (!run(context, c, variant)) continue;
        ran.insert(variant);
        const test::OneGroup all_jobs_in_one;
        run(context, c, variant);
      }
    }
    const Case usual = operation.parse(operation.at(Scale::small).front().words);
    CHECK(ran.count(usual.plan(context.device(), {}).variant) == 1);
  }
}

/// Calls whose temporary memory starts at zero do not begin before the events that they wait for.
void check_waits(const smem::Context& context) {
  for (const smem::operations::Operation& operation : smem::operations::all()) {
    CAPTURE(operation.name);
    const Case c = operation.parse(operation.at(Scale::edges).at(1).words);
    if (!can_compute(context.device(), c)) continue;
    for (const std::string_view variant : operation.variants()) {
      CAPTURE(variant);
      smem::Plan plan;
      try {
        plan = c.plan(context.device(), {.variant = std::string(variant)});
      } catch (const smem::Error&) {
        continue;
      }
      if (std::none_of(plan.scratch.begin(), plan.scratch.end(),
                       [](const auto& area) { return area.zeroed_bytes > 0; }))
        continue;
      const CaseBuffers buffers(context, c);
      cl_int status = CL_SUCCESS;
      const cl::Event gate(clCreateUserEvent(context.cl_context()(), &status));
      REQUIRE(status == CL_SUCCESS);
      const std::vector<cl::Event> list{gate};
      const cl::Event called = c.call(context, buffers.arrays(), {.wait_for = list, .variant = variant});
      clFlush(context.queue()());
      cl_int state = CL_QUEUED;
      for (int i = 0; i < 30 && state > CL_COMPLETE; ++i) {  // time enough for a call that does not wait
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        clGetEventInfo(called(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
      }
      CHECK(state > CL_COMPLETE);
      clSetUserEventStatus(gate(), CL_COMPLETE);
      called.wait();
      CHECK(buffers.wrong().empty());
    }
  }
}

}  // namespace

TEST_CASE("keys: problems that differ in one member have plans of their own") {
  check_keys<smem::TransposeProblem>(smem::plan_transpose);
  check_keys<smem::FlipProblem>(smem::plan_flip);
  check_keys<smem::ReduceProblem>(smem::plan_reduce);
  check_keys<smem::ScanProblem>(smem::plan_scan);
  check_keys<smem::SelectProblem>(smem::plan_select);
  check_keys<smem::SoftmaxProblem>(smem::plan_softmax);
  check_keys<smem::SoftmaxColumnsProblem>(smem::plan_softmax_columns);
  check_keys<smem::TopKProblem>(smem::plan_top_k);
  check_keys<smem::SortProblem>(smem::plan_sort);
  check_keys<smem::SortRowsProblem>(smem::plan_sort_rows);
  check_keys<smem::ReduceByKeyProblem>(smem::plan_reduce_by_key);
  check_keys<smem::SortSegmentsProblem>(smem::plan_sort_segments);
  check_keys<smem::GatherProblem>(smem::plan_gather);
  check_keys<smem::MergeProblem>(smem::plan_merge);
  check_keys<smem::BoundsProblem>(smem::plan_bounds);
  check_keys<smem::SortByProblem>(smem::plan_sort_by);
  check_keys<smem::NormProblem>(smem::plan_norm);
  check_keys<smem::NormColumnsProblem>(smem::plan_norm_columns);
  check_keys<smem::RotaryProblem>(smem::plan_rotary);
  check_keys<smem::HistogramProblem>(smem::plan_histogram);
  check_keys<smem::WeightedHistogramProblem>(smem::plan_histogram_weighted);
  check_keys<smem::GemmProblem>(smem::plan_gemm);
  check_keys<smem::ComplexGemmProblem>(smem::plan_complex_gemm);
  check_keys<smem::AttentionProblem>(smem::plan_attention);
  check_keys<smem::AppendToCacheProblem>(smem::plan_append_to_cache);
  check_keys<smem::Conv2dProblem>(smem::plan_conv2d);
  check_keys<smem::HeatProblem>(smem::plan_heat);
  check_keys<smem::StencilProblem>(smem::plan_stencil);
  check_keys<smem::SeparableProblem>(smem::plan_separable);
  check_keys<smem::BoxProblem>(smem::plan_box);
  check_keys<smem::WindowProblem>(smem::plan_window);
  check_keys<smem::PoolProblem>(smem::plan_pool);
  check_keys<smem::GlobalPoolProblem>(smem::plan_global_pool);
  check_keys<smem::MovingMeanProblem>(smem::plan_moving_mean);
}

TEST_CASE("operations: calls whose temporary memory starts at zero wait for their events") {
  const smem::Context context;
  check_waits(context);
  cl_int status = CL_SUCCESS;
  const cl::CommandQueue out_of_order(clCreateCommandQueue(context.cl_context()(), context.cl_device()(),
                                                           CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status));
  if (status == CL_SUCCESS) check_waits(smem::Context(out_of_order));
}

TEST_CASE("operations: the chosen variant gives what a plain loop gives, at sizes around its tiles") {
  const smem::Context context;
  for (const smem::operations::Operation& operation : smem::operations::all()) {
    CAPTURE(operation.name);
    const auto& samples = operation.at(Scale::edges);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (!test::has_turn(i, 4)) continue;
      const Case c = operation.parse(samples[i].words);
      if (can_compute(context.device(), c)) CHECK(run(context, c, {}));
    }
  }
}

TEST_CASE("small: operations of which no other small case is" * doctest::test_suite("small")) {
  const smem::Context context;
  for (const char* name : {"matvec", "vecmat", "reduce_by_key", "softmax_columns", "histogram_weighted",
                           "convolve2d", "sobel"}) {
    const smem::operations::Operation* const operation = smem::operations::find(name);
    REQUIRE(operation != nullptr);
    const Case c = operation->parse(operation->at(Scale::edges).at(1).words);
    if (!can_compute(context.device(), c)) continue;
    std::vector<std::string_view> variants{""};  // the plan's choice
    if (test::is_quick()) variants = test::tested_variants(context.device(), name, operation->variants());
    for (const std::string_view variant : variants) {
      const CaseBuffers buffers(context, c);
      test::check_case({name, std::string(variant), std::string(smem::name_of(c.in.front().type))}, c.text,
                       [&]() -> test::Outcome {
                         try {
                           c.call(context, buffers.arrays(), {.variant = variant}).wait();
                         } catch (const smem::Error& error) {
                           if (variant.empty() || error.details().argument != "variant") throw;
                           return test::refusal(error);
                         }
                         return {false, buffers.wrong(), {}};
                       });
    }
  }
}

TEST_CASE("operations: every variant, 1 of 8") { check_variants(0); }
TEST_CASE("operations: every variant, 2 of 8") { check_variants(1); }
TEST_CASE("operations: every variant, 3 of 8") { check_variants(2); }
TEST_CASE("operations: every variant, 4 of 8") { check_variants(3); }
TEST_CASE("operations: every variant, 5 of 8") { check_variants(4); }
TEST_CASE("operations: every variant, 6 of 8") { check_variants(5); }
TEST_CASE("operations: every variant, 7 of 8") { check_variants(6); }
TEST_CASE("operations: every variant, 8 of 8") { check_variants(7); }

TEST_CASE("operations: every sample has a plan that fits every target, and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits : {"", "local=16K,work_group=64", "work_group=1"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      for (const smem::operations::Operation& operation : smem::operations::all()) {
        std::vector<Sample> samples;
        for (const Scale scale :
             {Scale::edges, Scale::small, Scale::usual, Scale::large, Scale::weak_usual, Scale::weak})
          samples.insert(samples.end(), operation.at(scale).begin(), operation.at(scale).end());
        for (const Sample& sample : samples) {
          CAPTURE(operation.name);
          CAPTURE(sample.words);
          const Case c = operation.parse(sample.words);
          if (!can_compute(device, c)) continue;
          const smem::Plan plan = c.plan(device, {});
          for (const smem::Launch* launch : plan.launches()) {
            CHECK(launch->local_bytes <= device.local_bytes);
            CHECK(launch->work_items() <= device.max_work_group);
            CHECK(launch->groups() > 0);
          }
          CHECK_FALSE(smem::text_of(c.problem).empty());
          const auto names = operation.variants();
          CHECK(std::find(names.begin(), names.end(), plan.variant) != names.end());
          if (operation.name != "rotate")  // whose plans are of transpose or of flip
            CHECK(plan.alternatives.size() + 1 == names.size());
          // None where it is not tuned; convolve2d has those of stencil.
          const std::string& tuned = c.tuning.operation;
          CHECK((tuned.empty() || smem::operations::find(tuned) != nullptr));
        }
      }
    }
  }
}

TEST_CASE("operations: evidence of a plan is of the device's own family") {
  for (const smem::Device& device : test::all_targets()) {
    CAPTURE(device.name);
    for (const smem::operations::Operation& operation : smem::operations::all()) {
      CAPTURE(operation.name);
      const smem::Plan plan = operation.parse(operation.samples.edges.front().words).plan(device, {});
      for (const char* measured : {"H100", "H200", "Zen 4", "Xeon"}) {
        if (smem::plan::family_of_measured(measured) == family_of(device)) continue;
        CHECK_FALSE(test::contains(plan.evidence, measured));
        CHECK_FALSE(test::contains(plan.reason, measured));
      }
    }
  }
}

TEST_CASE("operations: the main launch's share of a call counts its repeats") {
  const auto share = [](const char* operation, const char* words, const char* variant, const char* target) {
    const Case c = smem::operations::find(operation)->parse(words);
    const smem::Device device = test::target(target);
    const smem::Plan plan = c.plan(device, {.variant = variant});
    CAPTURE(operation);
    CAPTURE(variant);
    CHECK(std::max(plan.repeats, plan.rounds) > 1);
    return smem::operations::main_share(c, plan);
  };
  // What a plan of sort predicts is the whole call, whatever its launches.
  for (const char* variant : {"onesweep", "three_launches", "four_bits"})
    CHECK(share("sort", "10000000", variant, "sm_90") == 1);
  // Passes of several steps, and one of fewer.
  const double of_heat = share("heat", "512x512 float --steps 11", "march", "sm_90");
  CHECK(of_heat > 0.5);
  CHECK(of_heat < 1);
  const Case c = smem::operations::find("heat")->parse("512x512 float --steps 12");
  const smem::Plan plan = c.plan(test::target("sm_90"), {.variant = "naive"});
  CHECK(plan.repeats == 12);
  CHECK(plan.prediction.bytes() == 12 * 2.0 * 4 * 512 * 512);
  CHECK(smem::operations::main_share(c, plan) == 1);
}

TEST_CASE("operations: descriptions are whole") {
  std::set<std::string_view> names;
  for (const smem::operations::Operation& operation : smem::operations::all()) {
    CAPTURE(operation.name);
    CHECK(names.insert(operation.name).second);
    CHECK_FALSE(operation.summary.empty());
    std::set<std::string_view> variants;
    for (const smem::operations::Step& step : operation.steps) {
      CHECK_FALSE(step.what.empty());
      CHECK(variants.insert(step.variant).second);
    }
    for (const Scale scale : {Scale::edges, Scale::small, Scale::usual, Scale::large})
      CHECK_FALSE(operation.at(scale).empty());
  }
  CHECK(smem::operations::find("transpose") != nullptr);
  CHECK(smem::operations::find("nonsense") == nullptr);
}

TEST_CASE("operations: what was found weak on CPUs and GPUs is measured by bench --weak") {
  const auto has = [](Scale scale, std::string_view operation, std::string_view words, bool with_goal) {
    CAPTURE(operation);
    CAPTURE(words);
    const std::vector<Sample>& samples = smem::operations::find(operation)->at(scale);
    const auto found = std::find_if(samples.begin(), samples.end(),
                                    [&](const Sample& sample) { return sample.words == words; });
    REQUIRE(found != samples.end());
    CHECK((found->goal > 0) == with_goal);
  };
  for (const char* words : {"512x512x512 float", "1024x1024x1024 float", "2048x2048x2048 float"})
    has(Scale::weak_usual, "gemm", words, false);
  for (const char* words : {"67108864", "8192x8192", "67108864 --op minmax", "67108864 --op argmin",
                            "134217728 half", "268435456 int8"})
    has(Scale::weak_usual, "reduce", words, true);
  has(Scale::weak_usual, "heat", "4096x4096 float", true);
  has(Scale::weak_usual, "scan", "16777216", true);
  has(Scale::weak_usual, "sobel", "4096x4096 uchar", false);
  has(Scale::weak_usual, "median_blur", "4096x4096 uchar", false);
  has(Scale::weak_usual, "median_blur", "4096x4096 uchar --window 5", false);
  has(Scale::weak_usual, "box_blur", "4096x4096 uchar --radius 50", false);
  has(Scale::weak_usual, "separable", "4096x4096 uchar --window 15", false);
  has(Scale::weak_usual, "stencil", "4096x4096 uchar --radius 2x2 --channels 4", false);

  for (const char* operation : {"reduce", "scan", "select"})
    for (const char* words : {"1000", "30000", "1000000", "5000000"})
      has(Scale::weak, operation, words, false);
  for (const char* words :
       {"268435456 uint8", "268435456 --op partition", "268435456 --op run_length_encode --per-cent 5"})
    has(Scale::weak, "select", words, true);
  for (const char* words :
       {"33554432x3 float", "33554432x5 float", "33554432x6 float", "33554432x7 float", "16777216x12 float",
        "16777216x16 float", "3x33554432 float", "5x33554432 float", "6x33554432 float", "7x33554432 float",
        "12x16777216 float", "16x16777216 float", "100x77 float --batch 16384", "3x3 float --batch 8388608",
        "30x30 float --batch 131072", "32749x32771 uchar", "32749x16381 ushort"})
    has(Scale::weak, "transpose", words, true);
  for (const char* words : {"8192x8192 uchar --window 5", "8192x8192 uchar --window 15",
                            "8192x8192 half --window 15", "8192x8192 ushort --window 15"})
    has(Scale::weak, "separable", words, true);
  has(Scale::weak, "box_blur", "8192x8192 uchar --radius 50", true);
  has(Scale::weak, "box_blur", "8192x8192 float --radius 200", true);
  has(Scale::weak, "moving_mean", "268435456 float --window 100001", true);
  has(Scale::weak, "median_blur", "8192x8192 float --window 5", true);
  has(Scale::weak, "stencil", "8192x8192 float --radius 3x3", true);
  has(Scale::weak, "stencil", "8192x8192 uchar --channels 4", true);
  has(Scale::weak, "stencil", "8192x8192 uchar --radius 2x2 --channels 4", true);
}

TEST_CASE("operations: words that do not fit are refused by name") {
  const smem::operations::Operation& transpose = *smem::operations::find("transpose");
  const auto argument = [&](std::string_view words) {
    return test::failure_of([&] { transpose.parse(words); }).argument;
  };
  CHECK(transpose.parse("3x4").text == "3 x 4, 4 B");
  CHECK(transpose.parse("3x4 uchar4 --batch 2").text == "2 of 3 x 4, 4 B");
  CHECK(transpose.parse("3x4 uint8").text == "3 x 4, 1 B");  // no vector
  CHECK(transpose.parse("3x4 bfloat16").text == "3 x 4, 2 B");
  CHECK(argument("3x4 uint9") == "type");
  CHECK(argument("3x4 int5") == "type");
  CHECK(argument("") == "shape");
  CHECK(argument("3") == "shape");
  CHECK(argument("3x4x5") == "shape");
  CHECK(argument("0x4") == "shape");
  CHECK(argument("3x99999999999999999999") == "shape");
  CHECK(argument("3x4 float3") == "type");
  CHECK(argument("3x4 float --batch x") == "batch");
  CHECK(argument("3x4 float --nonsense 3") == "nonsense");
  CHECK(argument("3x4 float 7") == "7");
  const smem::operations::Operation& sort_by = *smem::operations::find("sort_by");
  for (const char* words : {"3 e5m2", "3 e4m3 --pairs", "3 half", "3 bfloat16"})
    CHECK(test::failure_of([&] { sort_by.parse(words); }).argument == "type");
  const smem::operations::Operation& gemm = *smem::operations::find("gemm");
  CHECK(test::failure_of([&] { gemm.parse("3x3x3 double --b-type e5m2 --column-major"); }).argument ==
        "b-type");
  const smem::operations::Operation& heat = *smem::operations::find("heat");
  CHECK(test::failure_of([&] { heat.parse("3x0"); }).argument == "size");
  CHECK(test::failure_of([&] { heat.parse("3 float --walls none"); }).argument == "walls");
  CHECK(heat.parse("3 float --steps-per-pass 0").text == "3 float32, 1 step");
}
