// The frontier in one sweep over points sorted by x.
#include "analysis/frontier.h"

#include <algorithm>

namespace headroom::analysis {

Axis axis(Metric metric) {
  return {metric, info(metric).higher_is_better};
}

bool dominates(const Point& p, const Point& q, Axis x, Axis y) {
  const auto better = [](double a, double b, Axis on) {
    return on.higher_is_better ? a > b : a < b;
  };
  const bool worse_somewhere = better(q.x, p.x, x) || better(q.y, p.y, y);
  return !worse_somewhere && (better(p.x, q.x, x) || better(p.y, q.y, y));
}

std::vector<Point> frontier(std::span<const Point> points, Axis x, Axis y) {
  std::vector<Point> sorted(points.begin(), points.end());
  const auto better = [](double a, double b, Axis on) {
    return on.higher_is_better ? a > b : a < b;
  };
  // From the best x to the worst, a point stays when its y beats everything before it.
  std::sort(sorted.begin(), sorted.end(), [&](const Point& p, const Point& q) {
    if (p.x != q.x) return better(p.x, q.x, x);
    if (p.y != q.y) return better(p.y, q.y, y);
    return p.evidence < q.evidence;  // the same whatever order the points came in
  });
  std::vector<Point> kept;
  for (Point& point : sorted)
    if (kept.empty() || better(point.y, kept.back().y, y)) kept.push_back(std::move(point));
  if (x.higher_is_better) std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace headroom::analysis
