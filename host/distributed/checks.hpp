/// Checks that the collective operations share.
#pragma once

#include "distributed/state.hpp"

#include <smem/distributed/data.hpp>

#include <string>

namespace smem::distributed::detail {

[[noreturn]] inline void refuse(const char* operation, const char* argument, const std::string& expected,
                                const std::string& got) {
  throw Error({.operation = operation, .argument = argument, .expected = expected, .got = got});
}

inline std::string shape_of(const Rows& rows) {
  return std::to_string(rows.rows()) + " x " + std::to_string(rows.row_elements());
}

/// \throws Error unless data of this session was written; signs it.
inline void check_input(const char* operation, const char* argument, const State& state, const Rows& rows,
                        Signature& signature) {
  if (&rows.session().state() != &state) {
    refuse(operation, argument, "data of the same session", "data of another session");
  }
  if (!rows.has_values()) refuse(operation, argument, "data that was written", "data without values");
  signature.add(rows);
}

/// \throws Error unless the data is of this session; signs it.
inline void check_output(const char* operation, const char* argument, const State& state, const Rows& rows,
                         Signature& signature) {
  if (&rows.session().state() != &state) {
    refuse(operation, argument, "data of the same session", "data of another session");
  }
  signature.add(rows);
}

/// \throws Error unless both are the same rows on the same ranks.
inline void check_same_layout(const char* operation, const char* argument, const Rows& rows, const Rows& as) {
  if (rows.row_elements() == as.row_elements() && rows.layout().rows == as.layout().rows) return;
  refuse(operation, argument,
         std::to_string(as.rows()) + " rows of " + std::to_string(as.row_elements()) +
             " elements in the layout of the input",
         std::to_string(rows.rows()) + " rows of " + std::to_string(rows.row_elements()) +
             (rows.rows() == as.rows() ? " in another layout" : ""));
}

}  // namespace smem::distributed::detail
