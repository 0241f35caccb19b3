#include "formatted.hpp"

#include <fmt/format.h>

namespace smem {

std::string format_text(fmt::string_view format, fmt::format_args arguments) {
  return fmt::vformat(format, arguments);
}

}  // namespace smem
