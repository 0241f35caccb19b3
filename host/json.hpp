/// JSON as text. Reading and writing it takes longer to compile than what is done with a value, so both are
/// compiled once.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace smem {

using Json = nlohmann::ordered_json;

/// Bytes of a file, and letters of a text in it: what is larger smem did not write, and would take time when
/// a context opens.
inline constexpr std::size_t kMostJsonBytes = std::size_t{1} << 20, kMostJsonText = 400;

/// The value in a text, which anybody may have written; discarded where the text is no JSON, or nests deeper
/// than `levels`. The parser itself keeps its levels on the heap, but what is done with a value afterwards
/// recurses.
Json shallow_json(std::string_view text, int levels);

/// The text that a member is. \throws what derives from std::exception when it is none, or a long one.
std::string text_at(const Json& json, const char* name);

/// A value as text of one line. `is_ascii`: other characters are escaped.
std::string line_of(const Json& json, bool is_ascii = false);
/// A value as lines, indented by two spaces a level.
std::string lines_of(const Json& json);

}  // namespace smem
