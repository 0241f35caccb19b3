// Temporaries, and copies of StarPU's data from and to the host.
#include "distributed/handles.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

namespace smem::distributed::detail {

namespace {

/// Waits until all of the data is in main memory; moves messages meanwhile, one of which may bring it.
void acquire(State& state, std::span<const Handle> handles, starpu_data_access_mode mode) {
  if (handles.empty()) return;
  wake_workers();
  Transport& transport = state.transport();
  if (!transport.has_messages() && (handles.size() == 1 || Pause::cores_are_short())) {
    for (const Handle handle : handles)
      starpu_data_acquire(handle, mode);
    return;
  }
  std::atomic<std::size_t> missing = handles.size();
  for (const Handle handle : handles) {
    starpu_data_acquire_cb(
        handle, mode, [](void* count) { --*static_cast<std::atomic<std::size_t>*>(count); }, &missing);
  }
  for (Pause pause; missing != 0;) {
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
  acquire(state, {&handle, 1}, update ? STARPU_RW : STARPU_W);
  std::memcpy(memory_of(handle) + offset, from, bytes);
  starpu_data_release(handle);
}

void read_handle(State& state, Handle handle, void* to, std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return;
  acquire(state, {&handle, 1}, STARPU_R);
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
  std::vector<Handle> handles;
  for (const Temporary& part : parts)
    handles.push_back(part.handle());
  acquire(state, handles, STARPU_R);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    std::memcpy(all.data() + i * bytes, memory_of(handles[i]), bytes);
    starpu_data_release(handles[i]);
  }
  return all;
}

}  // namespace smem::distributed::detail
