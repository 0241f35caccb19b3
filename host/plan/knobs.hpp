#pragma once
#include <cstdlib>
#include <cstddef>
namespace smem::plan {
inline std::size_t knob(const char* name, std::size_t usual) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != 0 ? std::strtoul(text, nullptr, 10) : usual;
}
}  // namespace smem::plan
