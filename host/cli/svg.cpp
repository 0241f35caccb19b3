#include "cli/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace smem::cli {

namespace {

// Okabe and Ito's colours, which colour-blind readers tell apart.
constexpr const char* kInk = "#222222";
constexpr const char* kFaint = "#6b6b6b";
constexpr const char* kGrid = "#e3e3e3";
constexpr const char* kPlain = "#9ecae8";
constexpr const char* kStrong = "#0072b2";
constexpr const char* kBold = "font-weight=\"bold\"";
constexpr const char* kRoof = "#d55e00";

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
  return fmt::format("{:.{}f}{}", value, value < 9.95 && unit > 0 ? 1 : 0, units[unit]);
}

}  // namespace

std::string draw_bars(const std::string& title, const std::string& subtitle, const std::string& axis,
                      const std::vector<Bar>& bars) {
  constexpr double kLeft = 170, kPlot = 470, kRight = 150, kTop = 76, kStep = 38, kBar = 18;
  const double height = kTop + kStep * static_cast<double>(bars.size()) + 44, end = height - 40;
  Svg svg(kLeft + kPlot + kRight, height);
  svg.text(20, 30, title, 17, kInk, "start", kBold);
  svg.text(20, 50, subtitle, 12, kFaint);
  for (int i = 0; i <= 4; ++i) {
    const double x = kLeft + kPlot * i / 4;
    svg.line(x, kTop - 8, x, end, kGrid);
    svg.text(x, end + 16, fmt::format("{:g}", 0.25 * i), 11, kFaint, "middle");
  }
  svg.text(kLeft + kPlot / 2, end + 32, axis, 11, kFaint, "middle");
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const double y = kTop + kStep * static_cast<double>(i), length = kPlot * std::clamp(bar.value, 0.0, 1.05);
    svg.bar(kLeft, y, length, kBar, bar.is_best ? kStrong : kPlain);
    svg.text(kLeft - 10, y + 13.5, bar.name, 13, kInk, "end", bar.is_best ? kBold : "");
    svg.text(kLeft + length + 7, y + 13.5, bar.text, 12, kInk);
    svg.text(kLeft, y + kBar + 12, bar.note, 10, kFaint);
  }
  return svg.end();
}

std::string draw_roofline(const std::string& title, const std::string& subtitle, double bandwidth,
                          double fp32, const std::vector<RoofPoint>& points) {
  constexpr double kLeft = 84, kTop = 76, kWidth = 660, kHeight = 420;
  double least = 0.05, most = 4 * fp32 / bandwidth, lowest = least * bandwidth / 4, highest = 2.5 * fp32;
  for (const RoofPoint& p : points) {
    least = std::min(least, p.intensity / 2);
    most = std::max(most, 3 * p.intensity);
    lowest = std::min(lowest, p.rate / 2);
    highest = std::max(highest, 2 * p.rate);
  }
  const auto x_of = [&](double v) { return kLeft + kWidth * std::log(v / least) / std::log(most / least); };
  const auto y_of = [&](double v) {
    return kTop + kHeight * (1 - std::log(v / lowest) / std::log(highest / lowest));
  };
  Svg svg(kLeft + kWidth + 40, kTop + kHeight + 66);
  svg.text(20, 30, title, 17, kInk, "start", kBold);
  svg.text(20, 50, subtitle, 12, kFaint);
  for (const double v : powers_of_ten(least, most)) {
    svg.line(x_of(v), kTop, x_of(v), kTop + kHeight, kGrid);
    svg.text(x_of(v), kTop + kHeight + 18, fmt::format("{:g}", v), 11, kFaint, "middle");
  }
  for (const double v : powers_of_ten(lowest, highest)) {
    svg.line(kLeft, y_of(v), kLeft + kWidth, y_of(v), kGrid);
    svg.text(kLeft - 8, y_of(v) + 4, short_number(v), 11, kFaint, "end");
  }
  svg.text(kLeft + kWidth / 2, kTop + kHeight + 42, "floating-point operations a byte of global memory", 12,
           kFaint, "middle");
  svg.text(0, 0, "floating-point operations a second", 12, kFaint, "middle",
           fmt::format("transform=\"translate(24 {}) rotate(-90)\"", kTop + kHeight / 2).c_str());
  const double knee = fp32 / bandwidth;
  svg.line(x_of(least), y_of(least * bandwidth), x_of(knee), y_of(fp32), kRoof, 2.5);
  svg.line(x_of(knee), y_of(fp32), x_of(most), y_of(fp32), kRoof, 2.5);
  svg.text(x_of(most) - 4, y_of(fp32) - 8, fmt::format("fp32, measured: {}", short_number(fp32)), 11, kRoof,
           "end");
  // Above the slope, where no point lies that is under the roof.
  const double upper = std::pow(least, 0.3) * std::pow(knee, 0.7);
  svg.text(x_of(upper) - 12, y_of(upper * bandwidth),
           fmt::format("copy, measured: {}B/s", short_number(bandwidth)), 11, kRoof, "end");
  // Names that would meet stand one below the other, and none on a point.
  constexpr double kLetter = 6.2;
  std::vector<RoofPoint> sorted = points;
  std::sort(sorted.begin(), sorted.end(),
            [](const RoofPoint& a, const RoofPoint& b) { return a.rate > b.rate; });
  std::vector<std::pair<double, double>> taken;
  for (const RoofPoint& p : sorted) {
    const double x = x_of(p.intensity), y = y_of(p.rate);
    const bool at_right = x > kLeft + kWidth - 130;
    const double length = 16 + kLetter * static_cast<double>(p.name.size());
    const double begin = at_right ? x - length : x, end = at_right ? x : x + length;
    double at = y + 4;
    for (bool again = true; again;) {
      again = false;
      for (const auto& [other_x, other_y] : taken) {
        if (std::abs(other_x - x) < 130 && std::abs(other_y - at) < 13) {
          at = other_y + 13;
          again = true;
        }
      }
      for (const RoofPoint& other : points) {
        const double other_x = x_of(other.intensity), other_y = y_of(other.rate);
        if (other_x == x || other_x <= begin || other_x >= end || std::abs(other_y + 4 - at) >= 11) continue;
        at = other_y + 4 + 11;
        again = true;
      }
    }
    taken.emplace_back(x, at);
    svg.dot(x, y, 4.5, kStrong);
    if (std::abs(at - y - 4) > 1) svg.line(x, y, x + (at_right ? -8 : 8), at - 4, kFaint, 0.7);
    svg.text(x + (at_right ? -9 : 9), at, p.name, 11, kInk, at_right ? "end" : "start");
  }
  return svg.end();
}

}  // namespace smem::cli
