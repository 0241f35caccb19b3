/// A file that is there as a whole or not at all.
#pragma once

#include "cli/interrupt.hpp"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace smem::cli {

/// A stream that writes beside its file and takes the file's place in finish(). Without that, also after an
/// interrupt, what stood there before stands there still. Where the path names something else than a file, a
/// pipe or /dev/stdout, it is written to as it is.
class WholeFile : public std::ofstream {
 public:
  WholeFile() = default;
  ~WholeFile() override;

  /// Opens it; the stream's state is bad where that failed.
  void open(const std::filesystem::path& path);
  /// Ends the file. \returns whether all of it is there.
  bool finish();

 private:
  std::filesystem::path path_, part_;
  std::optional<OnInterrupt> at_interrupt_;
};

/// What a file or a pipe holds; nothing where it cannot be read, or does not end within 64 MiB.
std::optional<std::string> text_of_file(const std::string& path);

}  // namespace smem::cli
