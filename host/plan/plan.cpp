// Plans as values and as text.
#include "formatted.hpp"
#include "plan/sizes.hpp"

#include <smem/explain.hpp>
#include <smem/plan.hpp>

#include <mutex>
#include <tuple>

namespace smem {

std::size_t Launch::number(std::string_view name) const {
  for (const auto& [known, value] : numbers)
    if (known == name) return value;
  return 0;
}

std::string Launch::build_options() const {
  std::string options = "-cl-std=" + language;
  for (const auto& [name, value] : defines)
    options += formatted(" -D{}={}", name, value);
  for (const auto& [name, value] : text_defines)
    options += formatted(" -D{}={}", name, value);
  if (most_registers != 0) options += formatted(" -cl-nv-maxrregcount={}", most_registers);
  if (compiler_level != 0) options += formatted(" -cl-nv-opt-level={}", compiler_level);
  return options;
}

struct Alternatives::Made {
  explicit Made(Make make_all) : make(std::move(make_all)) {}
  std::once_flag once;
  Make make;
  std::vector<Alternative> all;
};

Alternatives::Alternatives(Make make) : made_(std::make_shared<Made>(std::move(make))) {}

const std::vector<Alternative>& Alternatives::all() const {
  static const std::vector<Alternative> none;
  if (!made_) return none;
  std::call_once(made_->once, [&] {
    made_->all = made_->make();
    made_->make = nullptr;
  });
  return made_->all;
}

std::size_t Plan::scratch_buffer_bytes() const {
  std::size_t bytes = 0;
  for (const Scratch& area : scratch)
    if (area.bytes > 0) bytes = plan::round_up(bytes, kScratchAlignment) + area.bytes;
  return bytes;
}

std::vector<const Launch*> Plan::launches() const {
  std::vector<const Launch*> all;
  for (const Launch& launch : before)
    all.push_back(&launch);
  all.push_back(this);
  for (const Launch& launch : after)
    all.push_back(&launch);
  return all;
}

std::string Plan::to_string() const { return explain(*this); }

bool operator==(const Plan& a, const Plan& b) {
  const auto values = [](const Plan& p) {
    return std::tie(static_cast<const Launch&>(p), p.evidence, p.before, p.after, p.rounds, p.scratch,
                    p.counters, p.scratch_bytes, p.overrides, p.in_place_of);
  };
  return values(a) == values(b);
}

}  // namespace smem
