// Temporaries, and copies of StarPU's data from and to the host.
#include "distributed/handles.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>

namespace smem::distributed::detail {

namespace {

/// Waits until the data is in main memory; moves messages meanwhile, one of which may bring it.
void acquire(State& state, Handle handle, starpu_data_access_mode mode) {
  wake_workers();
  Transport& transport = state.transport();
  if (!transport.has_messages()) {
    starpu_data_acquire(handle, mode);
    return;
  }
  std::atomic<bool> is_there = false;
  starpu_data_acquire_cb(
      handle, mode, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &is_there);
  for (Pause pause; !is_there;) {
    if (transport.progress()) {
      pause.reset();
    } else {
      pause.wait(transport.is_moving());
    }
  }
}

std::byte* memory_of(Handle handle) {
  return reinterpret_cast<std::byte*>(starpu_vector_get_local_ptr(handle));
}

}  // namespace

int home_of(Handle handle) {
  if (handle == nullptr) return 0;
  return static_cast<int>(reinterpret_cast<std::intptr_t>(starpu_data_get_user_data(handle)));
}

void set_home(Handle handle, int home) {
  starpu_data_set_user_data(handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(home)));
}

Temporary::Temporary(std::size_t elements, std::size_t element_bytes, int home) {
  if (elements == 0) return;
  starpu_vector_data_register(&handle_, -1, 0, static_cast<std::uint32_t>(elements), element_bytes);
  set_home(handle_, home);
}

Temporary::~Temporary() {
  if (handle_ != nullptr) starpu_data_unregister_submit(handle_);
}

void write_handle(State& state, Handle handle, const void* from, std::size_t offset, std::size_t bytes,
                  bool update) {
  if (bytes == 0) return;
  acquire(state, handle, update ? STARPU_RW : STARPU_W);
  std::memcpy(memory_of(handle) + offset, from, bytes);
  starpu_data_release(handle);
}

void read_handle(State& state, Handle handle, void* to, std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return;
  acquire(state, handle, STARPU_R);
  std::memcpy(to, memory_of(handle) + offset, bytes);
  starpu_data_release(handle);
}

Bytes bytes_of(State& state, Handle handle, std::size_t bytes) {
  Bytes result(bytes);
  read_handle(state, handle, result.data(), 0, bytes);
  return result;
}

Bytes bytes_of(State& state, const std::vector<Temporary>& parts, std::size_t bytes) {
  Bytes all(parts.size() * bytes);
  for (std::size_t i = 0; i < parts.size(); ++i)
    read_handle(state, parts[i].handle(), all.data() + i * bytes, 0, bytes);
  return all;
}

}  // namespace smem::distributed::detail
