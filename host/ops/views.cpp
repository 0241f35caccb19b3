#include "ops/views.hpp"
#include "formatted.hpp"

#include "plan/sizes.hpp"
#include "runtime/status.hpp"

#include <smem/options.hpp>

#include <algorithm>
#include <bit>
#include <string>

namespace smem::ops {

namespace {

using runtime::memory_value;

/// Elements from the first of the first row to the last of the last, of one matrix.
std::size_t matrix_span(const ConstMatrix& view) {
  return multiply_add(view.rows - 1, view.pitch, view.cols);
}

/// The same of the whole batch.
std::size_t batch_span(const ConstMatrix& view) {
  return multiply_add(view.batch - 1, view.batch_stride, matrix_span(view));
}

/// Whether the matrices of a batch share no element: one after the other, or side by side in each row.
bool batch_is_apart(const ConstMatrix& view) {
  return view.batch == 1 || view.batch_stride >= matrix_span(view) ||
         (view.batch_stride >= view.cols &&
          multiply_add(view.batch - 1, view.batch_stride, view.cols) <= view.pitch);
}

/// A caller may change the size of a view's elements by hand.
void require_whole(const char* operation, const char* argument, const ElementType& type) {
  if (type.scalar) plan::require_element(operation, argument, *type.scalar);
  const std::size_t bytes =
      type.scalar ? detail::scalar_bytes(*type.scalar) : std::max<std::size_t>(type.bytes, 1);
  if (type.bytes != bytes) refuse(operation, argument, formatted("elements of {} bytes", bytes), type.bytes);
}

std::string text_of(const ElementType& type) {
  return type.scalar ? std::string(name_of(*type.scalar))
                     : formatted("opaque elements of {} bytes", type.bytes);
}

}  // namespace

Scalar number_type(const char* operation, const char* argument, const ElementType& type) {
  if (!type.scalar) refuse(operation, argument, "numbers", text_of(type));
  plan::require_element(operation, argument, *type.scalar);
  return *type.scalar;
}

void check_type(const char* operation, const char* argument, const ElementType& type, const ElementType& in,
                const char* in_name) {
  if (in.scalar) plan::require_element(operation, in_name, *in.scalar);
  if (type.scalar) plan::require_element(operation, argument, *type.scalar);
  if (type == in || (type.bytes == in.bytes && (!type.scalar || !in.scalar))) return;
  refuse(operation, argument, formatted("{}, as {} has", text_of(in), in_name), text_of(type));
}

Memory check_view(const Context& context, const char* operation, const char* argument,
                  const ConstMatrix& view, bool written) {
  if (view.buffer == nullptr) refuse(operation, argument, "a buffer", "an empty handle");
  require_whole(operation, argument, view.type);
  if (view.rows > 1 && view.pitch < view.cols)
    refuse(operation, argument, formatted("a pitch of at least {} elements", view.cols), view.pitch);
  if (written && !batch_is_apart(view)) {
    refuse(operation, argument, "matrices that share no element",
           formatted("a batch stride of {} for {} x {} matrices of pitch {}", view.batch_stride, view.rows,
                     view.cols, view.pitch));
  }
  runtime::require_context(context.runtime().context()(), operation, argument, view.buffer);
  if (memory_value<cl_mem_object_type>(view.buffer, CL_MEM_TYPE, operation) != CL_MEM_OBJECT_BUFFER)
    refuse(operation, argument, "a buffer", "an image or a pipe");
  Memory memory;
  memory.flags = memory_value<cl_mem_flags>(view.buffer, CL_MEM_FLAGS, operation);
  memory.root = memory_value<cl_mem>(view.buffer, CL_MEM_ASSOCIATED_MEMOBJECT, operation);
  const bool is_part = memory.root != nullptr;
  if (is_part) {
    memory.origin = memory_value<std::size_t>(view.buffer, CL_MEM_OFFSET, operation);
    // Not all drivers report the flags that a sub-buffer inherits.
    memory.flags |= memory_value<cl_mem_flags>(memory.root, CL_MEM_FLAGS, operation);
  } else {
    memory.root = view.buffer;
  }
  if (written && (memory.flags & CL_MEM_READ_ONLY) != 0)
    refuse(operation, argument, "a buffer that kernels may write", "one of CL_MEM_READ_ONLY");
  if (!written) require_readable(operation, argument, memory);
  const auto bytes = memory_value<std::size_t>(view.buffer, CL_MEM_SIZE, operation);
  const std::size_t end =
      detail::size_product(detail::size_sum(view.offset, batch_span(view)), view.type.bytes);
  if (end > bytes) {
    refuse(operation, argument, formatted("a view inside its buffer of {} bytes", bytes),
           end == SIZE_MAX ? "one whose end exceeds 64 bits" : formatted("one that ends at byte {}", end));
  }
  if (is_part || (memory.flags & CL_MEM_USE_HOST_PTR) != 0) {
    memory.host_address =
        reinterpret_cast<std::uintptr_t>(memory_value<void*>(view.buffer, CL_MEM_HOST_PTR, operation));
  }
  if (memory.host_address % view.type.bytes != 0) {  // elements are read whole, and vectors of them on CPUs
    refuse(operation, argument,
           formatted("memory that is aligned to its elements of {} bytes", view.type.bytes),
           formatted("a buffer over host memory at address {:#x}", memory.host_address));
  }
  return memory;
}

void require_readable(const char* operation, const char* argument, const Memory& memory) {
  if ((memory.flags & CL_MEM_WRITE_ONLY) != 0)
    refuse(operation, argument, "a buffer that kernels may read", "one of CL_MEM_WRITE_ONLY");
}

void check_apart(const char* operation, const ConstMatrix& in, const Memory& in_memory,
                 const ConstMatrix& out, const Memory& out_memory, const char* in_name,
                 const char* out_name) {
  if (in_memory.root != out_memory.root) return;
  const std::size_t in_begin = in_memory.origin + in.offset * in.type.bytes;
  const std::size_t out_begin = out_memory.origin + out.offset * out.type.bytes;
  const std::size_t in_end = in_begin + batch_span(in) * in.type.bytes;
  const std::size_t out_end = out_begin + batch_span(out) * out.type.bytes;
  if (in_begin < out_end && out_begin < in_end) {
    refuse(operation, out_name, formatted("a view that does not overlap {}", in_name),
           formatted("bytes {} to {} of the buffer that {} uses from {} to {}", out_begin, out_end, in_name,
                     in_begin, in_end));
  }
}

Memories check_views(const Context& context, const char* operation, const ConstMatrix& in,
                     const ConstMatrix& out) {
  const Memories memories{check_view(context, operation, "in", in, false),
                          check_view(context, operation, "out", out, true)};
  check_apart(operation, in, memories.in, out, memories.out);
  return memories;
}

void check_shape(const char* operation, const ConstMatrix& in, const ConstMatrix& out, std::size_t rows,
                 std::size_t cols) {
  check_type(operation, "out", out.type, in.type);
  if (out.rows != rows || out.cols != cols) {
    refuse(operation, "out", formatted("{} x {} (in is {} x {})", rows, cols, in.rows, in.cols),
           formatted("{} x {}", out.rows, out.cols));
  }
  if (in.batch != out.batch)
    refuse(operation, "out", formatted("a batch of {}, as in has", in.batch), out.batch);
}

std::size_t row_alignment(const ConstMatrix& view, const Memory& memory) {
  std::size_t bits = 64 | memory.host_address | (view.offset * view.type.bytes);
  if (view.rows > 1) bits |= view.pitch * view.type.bytes;
  if (view.batch > 1) bits |= view.batch_stride * view.type.bytes;
  return std::size_t{1} << std::countr_zero(bits);
}

}  // namespace smem::ops
