// Bad input of all described operations.
#include "operations/list.hpp"
#include "plan/sizes.hpp"
#include "support/failure.hpp"
#include "support/targets.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

using smem::operations::ArrayRule;
using smem::operations::Case;
using smem::operations::Member;
using smem::operations::PlacedArray;
using smem::operations::Sample;
using smem::operations::Scale;
using smem::operations::WordKind;
using smem::operations::WordRule;

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

/// The numbers among a problem's members.
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
std::map<std::string, std::string> small_words(const smem::operations::Operation& operation) {
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

/// Arrays of 64 KiB, whatever the case needs, and a check that nothing was written.
class SmallBuffers {
 public:
  static constexpr std::size_t kBytes = 65536;  // an output has a quarter

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
  for (const smem::operations::Operation& operation : smem::operations::all()) {
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
    for (const smem::operations::Operation& operation : smem::operations::all()) {
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
  for (const smem::operations::Operation& operation : smem::operations::all()) {
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
  for (const smem::operations::Operation& operation : smem::operations::all()) {
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

TEST_CASE("operations: no word offers a choice that every type refuses") {
  for (const smem::operations::Operation& operation : smem::operations::all()) {
    CAPTURE(operation.name);
    std::vector<std::string> types{""};  // the usual one
    for (const WordRule& rule : operation.words) {
      if (rule.name == "type" && rule.kind == WordKind::scalar) types = {"float", "uint32"};
      if (rule.name == "type" && rule.kind == WordKind::choice) types = rule.choices;
    }
    for (const WordRule& rule : operation.words) {
      for (const std::string& choice : rule.choices) {
        CAPTURE(rule.name);
        CAPTURE(choice);
        CHECK(std::any_of(types.begin(), types.end(), [&](const std::string& type) {
          std::map<std::string, std::string> words = small_words(operation);
          if (!type.empty()) words["type"] = type;
          words[rule.name] = choice;
          const auto is_taken = [&] {
            try {
              operation.read({operation.name, operation.words, words});
              return true;
            } catch (const smem::Error&) {
              return false;
            }
          };
          if (is_taken()) return true;
          words[operation.words.front().name] = "8";  // a vector, not a matrix
          return is_taken();
        }));
      }
    }
  }
}

TEST_CASE("bad input of operations: events that are none, or another context's") {
  const smem::Context context, other;
  const SmallBuffers buffers(context);
  cl_int status = CL_SUCCESS;
  const cl::Event foreign(clCreateUserEvent(other.cl_context()(), &status));
  REQUIRE(status == CL_SUCCESS);
  clSetUserEventStatus(foreign(), CL_COMPLETE);
  for (const smem::operations::Operation& operation : smem::operations::all()) {
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
}
