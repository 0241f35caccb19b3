// What the smem command does on several ranks: smem bench distributed, smem explain distributed, and smem
// devices under mpirun. The command starts this program, which alone is linked with StarPU and MPI.
#include "distributed/program/operation.hpp"
#include "distributed/program/plot.hpp"

#include <smem/context.hpp>
#include <smem/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace smem::distributed::program {

namespace {

constexpr std::size_t kMostRanks = 1024;  // of the model

struct Options {
  std::vector<std::string> operations;
  bool small = false, usual = false, json = false, no_one = false, no_check = false;
  std::size_t repetitions = 3, ranks = 0, rows = 0, cols = 0, depth = 0, steps = 0, steps_per_halo = 0,
              element_bytes = 0;
  std::string file, plot;
  MachineRates rates;
};

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file)
    throw Error({.operation = "distributed", .argument = "FILE", .expected = "a file to write", .got = path});
}

struct Row {
  const Operation* operation;
  PlanProblem problem;
  double seconds = 0, seconds_of_one = 0, predicted = 0;
  double compute = 0, exchange = 0;  ///< seconds of each alone; 0: not measured
  /// How much of the shorter of both is hidden behind the other one: 1 where the call takes as long as the
  /// longer one by itself.
  double overlap() const { return std::max(compute, exchange) / seconds; }
  std::uint64_t sent = 0;
  bool is_checked = false, is_right = true;
};

/// Seconds of the call without a part of it, the median of some.
double seconds_without(const Session& session, const Prepared& prepared, Omit what, std::size_t repetitions) {
  std::vector<double> times;
  omit(session, what);
  for (std::size_t i = 0; i < repetitions; ++i) {
    session.wait();
    const auto began = std::chrono::steady_clock::now();
    prepared.call();
    times.push_back(seconds_since(began));
  }
  omit(session, Omit::nothing);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Seconds of the call, the median of some after one that builds programs; the same on all ranks but for when
/// a rank begins.
Row measured(const Session& session, const Operation& operation, const PlanProblem& problem,
             const Options& options) {
  Row row{&operation, problem};
  const Prepared prepared = operation.prepare(session, problem);
  prepared.call();
  std::vector<double> times;
  const std::uint64_t sent = sent_bytes(session);
  for (std::size_t i = 0; i < options.repetitions; ++i) {
    session.wait();
    const auto began = std::chrono::steady_clock::now();
    prepared.call();
    times.push_back(seconds_since(began));
  }
  row.sent = (sent_bytes(session) - sent) / options.repetitions;
  std::sort(times.begin(), times.end());
  row.seconds = times[times.size() / 2];
  if (operation.is_oblivious() && session.ranks() > 1) {
    row.compute = seconds_without(session, prepared, Omit::exchange, options.repetitions);
    row.exchange = seconds_without(session, prepared, Omit::computation, options.repetitions);
    prepared.call();  // what is compared
  }
  if (options.no_one) return row;
  // One device, while the other ranks rest; then the others too, to compare.
  const Context context;
  const auto one = [&] {
    const auto began = std::chrono::steady_clock::now();
    prepared.one(context);
    context.finish();
    return seconds_since(began);
  };
  if (session.rank() == 0) {
    one();
    times.clear();
    for (std::size_t i = 0; i < options.repetitions; ++i)
      times.push_back(one());
    std::sort(times.begin(), times.end());
    row.seconds_of_one = times[times.size() / 2];
  }
  session.wait();
  if (options.no_check) return row;
  if (session.rank() != 0) one();
  row.is_checked = true;
  row.is_right = prepared.is_right(context);
  return row;
}

std::string json_of(const Session& session, const std::vector<Row>& rows, const MachineRates& rates) {
  std::string text = fmt::format(
      "{{\n  \"ranks\": {}, \"device\": \"{}\",\n  \"rates\": {{\"copy\": {:.4g}, \"operations\": {:.4g}, "
      "\"sorted\": "
      "{:.4g}, \"cells\": {:.4g}, \"host_link\": {:.4g}, \"network\": {:.4g}, \"latency\": {:.4g}, \"call\": "
      "{:.4g}}},\n  \"rows\": [\n",
      session.ranks(), session.devices().front().front(), rates.copy, rates.operations, rates.sorted,
      rates.cells, rates.host_link, rates.network, rates.latency, rates.call);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    fmt::format_to(
        std::back_inserter(text),
        "    {{\"operation\": \"{}\", \"case\": \"{}\", \"seconds\": {:.6g}, \"seconds_of_one\": {:.6g}, "
        "\"predicted\": {:.6g}, \"sent_bytes\": {}, \"compute_seconds\": {:.6g}, \"exchange_seconds\": "
        "{:.6g}, \"right\": {}}}{}\n",
        r.operation->name, text_of(r.problem), r.seconds, r.seconds_of_one, r.predicted, r.sent, r.compute,
        r.exchange,
        !r.is_checked ? "null"
        : r.is_right  ? "true"
                      : "false",
        i + 1 == rows.size() ? "" : ",");
  }
  return text + "  ]\n}\n";
}

std::vector<const Operation*> chosen(const Options& options) {
  std::vector<const Operation*> all;
  for (const Operation& operation : operations()) {
    if (options.operations.empty() || std::find(options.operations.begin(), options.operations.end(),
                                                operation.name) != options.operations.end())
      all.push_back(&operation);
  }
  return all;
}

PlanProblem problem_of(const Operation& operation, const Options& options, bool small) {
  PlanProblem p = small ? operation.small : operation.usual;
  for (const auto& [size, given] : {std::pair{&p.rows, options.rows},
                                    {&p.cols, options.cols},
                                    {&p.depth, options.depth},
                                    {&p.steps, options.steps},
                                    {&p.steps_per_halo, options.steps_per_halo},
                                    {&p.element_bytes, operation.multiplies() ? options.element_bytes : 0}})
    if (given != 0) *size = given;
  return p;
}

std::vector<ScalingLine> lines_of(const Options& options, const MachineRates& rates, bool small) {
  std::vector<ScalingLine> lines;
  for (const Operation* operation : chosen(options)) {
    const PlanProblem problem = problem_of(*operation, options, small);
    ScalingLine& line = lines.emplace_back(ScalingLine{std::string(operation->name), {}});
    const double one = plan(problem, 1, rates).seconds;
    for (std::size_t ranks = 1; ranks <= kMostRanks; ranks *= 2) {
      line.points.push_back({ranks, plan(problem, ranks, rates).efficiency(),
                             one / plan(problem.grown(ranks), ranks, rates).seconds, false});
    }
  }
  return lines;
}

int bench(const Options& options) {
  const Session session;
  std::size_t devices = 0;
  for (const auto& of_rank : session.devices())
    devices += of_rank.size();
  const bool small = options.small || (!options.usual && Context().device().type == DeviceType::cpu);
  const MachineRates rates = measure_machine(session);
  const bool prints = session.rank() == 0;
  if (prints) {
    fmt::print("{} ranks, {} devices: {}\n", session.ranks(), devices, session.devices().front().front());
    fmt::print("device to host {:.3g} GB/s, between ranks {:.3g} GB/s one way and {:.3g} us\n",
               rates.host_link * 1e-9, rates.network * 1e-9, rates.latency * 1e6);
    fmt::print("{:<15} {:<22} {:>10} {:>15} {:>10} {:>6} {:>10} {:>9} {:>10} {:>11} {:>8}\n", "operation",
               "case", "ms", "rate", "one ms", "times", "model ms", "sent MB", "compute ms", "exchange ms",
               "overlap");
    std::fflush(stdout);
  }
  std::vector<Row> rows;
  bool all_right = true;
  for (const Operation* operation : chosen(options)) {
    const PlanProblem problem = problem_of(*operation, options, small);
    Row row = measured(session, *operation, problem, options);
    // A rank with a wrong result reports it and exits with code 1, as mpirun then does.
    if (!row.is_right) {
      fmt::print(stderr, "smem: {} {}: rank {} has other results than one device\n", operation->name,
                 text_of(problem), session.rank());
    }
    all_right = all_right && row.is_right;
    row.predicted = plan(problem, static_cast<std::size_t>(session.ranks()), rates).seconds;
    if (prints) {
      const std::string rate =
          fmt::format("{:.4g} {}", operation->work(problem) / row.seconds * 1e-9, operation->unit());
      fmt::print("{:<15} {:<22} {:>10.3f} {:>15} {:>10.3f} {:>6.2f} {:>10.3f} {:>9.2f}", operation->name,
                 text_of(problem), row.seconds * 1e3, rate, row.seconds_of_one * 1e3,
                 row.seconds > 0 ? row.seconds_of_one / row.seconds : 0, row.predicted * 1e3,
                 static_cast<double>(row.sent) * 1e-6);
      if (row.exchange > 0) {
        fmt::print(" {:>10.3f} {:>11.3f} {:>8.2f}", row.compute * 1e3, row.exchange * 1e3, row.overlap());
      }
      fmt::print("\n");
      std::fflush(stdout);
    }
    rows.push_back(std::move(row));
  }
  if (prints) {
    fmt::print(
        "one: the same of all data by smem on one device; times: how often faster; model: predicted from the "
        "rates of this run; compute, exchange: the call without messages, and without kernels; overlap: the "
        "longer "
        "of both by the call's time\n");
    if (!options.file.empty()) write_file(options.file, json_of(session, rows, rates));
    if (!options.plot.empty()) {
      std::vector<ScalingLine> lines = lines_of(options, rates, small);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        const Row& row = rows[i];
        const auto ranks = static_cast<std::size_t>(session.ranks());
        lines[i].points.push_back(
            {ranks, row.seconds_of_one / row.seconds / static_cast<double>(std::max(ranks, devices)), 0,
             true});
      }
      write_file(options.plot, draw_scaling("Distributed operations: measured and simulated scaling",
                                            fmt::format("{} ranks measured on {}", session.ranks(),
                                                        session.devices()[0][0]),
                                            lines));
    }
  }
  session.wait();
  return all_right ? 0 : 1;
}

int explain_plans(const Options& options) {
  MachineRates rates = options.rates;
  const std::vector<std::size_t> ranks =
      options.ranks != 0 ? std::vector{options.ranks} : std::vector<std::size_t>{2, 16, 128, 1024};
  for (const Operation* operation : chosen(options)) {
    const PlanProblem problem = problem_of(*operation, options, options.small);
    for (const std::size_t count : ranks) {
      const DistributedPlan made = plan(problem, count, rates);
      if (options.json) {
        fmt::print(
            "{{\"operation\": \"{}\", \"case\": \"{}\", \"ranks\": {}, \"simulated\": true, \"seconds\": "
            "{:.6g}, "
            "\"seconds_of_one\": {:.6g}, \"efficiency\": {:.4g}, \"sent_bytes\": {}, \"messages\": {}, "
            "\"exchange_seconds\": {:.6g}, \"hidden_seconds\": {:.6g}}}\n",
            operation->name, text_of(problem), count, made.seconds, made.seconds_of_one, made.efficiency(),
            made.bytes, made.messages, made.exchange, made.hidden);
      } else {
        fmt::print("{}", explain(made, rates));
      }
    }
  }
  if (!options.plot.empty()) {
    write_file(
        options.plot,
        draw_scaling("Distributed operations: simulated scaling",
                     fmt::format("assumed rates: memory {:.4g} GB/s, products {:.4g} GFLOP/s, between ranks "
                                 "{:.4g} GB/s, {:.3g} us",
                                 rates.copy * 1e-9, rates.operations * 1e-9, rates.network * 1e-9,
                                 rates.latency * 1e6),
                     lines_of(options, rates, options.small)));
  }
  return 0;
}

int list_devices() {
  const Session session;
  if (session.rank() == 0) {
    fmt::print("{:>5}  {}\n", "rank", "devices");
    for (std::size_t rank = 0; rank < session.devices().size(); ++rank) {
      for (const std::string& device : session.devices()[rank])
        fmt::print("{:>5}  {}\n", rank, device);
    }
  }
  session.wait();
  return 0;
}

CLI::Validator from_1_on() {
  const auto fault_of = [](const std::string& text) {
    unsigned long long number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc() && end == text.data() + text.size() && number > 0;
    return is_number ? std::string() : "not a whole number from 1 on: " + text;
  };
  return {fault_of, ""};
}

void add_problem(CLI::App* command, Options& options) {
  std::vector<std::string> names;
  for (const Operation& operation : operations())
    names.emplace_back(operation.name);
  command->add_option("operation", options.operations, "The operations; none: all")
      ->type_name("NAME")
      ->check(CLI::IsMember(names).description(""));
  command->add_flag("--small", options.small, "Sizes for a CPU");
  command->add_option("--rows", options.rows, "Rows, or elements of a vector")
      ->type_name("NUMBER")
      ->check(from_1_on());
  command->add_option("--cols", options.cols, "Columns")->type_name("NUMBER")->check(from_1_on());
  command->add_option("--depth", options.depth, "Length of the sums of a product; planes of a grid")
      ->type_name("NUMBER")
      ->check(from_1_on());
  command
      ->add_option("--element-bytes", options.element_bytes,
                   "2 or 4: products and attention of halves or floats")
      ->check(CLI::IsMember({2, 4}));
  command->add_option("--steps", options.steps, "Steps of heat and of the stencil")
      ->type_name("NUMBER")
      ->check(from_1_on());
  command->add_option("--steps-per-halo", options.steps_per_halo, "Steps between two exchanges of halos")
      ->type_name("NUMBER")
      ->check(from_1_on());
  command->footer(fmt::format("Operations:\n{}\n", fmt::join(names, " ")));
  command->add_option("--plot", options.plot, "Write scaling up to 1024 ranks, as SVG")->type_name("FILE");
}

int run(int argc, char** argv) {
  CLI::App app("Operations on the devices of several ranks", "smem distributed");
  app.require_subcommand(1, 1);
  Options options;
  CLI::App* const measure =
      app.add_subcommand("bench", "Measure, and compare with one device and with the model");
  add_problem(measure, options);
  measure->add_flag("--usual", options.usual, "Sizes for a GPU, whatever the devices are");
  measure->add_flag("--no-one", options.no_one, "Do not measure one device");
  measure->add_flag("--no-check", options.no_check, "Do not compare results with those of one device");
  measure->add_option("--repetitions", options.repetitions, "Repetitions of each measurement")
      ->type_name("NUMBER")
      ->check(from_1_on());
  measure->add_option("--json", options.file, "Write the rows to this file, as JSON");
  CLI::App* const explain = app.add_subcommand(
      "explain", "Data that calls exchange, the part hidden behind computation, and scaling");
  add_problem(explain, options);
  explain->add_option("--ranks", options.ranks, "Ranks; else 2, 16, 128 and 1024")
      ->check(CLI::Range(1, 1 << 20));
  explain->add_flag("--json", options.json, "As JSON, a line a plan");
  const auto rate = [&](const char* name, double& value, double unit, const char* what) {
    explain
        ->add_option_function<double>(
            name, [&value, unit](const double& given) { value = given * unit; }, what)
        ->type_name("NUMBER")
        ->check(from_1_on());
  };
  rate("--memory", options.rates.copy, 1e9, "GB/s of a device's memory");
  rate("--gflops", options.rates.operations, 1e9, "GFLOP/s of products");
  rate("--sorted", options.rates.sorted, 1e9, "10^9 keys of 4 bytes sorted per second");
  rate("--cells", options.rates.cells, 1e9, "10^9 cells updated per second by a step of heat");
  rate("--host-link", options.rates.host_link, 1e9, "GB/s between device and main memory");
  rate("--network", options.rates.network, 1e9, "GB/s between ranks");
  rate("--latency", options.rates.latency, 1e-6, "Microseconds of a message");
  CLI::App* const devices = app.add_subcommand("devices", "Which rank has which devices");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help
    std::string what = error.what();
    std::replace(what.begin(), what.end(), '\n', ' ');
    fmt::print(stderr, "smem: {}\n", what);
    return 2;
  }
  if (measure->parsed()) return bench(options);
  return devices->parsed() ? list_devices() : explain_plans(options);
}

}  // namespace

}  // namespace smem::distributed::program

int main(int argc, char** argv) {
  try {
    return smem::distributed::program::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "smem: {}\n", error.what());
    return 1;
  }
}
