/// Failures that travel between ranks.
#pragma once

#include <smem/error.hpp>

#include <exception>
#include <string>

namespace smem::distributed::detail {

/// The details as bytes, so that another rank can throw the same.
std::string packed(const ErrorDetails& details);
/// The other way.
ErrorDetails unpacked(const std::string& bytes);
/// Of an Error its details, of another exception its text.
ErrorDetails details_of(const std::exception& error);

}  // namespace smem::distributed::detail
