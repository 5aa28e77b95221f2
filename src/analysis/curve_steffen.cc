// Steffen's monotone cubic through the frontier, with the end slopes of d3's curveMonotoneX.
#include <algorithm>
#include <cmath>

#include "analysis/curve.h"

namespace headroom::analysis {
namespace {

// Slopes at the knots. Inside: at most twice the flatter neighbour, so that no stretch overshoots
// (M. Steffen, A&A 239, 443 (1990), eq. 11). At the ends the parabola rule of d3; on monotone data
// it stays within 0.5 to 1.5 of the end's own slope, which keeps the ends monotone too.
std::vector<double> steffen_slopes(std::span<const Point> p) {
  const size_t n = p.size();
  std::vector<double> slopes(n, 0.0);
  if (n < 2) return slopes;
  const auto secant = [&](size_t i) { return (p[i + 1].y - p[i].y) / (p[i + 1].x - p[i].x); };
  if (n == 2) {
    slopes[0] = slopes[1] = secant(0);
    return slopes;
  }
  const auto sign = [](double v) { return v < 0 ? -1.0 : 1.0; };
  for (size_t i = 1; i + 1 < n; ++i) {
    const double h0 = p[i].x - p[i - 1].x, h1 = p[i + 1].x - p[i].x;
    const double s0 = secant(i - 1), s1 = secant(i);
    const double parabola = (s0 * h1 + s1 * h0) / (h0 + h1);
    slopes[i] =
        (sign(s0) + sign(s1)) * std::min({std::abs(s0), std::abs(s1), 0.5 * std::abs(parabola)});
  }
  slopes[0] = (3 * secant(0) - slopes[1]) / 2;
  slopes[n - 1] = (3 * secant(n - 2) - slopes[n - 2]) / 2;
  return slopes;
}

struct Stretch {
  double y0, y1, m0, m1;  // slopes times the width
  double at(double t) const {
    const double u = 1 - t;
    return y0 * (u * u * (1 + 2 * t)) + m0 * (t * u * u) + y1 * (t * t * (3 - 2 * t)) -
           m1 * (t * t * u);
  }
};

// The t in [0, 1] at which a monotone stretch takes y: bisection, to the last bit of t.
double solve(const Stretch& stretch, double y) {
  double low = 0, high = 1;
  const bool rising = stretch.y1 > stretch.y0;
  for (int i = 0; i < 200; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    ((stretch.at(middle) < y) == rising ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

}  // namespace

Curve Curve::steffen(std::span<const Point> points, Axis x, Axis y) {
  Curve curve(Method::kSteffen, frontier(points, x, y), x, y);
  curve.slopes_ = steffen_slopes(curve.points_);
  return curve;
}

Reading Curve::read_steffen(double wanted, bool along_x) const {
  const auto key = [&](const Point& p) { return along_x ? p.x : p.y; };
  for (size_t i = 0; i < points_.size(); ++i)
    if (key(points_[i]) == wanted) return between(i, 0, along_x, 0);
  for (size_t i = 0; i + 1 < points_.size(); ++i) {
    const Point& a = points_[i];
    const Point& b = points_[i + 1];
    const auto [low, high] = std::minmax({key(a), key(b)});
    if (wanted <= low || wanted >= high) continue;
    const double width = b.x - a.x;
    const Stretch stretch{a.y, b.y, slopes_[i] * width, slopes_[i + 1] * width};
    const double t = along_x ? (wanted - a.x) / width : solve(stretch, wanted);
    // Rounding may bring t to an end of the stretch; that is still no measurement.
    const double inside = std::clamp(t, 1e-15, 1 - 1e-15);
    return between(i, inside, along_x, along_x ? stretch.at(t) : a.x + t * width);
  }
  return out_of_reach(wanted, along_x, false);
}

}  // namespace headroom::analysis
