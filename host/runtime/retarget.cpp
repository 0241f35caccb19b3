#include "runtime/retarget.hpp"

#include <algorithm>

namespace smem::runtime {

namespace {

/// Where the word after a directive at a line's start begins; npos: there is no such line.
std::size_t after_directive(std::string_view text, std::string_view directive) {
  for (std::size_t line = 0; line < text.size();) {
    if (text.substr(line).starts_with(directive)) return line + directive.size();
    const std::size_t end = text.find('\n', line);
    if (end == std::string_view::npos) break;
    line = end + 1;
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<std::string> retarget(std::string_view binary, std::string_view target) {
  while (!binary.empty() && binary.back() == '\0')
    binary.remove_suffix(1);  // drivers count the end of a C string
  if (binary.find('\0') != std::string_view::npos) return std::nullopt;  // machine code
  const std::size_t name = after_directive(binary, ".target ");
  if (after_directive(binary, ".version ") == std::string_view::npos || name == std::string_view::npos)
    return std::nullopt;
  // "sm_90a" has all of "sm_90", and nothing of "sm_80" or "sm_100".
  const std::size_t name_end = std::min(binary.find_first_of(", \r\n", name), binary.size());
  const std::string_view from = binary.substr(name, name_end - name);
  if (from != target && (target.empty() || from != target.substr(0, target.size() - 1))) return std::nullopt;

  std::string text(binary.substr(0, name));
  text += target;
  bool has_marker = false;
  for (std::string_view rest = binary.substr(name_end); !rest.empty();) {
    const std::size_t marker = rest.find(kRetargetMarker);
    text += rest.substr(0, marker);
    if (marker == std::string_view::npos) break;
    has_marker = true;
    rest.remove_prefix(marker + kRetargetMarker.size());
  }
  if (!has_marker) return std::nullopt;
  return text;
}

}  // namespace smem::runtime
