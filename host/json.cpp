// JSON as text.
#include "json.hpp"

#include <smem/fields.hpp>

namespace smem {

nlohmann::ordered_json shallow_json(std::string_view text, int levels) {
  bool is_deep = false;
  auto json = nlohmann::ordered_json::parse(
      text,
      [&](int depth, nlohmann::ordered_json::parse_event_t, nlohmann::ordered_json&) {
        is_deep = is_deep || depth > levels;
        return !is_deep;
      },
      false);
  if (is_deep) return nlohmann::ordered_json(nlohmann::ordered_json::value_t::discarded);
  return json;
}

namespace {

std::string text_of(const nlohmann::ordered_json& json, int indent, bool is_ascii) {
  return json.dump(indent, ' ', is_ascii, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

std::string line_of(const nlohmann::ordered_json& json, bool is_ascii) { return text_of(json, -1, is_ascii); }

std::string lines_of(const nlohmann::ordered_json& json) { return text_of(json, 2, false) + "\n"; }

std::string json_of(const std::vector<FieldValue>& values) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const FieldValue& value : values) {
    nlohmann::ordered_json& member = json[std::string(value.name)];
    member = value.is_number ? shallow_json(value.text, 1) : nlohmann::ordered_json(value.text);
  }
  return line_of(json);
}

}  // namespace smem
