// Device facts as JSON, and back.
#include "formatted.hpp"

#include <smem/error.hpp>
#include <smem/explain.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace smem {

namespace {

using Json = nlohmann::ordered_json;

/// Calls `visit(name, member, least)` for every field; `least` is the smallest number that makes sense.
template <class Facts, class Visit>
void each_fact(Facts& d, const Visit& visit) {
  visit("name", d.name, 0);
  visit("platform", d.platform, 0);
  visit("platform_version", d.platform_version, 0);
  visit("vendor_name", d.vendor_name, 0);
  visit("driver", d.driver, 0);
  visit("opencl_c", d.opencl_c, 0);
  visit("type", d.type, 0);
  visit("vendor", d.vendor, 0);
  visit("architecture", d.architecture, 0);
  visit("compute_units", d.compute_units, 1);
  visit("max_work_group", d.max_work_group, 1);
  visit("max_work_items", d.max_work_items, 1);
  visit("sub_group_width", d.sub_group_width, 1);
  visit("local_bytes_reported", d.local_bytes_reported, 0);
  visit("local_bytes", d.local_bytes, 0);
  visit("local_is_cache", d.local_is_cache, 0);
  visit("local_banks", d.local_banks, 1);
  visit("local_bank_bytes", d.local_bank_bytes, 1);
  visit("unit", d.unit, 0);
  visit("global_bytes", d.global_bytes, 0);
  visit("max_allocation", d.max_allocation, 0);
  visit("cache_bytes", d.cache_bytes, 0);
  visit("cache_line_bytes", d.cache_line_bytes, 1);
  visit("clock_mhz", d.clock_mhz, 0);
  visit("vector_bytes", d.vector_bytes, 0);
  visit("timer_ns", d.timer_ns, 0);
  visit("fp64", d.fp64, 0);
  visit("fp16", d.fp16, 0);
  visit("int64_atomics", d.int64_atomics, 0);
  visit("sub_groups", d.sub_groups, 0);
  visit("sub_group_language", d.sub_group_language, 0);
  visit("event_language", d.event_language, 0);
  visit("packed_vectors", d.packed_vectors, 0);
  visit("prefetch_builtin", d.prefetch_builtin, 0);
  visit("long_loops", d.long_loops, 0);
  visit("forward_progress", d.forward_progress, 0);
  visit("ordered_start", d.ordered_start, 0);
  visit("retargeting", d.retargeting, 0);
  visit("broken", d.broken, 0);
}

template <class Broken, class Visit>
void each_word(Broken& broken, const Visit& visit) {
  visit("operation", broken.operation, 0);
  visit("variant", broken.variant, 0);
  visit("type", broken.type, 0);
  visit("reason", broken.reason, 0);
}

template <class Limits, class Visit>
void each_limit(Limits& unit, const Visit& visit) {
  visit("local_bytes", unit.local_bytes, 0);
  visit("local_reserved", unit.local_reserved, 0);
  visit("registers", unit.registers, 0);
  visit("register_lot", unit.register_lot, 0);
  visit("work_items", unit.work_items, 0);
  visit("groups", unit.groups, 0);
}

[[noreturn]] void refuse(const std::string& field, std::string expected, const Json& got) {
  std::string text = got.dump();
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  throw Error({.operation = "device_from_json",
               .argument = field,
               .expected = std::move(expected),
               .got = std::move(text)});
}

template <class Enum>
void read_name(const std::string& field, const Json& json, Enum& value, std::initializer_list<Enum> all) {
  std::string names;
  for (const Enum one : all) {
    if (json.is_string() && json.get<std::string>() == name_of(one)) {
      value = one;
      return;
    }
    names += formatted("{}\"{}\"", names.empty() ? "" : ", ", name_of(one));
  }
  refuse(field, "one of " + names, json);
}

void read(const std::string& field, const Json& json, std::string& value, std::size_t) {
  if (!json.is_string()) refuse(field, "a string", json);
  value = json.get<std::string>();
}
void read(const std::string& field, const Json& json, bool& value, std::size_t) {
  if (!json.is_boolean()) refuse(field, "true or false", json);
  value = json.get<bool>();
}
void read(const std::string& field, const Json& json, std::size_t& value, std::size_t least) {
  if (!json.is_number_unsigned() || json.get<std::size_t>() < least)
    refuse(field, formatted("a whole number, at least {}", least), json);
  value = json.get<std::size_t>();
}
void read(const std::string& field, const Json& json, std::array<std::size_t, 3>& value, std::size_t least) {
  if (!json.is_array() || json.size() != 3) refuse(field, "an array of three numbers", json);
  for (std::size_t i = 0; i < 3; ++i)
    read(formatted("{}[{}]", field, i), json[i], value[i], least);
}
void read(const std::string& field, const Json& json, DeviceType& value, std::size_t) {
  read_name(field, json, value, {DeviceType::gpu, DeviceType::cpu, DeviceType::accelerator});
}
void read(const std::string& field, const Json& json, Vendor& value, std::size_t) {
  read_name(field, json, value, {Vendor::nvidia, Vendor::amd, Vendor::intel, Vendor::other});
}
void read(const std::string& field, const Json& json, UnitLimits& value, std::size_t);
void read(const std::string& field, const Json& json, std::vector<BrokenVariant>& value, std::size_t);

/// Reads the fields that are there, and refuses those that nobody knows.
template <class Facts, class Each>
void read_object(const std::string& prefix, const Json& json, Facts& facts, const Each& each) {
  std::set<std::string> known;
  each(facts, [&](const char* name, auto& member, std::size_t least) {
    known.insert(name);
    if (const auto found = json.find(name); found != json.end()) read(prefix + name, *found, member, least);
  });
  for (const auto& [name, value] : json.items())
    if (!known.contains(name)) refuse(prefix + name, "no field of this name", value);
}

void read(const std::string& field, const Json& json, UnitLimits& value, std::size_t) {
  if (!json.is_object()) refuse(field, "an object", json);
  read_object(field + ".", json, value, [](auto& unit, const auto& visit) { each_limit(unit, visit); });
}

void read(const std::string& field, const Json& json, std::vector<BrokenVariant>& value, std::size_t) {
  if (!json.is_array()) refuse(field, "an array of objects", json);
  value.clear();
  for (const Json& one : json) {
    const std::string name = formatted("{}[{}]", field, value.size());
    if (!one.is_object()) refuse(name, "an object", one);
    BrokenVariant broken;
    read_object(name + ".", one, broken, [](auto& words, const auto& visit) { each_word(words, visit); });
    for (const auto& [word, text] : {std::pair{"operation", &broken.operation}, {"variant", &broken.variant}})
      if (text->empty()) refuse(name + "." + word, "a name", one);
    value.push_back(std::move(broken));
  }
}

template <class T>
Json write(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return Json(name_of(value));
  } else if constexpr (std::is_same_v<T, UnitLimits>) {
    Json json;
    each_limit(value, [&](const char* name, std::size_t number, int) { json[name] = number; });
    return json;
  } else if constexpr (std::is_same_v<T, std::vector<BrokenVariant>>) {
    Json json = Json::array();
    for (const BrokenVariant& broken : value) {
      Json one;
      each_word(broken, [&](const char* name, const std::string& word, int) { one[name] = word; });
      json.push_back(std::move(one));
    }
    return json;
  } else {
    return Json(value);
  }
}

}  // namespace

std::string to_json(const Device& device) {
  Json json;
  each_fact(device, [&](const char* name, const auto& member, int) { json[name] = write(member); });
  return json.dump(2) + "\n";
}

Device device_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    throw Error({.operation = "device_from_json",
                 .argument = "text",
                 .expected = "a JSON object of device facts",
                 .got = text.empty() ? "nothing" : "text that is not JSON"});
  }
  if (!json.is_object()) refuse("text", "a JSON object of device facts", json);
  Device device;
  read_object("", json, device, [](auto& facts, const auto& visit) { each_fact(facts, visit); });
  if (!json.contains("unit")) device.unit = unit_limits(device);
  return device;
}

}  // namespace smem
