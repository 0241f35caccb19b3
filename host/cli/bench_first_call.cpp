// smem bench first-call: the first call of a new process, with caches cold and warm; with names of
// operations, the first call of each, all caches cold.
#include "cli/arguments.hpp"
#include "cli/child.hpp"
#include "cli/commands.hpp"
#include "cli/described.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "measure/first_call.hpp"
#include "measure/measure.hpp"
#include "operations/list.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace smem::cli {

namespace {

namespace fs = std::filesystem;

struct FirstCallOptions {
  std::string device;
  std::size_t repetitions = 5;
  std::vector<std::string> operations;
  // "smem" or "plain": this process is the one that is measured; "device": it names the device; or an
  // operation
  std::string child;
};

/// The first call of an operation, in this process: of its first small sample that the device computes.
/// Prints: ms, the programs built, and the sample.
int call_in_child(const operations::Operation& operation, const FirstCallOptions& options) {
  const Context context({.device = options.device});
  const Device& device = context.device();
  const std::vector<SampleCase> samples = samples_of(operation, device, operations::scale_for(device, true));
  if (samples.empty()) return kGood;
  const operations::Case& one = samples.front().one;
  const CaseData data(one);
  const measure::BufferPair pair{make_buffer(context, data.bytes()), make_buffer(context, data.bytes())};
  data.write(context, pair);
  const auto start = measure::Clock::now();
  one.call(context, data.arrays(pair), {}).wait();
  fmt::print("{} {} {}\n", measure::seconds_since(start) * 1e3, context.cache_statistics().built_from_source,
             one.text);
  return kGood;
}

/// One first call, in this process. Prints: the call and its end, the same until the context is closed (both
/// ms), and what the program cache did.
int run_in_child(const FirstCallOptions& options) {
  if (const operations::Operation* operation = operations::find(options.child); operation != nullptr)
    return call_in_child(*operation, options);
  auto context = std::make_unique<Context>(ContextOptions{.device = options.device});
  if (options.child == "device") {
    const Device& device = context->device();
    fmt::print("{} {}\n", name_of(device.type), device_text(device));
    return kGood;
  }
  const measure::FirstCall first = measure::first_call(std::move(context), options.child == "smem");
  fmt::print("{} {} {} {}\n", first.call * 1e3, first.closed * 1e3, first.statistics.built_from_source,
             first.statistics.loaded_from_disk);
  return kGood;
}

/// What one configuration measured, in ms.
struct Times {
  std::vector<double> call, closed;
};

class Runner {
 public:
  explicit Runner(const FirstCallOptions& options) : options_(options) {}

  void empty_all() {
    const NoInterrupt together;
    fs::remove_all(smem_folder());
    empty_driver();
  }
  void empty_driver() {
    const NoInterrupt together;
    fs::remove_all(driver_folder());
    fs::create_directory(driver_folder());
  }

  /// What a child of that kind prints.
  std::string child(const std::string& kind) const {
    const std::string folder = driver_folder().string();
    std::vector<std::string> arguments{"bench", "first-call", "--child", kind};
    if (!options_.device.empty()) arguments.insert(arguments.end(), {"--device", options_.device});
    return run_child(arguments, {{"SMEM_CACHE_DIR", smem_folder().string()},
                                 {"SMEM_CACHE", std::nullopt},
                                 {"POCL_CACHE_DIR", folder},
                                 {"POCL_KERNEL_CACHE", std::nullopt},
                                 {"CUDA_CACHE_PATH", folder},
                                 {"CUDA_CACHE_DISABLE", std::nullopt},
                                 {"NEO_CACHE_DIR", folder},
                                 {"MESA_SHADER_CACHE_DIR", folder}});
  }

  /// Runs a child with the caches as they are. `expected`: whether smem must have built (true) or loaded
  /// (false).
  void run(const std::string& kind, Times* times, std::optional<bool> expected = {}) const {
    const std::string line = child(kind);
    std::istringstream numbers(line);
    double call = 0, closed = 0;
    std::size_t built = 0, loaded = 0;
    numbers >> call >> closed >> built >> loaded;
    if (!numbers) throw Error({.operation = "bench", .expected = "four numbers from the child", .got = line});
    if (expected && (*expected ? built : loaded) == 0) {
      throw Error(
          {.operation = "bench",
           .expected = *expected ? "a program built from source" : "a program loaded from smem's cache",
           .got = fmt::format("{} built, {} loaded", built, loaded)});
    }
    if (times == nullptr) return;
    times->call.push_back(call);
    times->closed.push_back(closed);
  }

 private:
  fs::path smem_folder() const { return folder_.path() / "smem"; }
  fs::path driver_folder() const { return folder_.path() / "driver"; }

  FirstCallOptions options_;
  TemporaryFolder folder_;
};

/// The first call of each operation that is asked for, in a new process with empty caches.
int run_operations(const FirstCallOptions& options) {
  Runner runner(options);
  runner.empty_all();
  const std::string device = runner.child("device");
  print_fitted(
      fmt::format("{}\n\nContext and buffers ready, all caches empty: medians of {} new processes each\n",
                  device, options.repetitions));
  fmt::print("{:<20}{:>10}{:>10}  {}\n", "first call", "ms", "programs", "of");
  std::vector<double> medians;
  const bool all = std::ranges::find(options.operations, "all") != options.operations.end();
  for (const std::string& name : all ? operation_names() : options.operations) {
    std::vector<double> times;
    std::size_t built = 0;
    std::string text;
    for (std::size_t i = 0; i < options.repetitions; ++i) {
      runner.empty_all();
      std::istringstream line(runner.child(name));
      double time = 0;
      if (line >> time >> built && std::getline(line >> std::ws, text)) times.push_back(time);
    }
    if (times.empty()) continue;  // its samples have types that the device does not compute with
    medians.push_back(measure::statistics(times).median);
    fmt::print("{:<20}{:>10.1f}{:>10}  {}\n", name, medians.back(), built, text);
    std::fflush(stdout);
  }
  if (medians.empty()) {
    fmt::print("no operation has a sample that this device computes\n");
    return kGood;
  }
  const double goal = device.starts_with(name_of(DeviceType::cpu)) ? 1000 : 250;
  const double median = measure::statistics(medians).median;
  fmt::print("{:<20}{:>10.1f}{:>10}  goal {:g} {}\n", "median", median, "", goal,
             median <= goal ? "PASS" : "MISS");
  return median <= goal ? kGood : kFailure;
}

int run(const FirstCallOptions& options) {
  if (!options.operations.empty()) return run_operations(options);
  // This process opens no device itself: on the NVIDIA machine that was measured, a child of a process that
  // had done so did not see the GPU, and took the CPU instead.
  Runner runner(options);
  runner.empty_all();
  const std::string device = runner.child("device");
  const bool is_cpu = device.starts_with(name_of(DeviceType::cpu));
  Times plain, cold, warm, driver_empty;
  for (std::size_t i = 0; i < options.repetitions; ++i) {
    runner.empty_all();
    runner.run("plain", &plain);
    runner.empty_all();
    runner.run("smem", &cold, true);
    runner.run("smem", nullptr);  // the driver now stores what it makes of the binary
    runner.run("smem", &warm, false);
    runner.empty_driver();
    runner.run("smem", &driver_empty, false);
  }

  print_fitted(fmt::format("{}\n{} x {} float, context and buffers ready; medians of {} new processes each\n",
                           device, measure::kFirstEdge, measure::kFirstEdge, options.repetitions));
  fmt::print("{:<42}{:>10}{:>14}{:>13}\n", "ms", "first call", "until closed", "goal");
  std::size_t missed = 0;
  const auto median = [](const std::vector<double>& times) { return measure::statistics(times).median; };
  const auto row = [&](const char* what, const Times& times, double value = 0, double goal = 0,
                       const char* unit = "") {
    const bool pass = goal == 0 || value <= goal;
    missed += pass ? 0 : 1;
    fmt::print("{:<42}{:>10.1f}{:>14.1f}{:>13} {}\n", what, median(times.call), median(times.closed),
               goal == 0 ? "" : fmt::format("{:g}{}", goal, unit),
               goal == 0 ? ""
               : pass    ? "PASS"
                         : "MISS");
  };
  row("plain kernel, all caches empty", plain);
  // Storing the binary belongs to the cold call, wherever it happens. A GPU's compiler takes the longer, the
  // larger the kernel: there only the warm call has a goal.
  const double ratio = median(cold.closed) / median(plain.closed);
  row("smem, all caches empty", cold, ratio, is_cpu ? 1.15 : 0, " x plain");
  row("smem, its cache warm, the driver's empty", driver_empty, median(driver_empty.call), is_cpu ? 120 : 0);
  row("smem, its cache and the driver's warm", warm, median(warm.call), is_cpu ? 6 : 30);
  fmt::print("cold, until closed: {:.2f} x the plain kernel\n", ratio);
  return missed == 0 ? kGood : kFailure;
}

}  // namespace

void add_bench_first_call(CLI::App* bench, Measurements& measurements) {
  CLI::App* const command =
      bench->add_subcommand("first-call", "The first call of a new process, with cold and warm caches");
  auto options = std::make_shared<FirstCallOptions>();
  add_device_option(command, options->device);
  command->add_option("--repetitions", options->repetitions, "Number of new processes of each kind")
      ->capture_default_str()
      ->check(count_validator());
  std::vector<std::string> names = operation_names(), children = names;
  names.insert(names.begin(), "all");
  children.insert(children.end(), {"smem", "plain", "device"});
  command
      ->add_option("--operations", options->operations,
                   "The first call of each of these operations, all caches empty, instead of a transpose's: "
                   "names, or all")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  command->add_option("--child", options->child)->group("")->check(CLI::IsMember(children));
  command->callback([options, &measurements] {
    measurements.emplace_back(
        [options] { return options->child.empty() ? run(*options) : run_in_child(*options); });
  });
}

}  // namespace smem::cli
