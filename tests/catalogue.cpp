// Prints every kernel configuration that smem would launch on a target, one a line, for checks that compile
// them without the device. Fields are separated by tabs: name, kernel file relative to cl/, entry point,
// work-group, bytes of local memory, -D options. With --halves, what plans choose for halves alone.
#include "support/catalogue.hpp"
#include "support/targets.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

namespace {

int usage() {
  std::fputs("usage: smem_catalogue --target NAME [--halves] | --list-targets\n", stderr);
  return 2;
}

int print(std::string_view target, bool halves) {
  for (const smem::Device& device : test::all_targets()) {
    if (device.name != target) continue;
    for (const test::Configuration& c :
         halves ? test::chosen_for_halves(device) : test::configurations(device)) {
      fmt::print("{}\t{}\t{}\t{},{},{}\t{}\t{}\n", c.name, c.plan.kernel_file, c.plan.entry_point,
                 c.plan.work_group[0], c.plan.work_group[1], c.plan.work_group[2], c.plan.local_bytes,
                 c.plan.build_options());
    }
    return 0;
  }
  std::fputs(fmt::format("smem_catalogue: no target \"{}\"\n", target).c_str(), stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string_view option = argc > 1 ? argv[1] : "";
    if (option == "--target" && argc == 3) return print(argv[2], false);
    if (option == "--target" && argc == 4 && argv[3] == std::string_view("--halves"))
      return print(argv[2], true);
    if (option == "--list-targets" && argc == 2) {
      for (const smem::Device& device : test::all_targets())
        fmt::print("{}\n", device.name);
      return 0;
    }
    return usage();
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
