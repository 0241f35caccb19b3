// Packs the details of an error into bytes, and unpacks them.
#include "distributed/failures.hpp"

#include <cstdlib>

namespace smem::distributed::detail {

std::string packed(const ErrorDetails& details) {
  std::string text = std::to_string(details.code);
  for (const std::string* field : {&details.operation, &details.argument, &details.expected, &details.got,
                                   &details.device, &details.call, &details.build_log}) {
    text += '\0';
    text += *field;
  }
  return text;
}

ErrorDetails unpacked(const std::string& bytes) {
  ErrorDetails details;
  std::size_t place = bytes.find('\0');
  details.code = std::atoi(bytes.c_str());
  for (std::string* field : {&details.operation, &details.argument, &details.expected, &details.got,
                             &details.device, &details.call, &details.build_log}) {
    if (place == std::string::npos) break;
    const std::size_t end = bytes.find('\0', place + 1);
    *field = bytes.substr(place + 1, end == std::string::npos ? end : end - place - 1);
    place = end;
  }
  return details;
}

ErrorDetails details_of(const std::exception& error) {
  if (const auto* known = dynamic_cast<const Error*>(&error)) return known->details();
  return {.got = error.what()};
}

}  // namespace smem::distributed::detail
