#include "runtime/code_object.hpp"
#include "formatted.hpp"

#include <charconv>

namespace smem::runtime {

namespace {

/// The number at the start of the text, after blanks; 0 when there is none.
std::size_t number_at(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return 0;
  text.remove_prefix(first);
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// A MessagePack unsigned integer.
std::size_t packed_number(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char kind = byte(0);
  if (kind < 0x80) return kind;
  const std::size_t bytes = kind == 0xcc ? 1 : kind == 0xcd ? 2 : kind == 0xce ? 4 : 0;
  if (bytes == 0 || text.size() <= bytes) return 0;
  std::size_t value = 0;
  for (std::size_t i = 1; i <= bytes; ++i)
    value = value << 8 | byte(i);
  return value;
}

}  // namespace

std::size_t registers_in_log(std::string_view log, std::string_view entry_point) {
  // "ptxas info : Compiling entry function 'name' for 'sm_90'", then a line with "Used 40 registers".
  const std::size_t entry = log.find(formatted("'{}'", entry_point));
  if (entry == std::string_view::npos) return 0;
  const std::size_t used = log.find("Used ", entry);
  const std::size_t next = log.find("Compiling entry function", entry);
  if (used == std::string_view::npos || used > next) return 0;
  return number_at(log.substr(used + 5));
}

std::size_t registers_in_binary(std::span<const unsigned char> binary, std::string_view entry_point,
                                std::size_t thread_words) {
  const std::string_view text(reinterpret_cast<const char*>(binary.data()), binary.size());
  // AMD: a map for each kernel, its keys in alphabetic order: .name, …, .vgpr_count.
  constexpr std::string_view kCount = ".vgpr_count";
  for (std::size_t at = text.find(kCount); at != std::string_view::npos; at = text.find(kCount, at + 1)) {
    const std::size_t symbol = text.rfind(".symbol", at);
    if (symbol == std::string_view::npos) continue;
    // The symbol's value is a string: "name.kd".
    if (text.substr(symbol, at - symbol).find(formatted("{}.kd", entry_point)) == std::string_view::npos)
      continue;
    return packed_number(text.substr(at + kCount.size()));
  }
  // Intel: a list of kernels, "- name: NAME", with "grf_count: N" below.
  for (std::size_t at = text.find("name:"); at != std::string_view::npos; at = text.find("name:", at + 1)) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;
    std::string_view name = text.substr(at + 5, end - at - 5);
    while (!name.empty() && (name.front() == ' ' || name.front() == '\''))
      name.remove_prefix(1);
    while (!name.empty() && (name.back() == ' ' || name.back() == '\'' || name.back() == '\r'))
      name.remove_suffix(1);
    if (name != entry_point) continue;
    const std::size_t count = text.find("grf_count:", end), next = text.find("name:", end);
    if (count == std::string_view::npos || count > next) continue;
    const std::size_t simd = text.find("simd_size:", end);
    const std::size_t registers = number_at(text.substr(count + 10));
    const std::size_t lanes = simd == std::string_view::npos ? 0 : number_at(text.substr(simd + 10));
    return lanes == 0 ? 0 : registers * thread_words / 128 / lanes;
  }
  return 0;
}

}  // namespace smem::runtime
