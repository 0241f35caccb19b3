/// What a call that must fail threw.
#pragma once

#include <smem/error.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test {

/// The error that `call` throws; the test fails when it throws nothing, or something else.
template <class Call>
smem::ErrorDetails failure_of(const Call& call) {
  try {
    call();
  } catch (const smem::Error& error) {
    // The message holds whatever the fields say.
    const std::string message = error.what();
    CHECK(message.find(error.details().argument) != std::string::npos);
    CHECK(message.find(error.details().expected) != std::string::npos);
    CHECK(message.find(error.details().got) != std::string::npos);
    return error.details();
  }
  FAIL("no error was thrown");
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace test
