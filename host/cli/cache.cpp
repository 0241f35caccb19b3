// smem cache: the compiled programs on disk.
#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/described.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

/// "3 hours ago".
std::string ago_text(std::chrono::system_clock::time_point then) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now() - then).count();
  if (seconds < 60) return "just now";
  const auto ago = [](long long count, const char* unit) {
    return count_text(static_cast<std::size_t>(count), unit) + " ago";
  };
  if (seconds < 3600) return ago(seconds / 60, "minute");
  if (seconds < 48 * 3600) return ago(seconds / 3600, "hour");
  return ago(seconds / (24 * 3600), "day");
}

std::string content_text(const CacheEntry& entry) {
  switch (entry.kind) {
    case CacheEntry::Kind::program:
      return entry.kernel.empty() ? "(your own kernel)" : entry.kernel;
    case CacheEntry::Kind::rates:
      return "(measured rates)";
    case CacheEntry::Kind::fact:
      return "(fact of the device)";
    case CacheEntry::Kind::damaged:
      break;
  }
  return "(damaged)";
}

/// The cache's folder; says so when there is none.
bool is_off() {
  if (!cache_folder().empty()) return false;
  print_fitted(
      "the cache is off: SMEM_CACHE says so, there is no home folder, or others can write it (SMEM_TRACE=1 "
      "says where)\n");
  return true;
}

int list(bool verbose) {
  if (is_off()) return kGood;
  const std::vector<CacheEntry> entries = cache_entries();
  if (entries.empty()) {
    fmt::print("nothing in {}\n", cache_folder().string());
    return kGood;
  }
  Table table({{"content", 30, Column::Kind::text},
               {"device", 27, Column::Kind::text},
               {"size", 9},
               {"last use", 14}});
  fmt::print("{}", painted(stdout, Paint::bold, table.head()));
  for (const CacheEntry& entry : entries) {
    table.print_row({short_text(content_text(entry), 29),
                     entry.device.empty() ? "?" : short_text(entry.device, 26), bytes_text(entry.bytes),
                     ago_text(entry.used)});
    if (!verbose) continue;
    if (!entry.options.empty()) fmt::print("    options  {}\n", entry.options);
    if (!entry.driver.empty()) fmt::print("    driver   {}\n", entry.driver);
    fmt::print("    file     {}\n", entry.file.string());
  }
  return kGood;
}

int print_statistics() {
  if (is_off()) return kGood;
  std::size_t programs = 0, damaged = 0, bytes = 0;
  std::set<std::string> devices;
  const std::vector<CacheEntry> entries = cache_entries();
  for (const CacheEntry& entry : entries) {
    bytes += entry.bytes;
    programs += entry.kind == CacheEntry::Kind::program ? 1 : 0;
    damaged += entry.kind == CacheEntry::Kind::damaged ? 1 : 0;
    if (!entry.device.empty()) devices.insert(entry.device);
  }
  fmt::print("folder    {}\n", cache_folder().string());
  fmt::print("entries   {}: {}, {} damaged\n", entries.size(), count_text(programs, "program"), damaged);
  fmt::print("size      {} of {}\n", bytes_text(bytes), bytes_text(cache_limit()));
  fmt::print("devices   {}\n", devices.size());
  for (const std::string& device : devices)
    fmt::print("          {}\n", device);
  if (!entries.empty()) {
    fmt::print("last use  {} to {}\n", ago_text(entries.back().used), ago_text(entries.front().used));
  }
  return kGood;
}

int clear(bool dry_run) {
  if (is_off()) return kGood;
  const CacheCleared cleared = clear_cache(dry_run);
  fmt::print("{} {} of {} in {}\n", dry_run ? "would remove" : "removed",
             cleared.entries == 1 ? "1 entry" : fmt::format("{} entries", cleared.entries),
             bytes_text(cleared.bytes), cache_folder().string());
  if (cleared.failures == 0) return kGood;
  std::fflush(stdout);
  fmt::print(stderr, "smem: {} could not be removed\n", count_text(cleared.failures, "file"));
  return kFailure;
}

}  // namespace

void add_cache(CLI::App* root, int& exit_code) {
  CLI::App* const command =
      root->add_subcommand("cache", "The compiled programs on disk; without a subcommand, ls");
  command->require_subcommand(0, 1);
  command->callback([command, &exit_code] {
    if (command->get_subcommands().empty()) exit_code = list(false);
  });

  CLI::App* const ls = command->add_subcommand("ls", "List the entries, most recently used first");
  auto verbose = std::make_shared<bool>(false);
  ls->add_flag("-v,--verbose", *verbose, "With options, driver and file of each");
  ls->callback([verbose, &exit_code] { exit_code = list(*verbose); });

  command->add_subcommand("stats", "Folder, number of entries, size and limit")->callback([&exit_code] {
    exit_code = print_statistics();
  });

  CLI::App* const clearing = command->add_subcommand("clear", "Remove smem's entries, and no other file");
  auto dry_run = std::make_shared<bool>(false);
  clearing->add_flag("-n,--dry-run", *dry_run, "Only say what would be removed");
  clearing->callback([dry_run, &exit_code] { exit_code = clear(*dry_run); });

  CLI::App* const warm =
      command->add_subcommand("warm", "Build the programs that operations need, before they are needed");
  auto operations = std::make_shared<std::vector<std::string>>();
  auto device = std::make_shared<std::string>();
  warm->add_option("operations", *operations, "Only these operations")
      ->check(CLI::IsMember(operation_names()));
  add_device_option(warm, *device);
  warm->callback([device, operations, &exit_code] { exit_code = warm_cache(*device, *operations); });
}

}  // namespace smem::cli
