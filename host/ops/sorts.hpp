/// What sorts of several rows share.
#pragma once

#include "ops/run.hpp"
#include "ops/views.hpp"
#include "plan/sort_types.hpp"
#include "runtime/status.hpp"

#include <smem/context.hpp>
#include <smem/sort.hpp>
#include <smem/view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smem::ops {

/// What the kernels of one pass read and write (cl/sort/keys.clh).
inline cl_uint route_of(std::size_t pass, std::size_t passes) {
  constexpr cl_uint kFromOut = 1, kFromSpare = 2, kToSpare = 4, kIsLast = 8, kIsActive = 16;
  const std::size_t left = passes - 1 - pass;
  cl_uint route = kIsActive;
  if (pass > 0) route |= left % 2 == 0 ? kFromSpare : kFromOut;
  if (left % 2 != 0) route |= kToSpare;
  if (left == 0) route |= kIsLast;
  return route;
}

/// The views of a call, as they are checked.
class Views {
 public:
  Views(const Context& context, const char* operation) : context_(context), operation_(operation) {}

  void read(const char* name, const ConstMatrix& matrix) { add(name, matrix, false, ""); }
  /// `source`: the view that it may take the place of.
  void write(const char* name, const ConstMatrix& matrix, std::string_view source = "") {
    add(name, matrix, true, source);
  }
  bool in_place() const { return in_place_; }

 private:
  struct View {
    const char* name;
    ConstMatrix matrix;
    Memory memory;
    bool written;

    std::size_t begin() const { return memory.origin + matrix.offset * matrix.type.bytes; }
  };

  /// Whether two views of one shape have the same elements.
  static bool are_same(const View& a, const View& b) {
    const bool one_row = a.matrix.rows == 1 || a.matrix.pitch == b.matrix.pitch;
    return a.memory.root == b.memory.root && a.begin() == b.begin() && one_row &&
           (a.matrix.batch == 1 || a.matrix.batch_stride == b.matrix.batch_stride);
  }

  void add(const char* name, const ConstMatrix& matrix, bool written, std::string_view source) {
    const View view{name, matrix, check_view(context_, operation_, name, matrix, written), written};
    for (const View& other : views_) {
      if (!written && !other.written) continue;
      if (other.name == source && are_same(other, view)) {
        in_place_ = true;
      } else {
        check_apart(operation_, other.matrix, other.memory, matrix, view.memory, other.name, name);
      }
    }
    views_.push_back(view);
    if (written) require_readable(operation_, name, view.memory);  // between passes
  }

  const Context& context_;
  const char* operation_;
  std::vector<View> views_;
  bool in_place_ = false;
};

/// \throws Error unless places can be of the type.
inline void require_places(const char* operation, const ElementType& places) {
  const Scalar type = number_type(operation, "places", places);
  if (type != Scalar::uint32 && type != Scalar::uint64)
    refuse(operation, "places", "uint32 or uint64", std::string(name_of(type)));
}

/// Sets the order of the problem's keys, whose type it has.
template <class Problem>
void set_order(Problem& problem, const SortOrder& order) {
  problem.descending = order.descending;
  problem.total_order = order.total_order && is_float(problem.keys);
  problem.nan_least = order.nan_least && is_float(problem.keys);
  if constexpr (requires { problem.begin_bit; }) {
    problem.begin_bit = order.begin_bit;
    problem.end_bit = order.end_bit.value_or(8 * size_of(problem.keys));
  }
}

/// The bit after the highest one that keys are sorted by. \throws Error unless the bits are the keys'.
inline std::size_t checked_end_bit(const char* operation, Scalar keys, const SortOrder& order) {
  const std::size_t end = order.end_bit.value_or(8 * size_of(keys));
  plan::check_order(operation, {.keys = keys, .begin_bit = order.begin_bit, .end_bit = end});
  return end;
}

/// Has `call(flag)` enqueue what may set a word of the device, waits for it, and returns the word.
template <class Call>
std::uint32_t read_flag(const Context& context, const char* operation, const Call& call) {
  runtime::Runtime& runtime = context.runtime();
  const cl::Buffer flag = runtime.scratch().take_zeroed();
  const cl::Event looked = call(flag());
  std::uint32_t word = 0;
  const cl_uint zero = 0;
  read_to_host(context, operation, flag(), 0, std::as_writable_bytes(std::span(&word, 1)), looked);
  if (word != 0) {
    runtime::check(
        clEnqueueWriteBuffer(context.queue()(), flag(), CL_TRUE, 0, sizeof zero, &zero, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer", operation);
  }
  runtime.scratch().give_back_zeroed(flag, looked);
  runtime.settle();
  return word;
}

}  // namespace smem::ops
