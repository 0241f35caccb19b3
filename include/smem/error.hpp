/// smem: the one exception type.
#pragma once

#include <smem/cplusplus.hpp>
#include <smem/export.hpp>

#include <stdexcept>
#include <string>

namespace smem {

/// What went wrong, in fields. Empty fields did not apply. Each has an initialiser, so that compilers do not
/// warn where only some are named.
struct ErrorDetails {
  std::string operation = {};  ///< the function that was called, e.g. "transpose"
  std::string argument = {};  ///< the argument at fault, e.g. "out"; empty when the fault is not the caller's
  std::string expected = {};  ///< what would have been accepted
  std::string got = {};       ///< what came
  std::string device = {};    ///< the device's name
  int code = 0;               ///< the OpenCL status, 0 when no OpenCL call failed
  std::string call = {};      ///< the OpenCL call that failed, e.g. "clBuildProgram"
  std::string build_log = {};  ///< the kernel compiler's log, opened by the failing source line
};

/// Thrown by every function of smem that fails. When it is thrown for a caller's argument, nothing was
/// enqueued and nothing was written.
class SMEM_API Error : public std::runtime_error {
 public:
  /// With the message that the details make.
  explicit Error(ErrorDetails details);
  /// Copies share nothing that could throw.
  Error(const Error&) = default;
  ~Error() override;  // anchors the type's information in the library, so that it can be caught across it

  const ErrorDetails& details() const noexcept { return details_; }  ///< for programs; what() is for persons

 private:
  ErrorDetails details_;
};

/// The name of an OpenCL status code, e.g. "CL_OUT_OF_RESOURCES" for -5; "OpenCL error N" for a code that no
/// header names.
SMEM_API std::string status_name(int code);

}  // namespace smem
