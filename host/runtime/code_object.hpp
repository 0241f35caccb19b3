/// Registers of a compiled kernel, as compilers report them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace smem::runtime {

/// From ptxas's words about `entry_point` in a log made with -cl-nv-verbose: "Used 40 registers". 0: not
/// there.
std::size_t registers_in_log(std::string_view log, std::string_view entry_point);

/// From a code object: the metadata of AMD's (".vgpr_count", MessagePack) or the .ze_info of Intel's (YAML:
/// "grf_count", shared by the lanes of a sub-group; `thread_words` are the 32-bit words of 128 of these
/// registers). 0: not there.
std::size_t registers_in_binary(std::span<const unsigned char> binary, std::string_view entry_point,
                                std::size_t thread_words);

}  // namespace smem::runtime
