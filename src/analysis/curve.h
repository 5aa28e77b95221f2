// Curve: operating points joined by a named method, readable in both directions, with evidence.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/frontier.h"

namespace headroom::analysis {

/// kLinear: straight lines along one recipe's points in order of concurrency.
/// kSteffen: monotone cubic (M. Steffen, A&A 239, 443 (1990), with d3's end slopes) through the
/// frontier in order of x.
enum class Method { kLinear, kSteffen };
std::string_view method_name(Method method);
base::Result<Method> parse_method(std::string_view name);

enum class State { kMeasured, kInterpolated, kExtrapolated, kUnreachable };
std::string_view state_name(State state);
/// "" measured, "~" interpolated, "^" extrapolated, "—" unreachable.
std::string_view state_mark(State state);

struct Reading {
  State state = State::kUnreachable;
  std::optional<double> value;        // absent exactly when unreachable
  std::optional<double> concurrency;  // by the same method; absent where layouts change
  std::string reason;                 // why it is unreachable
  std::string recipe;                 // label of the series it was read on
  std::string source;                 // which columns: "tpot", "interactivity", "measured", joined
  std::vector<std::string> evidence;  // the bracketing records
};

/// A line past the last point may go this part of the measured range of x.
inline constexpr double kExtrapolationLimit = 0.10;

class Curve {
 public:
  /// One recipe's points, in order of concurrency.
  static Curve linear(std::vector<Point> points, Axis x, Axis y);
  /// Any points; the frontier is taken here.
  static Curve steffen(std::span<const Point> points, Axis x, Axis y);

  /// y at x. Where a line meets x more than once, the best y.
  Reading at(double x, bool extrapolate) const;
  /// x at y, on the same curve: at(inverse(y)) gives y back. The best x where there are several.
  Reading inverse(double y, bool extrapolate) const;

  const std::vector<Point>& points() const { return points_; }
  bool empty() const { return points_.empty(); }
  double min_x() const;
  double max_x() const;
  double min_y() const;
  double max_y() const;

  /// `count` x, y pairs along the drawn curve, for plots.
  std::vector<std::pair<double, double>> drawn(size_t count) const;

 private:
  Curve(Method method, std::vector<Point> points, Axis x, Axis y);
  Reading read_linear(double wanted, bool along_x, bool extrapolate) const;
  Reading read_steffen(double wanted, bool along_x) const;
  Reading out_of_reach(double wanted, bool along_x, bool extrapolate) const;
  Reading between(size_t left, double t, bool along_x, double value) const;

  Method method_;
  std::vector<Point> points_;
  std::vector<double> slopes_;  // dy/dx at each point, Steffen only
  Axis x_, y_;
};

/// The best reading over several curves; measured and interpolated ones come before extrapolated.
Reading best_at(std::span<const Curve> curves, double x, bool extrapolate, Axis y);
Reading best_inverse(std::span<const Curve> curves, double y, bool extrapolate, Axis x);

}  // namespace headroom::analysis
