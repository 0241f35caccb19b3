/// How much is tested.
#pragma once

namespace test {

/// Whether this is `smem selftest --quick`, which has half a minute where nothing is compiled yet and each
/// program takes PoCL a third of a second: each variant of an operation with one type.
inline bool& is_quick() {
  static bool quick = false;
  return quick;
}

}  // namespace test
