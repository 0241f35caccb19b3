// Device facts as JSON, and back.
#include "plan/facts.hpp"

#include "formatted.hpp"
#include "json.hpp"

#include <smem/error.hpp>
#include <smem/explain.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace smem {

namespace {

/// The numbers that a field can have.
struct Range {
  std::size_t least = 0;
  std::size_t most = 0;
};

constexpr Range kWorkItems{1, 65536}, kLocalBytes{0, std::size_t{1} << 32},
    kGlobalBytes{0, std::size_t{1} << 48};
constexpr Range kNone{};  // of what is no number
constexpr int kMostLevels = 8;
constexpr std::size_t kMostText = std::size_t{1} << 20;

/// Calls `visit(name, member, range)` for every field.
template <class Facts, class Visit>
void each_fact(Facts& d, const Visit& visit) {
  visit("name", d.name, kNone);
  visit("platform", d.platform, kNone);
  visit("platform_version", d.platform_version, kNone);
  visit("vendor_name", d.vendor_name, kNone);
  visit("driver", d.driver, kNone);
  visit("opencl_c", d.opencl_c, kNone);
  visit("type", d.type, kNone);
  visit("vendor", d.vendor, kNone);
  visit("architecture", d.architecture, kNone);
  visit("compute_units", d.compute_units, Range{1, 65536});
  visit("max_work_group", d.max_work_group, kWorkItems);
  visit("max_work_items", d.max_work_items, kWorkItems);
  visit("sub_group_width", d.sub_group_width, Range{1, 128});
  visit("local_bytes_reported", d.local_bytes_reported, kLocalBytes);
  visit("local_bytes", d.local_bytes, kLocalBytes);
  visit("local_is_cache", d.local_is_cache, kNone);
  visit("local_banks", d.local_banks, Range{1, 256});
  visit("local_bank_bytes", d.local_bank_bytes, Range{1, 64});
  visit("unit", d.unit, kNone);
  visit("global_bytes", d.global_bytes, kGlobalBytes);
  visit("max_allocation", d.max_allocation, kGlobalBytes);
  visit("cache_bytes", d.cache_bytes, Range{0, std::size_t{1} << 40});
  visit("cache_line_bytes", d.cache_line_bytes, Range{1, 65536});
  visit("clock_mhz", d.clock_mhz, Range{0, 1000000});
  visit("vector_bytes", d.vector_bytes, Range{0, 1024});
  visit("wide_vectors", d.wide_vectors, kNone);
  visit("avx512_vnni", d.avx512_vnni, kNone);
  visit("avx_vnni", d.avx_vnni, kNone);
  visit("timer_ns", d.timer_ns, Range{0, 1000000000});
  visit("fp64", d.fp64, kNone);
  visit("fp16", d.fp16, kNone);
  visit("int64_atomics", d.int64_atomics, kNone);
  visit("sub_groups", d.sub_groups, kNone);
  visit("ballot_width", d.ballot_width, Range{0, 128});
  visit("packed_vectors", d.packed_vectors, kNone);
  visit("extended_vectors", d.extended_vectors, kNone);
  visit("prefetch_builtin", d.prefetch_builtin, kNone);
  visit("long_loops", d.long_loops, kNone);
  visit("forward_progress", d.forward_progress, kNone);
  visit("poll_limit", d.poll_limit, Range{0, 0xffffffff});
  visit("ordered_start", d.ordered_start, kNone);
  visit("retargeting", d.retargeting, kNone);
  visit("matrix_unit", d.matrix_unit, kNone);
  visit("emulated_unit", d.emulated_unit, kNone);
  visit("sub_group_language", d.sub_group_language, kNone);
  visit("event_language", d.event_language, kNone);
  visit("broken", d.broken, kNone);
}

template <class Broken, class Visit>
void each_word(Broken& broken, const Visit& visit) {
  visit("operation", broken.operation, kNone);
  visit("variant", broken.variant, kNone);
  visit("type", broken.type, kNone);
  visit("reason", broken.reason, kNone);
}

template <class Limits, class Visit>
void each_limit(Limits& unit, const Visit& visit) {
  visit("local_bytes", unit.local_bytes, kLocalBytes);
  visit("local_reserved", unit.local_reserved, Range{0, std::size_t{1} << 20});
  visit("registers", unit.registers, Range{0, std::size_t{1} << 24});
  visit("register_lot", unit.register_lot, Range{0, 65536});
  visit("work_items", unit.work_items, Range{0, std::size_t{1} << 20});
  visit("groups", unit.groups, Range{0, 65536});
}

[[noreturn]] void refuse_fact(const std::string& field, std::string expected, const Json& got) {
  std::string text = line_of(got, true);
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
  refuse_fact(field, "one of " + names, json);
}

void read(const std::string& field, const Json& json, std::string& value, Range) {
  if (!json.is_string()) refuse_fact(field, "a string", json);
  value = json.get<std::string>();
}
void read(const std::string& field, const Json& json, bool& value, Range) {
  if (!json.is_boolean()) refuse_fact(field, "true or false", json);
  value = json.get<bool>();
}
void read(const std::string& field, const Json& json, std::size_t& value, Range range) {
  if (!json.is_number_unsigned() || json.get<std::size_t>() < range.least ||
      json.get<std::size_t>() > range.most)
    refuse_fact(field, formatted("a whole number from {} to {}", range.least, range.most), json);
  value = json.get<std::size_t>();
}
void read(const std::string& field, const Json& json, std::array<std::size_t, 3>& value, Range range) {
  if (!json.is_array() || json.size() != 3) refuse_fact(field, "an array of three numbers", json);
  for (std::size_t i = 0; i < 3; ++i)
    read(formatted("{}[{}]", field, i), json[i], value[i], range);
}
void read(const std::string& field, const Json& json, DeviceType& value, Range) {
  read_name(field, json, value, {DeviceType::gpu, DeviceType::cpu, DeviceType::accelerator});
}
void read(const std::string& field, const Json& json, Vendor& value, Range) {
  read_name(field, json, value, {Vendor::nvidia, Vendor::amd, Vendor::intel, Vendor::other});
}
void read(const std::string& field, const Json& json, MatrixUnit& value, Range) {
  using enum MatrixUnit;
  read_name(field, json, value, {none, mfma, mfma_cdna3, wmma, wmma_rdna4, dpas8, dpas16});
}
void read(const std::string& field, const Json& json, UnitLimits& value, Range);
void read(const std::string& field, const Json& json, std::vector<BrokenVariant>& value, Range);

/// Reads the fields that are there, and refuses unknown ones.
template <class Facts, class Each>
void read_object(const std::string& prefix, const Json& json, Facts& facts, const Each& each) {
  std::set<std::string> known;
  each(facts, [&](const char* name, auto& member, Range range) {
    known.insert(name);
    if (const auto found = json.find(name); found != json.end()) read(prefix + name, *found, member, range);
  });
  for (const auto& [name, value] : json.items())
    if (!known.contains(name)) refuse_fact(prefix + name, "no field of this name", value);
}

void read(const std::string& field, const Json& json, UnitLimits& value, Range) {
  if (!json.is_object()) refuse_fact(field, "an object", json);
  read_object(field + ".", json, value, [](auto& unit, const auto& visit) { each_limit(unit, visit); });
}

void put_within(std::size_t& value, Range range) { value = std::clamp(value, range.least, range.most); }
void put_within(std::array<std::size_t, 3>& values, Range range) {
  for (std::size_t& value : values)
    put_within(value, range);
}
void put_within(UnitLimits& unit, Range) {
  each_limit(unit, [](const char*, std::size_t& value, Range range) { put_within(value, range); });
}
template <class T>
void put_within(T&, Range) {}  // no number

void read(const std::string& field, const Json& json, std::vector<BrokenVariant>& value, Range) {
  if (!json.is_array()) refuse_fact(field, "an array of objects", json);
  value.clear();
  for (const Json& one : json) {
    const std::string name = formatted("{}[{}]", field, value.size());
    if (!one.is_object()) refuse_fact(name, "an object", one);
    BrokenVariant broken;
    read_object(name + ".", one, broken, [](auto& words, const auto& visit) { each_word(words, visit); });
    for (const auto& [word, text] : {std::pair{"operation", &broken.operation}, {"variant", &broken.variant}})
      if (text->empty()) refuse_fact(name + "." + word, "a name", one);
    value.push_back(std::move(broken));
  }
}

template <class T>
Json write(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return Json(name_of(value));
  } else if constexpr (std::is_same_v<T, UnitLimits>) {
    Json json;
    each_limit(value, [&](const char* name, std::size_t number, Range) { json[name] = number; });
    return json;
  } else if constexpr (std::is_same_v<T, std::vector<BrokenVariant>>) {
    Json json = Json::array();
    for (const BrokenVariant& broken : value) {
      Json one;
      each_word(broken, [&](const char* name, const std::string& word, Range) { one[name] = word; });
      json.push_back(std::move(one));
    }
    return json;
  } else {
    return Json(value);
  }
}

}  // namespace

Device plan::within_ranges(Device device) {
  each_fact(device, [](const char*, auto& member, Range range) { put_within(member, range); });
  return device;
}

std::string to_json(const Device& device) {
  Json json;
  each_fact(device, [&](const char* name, const auto& member, Range) { json[name] = write(member); });
  return lines_of(json);
}

Device device_from_json(std::string_view text) {
  const Json json =
      text.size() > kMostText ? Json(Json::value_t::discarded) : shallow_json(text, kMostLevels);
  if (json.is_discarded()) {
    throw Error({.operation = "device_from_json",
                 .argument = "text",
                 .expected = "a JSON object of device facts",
                 .got = text.empty() ? "nothing"
                                     : "text that is not JSON, or nests too deep, or is longer than 1 MiB"});
  }
  if (!json.is_object()) refuse_fact("text", "a JSON object of device facts", json);
  Device device;
  read_object("", json, device, [](auto& facts, const auto& visit) { each_fact(facts, visit); });
  if (!json.contains("unit")) device.unit = unit_limits(device);
  return device;
}

}  // namespace smem
