// Facts about devices as values: their names, and smaller devices made of larger ones.
#include "formatted.hpp"
#include "plan/ballots.hpp"
#include "plan/matrix_unit.hpp"
#include "plan/sizes.hpp"

#include <smem/device.hpp>
#include <smem/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace smem {

std::string_view name_of(DeviceType type) {
  static constexpr std::array<std::string_view, 3> kNames{"gpu", "cpu", "accelerator"};
  return plan::name_among(kNames, type);
}

std::string_view name_of(Vendor vendor) {
  static constexpr std::array<std::string_view, 4> kNames{"nvidia", "amd", "intel", "other"};
  return plan::name_among(kNames, vendor);
}

std::string_view name_of(MatrixUnit unit) { return plan::name_among(plan::kMatrixUnits, unit); }

namespace {

[[noreturn]] void refuse_clamp(std::string_view entry) {
  throw Error(
      {.operation = "clamp",
       .argument = "SMEM_CLAMP",
       .expected =
           "entries like local=32K, cache=1M, allocation=64M, work_group=64, sub_group=16, compute_units=4, "
           "poll_limit=0, fp64=0, forward_progress=0, ordered_start=0, retargeting=0, "
           "prefetch_builtin=0, ballots=0, vnni=0, matrix_unit=wmma or broken=gemm/async",
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

MatrixUnit unit_in(std::string_view entry, std::string_view text) {
  const auto found = std::find(plan::kMatrixUnits.begin(), plan::kMatrixUnits.end(), text);
  if (found == plan::kMatrixUnits.end()) refuse_clamp(entry);
  return static_cast<MatrixUnit>(found - plan::kMatrixUnits.begin());
}

}  // namespace

Device clamp(Device device, std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, bool Device::*>, 5> kFlags{
      {{"fp64", &Device::fp64},
       {"forward_progress", &Device::forward_progress},
       {"ordered_start", &Device::ordered_start},
       {"retargeting", &Device::retargeting},
       {"prefetch_builtin", &Device::prefetch_builtin}}};
  static constexpr std::array<std::pair<std::string_view, std::size_t Device::*>, 4> kMost{
      {{"allocation", &Device::max_allocation},
       {"cache", &Device::cache_bytes},
       {"compute_units", &Device::compute_units},
       {"poll_limit", &Device::poll_limit}}};
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) refuse_clamp(entry);
    const std::string_view key = entry.substr(0, equals);
    const auto named = [&](const auto& one) { return one.first == key; };
    if (key == "broken") {
      device.broken.push_back(broken_in(entry, entry.substr(equals + 1)));
      continue;
    }
    if (key == "matrix_unit") {
      const MatrixUnit unit = unit_in(entry, entry.substr(equals + 1));
      const bool is_own = device.matrix_unit == unit && !device.emulated_unit;
      device.matrix_unit = unit;
      device.emulated_unit = unit != MatrixUnit::none && !is_own;
      continue;
    }
    const std::size_t value = number_in(entry, entry.substr(equals + 1));
    if (const auto flag = std::find_if(kFlags.begin(), kFlags.end(), named); flag != kFlags.end()) {
      device.*flag->second = device.*flag->second && value != 0;
      continue;
    }
    if (key == "vnni") {
      device.avx512_vnni = device.avx512_vnni && value != 0;
      device.avx_vnni = device.avx_vnni && value != 0;
      continue;
    }
    if (value == 0 && key != "local" && key != "poll_limit" && key != "ballots") refuse_clamp(entry);
    if (key == "local") {
      device.local_bytes = std::min(device.local_bytes, value);
      device.local_bytes_reported = std::min(device.local_bytes_reported, value);
    } else if (key == "work_group") {
      device.max_work_group = std::min(device.max_work_group, value);
      for (std::size_t& items : device.max_work_items)
        items = std::min(items, value);
    } else if (key == "sub_group") {
      // Plans for a width that the device has not: its own functions for sub-groups are then of no use.
      device.sub_groups = device.sub_groups && device.sub_group_width == value;
      device.sub_group_width = value;
    } else if (key == "ballots") {
      // Of a size that the device was not tried with, too, to test it.
      if (value > plan::kMostBallotLanes || std::popcount(value) > 1) refuse_clamp(entry);
      if (device.ballot_width != 0) device.ballot_width = value;
    } else if (key == "vector") {
      // Plans of CPUs for vectors that the device has not, too: compilers make several of what it has.
      if (value != 16 && value != 32 && value != 64) refuse_clamp(entry);
      device.vector_bytes = value;
      device.wide_vectors = value == 64;
    } else if (const auto most = std::find_if(kMost.begin(), kMost.end(), named); most != kMost.end()) {
      device.*most->second = std::min(device.*most->second, value);
    } else {
      refuse_clamp(entry);
    }
  }
  return device;
}

}  // namespace smem
