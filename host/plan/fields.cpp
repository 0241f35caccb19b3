// Members of problems as text and JSON.
#include <smem/fields.hpp>

#include "formatted.hpp"

#include <nlohmann/json.hpp>

namespace smem {

std::string detail::text_of(double value) { return formatted("{}", value); }

std::string text_of(const std::vector<FieldValue>& values) {
  std::string extents, others;
  for (const FieldValue& value : values) {
    if (value.role == FieldRole::extent) {
      extents += (extents.empty() ? "" : " x ") + value.text;
    } else if (value.text != "false" && !value.text.empty()) {
      others += formatted(", {}", value.text == "true" ? std::string(value.name)
                                                       : formatted("{} {}", value.name, value.text));
    }
  }
  return extents + others;
}

std::string json_of(const std::vector<FieldValue>& values) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const FieldValue& value : values) {
    const std::string name(value.name);
    if (value.is_number) {
      json[name] = nlohmann::ordered_json::parse(value.text, nullptr, false);
    } else {
      json[name] = value.text;
    }
  }
  return json.dump();
}

}  // namespace smem
