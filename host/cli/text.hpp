/// Numbers and names as tables show them.
#pragma once

#include <smem/device.hpp>

#include <cstddef>
#include <string>

namespace smem::cli {

/// The text, or its beginning and "..." where it is longer than `width`.
std::string short_text(const std::string& text, std::size_t width);

/// The text with its lines broken at spaces, or else after commas, where they are longer than `width`; words
/// are not broken. Lines that go on are indented as far as the line's second column, if it has two.
std::string fitted(const std::string& text, std::size_t width);

/// 49152 as "48 KiB": in the largest unit that it fills, with a decimal where the number is not whole.
std::string bytes_text(std::size_t bytes);

/// A positive number with three significant digits or more and without an exponent: "12345", "0.312".
std::string number_text(double number);

/// "NVIDIA H200 (NVIDIA CUDA, driver 580.159)".
std::string device_text(const Device& device);

/// "1 program", "2 programs".
std::string count_text(std::size_t count, const std::string& what);

/// Seconds of compilers, in milliseconds; nothing when nothing was built.
std::string build_text(double seconds);
/// Seconds of the host, in microseconds.
std::string host_text(double seconds);

}  // namespace smem::cli
