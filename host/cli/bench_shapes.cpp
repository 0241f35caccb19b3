// smem bench of problems that are drawn at random, and of all plans that a model chooses among.
#include "cli/arguments.hpp"
#include "cli/bench_table.hpp"
#include "cli/commands.hpp"
#include "cli/described.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "measure/queued.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace smem::cli {

namespace {

using operations::ArrayRule;
using operations::Candidate;
using operations::Case;
using operations::Operation;

/// Results of more operations than this are not compared with a plain loop, which would take minutes.
constexpr double kMostCompared = 0x1p31;

/// Numbers with all their bits, as a program has them: by whole numbers a device takes less power, and is
/// faster.
double number_of(Scalar type, std::uint64_t bits) {
  const double x = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
  return type == Scalar::int8 ? std::round(127 * x) : x;
}

/// What is measured, and what came of it.
class Shapes {
 public:
  Shapes(const Operation& operation, const ShapeOptions& options)
      : operation_(operation),
        options_(options),
        context_({.device = options.device}),
        table_({{"case", 42, Column::Kind::title},
                {"plan", 34, Column::Kind::text},
                {"ms", 10},
                {"spread", 9},
                {"GFLOP/s", 9},
                {"model ms", 10, Column::Kind::extra}},
               15) {
    print_fitted(device_text(device()) + "\n");
    table_.print_head();
  }

  const Device& device() const { return context_.device(); }

  void run(const Case& one) {
    std::vector<ArrayRule> others = one.in_out;
    others.insert(others.end(), one.out.begin(), one.out.end());
    const std::size_t in = operations::bytes_of(one.in), out = operations::bytes_of(others);
    if (std::max(in, out) > device().max_allocation || static_cast<double>(in) + static_cast<double>(out) >
                                                           0.8 * static_cast<double>(device().global_bytes)) {
      table_.print_row({one.text}, "skipped: does not fit the device's memory");
      return;
    }
    const measure::BufferPair pair{make_buffer(context_, std::max<std::size_t>(in, 1)),
                                   make_buffer(context_, std::max<std::size_t>(out, 1))};
    const operations::CallArrays arrays = operations::arrays_of(one, pair.in(), pair.out());
    const CaseData data(one);
    const bool is_compared = one.operations <= kMostCompared;
    std::vector<Candidate> candidates;
    if (one.candidates) candidates = one.candidates(device(), options_.variant);
    double best = 0, chosen = 0;
    const auto measured = [&](const CallOptions& call, const Plan& plan, double predicted,
                              const std::string& asked, const std::string& text) {
      std::optional<std::string> wrong;
      if (is_compared) {
        data.write(context_, pair);
        one.call(context_, arrays, call).wait();
        wrong = data.wrong(context_, pair);
      }
      if (chosen == 0 || is_compared) data.write_pieces(context_, pair, number_of);
      CallOptions without_event = call;
      without_event.event = false;  // as the peers' calls
      const measure::Statistics seconds =
          measure::seconds_in_queue(context_, [&] { one.call(context_, arrays, without_event); });
      print(one, plan, seconds, predicted, asked, text, wrong);
      if (chosen == 0) chosen = seconds.median;
      if (best == 0 || seconds.median < best) best = seconds.median;
      if (predicted > 0) errors_.push_back(std::abs(predicted / seconds.median - 1));
    };
    Plan plan;
    try {
      plan = one.plan(device(), {.variant = options_.variant});
    } catch (const Error& error) {
      if (error.details().argument != "variant") throw;
      table_.print_row({one.text}, "skipped: no " + options_.variant);
      return;
    }
    const bool by_model = !candidates.empty() && candidates.front().plan.defines == plan.defines;
    measured({.variant = options_.variant}, plan, by_model ? candidates.front().seconds : 0,
             options_.variant.empty() ? "auto" : options_.variant,
             by_model ? candidates.front().text : plan.variant);
    if (!options_.model) return;
    if (!by_model) chosen = 0;  // by what the model would choose
    for (std::size_t i = by_model ? 1 : 0; i < candidates.size(); ++i)
      measured({.overrides = &candidates[i].plan.overrides}, candidates[i].plan, candidates[i].seconds,
               candidates[i].text, candidates[i].text);
    if (!candidates.empty()) over_.push_back(chosen / best - 1);
  }

  int end() {
    std::sort(errors_.begin(), errors_.end());
    std::sort(over_.begin(), over_.end());
    if (compared_ + not_compared_ > 0) {
      print_fitted(fmt::format(
          "ms: median of calls in a queue, without events; {} compared with a plain loop, {} wrong; {} of "
          "more than {:.0e} operations not compared.\n",
          compared_, wrong_, not_compared_, kMostCompared));
    }
    if (!errors_.empty())
      print_fitted(
          fmt::format("Predictions are off by {:.1f} % in the median.\n", 100 * errors_[errors_.size() / 2]));
    if (!over_.empty()) {
      double sum = 0;
      for (const double x : over_)
        sum += std::log1p(x);
      const auto within = std::upper_bound(over_.begin(), over_.end(), 0.05) - over_.begin();
      print_fitted(
          fmt::format("The model's choice takes {:.1f} % longer than the best plan in the geometric mean, "
                      "{:.1f} % at most; "
                      "at most 5 % in {} of {}.\n",
                      100 * std::expm1(sum / static_cast<double>(over_.size())), 100 * over_.back(), within,
                      over_.size()));
    }
    return wrong_ > 0 ? kFailure : kGood;
  }

 private:
  void print(const Case& one, const Plan& plan, const measure::Statistics& seconds, double predicted,
             const std::string& asked, const std::string& text, const std::optional<std::string>& wrong) {
    Result result{.group = std::string(operation_.name),
                  .operation = plan.operation,
                  .label = one.text,
                  .asked = asked,
                  .seconds = seconds,
                  .bytes = plan.prediction.bytes(),
                  .operations = one.operations,
                  .wrong = wrong.value_or("")};
    set_plan(result, device(), plan);
    (one.operations <= kMostCompared ? compared_ : not_compared_) += 1;
    wrong_ += wrong ? 1 : 0;
    table_.print_row(
        {one.text, text, fmt::format("{:.4f}", seconds.median * 1e3),
         fmt::format("{:.1f} %", 100 * seconds.spread()), number_text(one.operations / seconds.median * 1e-9),
         predicted > 0 ? fmt::format("{:.4f}", predicted * 1e3) : ""},
        wrong ? "WRONG: " + *wrong : "");
    record(device(), std::move(result));
  }

  const Operation& operation_;
  const ShapeOptions& options_;
  Context context_;
  Table table_;
  std::vector<double> errors_;  ///< of predictions, against what was measured
  std::vector<double> over_;    ///< what the choice takes longer than the best plan, of each problem
  std::size_t compared_ = 0, not_compared_ = 0, wrong_ = 0;
};

}  // namespace

int bench_shapes(const Operation& operation, const ShapeOptions& options, std::vector<Case> given) {
  const auto texts = [&](double most) {
    std::vector<std::string> all;
    for (const std::string& kind : options.kinds.empty() ? operation.draw.kinds : options.kinds)
      for (std::size_t i = 0; i < options.shapes; ++i)
        all.push_back(operation.draw.words(kind, *options.seed, i, most));
    return all;
  };
  if (options.only_list) {
    for (const std::string& text : texts(options.most > 0 ? options.most : operation.draw.most))
      fmt::print("{}\n", text);
    return kGood;
  }
  Shapes shapes(operation, options);
  const bool is_cpu = shapes.device().type == DeviceType::cpu;
  const double most = options.most > 0 ? options.most : is_cpu ? 1e9 : operation.draw.most;
  if (options.seed)
    for (const std::string& text : texts(most))
      given.push_back(operation.parse(text));
  for (const Case& one : given)
    if (can_compute(shapes.device(), one)) shapes.run(one);
  return shapes.end();
}

}  // namespace smem::cli
