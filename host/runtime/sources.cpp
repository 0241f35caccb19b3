#include "runtime/sources.hpp"
#include "formatted.hpp"
#include "plan/sizes.hpp"

#include "runtime/environment.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace smem::runtime {

namespace {

std::string file_text(const std::string& path) {
  if (const std::string folder = environment("SMEM_KERNEL_DIR"); !folder.empty()) {
    const std::string place = folder + "/" + path;
    std::ifstream file(place, std::ios::binary);
    std::error_code ignored;
    // A folder can be opened too, and throws when it is read.
    const bool readable = file && std::filesystem::is_regular_file(place, ignored);
    std::string text;
    if (readable) text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (!readable || !file) {
      plan::refuse("", "SMEM_KERNEL_DIR", formatted("a folder that holds {}", path),
                   formatted("\"{}\", where it cannot be read", folder));
    }
    return text;
  }
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return std::string(file.text);
  }
  plan::refuse("", "kernel file", "a file of cl/", path);
}

void append(const std::string& path, std::set<std::string>& seen, std::string& out);

void append_text(const std::string& text, const std::string& path, std::set<std::string>& seen,
                 std::string& out) {
  out += formatted("#line 1 \"{}\"\n", path);
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    constexpr std::string_view kInclude = "#include \"";
    if (line.starts_with(kInclude)) {
      const std::size_t end = line.find('"', kInclude.size());
      append(line.substr(kInclude.size(), end - kInclude.size()), seen, out);
      out += formatted("#line {} \"{}\"\n", number + 1, path);
    } else {
      out += line;
      out += '\n';
    }
  }
}

void append(const std::string& path, std::set<std::string>& seen, std::string& out) {
  if (seen.insert(path).second) append_text(file_text(path), path, seen, out);
}

}  // namespace

std::string with_includes(const std::string& text, const std::string& name) {
  std::set<std::string> seen;
  std::string out;
  append_text(text, name, seen, out);
  return out;
}

std::string kernel_source(const std::string& path) {
  std::set<std::string> seen;
  std::string text;
  append(path, seen, text);
  return text;
}

}  // namespace smem::runtime
