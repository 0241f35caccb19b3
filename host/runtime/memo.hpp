/// What was computed of problems, for the next calls with the same: a call that has been made before makes no
/// plan.
#pragma once

#include "runtime/problem_key.hpp"

#include <any>
#include <cstddef>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <typeindex>
#include <unordered_map>

namespace smem::runtime {

class Memo {
 public:
  /// What `make()` returned for `key` the first time. Each type has keys of its own. What `make()` throws is
  /// not kept.
  template <class Make>
  std::invoke_result_t<Make> get(const ProblemKey& key, const Make& make) {
    using Value = std::invoke_result_t<Make>;
    const Key typed{typeid(Value), key};
    {
      const std::shared_lock lock(mutex_);
      const auto known = values_.find(typed);
      if (known != values_.end()) return *std::any_cast<Value>(&known->second);
    }
    Value value = make();
    const std::unique_lock lock(mutex_);
    if (values_.size() >= kReadyLimit) values_.clear();
    values_.insert_or_assign(typed, value);
    return value;
  }

 private:
  struct Key {
    std::type_index type;
    ProblemKey problem;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      return ProblemKeyHash()(key.problem) ^ key.type.hash_code();
    }
  };
  std::shared_mutex mutex_;
  std::unordered_map<Key, std::any, Hash> values_;
};

}  // namespace smem::runtime
