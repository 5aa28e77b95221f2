// chart: frontiers as an SVG, with every point marked by its concurrency and its limit dashed.
#pragma once

#include <string>
#include <vector>

namespace headroom::dash {

struct ChartPoint {
  double x = 0, y = 0;
  std::string label;    // shown beside the point: its concurrency
  std::string tip;      // shown on hover: "name<TAB>value" lines, plain text
  bool hollow = false;  // not on the frontier
};

struct ChartLine {
  std::string name;                // shown beside the line
  int slot = 0;                    // colour and marker, 0 … kSlots - 1
  std::vector<ChartPoint> points;  // in the order in which they are joined
};

/// The bound of a line's operating points.
struct ChartLimit {
  std::string name;
  int slot = -1;  // the line whose colour it takes; -1: grey, it bounds all of them
  std::vector<std::pair<double, double>> points;
};

struct Chart {
  std::string x_title, y_title;
  std::string description;  // what a reader who cannot see it should know
  std::vector<ChartLine> lines;
  std::vector<ChartLimit> limits;
};

inline constexpr int kSlots = 6;

/// One <svg> of `width` by `height` units, coloured by the style sheet (classes s0 … s5). Text from
/// outside is escaped. "" when there is no point.
std::string chart_svg(const Chart& chart, double width, double height);

/// The marker of a slot alone, for tables and legends.
std::string marker_svg(int slot);

}  // namespace headroom::dash
