/// JSON as text. Reading and writing it takes longer to compile than what is done with a value, so both are
/// compiled once.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace smem {

/// The value in a text, which anybody may have written; discarded where the text is no JSON, or nests deeper
/// than `levels`. The parser itself keeps its levels on the heap, but what is done with a value afterwards
/// recurses.
nlohmann::ordered_json shallow_json(std::string_view text, int levels);

/// A value as text of one line. `is_ascii`: other characters are escaped.
std::string line_of(const nlohmann::ordered_json& json, bool is_ascii = false);
/// A value as lines, indented by two spaces a level.
std::string lines_of(const nlohmann::ordered_json& json);

}  // namespace smem
