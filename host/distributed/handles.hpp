/// Data of StarPU: temporaries, and copies from and to the host.
#pragma once

#include "distributed/state.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace smem::distributed::detail {

/// Data of one collective call: a StarPU vector that is allocated where it is first written. It goes when the
/// tasks and messages that use it are done.
class Temporary {
 public:
  Temporary() = default;
  /// No handle where there are no elements. `home`: as set_home() takes it.
  Temporary(std::size_t elements, std::size_t element_bytes, int home = 0);
  Temporary(Temporary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Temporary& operator=(Temporary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Temporary();

  Handle handle() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

/// The device of this rank, from 1 on, on which tasks run whose first argument with a home is this data; 0:
/// none. Where a scheduler was named, homes are ignored.
int home_of(Handle handle);
/// Sets it.
void set_home(Handle handle, int home);

/// Copies `bytes` of the host into the handle's data, from byte `offset` on; others are lost unless `update`.
void write_handle(State& state, Handle handle, const void* from, std::size_t offset, std::size_t bytes,
                  bool update);
/// Copies data of the handle to the host, after the tasks and messages that write it.
void read_handle(State& state, Handle handle, void* to, std::size_t offset, std::size_t bytes);
/// The same as bytes.
Bytes bytes_of(State& state, Handle handle, std::size_t bytes);
/// Of several, of `bytes` each: contiguous.
Bytes bytes_of(State& state, const std::vector<Temporary>& parts, std::size_t bytes);

}  // namespace smem::distributed::detail
