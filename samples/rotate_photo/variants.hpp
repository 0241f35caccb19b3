/// How fast each variant of the transpose is on this device, and why.
#pragma once

#include <smem/smem.hpp>

#include <cstddef>
#include <string>

/// Prints a table of all variants on a photograph of this size, and on a large matrix of float.
void print_variants(const smem::Context& context, const std::string& photo, std::size_t rows,
                    std::size_t cols);
