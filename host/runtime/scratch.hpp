/// Temporary buffers, kept for reuse.
#pragma once

#include "plan/sizes.hpp"

#include <smem/device.hpp>
#include <smem/opencl.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace smem::runtime {

/// A buffer that was handed out is free again when the event it was returned with has completed; at once
/// where all commands that use the pool's buffers run in order, in one queue. The pool asks the events when
/// it is asked for memory: no callback outlives it, and no thread waits.
class ScratchPool {
 public:
  ScratchPool(cl::Context context, const Device& device, bool in_order = false)
      : context_(std::move(context)), device_(device), in_order_(in_order) {}

  /// A buffer of at least `bytes` bytes (the next power of two) that no command uses beside later ones.
  cl::Buffer take(std::size_t bytes);
  /// Gives a buffer back; commands that use it run until `used_until`.
  void give_back(cl::Buffer buffer, cl::Event used_until);

  /// A buffer of kZeroedBytes that are all zero, for counters. The command that uses it must leave it so.
  cl::Buffer take_zeroed();
  void give_back_zeroed(cl::Buffer buffer, cl::Event used_until);
  static constexpr std::size_t kZeroedBytes = plan::kSharedCounters * sizeof(std::uint32_t);

  /// Statuses that were zero at first, and have been written by launches with lower epochs.
  struct Statuses {
    cl::Buffer buffer;
    std::uint32_t epoch = 0;  ///< of the launches that get it now: from 1 to kMostEpochs
  };
  /// A buffer of at least `bytes` bytes that only launches with the same `layout` have written.
  Statuses take_statuses(std::size_t bytes, std::size_t layout);
  void give_back_statuses(Statuses statuses, std::size_t layout, cl::Event used_until);
  static constexpr std::uint32_t kMostEpochs = (1U << 30) - 1;  ///< as many as kernels keep

  /// Bytes that the pool holds, in use or free.
  std::size_t bytes() const;
  /// Releases the buffers that are free.
  void trim();

 private:
  struct Idle {
    cl::Buffer buffer;
    std::size_t bytes;
    cl::Event used_until;
    std::size_t layout = 0;   ///< of statuses
    std::uint32_t epoch = 0;  ///< the last one of statuses
  };

  /// A buffer that is no longer used, with nothing where there is none.
  Idle take_idle(std::vector<Idle>& idle, std::size_t bytes, std::size_t layout = 0) const;
  cl::Buffer new_zeroed(std::size_t bytes);

  cl::Context context_;
  const Device& device_;
  const bool in_order_;
  mutable std::mutex mutex_;
  std::vector<Idle> idle_;
  std::vector<Idle> idle_zeroed_;
  std::vector<Idle> idle_statuses_;
  std::size_t bytes_ = 0;
};

/// A buffer of the pool for the length of a scope. It goes back with the last event of used_until().
class Lease {
 public:
  /// zeroed: of ScratchPool::kZeroedBytes, and left zero; statuses: of launches with epochs
  enum class Kind { any, zeroed, statuses };
  /// Of 0 bytes there is none.
  Lease(ScratchPool& pool, std::size_t bytes, Kind kind = Kind::any, std::size_t layout = 0)
      : pool_(pool), kind_(kind), layout_(layout) {
    if (bytes == 0) return;
    if (kind == Kind::statuses) {
      ScratchPool::Statuses taken = pool_.take_statuses(bytes, layout);
      buffer_ = std::move(taken.buffer);
      epoch_ = taken.epoch;
    } else {
      buffer_ = kind == Kind::zeroed ? pool_.take_zeroed() : pool_.take(bytes);
    }
  }
  ~Lease() {
    if (buffer_() == nullptr) return;
    try {
      if (kind_ == Kind::zeroed) {
        pool_.give_back_zeroed(buffer_, used_until_);
      } else if (kind_ == Kind::statuses) {
        pool_.give_back_statuses({buffer_, epoch_}, layout_, used_until_);
      } else {
        pool_.give_back(buffer_, used_until_);
      }
    } catch (...) {  // the pool goes without it
    }
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  void used_until(const cl::Event& event) { used_until_ = event; }
  std::uint32_t epoch() const { return epoch_; }  ///< of statuses
  cl_mem memory_or(cl_mem other) const { return buffer_() != nullptr ? buffer_() : other; }

 private:
  ScratchPool& pool_;
  Kind kind_;
  std::size_t layout_;
  std::uint32_t epoch_ = 0;
  cl::Buffer buffer_;
  cl::Event used_until_;
};

}  // namespace smem::runtime
