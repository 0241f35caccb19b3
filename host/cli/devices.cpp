// smem devices: what each OpenCL device is, and the facts that plans are made of.
#include "cli/beside.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace smem::cli {

namespace {

std::string yes_no(bool value) { return value ? "yes" : "no"; }

void print_details(const Device& d) {
  const auto line = [](std::string_view what, const std::string& value) {
    print_fitted(fmt::format("    {:<16}{}\n", what, value.empty() ? "unknown" : value));
  };
  line("platform", d.platform);
  line("version", d.platform_version);
  line("driver", fmt::format("{}; {}", d.driver, d.opencl_c));
  line("vendor", fmt::format("{} ({})", d.vendor_name, name_of(d.vendor)));
  line("architecture", d.architecture);
  line("compute units", fmt::format("{} at {} MHz", d.compute_units, d.clock_mhz));
  line("work-group", fmt::format("at most {} work-items, {} x {} x {} by dimension", d.max_work_group,
                                 d.max_work_items[0], d.max_work_items[1], d.max_work_items[2]));
  line("sub-group",
       fmt::format("{} work-items; sub-group functions: {}; ballots: {}", d.sub_group_width,
                   d.sub_groups ? d.sub_group_language : "no",
                   d.ballot_width != 0 ? fmt::format("of {} work-items", d.ballot_width) : "no"));
  line(
      "local memory",
      fmt::format("{} usable, {} reported; {}", bytes_text(d.local_bytes), bytes_text(d.local_bytes_reported),
                  d.local_is_cache ? "ordinary cached memory, without banks"
                                   : fmt::format("{} banks of {} bytes", d.local_banks, d.local_bank_bytes)));
  line("global memory",
       fmt::format("{}, at most {} in one buffer; cache {} in lines of {} bytes", bytes_text(d.global_bytes),
                   bytes_text(d.max_allocation), bytes_text(d.cache_bytes), d.cache_line_bytes));
  if (d.unit != UnitLimits{}) {
    line("compute unit",
         fmt::format("{} of local memory, {} registers, {} work-items and {} groups at once",
                     bytes_text(d.unit.local_bytes), d.unit.registers, d.unit.work_items, d.unit.groups));
  }
  line("matrix unit", fmt::format("{}{}", name_of(d.matrix_unit), d.emulated_unit ? ", emulated" : ""));
  line("family", std::string(family_of(d)));
  line("arithmetic", fmt::format("fp64: {}; fp16: {}; 64-bit atomics: {}", yes_no(d.fp64), yes_no(d.fp16),
                                 yes_no(d.int64_atomics)));
  line("event timer", fmt::format("{} ns", d.timer_ns));
  for (const BrokenVariant& broken : d.broken) {
    line("broken", fmt::format("{} / {}{}: {}", broken.operation, broken.variant,
                               broken.type.empty() ? "" : " of " + broken.type, broken.reason));
  }
}

int run(bool verbose) {
  const std::vector<Device> found = devices();
  if (found.empty()) {
    fmt::print(stderr,
               "smem: no OpenCL device: install the GPU's OpenCL driver, or PoCL for the CPU (Debian package "
               "pocl-opencl-icd)\n");
    return kFailure;
  }
  std::optional<Device> chosen;
  std::string why_none;
  try {
    chosen = Context().device();
  } catch (const Error& error) {  // an SMEM_DEVICE that names nothing; the list is still worth seeing
    why_none = error.what();
  }
  // The names have what is left of the line.
  constexpr std::size_t kNumbers = 46, kLeast = 34, kMost = 57;
  const std::size_t names = std::clamp(columns_of(stdout), kNumbers + kLeast, kNumbers + kMost) - kNumbers;
  const std::size_t device_width = names - names * 2 / 5 - 3, platform_width = names * 2 / 5;
  Table table({{"", 3, Column::Kind::text},
               {"device", device_width, Column::Kind::text},
               {"platform", platform_width, Column::Kind::text},
               {"type", 5, Column::Kind::text},
               {"units", 5},
               {"local", 9},
               {"group", 6},
               {"sub", 5},
               {"fp64", 5},
               {"memory", 11}});
  table.print_head();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Device& d = found[i];
    // Not all facts: the memory that PoCL reports changes with what is free.
    const bool is_default =
        chosen && chosen->name == d.name && chosen->platform_version == d.platform_version;
    if (is_default) chosen.reset();  // of several equal devices, the first
    table.print_row({fmt::format("{}{}", i, is_default ? "*" : ""), short_text(d.name, device_width - 1),
                     short_text(d.platform, platform_width - 1), short_text(std::string(name_of(d.type)), 4),
                     fmt::format("{}", d.compute_units), bytes_text(d.local_bytes),
                     fmt::format("{}", d.max_work_group), fmt::format("{}", d.sub_group_width),
                     yes_no(d.fp64), bytes_text(d.global_bytes)});
    if (verbose) print_details(d);
  }
  print_fitted(fmt::format(
      "* is used when nothing else is asked for. units: compute units; local: usable local memory of a "
      "work-group; group: largest work-group; sub: sub-group (warp, wave) width.{}\n",
      verbose ? "" : " More: smem devices --verbose"));
  if (!why_none.empty()) {
    std::fflush(stdout);
    fmt::print(stderr, "smem: {}\n", why_none);
    return kFailure;
  }
  return kGood;
}

/// Facts as explain --like reads them: of the device that was asked for, else of the default one.
int print_json(const std::string& device) {
  fmt::print("{}", to_json(Context({.device = device}).device()));
  return kGood;
}

}  // namespace

void add_devices(CLI::App* root, int& exit_code) {
  CLI::App* const command =
      root->add_subcommand("devices", "List the OpenCL devices, and the facts that plans are made from");
  auto verbose = std::make_shared<bool>(false);
  command->add_flag("-v,--verbose", *verbose, "All facts of each device");
  auto device = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::Option* const json_flag = command->add_flag(
      "--json", *json, "The facts of one device as JSON: the file that smem explain --like reads");
  command
      ->add_option("-d,--device", *device,
                   "The device of --json: an index, a part of its name, gpu, cpu or accelerator")
      ->needs(json_flag);
  command->callback([=, &exit_code] {
    // Of several ranks one table: which rank has which devices.
    if (is_one_of_several() && !*json && !*verbose) become_beside("distributed", {"devices"});
    exit_code = *json ? print_json(*device) : run(*verbose);
  });
}

}  // namespace smem::cli
