/// Runs one operation on one shape and layout, and compares every byte of the output buffer with what plain
/// loops give.
#pragma once

#include "support/case_report.hpp"
#include "support/random.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace test {

enum class Operation {
  transpose,
  in_place,
  rotate_90,
  rotate_180,
  rotate_270,
  flip_horizontal,
  flip_vertical
};

inline constexpr Operation kOperations[] = {
    Operation::transpose,  Operation::in_place,        Operation::rotate_90,    Operation::rotate_180,
    Operation::rotate_270, Operation::flip_horizontal, Operation::flip_vertical};

inline const char* name_of(Operation operation) {
  constexpr const char* kNames[] = {"transpose",     "transpose_in_place", "rotate by 90", "rotate by 180",
                                    "rotate by 270", "flip horizontal",    "flip vertical"};
  return kNames[static_cast<int>(operation)];
}

/// Whether the operation launches plans of plan_transpose(), and not of plan_flip().
inline bool is_turn(Operation operation) {
  return operation != Operation::rotate_180 && operation != Operation::flip_horizontal &&
         operation != Operation::flip_vertical;
}

inline std::vector<std::string_view> variants_of(Operation operation) {
  return is_turn(operation) ? smem::transpose_variants() : smem::flip_variants();
}

/// Where the matrices of one side lie, and how many elements of their buffer follow the last one.
struct Layout {
  smem::Extent extent;
  std::size_t tail = 0;
};

struct Case {
  Operation operation = Operation::transpose;
  std::string variant;  ///< empty: the plan chooses
  std::size_t element_bytes = 4;
  std::size_t rows = 0;
  std::size_t cols = 0;
  Layout in;
  Layout out;  ///< not used in place

  std::size_t out_rows() const {
    return is_turn(operation) && operation != Operation::in_place ? cols : rows;
  }
  std::size_t out_cols() const {
    return is_turn(operation) && operation != Operation::in_place ? rows : cols;
  }

  Tested tested() const {
    const char* const names[] = {"transpose", "transpose_in_place", "rotate", "rotate", "rotate", "flip",
                                 "flip"};
    return {names[static_cast<int>(operation)], variant,
            fmt::format("{} byte{}", element_bytes, element_bytes == 1 ? "" : "s")};
  }
  std::string text() const {
    const auto side = [](const Layout& l) {
      return fmt::format("offset {} pitch {} batch {} stride {} tail {}", l.extent.offset, l.extent.pitch,
                         l.extent.batch, l.extent.batch_stride, l.tail);
    };
    return fmt::format("{} {} x {}, {}-byte elements, variant \"{}\"; in: {}; out: {}; SMEM_SEED={}",
                       name_of(operation), rows, cols, element_bytes, variant, side(in), side(out), seed());
  }
};

// ---------------------------------------------------------------------------------------------------------
// Layouts

inline Layout packed(std::size_t batch = 1) { return {{0, 0, batch, 0}, 0}; }

/// An odd offset, odd gaps between rows and between matrices, and a rest of the buffer behind them.
inline Layout strided(std::size_t rows, std::size_t cols, std::size_t batch) {
  const std::size_t pitch = cols + 3;
  return {{5, pitch, batch, rows * pitch + 7}, 9};
}

/// Rows that start at multiples of 64 elements.
inline Layout aligned(std::size_t rows, std::size_t cols, std::size_t batch) {
  const std::size_t pitch = (cols / 64 + 1) * 64;
  return {{64, pitch, batch, rows * pitch}, 0};
}

/// The matrices of the batch beside each other: inside each other's row pitch.
inline Layout side_by_side(std::size_t cols, std::size_t batch) {
  const std::size_t stride = cols + 1;
  return {{1, batch * stride + 2, batch, stride}, 3};
}
/// Any of these, or one with gaps.
inline Layout random_layout(Random& random, std::size_t rows, std::size_t cols, std::size_t batch) {
  switch (random.between(0, 3)) {
    case 0:
      return packed(batch);
    case 1:
      return aligned(rows, cols, batch);
    case 2:
      return side_by_side(cols, batch);
    default: {
      const std::size_t pitch = cols + random.between(0, 9);
      return {{random.between(0, 70), pitch, batch, rows * pitch + random.between(0, 9)},
              random.between(0, 9)};
    }
  }
}

// ---------------------------------------------------------------------------------------------------------
// The reference

template <std::size_t kBytes>
struct Opaque {
  unsigned char bytes[kBytes];
};

/// Where element (i, j) of the input belongs.
inline std::pair<std::size_t, std::size_t> target(Operation operation, std::size_t rows, std::size_t cols,
                                                  std::size_t i, std::size_t j) {
  switch (operation) {
    case Operation::transpose:
    case Operation::in_place:
      return {j, i};
    case Operation::rotate_90:
      return {j, rows - 1 - i};
    case Operation::rotate_180:
      return {rows - 1 - i, cols - 1 - j};
    case Operation::rotate_270:
      return {cols - 1 - j, i};
    case Operation::flip_horizontal:
      return {i, cols - 1 - j};
    case Operation::flip_vertical:
      return {rows - 1 - i, j};
  }
  return {i, j};
}

template <std::size_t kBytes>
void reference(const Case& c, const smem::Matrix& in, const smem::Matrix& out,
               const std::vector<unsigned char>& from, std::vector<unsigned char>& to) {
  const auto* source = reinterpret_cast<const Opaque<kBytes>*>(from.data());
  auto* destination = reinterpret_cast<Opaque<kBytes>*>(to.data());
  for (std::size_t b = 0; b < in.batch; ++b) {
    for (std::size_t i = 0; i < in.rows; ++i) {
      for (std::size_t j = 0; j < in.cols; ++j) {
        const auto [row, col] = target(c.operation, in.rows, in.cols, i, j);
        destination[out.offset + b * out.batch_stride + row * out.pitch + col] =
            source[in.offset + b * in.batch_stride + i * in.pitch + j];
      }
    }
  }
}

inline void reference(const Case& c, const smem::Matrix& in, const smem::Matrix& out,
                      const std::vector<unsigned char>& from, std::vector<unsigned char>& to) {
  switch (c.element_bytes) {
    case 1:
      return reference<1>(c, in, out, from, to);
    case 2:
      return reference<2>(c, in, out, from, to);
    case 4:
      return reference<4>(c, in, out, from, to);
    case 8:
      return reference<8>(c, in, out, from, to);
    case 16:
      return reference<16>(c, in, out, from, to);
    default:
      throw std::logic_error("the reference knows elements of 1, 2, 4, 8 and 16 bytes");
  }
}

// ---------------------------------------------------------------------------------------------------------
// The run

/// Elements that a view's buffer must hold.
inline std::size_t elements_of(const smem::Matrix& view) {
  if (view.rows == 0 || view.cols == 0 || view.batch == 0) return view.offset;
  return view.offset + (view.batch - 1) * view.batch_stride + (view.rows - 1) * view.pitch + view.cols;
}

/// The largest power of two, at most 64, that divides the byte offset of every row.
inline std::size_t alignment_of(const smem::Matrix& view) {
  std::size_t bits = 64 | view.offset * view.type.bytes;
  if (view.rows > 1) bits |= view.pitch * view.type.bytes;
  if (view.batch > 1) bits |= view.batch_stride * view.type.bytes;
  return bits & (~bits + 1);
}

inline cl::Event call(const smem::Context& context, Operation operation, const smem::Matrix& in,
                      const smem::Matrix& out, const smem::CallOptions& options = {}) {
  switch (operation) {
    case Operation::transpose:
      return smem::transpose(context, in, out, options);
    case Operation::in_place:
      return smem::transpose_in_place(context, in, options);
    case Operation::rotate_90:
      return smem::rotate(context, in, out, smem::Rotation::by_90, options);
    case Operation::rotate_180:
      return smem::rotate(context, in, out, smem::Rotation::by_180, options);
    case Operation::rotate_270:
      return smem::rotate(context, in, out, smem::Rotation::by_270, options);
    case Operation::flip_horizontal:
      return smem::flip(context, in, out, smem::Flip::horizontal, options);
    case Operation::flip_vertical:
      return smem::flip(context, in, out, smem::Flip::vertical, options);
  }
  throw std::logic_error("unknown operation");
}

inline smem::TransposeProblem problem_of(const Case& c, const smem::Matrix& in, const smem::Matrix& out) {
  smem::TransposeProblem problem;
  problem.element_bytes = c.element_bytes;
  problem.rows = in.rows;
  problem.cols = in.cols;
  problem.batch = in.batch;
  problem.in_place = c.operation == Operation::in_place;
  if (in.rows == 0 || in.cols == 0 || in.batch == 0) return problem;
  problem.in_alignment = alignment_of(in);
  problem.out_alignment = alignment_of(out);
  const auto is_packed = [](const smem::Matrix& m) {
    return (m.rows == 1 || m.pitch == m.cols) && (m.batch == 1 || m.batch_stride == m.rows * m.cols);
  };
  problem.in_packed = is_packed(in) && c.operation != Operation::rotate_90;
  problem.out_packed = is_packed(out) && c.operation != Operation::rotate_270;
  return problem;
}

/// The plan that the call should launch. \throws smem::Error when the variant cannot run.
inline smem::Plan plan_of(const smem::Context& context, const Case& c, const smem::Matrix& in,
                          const smem::Matrix& out) {
  if (is_turn(c.operation))
    return smem::plan_transpose(context.device(), problem_of(c, in, out),
                                {.variant = std::string(c.variant)});
  smem::FlipProblem problem;
  problem.element_bytes = c.element_bytes;
  problem.rows = in.rows;
  problem.cols = in.cols;
  problem.batch = in.batch;
  problem.reverse_cols = c.operation != Operation::flip_vertical;
  return smem::plan_flip(context.device(), problem, {.variant = std::string(c.variant)});
}

/// Says where two buffers differ first, as a place in the view.
inline std::string difference(const smem::Matrix& view, const std::vector<unsigned char>& expected,
                              const std::vector<unsigned char>& got) {
  const auto at = std::mismatch(expected.begin(), expected.end(), got.begin());
  if (at.first == expected.end()) return {};
  const auto byte = static_cast<std::size_t>(at.first - expected.begin());
  const std::size_t element = byte / view.type.bytes;
  const std::string values =
      fmt::format("byte {}: expected {:#04x}, got {:#04x}", byte, *at.first, *at.second);
  for (std::size_t b = 0; b < view.batch; ++b) {
    const std::size_t first = view.offset + b * view.batch_stride;
    if (element < first || view.pitch == 0) continue;
    const std::size_t row = (element - first) / view.pitch, col = (element - first) % view.pitch;
    if (row < view.rows && col < view.cols) {
      return fmt::format("element ({}, {}) of matrix {} is wrong; {}", row, col, b, values);
    }
  }
  return fmt::format("element {} of the buffer, outside the matrices, has changed; {}", element, values);
}

/// Runs the case on random data: all bits may occur, so floats would be NaNs with payloads too. The output
/// buffer is full of other random data before, and compared whole.
inline Outcome run(const smem::Context& context, const Case& c, Random& random) {
  const bool in_place = c.operation == Operation::in_place;
  smem::Matrix in(nullptr, smem::ElementType::of_bytes(c.element_bytes), c.rows, c.cols, c.in.extent);
  smem::Matrix out = in_place ? in
                              : smem::Matrix(nullptr, smem::ElementType::of_bytes(c.element_bytes),
                                             c.out_rows(), c.out_cols(), c.out.extent);
  const std::size_t tail = in_place ? c.in.tail : c.out.tail;
  // A buffer cannot be empty, so one of no elements has one.
  const std::vector<unsigned char> input =
      random.bytes(std::max<std::size_t>(elements_of(in) + c.in.tail, 1) * c.element_bytes);
  const std::vector<unsigned char> poison =
      in_place ? input : random.bytes(std::max<std::size_t>(elements_of(out) + tail, 1) * c.element_bytes);
  std::vector<unsigned char> expected = poison;
  reference(c, in, out, input, expected);

  const smem::Array<unsigned char> in_array(context, input);
  const smem::Array<unsigned char> out_array =
      in_place ? in_array : smem::Array<unsigned char>(context, poison);
  in.buffer = in_array.buffer()();
  out.buffer = out_array.buffer()();

  bool plan_refuses = false;
  try {
    plan_of(context, c, in, out);
  } catch (const smem::Error& error) {
    if (error.details().argument != "variant") return {false, fmt::format("no plan: {}", error.what())};
    plan_refuses = true;
  }
  try {
    smem::CallOptions options;
    options.variant = c.variant;
    const cl::Event event = call(context, c.operation, in, out, options);
    if (event() == nullptr) return {false, "the call returned no event"};
    if (plan_refuses) return {false, "the plan refuses the variant, and the call runs it"};
  } catch (const smem::Error& error) {
    if (!plan_refuses || error.details().argument != "variant")
      return {false, fmt::format("the call failed: {}", error.what())};
    if (out_array.to_host() != poison) return {false, "the call refused the variant, and wrote all the same"};
    return refusal(error);
  }
  const std::vector<unsigned char> got = out_array.to_host();
  if (std::string fault = difference(out, expected, got); !fault.empty()) return {false, std::move(fault)};
  if (!in_place && in_array.to_host() != input) return {false, "the input has changed"};
  return {};
}

}  // namespace test
