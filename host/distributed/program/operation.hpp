/// Descriptions of the distributed operations, from which the program's benchmarks and plans are made.
#pragma once

#include <smem/distributed/plan.hpp>
#include <smem/distributed/session.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace smem::distributed::program {

/// A problem with its data, on all ranks.
struct Prepared {
  std::function<void()> call;                    ///< the distributed call; collective
  std::function<void(const Context&)> one;       ///< the same of all data on one device; enqueues it
  std::function<bool(const Context&)> is_right;  ///< collective: whether both gave the same, or nearly
};

struct Operation {
  std::string_view name;  ///< of planned_operations()
  std::string_view summary;
  PlanProblem small, usual;                       ///< of benchmarks: for a CPU, and for a GPU
  double work(const PlanProblem& problem) const;  ///< bytes of the data, or operations of a product
  bool multiplies() const { return name == "gemm" || name == "attention"; }
  std::string_view unit() const { return multiplies() ? "GFLOP/s" : "GB/s"; }
  /// Whether its work is the same for all values, so that parts of it can be measured.
  bool is_oblivious() const {
    return multiplies() || name == "transpose" || name == "stencil" || name == "heat";
  }
  std::function<Prepared(const Session& session, const PlanProblem& problem)> prepare;
};

const std::vector<Operation>& operations();
/// Null where there is none of the name.
const Operation* find(std::string_view name);
/// As "4096 x 4096".
std::string text_of(const PlanProblem& problem);

}  // namespace smem::distributed::program
