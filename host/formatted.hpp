/// Text from a format string, as fmt::format makes it. Its implementation is compiled in one place: in a file
/// of its own, it takes as long as everything else there.
#pragma once

#include <fmt/core.h>

#include <string>

namespace smem {

std::string format_text(fmt::string_view format, fmt::format_args arguments);

template <class... T>
std::string formatted(fmt::format_string<T...> format, T&&... arguments) {
  return format_text(format, fmt::make_format_args(arguments...));
}

/// "a, b, c" of a range of text.
template <class Range>
std::string joined(const Range& range, const char* separator = ", ") {
  std::string all;
  for (const auto& part : range) {
    if (!all.empty()) all += separator;
    all += part;
  }
  return all;
}

}  // namespace smem
