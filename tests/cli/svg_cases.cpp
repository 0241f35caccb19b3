// Roofline plots of points at random places: names give way to each other, in a loop that must end.
#include "cli/svg.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace {

/// Whether two of the names lie over each other, as wide as the letters of a small font.
bool names_meet(const std::string& drawn) {
  struct Name {
    double begin, y;
  };
  constexpr double kWidth = 6.5 * 17, kHeight = 13.5;
  std::vector<Name> names;
  for (std::size_t end = 0; (end = drawn.find(">operation variant<", end)) != std::string::npos; ++end) {
    const std::string text = drawn.substr(drawn.rfind('<', end), end - drawn.rfind('<', end));
    const auto number = [&](const char* of) { return std::stod(text.substr(text.find(of) + 4)); };
    const bool at_right = text.find("\"end\"") != std::string::npos;
    names.push_back({number(" x=\"") - (at_right ? kWidth : 0), number(" y=\"")});
  }
  for (const Name& a : names)
    for (const Name& b : names)
      if (&a != &b && std::abs(a.begin - b.begin) < kWidth && std::abs(a.y - b.y) < kHeight) return true;
  return false;
}

}  // namespace

int main() {
  constexpr int kPlots = 500, kPoints = 24;
  constexpr unsigned kPatience = 60;  // seconds, for what takes a tenth of one
  alarm(kPatience);
  std::mt19937 generator(1);
  const auto between = [&](double low, double high) {
    constexpr double kRange = 4294967296.0;
    return low + (high - low) * (static_cast<double>(generator()) / kRange);
  };
  for (int i = 0; i < kPlots; ++i) {
    smem::cli::RoofPlot plot;
    plot.bandwidth = 2e10;
    plot.fp32 = 1e11;
    for (int k = 0; k < kPoints; ++k)
      plot.points.push_back({"operation variant", std::exp2(between(-2, 6)), std::pow(10, between(8, 11.5))});
    const std::string drawn = smem::cli::draw_roofline(plot);
    std::size_t names = 0;
    for (std::size_t at = 0; (at = drawn.find("operation variant", at)) != std::string::npos; ++at)
      ++names;
    if (names < kPoints) {
      fmt::print("plot {}: {} of {} names\n", i, names, kPoints);
      return 1;
    }
    if (names_meet(drawn)) {
      fmt::print("plot {}: names meet\n", i);
      return 1;
    }
  }
  fmt::print("{} plots\n", kPlots);
}
