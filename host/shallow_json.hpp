/// JSON from files that anybody may have written.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string_view>

namespace smem {

/// The value in a text; discarded where the text is no JSON, or nests deeper than `levels`. The parser itself
/// keeps its levels on the heap, but what is done with a value afterwards recurses.
inline nlohmann::ordered_json shallow_json(std::string_view text, int levels) {
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

}  // namespace smem
