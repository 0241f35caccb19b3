/// The optimisation steps of operations: every variant on one large case, measured and recorded
/// (results.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smem::cli {

void ladder_transpose(const std::string& device);
void ladder_reduce(const std::string& device);
void ladder_scan(const std::string& device);
void ladder_histogram(const std::string& device);
void ladder_select(const std::string& device);
void ladder_gemm(const std::string& device);

/// An operation that has a ladder.
struct Ladder {
  std::string_view operation;
  void (*measure)(const std::string& device);
};

/// All of them, in the order of their names' first use.
const std::vector<Ladder>& ladders();
std::vector<std::string> ladder_names();

/// What the variant does that the one before it does not, in one clause; empty where nobody says.
std::string_view step_of(std::string_view operation, std::string_view variant);

}  // namespace smem::cli
