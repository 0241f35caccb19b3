// Whether what smem tune keeps for its cases is what their operations then use: the class of a case must be
// that of the call. Prints the cases for which it is not; exit code 1 if there is one. Where SMEM_TEST_TURN
// is set, of the operations of that turn, one in sixteen.
#include "cli/described.hpp"
#include "cli/tune.hpp"
#include "operations/list.hpp"
#include "support/turn.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace smem;

/// A choice that is not the shipped one.
PlanOverrides another_choice(const cli::TuneCase& of, const Device& device) {
  cli::TuneSpace space(of, device);
  std::vector<PlanOverrides> found = space.variants();
  if (found.empty()) found = space.neighbours({});
  return found.empty() ? PlanOverrides{} : found.front();
}

/// Whether the device's driver breaks variants of the operation, so that there may be one choice alone.
bool is_broken(const Device& device, std::string_view operation) {
  return std::any_of(device.broken.begin(), device.broken.end(),
                     [&](const BrokenVariant& broken) { return broken.operation == operation; });
}

/// Whether a call without overrides builds the same programs as one that fixes the choice.
bool is_used(const cli::TuneCase& of, const Device& device, const PlanOverrides& choice) {
  store_tuning(device, {{of.one.tuning, choice, 2, 1e-3, "other", "2026-11-22"}});
  const Context context;
  const cli::CaseData data(of.one);
  const measure::BufferPair pair{make_buffer(context, data.bytes()), make_buffer(context, data.bytes())};
  data.write(context, pair);
  of.one.call(context, data.arrays(pair), {});
  const std::size_t built = context.cache_statistics().built_from_source;
  of.one.call(context, data.arrays(pair), {.overrides = &choice});
  context.finish();
  store_tuning(device, {}, {of.one.tuning});
  return context.cache_statistics().built_from_source == built;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::filesystem::remove_all(argv[1]);  // what a run that was stopped has left
  ::setenv("SMEM_TUNING_DIR", argv[1], 1);
  ::setenv("SMEM_TUNING", "1", 1);
  ::setenv("SMEM_CACHE", "0", 1);
  const Device device = Context().device();
  constexpr std::size_t kTurns = 16;
  std::size_t checked = 0, unused = 0;
  for (std::size_t i = 0; i < operations::all().size(); ++i) {
    if (!test::has_turn(i, kTurns)) continue;
    const operations::Operation& operation = operations::all()[i];
    for (const cli::TuneCase& one : cli::tune_cases(operation, device, true)) {
      const PlanOverrides choice = another_choice(one, device);
      if (choice == PlanOverrides{} && is_broken(device, operation.name)) continue;
      const bool good = choice != PlanOverrides{} && is_used(one, device, choice);
      ++checked;
      unused += good ? 0 : 1;
      if (!good) fmt::print("{}, {}: {} is not used\n", operation.name, one.one.text, cli::text_of(choice));
    }
  }
  fmt::print("{} cases, {} not used\n", checked, unused);
  return unused == 0 ? 0 : 1;
}
