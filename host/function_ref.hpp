/// A callable as an argument, without a template for each and without memory of its own.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace smem {

template <class Signature>
class FunctionRef;

/// Refers to a callable, which must outlive it.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class Callable>
  requires(!std::same_as<Callable, FunctionRef> &&
           std::is_invocable_r_v<Result, const Callable&, Arguments...>) FunctionRef(const Callable& callable)
      : callable_(std::addressof(callable)), call_([](const void* object, Arguments... arguments) -> Result {
          return (*static_cast<const Callable*>(object))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const {
    return call_(callable_, std::forward<Arguments>(arguments)...);
  }

 private:
  const void* callable_;
  Result (*call_)(const void*, Arguments...);
};

}  // namespace smem
