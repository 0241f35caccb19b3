#include "runtime/sources.hpp"
#include "formatted.hpp"
#include "plan/sizes.hpp"

#include "runtime/environment.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <utility>

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

// A text that takes the place of its includes. A file that stands outside of all conditions is not put in
// again. Of another one only the preprocessor knows whether it counts, so it is put in each time, and a macro
// keeps all but the first that counts out.
class Expansion {
 public:
  void append_text(const std::string& text, const std::string& path, bool conditional) {
    text_ += formatted("#line 1 \"{}\"\n", path);
    std::istringstream lines(text);
    std::string line;
    int open = 0;  // conditions around the line
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
      constexpr std::string_view kInclude = "#include \"";
      if (line.starts_with("#if")) ++open;
      if (line.starts_with("#endif") && open > 0) --open;
      if (line.starts_with(kInclude)) {
        const std::size_t end = line.find('"', kInclude.size());
        append(line.substr(kInclude.size(), end - kInclude.size()), conditional || open > 0);
        text_ += formatted("#line {} \"{}\"\n", number + 1, path);
      } else {
        text_ += line;
        text_ += '\n';
      }
    }
  }

  void append(const std::string& path, bool conditional) {
    if (whole_.contains(path) || within_.contains(path)) return;
    const bool guarded = conditional || guarded_.contains(path);
    if (!conditional) whole_.insert(path);
    if (!guarded) return append_text(file_text(path), path, false);
    const std::size_t number = guarded_.emplace(path, guarded_.size()).first->second;
    text_ += formatted("#ifndef SMEM_FILE_{0}\n#define SMEM_FILE_{0}\n", number);
    within_.insert(path);
    append_text(file_text(path), path, true);
    within_.erase(path);
    text_ += "#endif\n";
  }

  std::string& text() { return text_; }

 private:
  std::set<std::string> whole_;
  std::map<std::string, std::size_t> guarded_;  // and the number of each one's macro
  std::set<std::string> within_;                // those that are being put in under a condition
  std::string text_;
};

}  // namespace

std::string with_includes(const std::string& text, const std::string& name) {
  Expansion expansion;
  expansion.append_text(text, name, false);
  return std::move(expansion.text());
}

std::string kernel_source(const std::string& path) {
  Expansion expansion;
  expansion.append(path, false);
  return std::move(expansion.text());
}

}  // namespace smem::runtime
