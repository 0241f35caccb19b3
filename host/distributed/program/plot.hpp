/// A picture of strong and weak scaling.
#pragma once

#include <string>
#include <vector>

namespace smem::distributed::program {

/// The efficiency of an operation on a number of ranks.
struct ScalingPoint {
  std::size_t ranks = 1;
  double strong = 0, weak = 0;
  bool is_measured = false;  ///< else simulated: computed by the model
};

struct ScalingLine {
  std::string name;
  std::vector<ScalingPoint> points;
};

/// As SVG: two plots of efficiency over ranks, on a logarithmic axis. Measured points are filled, simulated
/// ones are hollow, on dashed lines.
std::string draw_scaling(const std::string& title, const std::string& subtitle,
                         const std::vector<ScalingLine>& lines);

}  // namespace smem::distributed::program
