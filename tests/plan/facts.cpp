// A facts file may say anything: each number has a range, and within the ranges every plan is made at once.
#include <smem/explain.hpp>

#include "support/catalogue.hpp"
#include "support/failure.hpp"
#include "support/random.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;

/// A number of a facts file, by its names from outside in.
struct Field {
  Json::json_pointer place;
  std::string argument;  ///< as errors name it
};

std::vector<Field> numbers() {
  std::vector<Field> fields;
  const Json all = Json::parse(smem::to_json(smem::Device()));
  for (const auto& fact : all.items()) {
    const Json::json_pointer place("/" + fact.key());
    if (fact.value().is_number()) fields.push_back({place, fact.key()});
    if (fact.value().is_array())
      for (std::size_t i = 0; i < fact.value().size(); ++i)
        fields.push_back({place / i, fact.key() + "[" + std::to_string(i) + "]"});
    if (!fact.value().is_object()) continue;
    for (const auto& inner : fact.value().items())
      fields.push_back({place / inner.key(), fact.key() + "." + inner.key()});
  }
  return fields;
}

Json facts_with(const smem::Device& device, const Field& field, const Json& value) {
  Json json = Json::parse(smem::to_json(device));
  json[field.place] = value;
  return json;
}

smem::Device device_of(const Json& json) { return smem::device_from_json(json.dump()); }

/// "a whole number from 1 to 65536"
std::pair<std::uint64_t, std::uint64_t> range_of(const Field& field) {
  const auto error = test::failure_of([&] { device_of(facts_with({}, field, "many")); });
  CHECK(error.argument == field.argument);
  const std::string from = "a whole number from ", to = " to ";
  REQUIRE(error.expected.starts_with(from));
  std::pair<std::uint64_t, std::uint64_t> range{};
  const char* end = error.expected.data() + error.expected.size();
  const auto least = std::from_chars(error.expected.data() + from.size(), end, range.first);
  const auto most = std::from_chars(least.ptr + to.size(), end, range.second);
  REQUIRE(most.ptr == end);
  return range;
}

/// Seconds for all plans of a device.
double plan_everything(const smem::Device& device) {
  const auto start = std::chrono::steady_clock::now();
  for (const test::Configuration& configuration : test::configurations(device, true)) {
    CHECK(configuration.plan.work_items() >= 1);
    smem::Plan plan;
    static_cast<smem::Launch&>(plan) = configuration.plan;
    CHECK_FALSE(smem::explain(plan, device).empty());
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("facts: numbers out of their range are refused by name") {
  const std::vector<Field> fields = numbers();
  CHECK(fields.size() >= 23);
  for (const Field& field : fields) {
    CAPTURE(field.argument);
    const auto [first, second] = range_of(field);
    const std::uint64_t least = first, most = second;
    CHECK(most <= std::uint64_t{1} << 48);
    for (const std::uint64_t good : {least, most})
      CHECK_NOTHROW(device_of(facts_with({}, field, good)));
    std::vector<Json> bad{-1,        1.5,        1e300, nullptr, "1", Json::array(), std::uint64_t{1} << 62,
                          INT64_MAX, UINT64_MAX, true,  most + 1};
    if (least > 0) bad.emplace_back(least - 1);
    for (const Json& value : bad) {
      CAPTURE(value.dump());
      CHECK(test::failure_of([&] { device_of(facts_with({}, field, value)); }).argument == field.argument);
    }
  }
}

TEST_CASE("facts: text that is too deep, too long or no text is refused") {
  for (const std::string open : {"[", "{\"unit\":", "{\"name\":[", "[{\"a\":"}) {
    std::string deep;
    for (int i = 0; i < 60000; ++i)
      deep += open;
    for (const std::string& text : {deep, "{\"name\": " + deep}) {
      const auto error = test::failure_of([&] { smem::device_from_json(text); });
      CHECK(error.operation == "device_from_json");
      CHECK(error.argument == "text");
    }
  }
  const std::string closed = std::string(60000, '[') + std::string(60000, ']');
  CHECK(test::failure_of([&] { smem::device_from_json(closed); }).argument == "text");
  CHECK(test::failure_of([&] { smem::device_from_json("{\"name\": " + closed + "}"); }).argument == "text");
  CHECK(test::failure_of([&] { smem::device_from_json("{" + std::string(1 << 20, ' ') + "}"); }).argument ==
        "text");
  CHECK(test::failure_of([] { smem::device_from_json("{\"name\": \"\xff\"}"); }).argument == "text");
}

TEST_CASE("facts: a device whose name is no UTF-8 can be written down") {
  smem::Device device;
  device.name = "GPU\xff";
  CHECK(smem::device_from_json(smem::to_json(device)).name != "");
}

TEST_CASE("facts: every plan is made at the ends of every range") {
  double longest = 0;
  const smem::Device device = test::target("sm_90");
  for (const Field& field : numbers()) {
    const auto range = range_of(field);
    for (const std::uint64_t end : {range.first, range.second}) {
      CAPTURE(field.argument);
      CAPTURE(end);
      longest = std::max(longest, plan_everything(device_of(facts_with(device, field, end))));
    }
  }
  MESSAGE("all plans of a device took at most " << longest << " s");
  CHECK(longest < 30);
}

TEST_CASE("facts: every plan is made on devices of any numbers") {
  enum class Choice { least, most, ends, any };
  test::Random random(11);
  for (const char* target : {"sm_90", "gfx90a", "cpu"}) {
    for (const Choice choice :
         {Choice::least, Choice::most, Choice::ends, Choice::any, Choice::any, Choice::any}) {
      Json all = Json::parse(smem::to_json(test::target(target)));
      for (const Field& field : numbers()) {
        const auto range = range_of(field);
        const bool least = choice == Choice::least || (choice == Choice::ends && random.chance(2));
        all[field.place] = least ? range.first : range.second;
        if (choice == Choice::any)  // small ones as often as large ones
          all[field.place] = range.first + ((range.second - range.first) >> random.between(0, 48)) *
                                               random.between(0, 100) / 100;
      }
      CAPTURE(all.dump());
      plan_everything(device_of(all));
    }
  }
}
