/// Pictures of measurements, as SVG: bars of a ladder, and points under a roof.
#pragma once

#include <string>
#include <vector>

namespace smem::cli {

/// A horizontal bar.
struct Bar {
  std::string name;
  std::string text;      ///< beside its end
  std::string note;      ///< under the name, small
  double value = 0;      ///< share of the whole width, 0 to 1
  bool is_best = false;  ///< in the strong colour
};

/// `axis`: what a bar's length is a share of.
std::string draw_bars(const std::string& title, const std::string& subtitle, const std::string& axis,
                      const std::vector<Bar>& bars);

/// A point of a roofline plot.
struct RoofPoint {
  std::string name;
  double intensity = 0;  ///< operations a byte
  double rate = 0;       ///< operations a second
};

/// Points from this share of the roof on lie above it.
constexpr double kAboveRoof = 1.02;

/// The roof of a device that copies `bandwidth` bytes and does `fp32` operations a second.
struct RoofPlot {
  std::string title, subtitle;
  double bandwidth = 0, fp32 = 0;
  std::vector<RoofPoint> points;  ///< of operations with arithmetic
  std::string above;              ///< why points can lie above the roof
  std::vector<Bar> bars;          ///< of operations without arithmetic
  std::string axis;               ///< of the bars
};

/// On logarithmic axes; bars below.
std::string draw_roofline(const RoofPlot& plot);

}  // namespace smem::cli
