// What an operation's model chooses among, as text and JSON.
#include "operations/operation.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace smem::operations {

std::string text_of(const std::vector<Candidate>& candidates) {
  constexpr std::size_t kMost = 8;
  if (candidates.empty()) return {};
  std::string text = fmt::format("  predicted by the model of shapes, of {} plans\n", candidates.size());
  for (std::size_t i = 0; i < std::min(candidates.size(), kMost); ++i)
    text += fmt::format("    {:.4f} ms  {}\n", candidates[i].seconds * 1e3, candidates[i].text);
  return text;
}

std::string with_candidates(const std::string& plan, const std::vector<Candidate>& candidates) {
  if (candidates.empty()) return plan;
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(plan);
  for (const Candidate& one : candidates)
    json["candidates"].push_back({{"plan", one.text}, {"predicted_seconds", one.seconds}});
  return json.dump(2) + "\n";
}

}  // namespace smem::operations
