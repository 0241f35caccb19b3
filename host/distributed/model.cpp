// The model of distributed calls: phases from sizes and rates.
#include <smem/distributed/plan.hpp>

#include "distributed/halos.hpp"
#include "distributed/process_grid.hpp"

#include <smem/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace smem::distributed {

namespace {

constexpr const char* kPlan = "distributed::plan";
constexpr double kSamplesOfBlock = 64;  // as sort takes them, for each block
constexpr double kAgreements = 3;       // collectives of a few bytes that every call makes
constexpr double kProductPanel = 1024;  // of B that gemm multiplies at a time

detail::HaloShape halo_shape(const PlanProblem& p, std::size_t ranks) {
  const std::size_t rows = p.depth > 1 ? p.depth : p.rows > 1 ? p.rows : p.cols;
  return {.own = (rows + ranks - 1) / ranks,
          .rows = rows,
          .devices = ranks,
          .row_cells = static_cast<double>(p.rows) * static_cast<double>(p.cols) *
                       static_cast<double>(p.depth) / static_cast<double>(rows),
          .element_bytes = static_cast<double>(p.element_bytes),
          .steps = p.steps,
          .radius = p.operation == "heat" ? 1 : p.radius,
          .is_heat = p.operation == "heat"};
}

std::size_t steps_per_halo(const PlanProblem& p, const detail::HaloShape& shape, const MachineRates& rates) {
  return p.steps_per_halo != 0 ? p.steps_per_halo : detail::best_steps_per_halo(shape, rates, p.steps);
}

/// Computes phases.
class Model {
 public:
  Model(const PlanProblem& problem, std::size_t ranks, const MachineRates& rates)
      : p_(problem), r_(rates), ranks_(static_cast<double>(ranks)) {}

  std::vector<PlanPhase> phases() const {
    std::vector<PlanPhase> all;
    const std::string& name = p_.operation;
    if (name == "reduce" || name == "histogram" || name == "top_k") {
      all.push_back(local("read the blocks", share() / r_.copy));
      all.push_back(gather("combine what they found", name == "histogram" ? 2048
                                                      : name == "top_k"   ? 12288
                                                                          : 8));
    } else if (name == "inclusive_scan") {
      if (ranks_ > 1) {
        all.push_back(local("reduce the blocks", share() / r_.copy));
        all.push_back(gather("gather the totals", 16));
      }
      all.push_back(local("scan from what is before", 2 * share() / r_.copy));
    } else if (name == "transpose") {
      all.push_back(exchanged("transpose tiles, exchange them", 2 * share() / r_.copy,
                              share() * (ranks_ - 1) / ranks_, ranks_ - 1, true));
      if (ranks_ > 1)
        all.push_back(local("put the others' tiles in place", 2 * share() * (ranks_ - 1) / ranks_ / r_.copy));
    } else if (name == "gemm") {
      gemm(all);
    } else if (name == "sort") {
      sort(all);
    } else if (name == "attention") {
      attention(all);
    } else {
      halos(all);
    }
    all.push_back(gather("agree on call and success", 0));
    return all;
  }

 private:
  double elements() const {
    return static_cast<double>(p_.rows) * static_cast<double>(p_.cols) * static_cast<double>(p_.depth);
  }
  double bytes() const { return elements() * static_cast<double>(p_.element_bytes); }
  double share() const { return bytes() / ranks_; }

  PlanPhase local(std::string what, double seconds) const { return {std::move(what), seconds + r_.call, 0}; }

  /// `sent` bytes in `messages` messages, while as many arrive: through main memory on both sides.
  PlanPhase exchanged(std::string what, double compute, double sent, double messages, bool overlaps) const {
    PlanPhase phase{std::move(what), compute + r_.call, 0, overlaps};
    if (ranks_ > 1) {
      phase.exchange = messages * r_.latency + sent / r_.network + 2 * sent / r_.host_link;
      phase.bytes = static_cast<std::uint64_t>(sent);
      phase.messages = static_cast<std::uint64_t>(messages);
    }
    return phase;
  }

  /// An allgather of `bytes` of each rank, or, of none, the collectives of every call.
  PlanPhase gather(std::string what, double bytes) const {
    PlanPhase phase{std::move(what)};
    if (ranks_ > 1) {
      const double rounds = std::ceil(std::log2(ranks_)) * (bytes == 0 ? kAgreements : 1);
      phase.exchange = rounds * r_.latency + bytes * (ranks_ - 1) / r_.network;
      phase.bytes = static_cast<std::uint64_t>(bytes * (ranks_ - 1));
      phase.messages = static_cast<std::uint64_t>(rounds);
    }
    return phase;
  }

  void gemm(std::vector<PlanPhase>& all) const {
    detail::ProductShape shape{.cols = p_.cols,
                               .depth = p_.depth,
                               .element_bytes = p_.element_bytes,
                               .sum_bytes = p_.element_bytes == 8 ? std::size_t{8} : std::size_t{4}};
    const auto ranks = static_cast<std::size_t>(ranks_);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      shape.rows_of_ranks.push_back(p_.rows / ranks + (rank < p_.rows % ranks ? 1 : 0));
    const detail::ProcessGrid grid = detail::grid_for(shape);
    const auto width = static_cast<double>(grid.cols), height = static_cast<double>(grid.rows);
    const double m = static_cast<double>(p_.rows), n = static_cast<double>(p_.cols),
                 k = static_cast<double>(p_.depth), element = static_cast<double>(p_.element_bytes);
    const double panels = std::max(ranks_, std::ceil(k / kProductPanel));
    const double a_bytes = m / ranks_ * k * element, b_bytes = k * n / width * element;
    if (ranks_ > 1) {
      // What the farthest rank waits for: columns of B come along a column of the grid, rows of A along a
      // row.
      PlanPhase first{"the first panels go round"};
      first.exchange = (height - 1) * (r_.latency + b_bytes / panels / r_.network) +
                       (width - 1) * (r_.latency + a_bytes / panels / r_.network) +
                       2 * (a_bytes * (width > 1 ? 1 : 0) + b_bytes) / panels / r_.host_link;
      all.push_back(first);
    }
    const std::string where =
        " on " + std::to_string(grid.rows) + " x " + std::to_string(grid.cols) + " ranks";
    PlanPhase rest =
        exchanged("multiply panels" + (ranks_ > 1 ? where + " while the next ones come" : std::string()),
                  2 * m * n * k / ranks_ / r_.operations,
                  a_bytes * (width - 1) + b_bytes * (ranks_ - 1) / ranks_, panels * width, true);
    // A product for each of the blocks that a rank has sums of.
    if (ranks_ > 1) rest.compute += panels * width * r_.call;
    all.push_back(rest);
    if (width > 1) {
      all.push_back(exchanged("sums go to the ranks of their rows", 0,
                              m / ranks_ * n * (width - 1) / width * static_cast<double>(shape.sum_bytes),
                              width - 1, false));
    }
  }

  /// Every rank has all keys and values, and its own queries.
  void attention(std::vector<PlanPhase>& all) const {
    const double tokens = static_cast<double>(p_.rows), row = static_cast<double>(p_.cols),
                 key_row = static_cast<double>(p_.depth), element = static_cast<double>(p_.element_bytes);
    if (ranks_ > 1) {
      all.push_back(exchanged(
          "gather keys and values", 2 * 2 * tokens * key_row * element * (ranks_ - 1) / ranks_ / r_.copy,
          2 * tokens * key_row * element * (ranks_ - 1) / ranks_, 2 * (ranks_ - 1), false));
    }
    all.push_back(local("attend to all keys", 4 * tokens * tokens * row / ranks_ / r_.operations));
  }

  void sort(std::vector<PlanPhase>& all) const {
    const double keys = elements() / ranks_, size = static_cast<double>(p_.element_bytes) / 4;
    all.push_back(local("sort the blocks", keys * size / r_.sorted));
    if (ranks_ == 1) return;
    const double samples = std::min(kSamplesOfBlock * ranks_, keys);
    PlanPhase splitters =
        gather("choose splitters among samples", samples * static_cast<double>(p_.element_bytes));
    splitters.compute = samples * ranks_ / r_.sorted + 4 * r_.call;
    all.push_back(splitters);
    all.push_back(exchanged("cut into runs, exchange them", 2 * share() / r_.copy,
                            share() * (ranks_ - 1) / ranks_, ranks_ - 1, true));
    all.push_back(local("merge runs, put them in place",
                        (std::ceil(std::log2(ranks_)) + 1) * 2 * share() / r_.copy + ranks_ * r_.call));
  }

  /// Of heat and stencils.
  void halos(std::vector<PlanPhase>& all) const {
    const detail::HaloShape shape = halo_shape(p_, static_cast<std::size_t>(ranks_));
    const detail::HaloCost cost = detail::halo_cost(shape, steps_per_halo(p_, shape, r_), r_);
    PlanPhase phase{"steps", cost.compute, cost.exchange, cost.edges_first};
    if (ranks_ > 1) {
      phase.what += ", " + std::to_string(std::min(steps_per_halo(p_, shape, r_), p_.steps)) + " a halo";
      if (phase.overlaps) phase.what += ", of the inner rows while halos come";
    }
    phase.bytes = static_cast<std::uint64_t>(cost.bytes);
    phase.messages = static_cast<std::uint64_t>(cost.messages);
    all.push_back(phase);
  }

  const PlanProblem& p_;
  const MachineRates& r_;
  double ranks_;
};

double seconds_of(const std::vector<PlanPhase>& phases) {
  double sum = 0;
  for (const PlanPhase& phase : phases)
    sum += phase.seconds();
  return sum;
}

void require_positive(const char* argument, double value) {
  if (value > 0 && std::isfinite(value)) return;
  throw Error({.operation = kPlan,
               .argument = argument,
               .expected = "a positive number",
               .got = std::to_string(value)});
}

std::string text_of(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string time_text(double seconds) {
  return seconds >= 1      ? text_of("%.3g s", seconds)
         : seconds >= 1e-3 ? text_of("%.3g ms", seconds * 1e3)
                           : text_of("%.3g us", seconds * 1e6);
}

std::string size_text(double bytes) {
  return bytes >= 1e9   ? text_of("%.3g GB", bytes * 1e-9)
         : bytes >= 1e6 ? text_of("%.3g MB", bytes * 1e-6)
         : bytes >= 1e3 ? text_of("%.3g kB", bytes * 1e-3)
                        : text_of("%.0f bytes", bytes);
}

}  // namespace

PlanProblem PlanProblem::grown(std::size_t ranks) const {
  PlanProblem larger = *this;
  const bool is_grid = operation == "heat" || operation == "stencil";
  (is_grid && depth > 1 ? larger.depth : larger.rows) *= ranks;
  return larger;
}

const std::vector<std::string_view>& planned_operations() {
  static const std::vector<std::string_view> names = {
      "reduce", "inclusive_scan", "histogram", "top_k",   "transpose",
      "gemm",   "sort",           "attention", "stencil", "heat"};
  return names;
}

DistributedPlan plan(const PlanProblem& problem, std::size_t ranks, const MachineRates& rates) {
  const auto& names = planned_operations();
  if (std::find(names.begin(), names.end(), problem.operation) == names.end()) {
    std::string known;
    for (const std::string_view name : names)
      known += (known.empty() ? "" : ", ") + std::string(name);
    throw Error({.operation = kPlan, .argument = "operation", .expected = known, .got = problem.operation});
  }
  for (const auto& [name, size] : {std::pair{"rows", problem.rows},
                                   {"cols", problem.cols},
                                   {"depth", problem.depth},
                                   {"element_bytes", problem.element_bytes},
                                   {"steps", problem.steps},
                                   {"radius", problem.radius},
                                   {"ranks", ranks}})
    require_positive(name, static_cast<double>(size));
  for (const auto& [name, rate] : {std::pair{"rates.copy", rates.copy},
                                   {"rates.operations", rates.operations},
                                   {"rates.sorted", rates.sorted},
                                   {"rates.cells", rates.cells},
                                   {"rates.host_link", rates.host_link},
                                   {"rates.network", rates.network},
                                   {"rates.latency", rates.latency},
                                   {"rates.call", rates.call}})
    require_positive(name, rate);
  DistributedPlan made{problem, ranks, Model(problem, ranks, rates).phases()};
  made.seconds = seconds_of(made.phases);
  made.seconds_of_one = seconds_of(Model(problem, 1, rates).phases());
  for (const PlanPhase& phase : made.phases) {
    made.bytes += phase.bytes;
    made.messages += phase.messages;
    made.exchange += phase.exchange;
    made.hidden += phase.hidden();
  }
  return made;
}

std::string explain(const DistributedPlan& plan, const MachineRates& rates) {
  const PlanProblem& p = plan.problem;
  std::string text = "distributed " + p.operation + ": " + std::to_string(p.rows);
  if (p.cols > 1 || p.depth > 1) text += " x " + std::to_string(p.cols);
  if (p.depth > 1) text += " x " + std::to_string(p.depth);
  text += ", elements of " + std::to_string(p.element_bytes) + " bytes, on " + std::to_string(plan.ranks) +
          (plan.ranks == 1 ? " rank\n" : " ranks\n");
  for (const PlanPhase& phase : plan.phases) {
    text += "  " + phase.what + ": " + time_text(phase.seconds());
    if (phase.compute > 0) text += "; computes " + time_text(phase.compute);
    if (phase.exchange > 0) {
      text += "; exchanges " + size_text(static_cast<double>(phase.bytes)) + " in " +
              std::to_string(phase.messages) + " messages, " + time_text(phase.exchange) + ", of which " +
              time_text(phase.hidden()) + " are hidden";
    }
    text += "\n";
  }
  text +=
      "  together " + time_text(plan.seconds) + "; one rank " + time_text(plan.seconds_of_one) + ": " +
      text_of("%.2f times", plan.speedup()) + " as fast, efficiency " + text_of("%.2f", plan.efficiency()) +
      "\n  a rank sends at most " + size_text(static_cast<double>(plan.bytes)) + "; hidden " +
      text_of("%.0f %%", plan.exchange > 0 ? 100 * plan.hidden / plan.exchange : 0) + " of " +
      time_text(plan.exchange) + "\n  " + (rates.is_measured ? "measured" : "assumed") + " rates: memory " +
      size_text(rates.copy) + "/s, products " + text_of("%.4g", rates.operations * 1e-9) +
      " GFLOP/s, device to host " + size_text(rates.host_link) + "/s, between ranks " +
      size_text(rates.network) + "/s and " + time_text(rates.latency) + "\n";
  return text;
}

}  // namespace smem::distributed
