// Roofline plots of points at random places: names give way to each other, in a loop that must end.
#include "cli/svg.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cmath>
#include <random>
#include <string>

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
  }
  fmt::print("{} plots\n", kPlots);
}
