// Classes of problems for tuning: what must be equal, and the sizes that may differ by a factor of two.
#include <smem/tuning_plan.hpp>

#include "formatted.hpp"

#include <cmath>
#include <string_view>

namespace smem {

namespace {

/// Bytes from which vectors of 16 bytes can be read: rows that begin at less often have a plan of their own.
constexpr std::size_t kAligned = 16;

/// What must be equal of a member, in words; empty: nothing.
std::string kind_of(const FieldValue& value) {
  switch (value.role) {
    case FieldRole::choice:
      if (value.text == "false" || value.text.empty()) return {};
      return value.text == "true" ? std::string(value.name) : formatted("{} {}", value.name, value.text);
    case FieldRole::alignment:
      return value.number >= kAligned ? std::string() : formatted("{} {}", value.name, value.number);
    default:
      return {};
  }
}

}  // namespace

std::string TuningClass::to_string() const {
  std::string text = formatted("{}: {}", operation, kind);
  for (const TuningExtent& extent : extents)
    text += formatted(", {} {}", extent.name, extent.value);
  return text;
}

double distance(const TuningClass& a, const TuningClass& b) {
  constexpr double kApart = -1;
  if (a.operation != b.operation || a.kind != b.kind || a.extents.size() != b.extents.size()) return kApart;
  double sum = 0;
  for (std::size_t i = 0; i < a.extents.size(); ++i) {
    const TuningExtent &x = a.extents[i], &y = b.extents[i];
    if (x.name != y.name) return kApart;
    if (x.value == y.value) continue;
    if (x.value == 0 || y.value == 0) return kApart;
    const double ratio = std::abs(std::log2(static_cast<double>(x.value) / static_cast<double>(y.value)));
    if (ratio > 1) return kApart;
    sum += ratio;
  }
  return sum;
}

std::string TuningEntry::evidence() const {
  std::string measured;
  for (const TuningExtent& extent : problems.extents)
    measured += formatted("{}{} {}", measured.empty() ? "" : ", ", extent.name, extent.value);
  return formatted("tuned on this device: {:.2f} times the shipped plan, {}, at {}; {}", gain, shipped,
                   measured, date);
}

TuningClass detail::tuning_class(std::string_view operation, const std::vector<FieldValue>& values) {
  TuningClass made{std::string(operation), {}, {}};
  for (const FieldValue& value : values) {
    if (value.role == FieldRole::untuned && !value.text.empty() && value.text != "false") return {};
    if (value.role == FieldRole::extent && value.numbers.empty())
      made.extents.push_back({std::string(value.name), value.number});
    for (std::size_t i = 0; value.role == FieldRole::extent && i < value.numbers.size(); ++i)
      made.extents.push_back({formatted("{}[{}]", value.name, i), value.numbers[i]});
    if (const std::string kind = kind_of(value); !kind.empty())
      made.kind += made.kind.empty() ? kind : ", " + kind;
  }
  return made;
}

}  // namespace smem
