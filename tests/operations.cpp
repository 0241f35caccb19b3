// Suites over all described operations.
#include "operations/list.hpp"
#include "ops/run.hpp"
#include "support/failure.hpp"
#include "support/level.hpp"
#include "support/targets.hpp"

#include "plan/policy.hpp"
#include "plan/sizes.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
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
using smem::operations::Operation;
using smem::operations::PlacedArray;
using smem::operations::Sample;
using smem::operations::Scale;
using smem::operations::WordKind;
using smem::operations::WordRule;

/// The arrays of a case in buffers of their own size, so that a sanitizer or Oclgrind sees each end.
class Buffers {
 public:
  Buffers(const smem::Context& context, const Case& c) : context_(context), case_(c) {
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
  const Buffers buffers(context, c);
  try {
    c.call(context, buffers.arrays(), {.variant = variant}).wait();
  } catch (const smem::Error& error) {
    INFO(error.what());
    CHECK((!variant.empty() && error.details().argument == "variant"));
    CHECK_THROWS_AS(c.plan(context.device(), {.variant = std::string(variant)}), smem::Error);
    return false;
  }
  CHECK(buffers.wrong().empty());
  return true;
}

constexpr std::size_t kHostile[] = {0,
                                    1,
                                    std::size_t{1} << 31,
                                    std::size_t{1} << 32,
                                    (std::size_t{1} << 32) + 1,
                                    std::size_t{1} << 62,
                                    std::size_t{1} << 63,
                                    SIZE_MAX};

/// What a plan must be, whatever was asked for.
void check_plan(const smem::Device& device, const smem::Plan& plan) {
  CHECK(plan.scratch_bytes < std::size_t{1} << 62);
  CHECK(plan.scratch.size() <= smem::Plan::kMostScratch);
  for (const smem::Launch* launch : plan.launches()) {
    CHECK(launch->work_items() >= 1);
    CHECK(launch->work_items() <= std::max<std::size_t>(device.max_work_group, 1));
    CHECK(launch->local_bytes <= device.local_bytes);
    for (std::size_t d = 0; d < 3; ++d)
      CHECK(launch->global[d] % std::max<std::size_t>(launch->work_group[d], 1) == 0);
  }
}

/// Makes a plan. \returns whether there is one; an Error names an argument, and anything else escapes.
template <class MakePlan>
bool is_planned(const smem::Device& device, const MakePlan& make_plan) {
  try {
    check_plan(device, make_plan());
    return true;
  } catch (const smem::Error& error) {
    CHECK_FALSE(error.details().argument.empty());
    return false;
  }
}

/// The numbers among a problem's members that plans are made of.
std::vector<Member> members_of(const Case& c, const smem::Device& device) {
  std::vector<Member> members;
  c.plan_changed(device, {}, [&](const Member& member, std::size_t value) {
    members.push_back(member);
    return value;
  });
  return members;
}

bool is_same(const Member& a, const Member& b) { return a.name == b.name && a.index == b.index; }

/// The words of a small problem, but for what is given.
std::map<std::string, std::string> small_words(const Operation& operation) {
  std::map<std::string, std::string> given;
  for (const WordRule& rule : operation.words) {
    if (!rule.usual.empty() || rule.kind == WordKind::flag) continue;
    given[rule.name] = "8";
    for (std::size_t i = 1; i < rule.most; ++i)
      given[rule.name] += "x8";
  }
  return given;
}

/// The texts that a word of numbers may have with a hostile one among them, or all hostile.
std::vector<std::string> hostile_texts(const WordRule& rule) {
  std::vector<std::string> texts;
  if (rule.kind != WordKind::number && rule.kind != WordKind::sizes) return texts;
  for (const std::size_t number : kHostile) {
    for (std::size_t place = 0; place <= rule.most; ++place) {
      std::string text;
      for (std::size_t i = 0; i < rule.most; ++i)
        text += (i == 0 ? "" : "x") + (place == i || place == rule.most ? std::to_string(number) : "8");
      texts.push_back(text);
    }
  }
  return texts;
}

/// Each number among a problem's members changed by itself: the key of its plan is another one.
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
      return is_same(m, member) ? value ^ 1 : value;
    });
    CHECK_FALSE(key_of(other) == key_of(Problem{}));
  }
}

/// Arrays of 4 KiB, whatever the case needs, and a check that nothing was written.
class SmallBuffers {
 public:
  static constexpr std::size_t kBytes = 4096;

  explicit SmallBuffers(const smem::Context& context) : context_(context) {
    smem::write_buffer(context_, in_, poison_.data(), kBytes);
    smem::write_buffer(context_, out_, poison_.data(), kBytes);
  }
  static bool has_room(const Case& c) {
    for (const std::vector<ArrayRule>* rules : {&c.in, &c.in_out, &c.out})
      for (const ArrayRule& rule : *rules)
        if (rule.bytes() > kBytes) return false;
    return true;
  }
  smem::operations::CallArrays arrays(const Case& c) const {
    std::size_t begin = 0;  // of outputs, which do not overlap
    const auto places = [&](const std::vector<ArrayRule>& rules, const cl::Buffer& buffer) {
      std::vector<PlacedArray> all;
      for (const ArrayRule& rule : rules) {
        const bool is_input = buffer() == in_();
        all.push_back({buffer(), rule.type, is_input ? 0 : begin / size_of(rule.type), rule.elements});
        begin += is_input ? 0 : kBytes / 4;
      }
      return all;
    };
    smem::operations::CallArrays arrays;
    arrays.in = places(c.in, in_);
    arrays.in_out = places(c.in_out, out_);
    arrays.out = places(c.out, out_);
    return arrays;
  }
  bool is_untouched() const {
    std::vector<unsigned char> now(kBytes);
    smem::read_buffer(context_, out_, now.data(), kBytes);
    return now == poison_;
  }

 private:
  const smem::Context& context_;
  std::vector<unsigned char> poison_ = std::vector<unsigned char>(kBytes, 77);
  cl::Buffer in_ = smem::make_buffer(context_, kBytes), out_ = smem::make_buffer(context_, kBytes);
};

}  // namespace

TEST_CASE("bad input of operations: hostile numbers of problems are refused, or planned right") {
  const std::vector<smem::Device> devices{test::target("cpu"), test::target("sm_90"), test::target("dg2-g10"),
                                          smem::clamp(test::target("gfx90a"), "local=1K")};
  for (const Operation& operation : smem::operations::all()) {
    CAPTURE(operation.name);
    const std::vector<Sample>& samples = operation.at(Scale::edges);
    for (std::size_t s = 0; s < samples.size(); ++s) {
      CAPTURE(samples[s].words);
      const Case c = operation.parse(samples[s].words);
      const bool at_length = s == 1;
      for (const smem::Device& device : devices) {
        if (!can_compute(device, c)) continue;
        CAPTURE(device.name);
        std::vector<std::string> variants{""};
        if (at_length)
          for (const std::string_view variant : operation.variants())
            variants.emplace_back(variant);
        const bool in_pairs = at_length && (device.name == "cpu" || device.name == "sm_90");
        const std::vector<Member> members = members_of(c, device);
        for (std::size_t i = 0; i < members.size(); ++i) {
          if (members[i].kind != Member::Kind::number) continue;
          CAPTURE(members[i].name);
          for (const std::size_t number : kHostile) {
            CAPTURE(number);
            const auto plan = [&](const std::string& variant, const Member* other, std::size_t second) {
              is_planned(device, [&] {
                return c.plan_changed(device, {.variant = variant}, [&](const Member& m, std::size_t value) {
                  return is_same(m, members[i])                   ? number
                         : other != nullptr && is_same(m, *other) ? second
                                                                  : value;
                });
              });
            };
            for (const std::string& variant : variants)
              plan(variant, nullptr, 0);
            for (std::size_t j = i + 1; in_pairs && j < members.size(); ++j) {
              if (members[j].kind != Member::Kind::number) continue;
              for (const std::size_t second : {std::size_t{0}, std::size_t{1} << 32, std::size_t{1} << 62})
                plan("", &members[j], second);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("bad input of operations: what is fixed by hand is refused, or planned right") {
  for (const smem::Device& device : {test::target("cpu"), test::target("sm_90"), test::target("dg2-g10"),
                                     smem::clamp(test::target("gfx90a"), "local=1K")}) {
    CAPTURE(device.name);
    for (const Operation& operation : smem::operations::all()) {
      const Case c = operation.parse(operation.at(Scale::edges).at(1).words);
      if (!can_compute(device, c)) continue;
      for (const std::string_view variant : operation.variants()) {
        CAPTURE(operation.name);
        CAPTURE(variant);
        for (const std::size_t number : kHostile) {
          CAPTURE(number);
          std::vector<smem::PlanOverrides> all(6, {.variant = std::string(variant)});
          all[0].tile_rows = all[1].tile_cols = all[2].work_items = number;
          all[3].tile_rows = all[3].tile_cols = number;
          all[4].layout.padding = number;
          all[5].layout.swizzle_mask = number;
          for (const smem::PlanOverrides& fixed : all)
            is_planned(device, [&] { return c.plan(device, fixed); });
        }
      }
    }
  }
}

TEST_CASE("bad input of operations: values outside their enumeration are refused by plans") {
  const smem::Device device = test::target("cpu");
  for (const Operation& operation : smem::operations::all()) {
    CAPTURE(operation.name);
    for (const Sample& sample : operation.at(Scale::edges)) {
      CAPTURE(sample.words);
      const Case c = operation.parse(sample.words);
      const smem::Plan plan = c.plan(device, {});
      for (const Member& member : members_of(c, device)) {
        if (member.kind != Member::Kind::scalar && member.kind != Member::Kind::enumeration) continue;
        CAPTURE(member.name);
        for (const std::size_t number : {std::size_t{99}, SIZE_MAX}) {
          try {
            const smem::Plan other = c.plan_changed(device, {}, [&](const Member& m, std::size_t value) {
              return is_same(m, member) ? number : value;
            });
            CHECK_MESSAGE(other.build_options() == plan.build_options(), "a value that plans ignore here");
          } catch (const smem::Error& error) {
            CHECK_FALSE(error.details().argument.empty());
            CHECK(error.details().operation != "name_of");
            CHECK(error.details().operation != "size_of");
          }
        }
      }
    }
  }
}

TEST_CASE("bad input of operations: hostile words are refused, and calls with them write nothing") {
  const smem::Context context;
  const SmallBuffers buffers(context);
  for (const Operation& operation : smem::operations::all()) {
    CAPTURE(operation.name);
    std::size_t refused = 0;
    for (const WordRule& rule : operation.words) {
      for (const std::string& text : hostile_texts(rule)) {
        CAPTURE(rule.name);
        CAPTURE(text);
        std::map<std::string, std::string> words = small_words(operation);
        words[rule.name] = text;
        try {
          const Case c = operation.read({operation.name, operation.words, words});
          for (const std::string_view target : {"cpu", "sm_90"}) {
            const smem::Device device = test::target(target);
            if (!is_planned(device, [&] { return c.plan(device, {}); })) continue;
            for (const std::vector<ArrayRule>* rules : {&c.in, &c.in_out, &c.out})
              for (const ArrayRule& array : *rules)  // plans know nothing of segments
                CHECK((array.fill.offsets_of != 0 || array.elements <= smem::plan::kMostElements));
          }
          if (SmallBuffers::has_room(c)) continue;
          c.call(context, buffers.arrays(c), {}).wait();
          CHECK_MESSAGE(false, "a call that leaves its buffers");
        } catch (const smem::Error& error) {
          CHECK_FALSE(error.details().argument.empty());
          ++refused;
        }
      }
    }
    CHECK(refused > 0);
    CHECK(buffers.is_untouched());
  }
}

TEST_CASE("bad input of operations: events that are none, or another context's") {
  const smem::Context context, other;
  const SmallBuffers buffers(context);
  cl_int status = CL_SUCCESS;
  const cl::Event foreign(clCreateUserEvent(other.cl_context()(), &status));
  REQUIRE(status == CL_SUCCESS);
  for (const Operation& operation : smem::operations::all()) {
    CAPTURE(operation.name);
    const Case c = operation.read({operation.name, operation.words, small_words(operation)});
    REQUIRE(SmallBuffers::has_room(c));
    for (const cl::Event& event : {cl::Event(), foreign}) {
      const std::vector<cl::Event> list{event};
      const auto error = test::failure_of([&] { c.call(context, buffers.arrays(c), {.wait_for = list}); });
      CHECK(error.argument == "wait_for");
      CHECK(error.got == (event() == nullptr ? "an empty handle" : "an event of another context"));
    }
  }
  CHECK(buffers.is_untouched());
  clSetUserEventStatus(foreign(), CL_COMPLETE);
}

TEST_CASE("keys: problems that differ in one member have plans of their own") {
  check_keys<smem::TransposeProblem>(smem::plan_transpose);
  check_keys<smem::FlipProblem>(smem::plan_flip);
  check_keys<smem::ReduceProblem>(smem::plan_reduce);
  check_keys<smem::ScanProblem>(smem::plan_scan);
  check_keys<smem::SelectProblem>(smem::plan_select);
  check_keys<smem::SoftmaxProblem>(smem::plan_softmax);
  check_keys<smem::TopKProblem>(smem::plan_top_k);
  check_keys<smem::NormProblem>(smem::plan_norm);
  check_keys<smem::RotaryProblem>(smem::plan_rotary);
  check_keys<smem::HistogramProblem>(smem::plan_histogram);
  check_keys<smem::WeightedHistogramProblem>(smem::plan_histogram_weighted);
  check_keys<smem::GemmProblem>(smem::plan_gemm);
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
  for (const Operation& operation : smem::operations::all()) {
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
      const Buffers buffers(context, c);
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

TEST_CASE("operations: every variant gives what a plain loop gives, at sizes around its tiles") {
  const smem::Context context;
  for (const Operation& operation : smem::operations::all()) {
    CAPTURE(operation.name);
    std::set<std::string_view> ran;
    for (const Sample& sample : operation.at(Scale::edges)) {
      const Case c = operation.parse(sample.words);
      if (!can_compute(context.device(), c)) continue;
      CHECK(run(context, c, {}));
      for (const std::string_view variant : operation.variants())
        if (run(context, c, variant)) ran.insert(variant);
    }
    const Case usual = operation.parse(operation.at(Scale::small).front().words);
    CHECK(ran.count(usual.plan(context.device(), {}).variant) == 1);
  }
}

TEST_CASE("operations: every sample has a plan that fits every target, and its clamps") {
  for (const smem::Device& whole : test::all_targets()) {
    for (const char* limits : {"", "local=16K,work_group=64", "work_group=1"}) {
      const smem::Device device = smem::clamp(whole, limits);
      CAPTURE(device.name);
      CAPTURE(limits);
      for (const Operation& operation : smem::operations::all()) {
        std::vector<Sample> samples;
        for (const Scale scale : {Scale::edges, Scale::small, Scale::usual, Scale::large})
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
          if (plan.operation != operation.name) continue;  // small boxes are plans of separable
          const auto names = operation.variants();
          CHECK(std::find(names.begin(), names.end(), plan.variant) != names.end());
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
    for (const Operation& operation : smem::operations::all()) {
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

TEST_CASE("operations: descriptions are whole") {
  std::set<std::string_view> names;
  for (const Operation& operation : smem::operations::all()) {
    CAPTURE(operation.name);
    CHECK(names.insert(operation.name).second);
    CHECK_FALSE(operation.summary.empty());
    for (const smem::operations::Step& step : operation.steps)
      CHECK_FALSE(step.what.empty());
    for (const Scale scale : {Scale::edges, Scale::small, Scale::usual, Scale::large})
      CHECK_FALSE(operation.at(scale).empty());
  }
  CHECK(smem::operations::find("transpose") != nullptr);
  CHECK(smem::operations::find("nonsense") == nullptr);
}

TEST_CASE("operations: words that do not fit are refused by name") {
  const Operation& transpose = *smem::operations::find("transpose");
  const auto argument = [&](std::string_view words) {
    return test::failure_of([&] { transpose.parse(words); }).argument;
  };
  CHECK(transpose.parse("3x4").text == "3 x 4, 4 B");
  CHECK(transpose.parse("3x4 uchar4 --batch 2").text == "2 of 3 x 4, 4 B");
  CHECK(argument("") == "shape");
  CHECK(argument("3") == "shape");
  CHECK(argument("3x4x5") == "shape");
  CHECK(argument("0x4") == "shape");
  CHECK(argument("3x99999999999999999999") == "shape");
  CHECK(argument("3x4 float3") == "type");
  CHECK(argument("3x4 float --batch x") == "batch");
  CHECK(argument("3x4 float --nonsense 3") == "nonsense");
  CHECK(argument("3x4 float 7") == "7");
  const Operation& heat = *smem::operations::find("heat");
  CHECK(test::failure_of([&] { heat.parse("3x0"); }).argument == "size");
  CHECK(test::failure_of([&] { heat.parse("3 float --walls none"); }).argument == "walls");
  CHECK(heat.parse("3 float --steps-per-pass 0").text == "3 float32, 1 step");
}
