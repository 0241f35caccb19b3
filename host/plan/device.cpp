// Facts about devices as values: their names, and smaller devices made of larger ones.
#include "formatted.hpp"

#include <smem/device.hpp>
#include <smem/error.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <vector>

namespace smem {

std::string_view name_of(DeviceType type) {
  switch (type) {
    case DeviceType::gpu:
      return "gpu";
    case DeviceType::cpu:
      return "cpu";
    case DeviceType::accelerator:
      return "accelerator";
  }
  return "?";
}

std::string_view name_of(Vendor vendor) {
  switch (vendor) {
    case Vendor::nvidia:
      return "nvidia";
    case Vendor::amd:
      return "amd";
    case Vendor::intel:
      return "intel";
    case Vendor::other:
      return "other";
  }
  return "?";
}

namespace {

[[noreturn]] void refuse_clamp(std::string_view entry) {
  throw Error({.operation = "clamp",
               .argument = "SMEM_CLAMP",
               .expected = "entries like local=32K, cache=1M, work_group=64, sub_group=16, compute_units=4, "
                           "poll_limit=0, fp64=0, forward_progress=0, ordered_start=0, retargeting=0 or "
                           "broken=gemm/async",
               .got = formatted("\"{}\"", entry)});
}

std::size_t number_in(std::string_view entry, std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || text.empty()) refuse_clamp(entry);
  const std::string_view unit(end, text.data() + text.size() - end);
  const unsigned shift = unit == "K" || unit == "k" ? 10 : unit == "M" || unit == "m" ? 20 : 0;
  if ((shift == 0 && !unit.empty()) || value > std::numeric_limits<std::size_t>::max() >> shift) {
    refuse_clamp(entry);
  }
  return value << shift;
}

/// "gemm/async" or "gemm/async/half".
BrokenVariant broken_in(std::string_view entry, std::string_view text) {
  std::vector<std::string> words{""};
  for (const char c : text) {
    if (c == '/') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  const bool has_empty = std::find(words.begin(), words.end(), "") != words.end();
  if (words.size() < 2 || words.size() > 3 || has_empty) refuse_clamp(entry);
  return {.operation = words[0],
          .variant = words[1],
          .type = words.size() == 3 ? words[2] : std::string(),
          .reason = "the clamp of this device says that it is broken"};
}

}  // namespace

Device clamp(Device device, std::string_view text) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) refuse_clamp(entry);
    const std::string_view key = entry.substr(0, equals);
    if (key == "broken") {
      device.broken.push_back(broken_in(entry, entry.substr(equals + 1)));
      continue;
    }
    const std::size_t value = number_in(entry, entry.substr(equals + 1));
    const bool may_be_zero = key == "local" || key == "fp64" || key == "forward_progress" ||
                             key == "ordered_start" || key == "retargeting" || key == "poll_limit";
    if (!may_be_zero && value == 0) refuse_clamp(entry);
    if (key == "local") {
      device.local_bytes = std::min(device.local_bytes, value);
      device.local_bytes_reported = std::min(device.local_bytes_reported, value);
    } else if (key == "cache") {
      device.cache_bytes = std::min(device.cache_bytes, value);
    } else if (key == "work_group") {
      device.max_work_group = std::min(device.max_work_group, value);
      for (std::size_t& items : device.max_work_items)
        items = std::min(items, value);
    } else if (key == "sub_group") {
      // Plans for a width that the device has not: its own functions for sub-groups are then of no use.
      device.sub_groups = device.sub_groups && device.sub_group_width == value;
      device.sub_group_width = value;
    } else if (key == "compute_units") {
      device.compute_units = std::min(device.compute_units, value);
    } else if (key == "fp64") {
      device.fp64 = device.fp64 && value != 0;
    } else if (key == "forward_progress") {
      device.forward_progress = device.forward_progress && value != 0;
    } else if (key == "poll_limit") {
      device.poll_limit = std::min(device.poll_limit, value);
    } else if (key == "ordered_start") {
      device.ordered_start = device.ordered_start && value != 0;
    } else if (key == "retargeting") {
      device.retargeting = device.retargeting && value != 0;
    } else {
      refuse_clamp(entry);
    }
  }
  return device;
}

}  // namespace smem
