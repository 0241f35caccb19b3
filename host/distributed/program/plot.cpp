// Draws strong and weak scaling.
#include "distributed/program/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace smem::distributed::program {

namespace {

constexpr double kWidth = 380, kHeight = 300, kTop = 70, kMostEfficiency = 1.2, kDecades = 10;  // powers of 2
constexpr std::array<const char*, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#e69f00", "#56b4e9", "#000000", "#7a7a00"};

/// Text between tags.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return result;
}

void draw_axes(std::string& svg, double left, const char* title) {
  const auto out = std::back_inserter(svg);
  fmt::format_to(out, "<text x='{}' y='{}' class='head'>{}</text>\n", left, kTop - 10, title);
  for (int power = 0; power <= static_cast<int>(kDecades); power += 2) {
    const double x = left + kWidth * power / kDecades;
    fmt::format_to(out,
                   "<line x1='{0}' x2='{0}' y1='{1}' y2='{2}' class='grid'/><text x='{0}' y='{3}' "
                   "text-anchor='middle'>{4}</text>\n",
                   x, kTop, kTop + kHeight, kTop + kHeight + 16, 1 << power);
  }
  for (int tick = 0; tick <= 6; ++tick) {
    const double y = kTop + kHeight * (1 - tick / 6.0);
    fmt::format_to(out,
                   "<line x1='{0}' x2='{1}' y1='{2}' y2='{2}' class='grid'/><text x='{3}' y='{4}' "
                   "text-anchor='end'>{5:.1f}</text>\n",
                   left, left + kWidth, y, left - 6, y + 4, kMostEfficiency * tick / 6);
  }
  fmt::format_to(out, "<text x='{}' y='{}' text-anchor='middle'>ranks</text>\n", left + kWidth / 2,
                 kTop + kHeight + 34);
}

void draw_line(std::string& svg, double left, const ScalingLine& line, double ScalingPoint::*value,
               const char* colour) {
  const auto out = std::back_inserter(svg);
  const auto x_of = [&](const ScalingPoint& p) {
    return left + kWidth * std::min(std::log2(static_cast<double>(p.ranks)), kDecades) / kDecades;
  };
  const auto y_of = [&](const ScalingPoint& p) {
    return kTop + kHeight * (1 - std::clamp(p.*value, 0.0, kMostEfficiency) / kMostEfficiency);
  };
  std::string path;
  for (const ScalingPoint& p : line.points) {
    if (p.is_measured) continue;
    fmt::format_to(std::back_inserter(path), "{:.1f},{:.1f} ", x_of(p), y_of(p));
    fmt::format_to(out, "<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='white' stroke='{}'/>\n", x_of(p),
                   y_of(p), colour);
  }
  fmt::format_to(out, "<polyline points='{}' fill='none' stroke='{}' stroke-dasharray='5 3'/>\n", path,
                 colour);
  for (const ScalingPoint& p : line.points) {
    if (!p.is_measured || p.*value <= 0) continue;
    fmt::format_to(out, "<circle cx='{:.1f}' cy='{:.1f}' r='4.5' fill='{}'/>\n", x_of(p), y_of(p), colour);
  }
}

}  // namespace

std::string draw_scaling(const std::string& title, const std::string& subtitle,
                         const std::vector<ScalingLine>& lines) {
  constexpr double kFirst = 50, kSecond = kFirst + kWidth + 60, kNames = kSecond + kWidth + 20;
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{}' font-family='sans-serif' "
      "font-size='12'>\n"
      "<style>.grid{{stroke:#ddd}}.head{{font-weight:bold}}</style>\n<rect width='100%' height='100%' "
      "fill='white'/>\n<text x='{}' y='22' font-size='16' class='head'>{}</text>\n<text x='{}' "
      "y='40'>{}</text>\n",
      kNames + 150, kTop + kHeight + 70, kFirst, escaped(title), kFirst, escaped(subtitle));
  draw_axes(svg, kFirst, "strong scaling: efficiency, one problem");
  draw_axes(svg, kSecond, "weak scaling: efficiency, so much a rank");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const char* colour = kColours[i % kColours.size()];
    draw_line(svg, kFirst, lines[i], &ScalingPoint::strong, colour);
    draw_line(svg, kSecond, lines[i], &ScalingPoint::weak, colour);
    fmt::format_to(std::back_inserter(svg), "<text x='{}' y='{}' fill='{}'>{}</text>\n", kNames,
                   kTop + 14 + 18 * static_cast<double>(i), colour, escaped(lines[i].name));
  }
  fmt::format_to(
      std::back_inserter(svg),
      "<text x='{}' y='{}'>Filled points are measured. Hollow points on dashed lines are simulated: computed "
      "by the model from rates.</text>\n</svg>\n",
      kFirst, kTop + kHeight + 56);
  return svg;
}

}  // namespace smem::distributed::program
