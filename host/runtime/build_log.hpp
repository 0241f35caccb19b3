/// Messages of a kernel compiler, by the files of its source.
#pragma once

#include <string>
#include <string_view>

namespace smem::runtime {

/// The name that plans give, by #line, to what they wrap around a caller's own text in a preamble. Each line
/// of it has a number of its own.
inline constexpr std::string_view kWrapper = "custom.cl";

/// The log, opened by the line of source that its first error names, as "FILE:LINE: TEXT", and where the
/// compiler names a column, a line below it with a caret and the message. `preamble` is the caller's own text
/// as the plan has wrapped it, or empty, and the source's beginning; errors in the use of a macro of the
/// preamble are shown there, and errors that a compiler finds right after the caller's text at its end. Any
/// log and source will do: what is not understood leaves the log as it is.
std::string explained_log(std::string_view log, std::string_view preamble, std::string_view source);

}  // namespace smem::runtime
