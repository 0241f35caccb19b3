/// Kernel sources: embedded in the library, or read from the folder that SMEM_KERNEL_DIR names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace smem::runtime {

struct EmbeddedFile {
  std::string_view path;  ///< relative to cl/
  std::string_view text;
  std::string_view sha256;
};

/// All files of cl/, made by CMake from the folder.
std::span<const EmbeddedFile> embedded_files();

/// The text of a kernel file with its quoted includes put in, each as if it began with #pragma once, and
/// #line marks, so that a compiler's log names files and lines as they lie in cl/. \throws Error naming the
/// file that cannot be read.
std::string kernel_source(const std::string& path);

/// A text with the files of cl/ that it includes put in, as kernel_source() does. `name`: of the text in
/// #line marks; it ends in ".cl". \throws Error naming the file that is not there.
std::string with_includes(const std::string& text, const std::string& name);

}  // namespace smem::runtime
