/// Problems as keys of tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace smem::runtime {

// Shapes remembered at once. A program that transposes ever new shapes must not grow without end.
constexpr std::size_t kReadyLimit = 4096;

/// All that a plan depends on, as bytes.
class ProblemKey {
 public:
  /// A number, an enumerator, an array of such, or a text, of which two hashes count.
  template <class T>
  void add(const T& value) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      add_text(value);
    } else {
      static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>,
                    "equal values have equal bytes");
      add_bytes(&value, sizeof value);
    }
  }
  friend bool operator==(const ProblemKey& a, const ProblemKey& b) {
    return a.size_ == b.size_ && std::memcmp(a.bytes_.data(), b.bytes_.data(), a.size_) == 0;
  }
  std::size_t hash() const noexcept;

 private:
  /// Inline: of a known count it is a store or two, and each call adds dozens.
  void add_bytes(const void* from, std::size_t count) {
    if (count > bytes_.size() - size_) throw_full();
    std::memcpy(bytes_.data() + size_, from, count);
    size_ += count;
  }
  void add_text(std::string_view text);
  [[noreturn]] static void throw_full();

  static constexpr std::size_t kMostBytes = 504;
  std::size_t size_ = 0;
  std::array<std::byte, kMostBytes> bytes_;
};

struct ProblemKeyHash {
  std::size_t operator()(const ProblemKey& key) const noexcept { return key.hash(); }
};

}  // namespace smem::runtime
