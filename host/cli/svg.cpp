#include "cli/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace smem::cli {

namespace {

// Okabe and Ito's colours, which colour-blind readers can distinguish.
constexpr const char* kInk = "#222222";
constexpr const char* kFaint = "#6b6b6b";
constexpr const char* kGrid = "#e3e3e3";
constexpr const char* kPlain = "#9ecae8";
constexpr const char* kStrong = "#0072b2";
constexpr const char* kBold = "font-weight=\"bold\"";
constexpr const char* kRoof = "#d55e00";
constexpr double kTitle = 17, kUsual = 13, kSmall = 12;  // sizes of letters

std::vector<double> powers_of_ten(double from, double to) {
  std::vector<double> powers;
  const int first = static_cast<int>(std::ceil(std::log10(from)));
  const int last = static_cast<int>(std::floor(std::log10(to)));
  for (int i = first; i <= last; ++i)
    powers.push_back(std::pow(10, i));
  return powers;
}

std::string escaped(const std::string& text) {
  std::string all;
  for (const char c : text)
    all += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return all;
}

class Svg {
 public:
  Svg(double width, double height) {
    body_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
        "height=\"{1:g}\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n"
        "<rect width=\"{0:g}\" height=\"{1:g}\" fill=\"#ffffff\"/>\n",
        width, height);
  }
  void text(double x, double y, const std::string& words, double size, const char* colour = kInk,
            const char* anchor = "start", const char* more = "") {
    body_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\" fill=\"{}\" text-anchor=\"{}\" {}>{}</text>\n", x,
        y, size, colour, anchor, more, escaped(words));
  }
  void line(double x0, double y0, double x1, double y1, const char* colour, double width = 1) {
    body_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{:g}\"/>\n",
        x0, y0, x1, y1, colour, width);
  }
  void bar(double x, double y, double width, double height, const char* colour) {
    body_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\" fill=\"{}\"/>\n", x, y,
        std::max(width, 1.0), height, colour);
  }
  void dot(double x, double y, double radius, const char* colour) {
    body_ +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:g}\" fill=\"{}\"/>\n", x, y, radius, colour);
  }
  std::string end() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

/// 4.2e12 as "4.2 T".
std::string short_number(double value) {
  const char* const units[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  while (value >= 999.5 && unit < 5) {
    value /= 1000;
    ++unit;
  }
  if (value < 0.95) return fmt::format("{:.1g}", value);
  return fmt::format("{:.{}f}{}", value, value < 9.95 && unit > 0 ? 1 : 0, units[unit]);
}

constexpr double kBarLeft = 170, kBarPlot = 470, kBarRight = 150, kBarStep = 40;

/// Bars from `top` on, over an axis from 0 to 1.
void add_bars(Svg& svg, double top, const std::string& axis, const std::vector<Bar>& bars) {
  constexpr double kBar = 18;
  const double end = top + kBarStep * static_cast<double>(bars.size());
  for (int i = 0; i <= 4; ++i) {
    const double x = kBarLeft + kBarPlot * i / 4;
    svg.line(x, top - 8, x, end, kGrid);
    svg.text(x, end + 17, fmt::format("{:g}", 0.25 * i), kSmall, kFaint, "middle");
  }
  svg.text(kBarLeft + kBarPlot / 2, end + 34, axis, kSmall, kFaint, "middle");
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const double y = top + kBarStep * static_cast<double>(i),
                 length = kBarPlot * std::clamp(bar.value, 0.0, 1.05);
    svg.bar(kBarLeft, y, length, kBar, bar.is_best ? kStrong : kPlain);
    svg.text(kBarLeft - 10, y + 13.5, bar.name, kUsual, kInk, "end", bar.is_best ? kBold : "");
    svg.text(kBarLeft + length + 7, y + 13.5, bar.text, kUsual, kInk);
    svg.text(kBarLeft, y + kBar + 12.5, bar.note, kSmall, kFaint);
  }
}

bool is_above(const RoofPoint& p, const RoofPlot& plot) {
  return p.rate > kAboveRoof * std::min(plot.fp32, p.intensity * plot.bandwidth);
}

/// Where a roofline plot is: its axes, in pixels.
struct RoofAxes {
  static constexpr double kLeft = 84, kTop = 76, kWidth = 660, kHeight = 420;
  double least, most;      ///< operations a byte
  double lowest, highest;  ///< operations a second

  explicit RoofAxes(const RoofPlot& plot)
      : least(0.05),
        most(4 * plot.fp32 / plot.bandwidth),
        lowest(least * plot.bandwidth / 4),
        highest(2.5 * plot.fp32) {
    for (const RoofPoint& p : plot.points) {
      least = std::min(least, p.intensity / 2);
      most = std::max(most, 3 * p.intensity);
      lowest = std::min(lowest, p.rate / 2);
      highest = std::max(highest, 2 * p.rate);
    }
  }
  double x(double intensity) const {
    return kLeft + kWidth * std::log(intensity / least) / std::log(most / least);
  }
  double y(double rate) const {
    return kTop + kHeight * (1 - std::log(rate / lowest) / std::log(highest / lowest));
  }
};

/// A line of text in a roofline plot: where it begins and ends, and its base line.
struct Name {
  double begin, end, at;
};
constexpr double kLetter = 6.8;  ///< width of a letter

/// \returns the names of the two rates.
std::vector<Name> add_roof(Svg& svg, const RoofAxes& axes, const RoofPlot& plot) {
  constexpr double kEnd = RoofAxes::kTop + RoofAxes::kHeight, kRight = RoofAxes::kLeft + RoofAxes::kWidth;
  for (const double v : powers_of_ten(axes.least, axes.most)) {
    svg.line(axes.x(v), RoofAxes::kTop, axes.x(v), kEnd, kGrid);
    svg.text(axes.x(v), kEnd + 18, fmt::format("{:g}", v), kSmall, kFaint, "middle");
  }
  for (const double v : powers_of_ten(axes.lowest, axes.highest)) {
    svg.line(RoofAxes::kLeft, axes.y(v), kRight, axes.y(v), kGrid);
    svg.text(RoofAxes::kLeft - 8, axes.y(v) + 4, short_number(v), kSmall, kFaint, "end");
  }
  svg.text(RoofAxes::kLeft + RoofAxes::kWidth / 2, kEnd + 38,
           "floating-point operations a byte of global memory", kUsual, kFaint, "middle");
  svg.text(0, 0, "floating-point operations a second", kUsual, kFaint, "middle",
           fmt::format("transform=\"translate(22 {}) rotate(-90)\"", RoofAxes::kTop + RoofAxes::kHeight / 2)
               .c_str());
  const double knee = plot.fp32 / plot.bandwidth;
  svg.line(axes.x(axes.least), axes.y(axes.least * plot.bandwidth), axes.x(knee), axes.y(plot.fp32), kRoof,
           2.5);
  svg.line(axes.x(knee), axes.y(plot.fp32), axes.x(axes.most), axes.y(plot.fp32), kRoof, 2.5);
  std::vector<Name> names;
  const auto name = [&](double end, double at, const std::string& text) {
    svg.text(end, at, text, kSmall, kRoof, "end");
    names.push_back({end - kLetter * static_cast<double>(text.size()), end, at});
  };
  name(axes.x(axes.most) - 4, axes.y(plot.fp32) - 8,
       fmt::format("fp32, measured: {}", short_number(plot.fp32)));
  // Above the slope, where no point lies that is under the roof.
  const double upper = std::pow(axes.least, 0.3) * std::pow(knee, 0.7);
  name(axes.x(upper) - 12, axes.y(upper * plot.bandwidth),
       fmt::format("copy, measured: {}B/s", short_number(plot.bandwidth)));
  return names;
}

/// Where the name of a point stands: at its right, and lower until it meets nothing; or at its left, and
/// higher, where that is nearer.
struct Place {
  Name name;
  bool at_left;
};

Place place_of(const RoofPoint& p, const RoofAxes& axes, const RoofPlot& plot,
               const std::vector<Name>& taken) {
  constexpr double kLine = 14, kDrop = 4;  // of a base line below the middle of the letters
  const double x = axes.x(p.intensity), y = axes.y(p.rate) + kDrop;
  const double length = 16 + kLetter * static_cast<double>(p.name.size());
  const auto place = [&](bool at_left) {
    Name name{at_left ? x - length : x, at_left ? x : x + length, y};
    // By more than rounding: else a name that its step leaves a little too near makes the same step forever.
    const auto give_way = [&](double obstacle, double distance) {
      constexpr double kRounding = 0.01;
      if (std::abs(obstacle - name.at) >= distance - kRounding) return false;
      name.at = obstacle + (at_left ? -distance : distance);
      return true;
    };
    for (bool again = true; again;) {
      again = false;
      for (const Name& other : taken)
        again |= other.begin < name.end && name.begin < other.end && give_way(other.at, kLine);
      for (const RoofPoint& other : plot.points) {
        const double other_x = axes.x(other.intensity);
        if (other_x == x || other_x <= name.begin || other_x >= name.end) continue;
        again |= give_way(axes.y(other.rate) + kDrop, kLine - 2);
      }
    }
    return Place{name, at_left};
  };
  const auto outside = [](const Name& name) {
    return std::max({RoofAxes::kLeft - name.begin, name.end - RoofAxes::kLeft - RoofAxes::kWidth - kLine,
                     RoofAxes::kTop + kLine - name.at, name.at - RoofAxes::kTop - RoofAxes::kHeight, 0.0});
  };
  const Place right = place(false), left = place(true);
  constexpr double kPatience = 8;  // a name at its right may stand so much farther away
  const auto cost = [&](const Place& one) { return std::abs(one.name.at - y) + 100 * outside(one.name); };
  return cost(left) + kPatience < cost(right) ? left : right;
}

void add_points(Svg& svg, const RoofAxes& axes, const RoofPlot& plot, std::vector<Name> taken) {
  std::vector<RoofPoint> sorted = plot.points;
  std::sort(sorted.begin(), sorted.end(),
            [](const RoofPoint& a, const RoofPoint& b) { return a.rate > b.rate; });
  for (const RoofPoint& p : sorted) {
    const double x = axes.x(p.intensity), y = axes.y(p.rate);
    const Place place = place_of(p, axes, plot, taken);
    const double at = place.name.at;
    taken.push_back(place.name);
    svg.dot(x, y, 4.5, is_above(p, plot) ? kRoof : kStrong);
    if (std::abs(at - y - 4) > 1) svg.line(x, y, x + (place.at_left ? -8 : 8), at - 4, kFaint, 0.7);
    svg.text(x + (place.at_left ? -9 : 9), at, p.name, kSmall, kInk, place.at_left ? "end" : "start");
  }
}

}  // namespace

std::string draw_bars(const std::string& title, const std::string& subtitle, const std::string& axis,
                      const std::vector<Bar>& bars) {
  constexpr double kTop = 76;
  Svg svg(kBarLeft + kBarPlot + kBarRight, kTop + kBarStep * static_cast<double>(bars.size()) + 44);
  svg.text(20, 30, title, kTitle, kInk, "start", kBold);
  svg.text(20, 51, subtitle, kUsual, kFaint);
  add_bars(svg, kTop, axis, bars);
  return svg.end();
}

std::string draw_roofline(const RoofPlot& plot) {
  const RoofAxes axes(plot);
  const bool any_above = std::any_of(plot.points.begin(), plot.points.end(),
                                     [&](const RoofPoint& p) { return is_above(p, plot); });
  constexpr double kEnd = RoofAxes::kTop + RoofAxes::kHeight + 50;
  const double below = kEnd + (any_above ? 24 : 0);
  const double bars = plot.bars.empty() ? 0 : 76 + kBarStep * static_cast<double>(plot.bars.size());
  Svg svg(RoofAxes::kLeft + RoofAxes::kWidth + 46, below + bars + 16);
  svg.text(20, 30, plot.title, kTitle, kInk, "start", kBold);
  svg.text(20, 51, plot.subtitle, kUsual, kFaint);
  add_points(svg, axes, plot, add_roof(svg, axes, plot));
  if (any_above) {
    svg.dot(24, kEnd + 12, 4.5, kRoof);
    svg.text(36, kEnd + 16, plot.above, kSmall, kInk);
  }
  if (!plot.bars.empty()) {
    svg.text(20, below + 22, "Operations without arithmetic", kUsual, kInk, "start", kBold);
    add_bars(svg, below + 44, plot.axis, plot.bars);
  }
  return svg.end();
}

}  // namespace smem::cli
