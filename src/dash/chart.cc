// Draws axes, limits, lines, markers and labels, in that order.
#include "dash/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dash/html.h"
#include "dash/labels.h"
#include "dash/scale.h"

namespace headroom::dash {
namespace {

constexpr double kText = 12.5;
constexpr double kMarker = 4.6;

struct Range {
  double low = HUGE_VAL, high = -HUGE_VAL;
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

std::string marker(int slot, double x, double y, double size) {
  const auto polygon = [&](std::initializer_list<std::pair<double, double>> corners) {
    std::string points;
    for (const auto& [dx, dy] : corners)
      points += fmt::format("{:.1f},{:.1f} ", x + dx * size, y + dy * size);
    return fmt::format("<polygon points=\"{}\"/>", points);
  };
  switch (slot) {
    case 1:
      return polygon({{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}});
    case 2:
      return polygon({{0, -1.15}, {1.1, .85}, {-1.1, .85}});
    case 3:
      return polygon({{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}});
    case 4:
      return polygon({{0, 1.15}, {1.1, -.85}, {-1.1, -.85}});
    case 5:
      return polygon({{-.6, -1.05}, {.6, -1.05}, {1.2, 0}, {.6, 1.05}, {-.6, 1.05}, {-1.2, 0}});
    default:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>", x, y, size);
  }
}

class Drawing {
 public:
  Drawing(const Chart& chart, Range x, Range y, double width, double height)
      : chart_(chart),
        area_{56, 34, width - 56 - 18, height - 34 - 50},
        x_(x.low, x.high, area_.x, area_.x + area_.width),
        y_(y.low, y.high, area_.y + area_.height, area_.y),
        labels_(Box{area_.x + 2, area_.y - 6, area_.width - 2, area_.height + 4}),
        width_(width),
        height_(height) {}

  std::string svg() {
    out_ = fmt::format(
        "<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n",
        width_, height_, escape(chart_.description));
    axes();
    const std::string clip = fmt::format("plot{:.0f}", width_);
    out_ += fmt::format(
        "<clipPath id=\"{}\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>"
        "</clipPath>\n<g clip-path=\"url(#{})\">\n",
        clip, area_.x, area_.y, area_.width, area_.height, clip);
    for (const ChartLimit& limit : chart_.limits) limit_path(limit);
    for (const ChartLine& line : chart_.lines) line_path(line);
    out_ += "</g>\n";
    for (const ChartLine& line : chart_.lines)
      for (const ChartPoint& p : line.points) labels_.block(around(p, kMarker + 1));
    for (const ChartLine& line : chart_.lines) markers(line);
    for (const ChartLine& line : chart_.lines) line_name(line);
    for (const ChartLimit& limit : chart_.limits) limit_name(limit);
    for (const ChartLine& line : chart_.lines) point_labels(line);
    return out_ + "</svg>\n";
  }

 private:
  Box around(const ChartPoint& p, double r) const {
    return {x_(p.x) - r, y_(p.y) - r, 2 * r, 2 * r};
  }

  void text(double x, double y, const char* anchor, std::string_view css, std::string_view plain) {
    out_ +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n",
                    x, y, anchor, css, escape(plain));
  }

  void axes() {
    const double bottom = area_.y + area_.height, right = area_.x + area_.width;
    out_ += "<g class=\"grid\">\n";
    for (const Scale::Tick& tick : y_.ticks(static_cast<int>(area_.height / 42))) {
      const double y = y_(tick.value);
      out_ += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                          area_.x, right, y, y);
      text(area_.x - 8, y + 4, "end", "tick", tick.text);
    }
    for (const Scale::Tick& tick : x_.ticks(static_cast<int>(area_.width / 58))) {
      const double x = x_(tick.value);
      out_ += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x, x,
                          area_.y, bottom);
      text(x, bottom + 18, "middle", "tick", tick.text);
    }
    out_ += "</g>\n";
    const auto title = [](const std::string& name, const Scale& scale) {
      return scale.logarithmic() ? name + " (log scale)" : name;
    };
    text(6, 16, "start", "title", title(chart_.y_title, y_) + " ↑");
    text(right, height_ - 8, "end", "title", title(chart_.x_title, x_) + " →");
  }

  void path(const char* css, const std::vector<std::pair<double, double>>& points) {
    std::string d;
    for (const auto& [x, y] : points)
      d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? "M" : "L", x_(x), y_(y));
    out_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", css, d);
  }

  void limit_path(const ChartLimit& limit) {
    const std::string css = limit.slot < 0 ? "limit all" : fmt::format("limit s{}", limit.slot);
    path(css.c_str(), limit.points);
    block(limit.points);
  }

  /// Labels keep off lines.
  void block(const std::vector<std::pair<double, double>>& points) {
    for (size_t i = 1; i < points.size(); ++i)
      for (int step = 0; step <= 24; ++step) {
        const double t = step / 24.0;
        const double x = std::lerp(x_(points[i - 1].first), x_(points[i].first), t);
        const double y = std::lerp(y_(points[i - 1].second), y_(points[i].second), t);
        labels_.block({x - 1.5, y - 1.5, 3, 3});
      }
  }

  void line_path(const ChartLine& line) {
    std::vector<std::pair<double, double>> points;
    for (const ChartPoint& p : line.points) points.emplace_back(p.x, p.y);
    path(fmt::format("line s{}", line.slot).c_str(), points);
    block(points);
  }

  void markers(const ChartLine& line) {
    out_ += fmt::format("<g class=\"points s{}\">\n", line.slot);
    for (const ChartPoint& p : line.points) {
      std::string spoken = line.name + ", " + p.label + ": " + p.tip;
      std::replace(spoken.begin(), spoken.end(), '\t', ' ');
      std::replace(spoken.begin(), spoken.end(), '\n', ';');
      out_ += fmt::format(
          "<g class=\"pt{}\" tabindex=\"0\" role=\"img\" aria-label=\"{}\" data-name=\"{}\""
          " data-tip=\"{}\"><circle class=\"hit\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"14\"/>{}</g>\n",
          p.hollow ? " hollow" : "", escape(spoken), escape(line.name), escape(p.tip), x_(p.x),
          y_(p.y), marker(line.slot, x_(p.x), y_(p.y), kMarker));
    }
    out_ += "</g>\n";
  }

  void line_name(const ChartLine& line) {
    if (line.points.empty()) return;
    // Beside the end that has the most room: try both, then the middle.
    const std::string css = fmt::format("name s{}", line.slot);
    for (const size_t at : {line.points.size() - 1, size_t{0}, line.points.size() / 2}) {
      const ChartPoint& p = line.points[at];
      const auto place = labels_.place(x_(p.x), y_(p.y), line.name, kText * 1.1, 12, 0.0);
      if (!place) continue;
      text(place->x, place->y, place->anchor, css, line.name);
      return;
    }
  }

  void limit_name(const ChartLimit& limit) {
    const std::string css = limit.slot < 0 ? "name all" : fmt::format("name s{}", limit.slot);
    if (limit.points.size() < 2) return;
    for (const double tolerated : {0.0, 0.15})
      for (const double part : {0.5, 0.35, 0.65, 0.2, 0.8, 0.1, 0.9}) {
        const double at = part * static_cast<double>(limit.points.size() - 1);
        const auto left = std::min(static_cast<size_t>(at), limit.points.size() - 2);
        const auto& from = limit.points[left];
        const auto& to = limit.points[left + 1];
        const double t = at - static_cast<double>(left);
        const double x = std::lerp(x_(from.first), x_(to.first), t);
        const double y = std::lerp(y_(from.second), y_(to.second), t);
        const auto place = labels_.place(x, y, limit.name, kText, 7, tolerated);
        if (!place) continue;
        text(place->x, place->y, place->anchor, css, limit.name);
        return;
      }
  }

  void point_labels(const ChartLine& line) {
    const std::string css = fmt::format("label s{}", line.slot);
    for (const ChartPoint& p : line.points) {
      const auto place = labels_.place(x_(p.x), y_(p.y), p.label, kText * 0.92, kMarker + 4, 0.6);
      if (place) text(place->x, place->y, place->anchor, css, p.label);
    }
  }

  const Chart& chart_;
  Box area_;
  Scale x_, y_;
  LabelPlacer labels_;
  double width_, height_;
  std::string out_;
};

}  // namespace

std::string chart_svg(const Chart& chart, double width, double height) {
  Range x, y;
  for (const ChartLine& line : chart.lines)
    for (const ChartPoint& p : line.points) {
      x.take(p.x);
      y.take(p.y);
    }
  if (x.low > x.high) return "";
  for (const ChartLimit& limit : chart.limits)
    for (const auto& [px, py] : limit.points) {
      x.take(px);
      y.take(py);
    }
  return Drawing(chart, x, y, width, height).svg();
}

std::string marker_svg(int slot) {
  return fmt::format(
      "<svg class=\"marker\" viewBox=\"-8 -8 16 16\" aria-hidden=\"true\"><g class=\"points "
      "s{}\">{}</g>"
      "</svg>",
      slot, marker(slot, 0, 0, kMarker));
}

}  // namespace headroom::dash
