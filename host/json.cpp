// JSON as text.
#include "json.hpp"

#include <smem/fields.hpp>

#include <stdexcept>

namespace smem {

Json shallow_json(std::string_view text, int levels) {
  bool is_deep = false;
  auto json = Json::parse(
      text,
      [&](int depth, Json::parse_event_t, Json&) {
        is_deep = is_deep || depth > levels;
        return !is_deep;
      },
      false);
  if (is_deep) return Json(Json::value_t::discarded);
  return json;
}

std::string text_at(const Json& json, const char* name) {
  auto text = json.at(name).get<std::string>();
  if (text.size() > kMostJsonText) throw std::out_of_range(name);
  return text;
}

namespace {

std::string text_of(const Json& json, int indent, bool is_ascii) {
  return json.dump(indent, ' ', is_ascii, Json::error_handler_t::replace);
}

}  // namespace

std::string line_of(const Json& json, bool is_ascii) { return text_of(json, -1, is_ascii); }

std::string lines_of(const Json& json) { return text_of(json, 2, false) + "\n"; }

std::string json_of(const std::vector<FieldValue>& values) {
  Json json = Json::object();
  for (const FieldValue& value : values) {
    Json& member = json[std::string(value.name)];
    member = value.is_number ? shallow_json(value.text, 1) : Json(value.text);
  }
  return line_of(json);
}

}  // namespace smem
