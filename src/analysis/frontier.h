// Frontier: the points that no other point beats on both axes.
#pragma once

#include <span>
#include <vector>

#include "analysis/series.h"

namespace headroom::analysis {

struct Axis {
  Metric metric;
  bool higher_is_better;
};
/// The metric's own direction.
Axis axis(Metric metric);

/// Ordered by x ascending; y is then strictly monotone. Of equal points one stays.
std::vector<Point> frontier(std::span<const Point> points, Axis x, Axis y);

/// True when `p` is at least as good on both axes and better on one.
bool dominates(const Point& p, const Point& q, Axis x, Axis y);

}  // namespace headroom::analysis
