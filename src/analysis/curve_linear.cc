// The linear method: straight lines along one recipe's points in order of concurrency.
#include <algorithm>
#include <cmath>

#include "analysis/curve.h"

namespace headroom::analysis {
namespace {

// Where the straight line from a to b takes the value `wanted`; none when it never does.
std::optional<double> fraction(double a, double b, double wanted) {
  if (wanted == a) return 0.0;
  if (wanted == b) return 1.0;
  if (a == b) return std::nullopt;
  return (wanted - a) / (b - a);
}

double along(double a, double b, double t) {
  return a + t * (b - a);
}

}  // namespace

Curve Curve::linear(std::vector<Point> points, Axis x, Axis y) {
  return Curve(Method::kLinear, std::move(points), x, y);
}

Reading Curve::read_linear(double wanted, bool along_x, bool extrapolate) const {
  const auto key = [&](const Point& p) { return along_x ? p.x : p.y; };
  const auto other = [&](const Point& p) { return along_x ? p.y : p.x; };
  const Axis read_axis = along_x ? y_ : x_;
  std::optional<Reading> best;
  const auto offer = [&](size_t left, double t) {
    const Point& a = points_[left];
    const Point& b = points_[std::min(left + 1, points_.size() - 1)];
    Reading reading = between(left, t, along_x, along(other(a), other(b), t));
    if (best && best->value &&
        (read_axis.higher_is_better ? *reading.value <= *best->value
                                    : *reading.value >= *best->value))
      return;
    best = std::move(reading);
  };
  if (points_.size() == 1 && wanted == key(points_[0])) offer(0, 0);
  for (size_t i = 0; i + 1 < points_.size(); ++i) {
    const auto t = fraction(key(points_[i]), key(points_[i + 1]), wanted);
    if (t && *t >= 0 && *t <= 1) {
      offer(i, *t);
      // A stretch that is flat along the axis read from holds both its ends.
      if (*t == 0 && key(points_[i]) == key(points_[i + 1])) offer(i, 1);
    }
  }
  if (best || !extrapolate || points_.size() < 2)
    return best ? std::move(*best) : out_of_reach(wanted, along_x, extrapolate);

  // Past an end of the line, where that end is also an end of the range of x, for a tenth of that
  // range. Both directions read the same stretch, so they agree there too.
  const double reach = kExtrapolationLimit * (max_x() - min_x());
  const size_t last = points_.size() - 1;
  for (const bool at_front : {true, false}) {
    const size_t left = at_front ? 0 : last - 1;
    const Point& a = points_[left];
    const Point& b = points_[left + 1];
    const Point& end = at_front ? a : b;
    if (a.x == b.x || (end.x != min_x() && end.x != max_x())) continue;
    const auto t = fraction(key(a), key(b), wanted);
    if (!t || (at_front ? *t >= 0 : *t <= 1)) continue;
    if (std::abs(along(a.x, b.x, *t) - end.x) > reach) continue;
    // No server runs at a negative speed or at less than one request.
    if (along(a.x, b.x, *t) <= 0 || along(a.y, b.y, *t) <= 0) continue;
    if (a.concurrency && b.concurrency && along(*a.concurrency, *b.concurrency, *t) < 1) continue;
    offer(left, *t);
  }
  return best ? std::move(*best) : out_of_reach(wanted, along_x, extrapolate);
}

}  // namespace headroom::analysis
