#include "cli/pattern.hpp"

#include "cli/plain_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace smem::cli {

namespace {

/// Neighbouring indices give unrelated values (the constant is that of SplitMix64).
std::uint64_t mixed(std::uint64_t index) {
  std::uint64_t x = (index + 1) * 0x9E3779B97F4A7C15u;
  x ^= x >> 32;
  return x * 0xBF58476D1CE4E5B9u;
}

/// Element `index` of the pattern: the high bits, which are the well mixed ones.
template <class T>
T element(std::uint64_t index) {
  if constexpr (sizeof(T) == 16) {
    return {mixed(2 * index), mixed(2 * index + 1)};
  } else {
    return static_cast<T>(mixed(index) >> (64 - 8 * sizeof(T)));
  }
}

/// body(begin, end) on parts of 0 .. count-1, on all the host's cores.
template <class Body>
void in_parallel(std::size_t count, const Body& body) {
  const std::size_t parts = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 16);
  std::vector<std::thread> threads;
  for (std::size_t part = 1; part < parts; ++part)
    threads.emplace_back([=, &body] { body(count * part / parts, count * (part + 1) / parts); });
  body(0, count / parts);
  for (std::thread& thread : threads)
    thread.join();
}

template <class T>
void write_as(const Context& context, std::size_t count, const cl::Buffer& in) {
  const auto host = std::make_unique_for_overwrite<T[]>(count);
  in_parallel(count, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      host[i] = element<T>(i);
  });
  write_buffer(context, in, host.get(), count * sizeof(T));
}

template <class T>
std::optional<std::string> check_as(const Context& context, const TransposeProblem& p,
                                    const cl::Buffer& out) {
  const std::size_t count = p.rows * p.cols * p.batch;
  const auto host = std::make_unique_for_overwrite<T[]>(count);
  read_buffer(context, out, host.get(), count * sizeof(T));
  std::atomic<std::size_t> first_wrong = count;
  in_parallel(p.batch * p.cols, [&](std::size_t begin, std::size_t end) {
    for (std::size_t line = begin; line < end; ++line) {  // a row of the output
      const std::size_t b = line / p.cols, j = line % p.cols;
      for (std::size_t i = 0; i < p.rows; ++i) {
        const std::size_t place = line * p.rows + i;
        if (host[place] == element<T>((b * p.rows + i) * p.cols + j)) continue;
        std::size_t known = first_wrong;
        while (place < known && !first_wrong.compare_exchange_weak(known, place)) {
        }
        return;
      }
    }
  });
  if (first_wrong == count) return std::nullopt;
  const std::size_t line = first_wrong / p.rows;
  return fmt::format("matrix {}, row {}, column {}", line / p.cols, line % p.cols, first_wrong % p.rows);
}

/// Calls `function` with a value of a type of the element's size.
template <class Function>
auto with_element(std::size_t bytes, const Function& function) {
  switch (bytes) {
    case 1:
      return function(std::uint8_t{});
    case 2:
      return function(std::uint16_t{});
    case 4:
      return function(std::uint32_t{});
    case 8:
      return function(std::uint64_t{});
    default:
      return function(std::array<std::uint64_t, 2>{});
  }
}

}  // namespace

void write_pattern(const Context& context, const TransposeProblem& problem, const cl::Buffer& in) {
  with_element(problem.element_bytes, [&](auto kind) {
    write_as<decltype(kind)>(context, problem.rows * problem.cols * problem.batch, in);
  });
}

void poison(const Context& context, const cl::Buffer& buffer, std::size_t bytes) {
  const cl_uint pattern = 0xA5A5A5A5u;
  measure::check(clEnqueueFillBuffer(context.queue()(), buffer(), &pattern, sizeof pattern, 0, bytes, 0,
                                     nullptr, nullptr),
                 "clEnqueueFillBuffer");
}

std::optional<std::string> check_transposed(const Context& context, const TransposeProblem& problem,
                                            const cl::Buffer& out) {
  return with_element(problem.element_bytes,
                      [&](auto kind) { return check_as<decltype(kind)>(context, problem, out); });
}

}  // namespace smem::cli
