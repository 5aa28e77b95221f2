// What both methods share: names, ranges, the words for what cannot be read, and drawing.
#include "analysis/curve.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace headroom::analysis {
namespace {

bool better(double a, double b, Axis on) {
  return on.higher_is_better ? a > b : a < b;
}

}  // namespace

std::string_view method_name(Method method) {
  return method == Method::kLinear ? "linear" : "steffen";
}

base::Result<Method> parse_method(std::string_view name) {
  for (const Method method : {Method::kLinear, Method::kSteffen})
    if (name == method_name(method)) return method;
  return base::fail(base::ErrorCode::kInvalidArgument,
                    "no method '{}'; there are linear and steffen", name);
}

std::string_view state_name(State state) {
  switch (state) {
    case State::kMeasured:
      return "measured";
    case State::kInterpolated:
      return "interpolated";
    case State::kExtrapolated:
      return "extrapolated";
    case State::kUnreachable:
      break;
  }
  return "unreachable";
}

std::string_view state_mark(State state) {
  switch (state) {
    case State::kMeasured:
      return "";
    case State::kInterpolated:
      return "~";
    case State::kExtrapolated:
      return "^";
    case State::kUnreachable:
      break;
  }
  return "—";
}

Curve::Curve(Method method, std::vector<Point> points, Axis x, Axis y)
    : method_(method), points_(std::move(points)), x_(x), y_(y) {}

double Curve::min_x() const {
  HEADROOM_CHECK(!empty(), "range of an empty curve");
  return std::ranges::min_element(points_, {}, &Point::x)->x;
}
double Curve::max_x() const {
  HEADROOM_CHECK(!empty(), "range of an empty curve");
  return std::ranges::max_element(points_, {}, &Point::x)->x;
}
double Curve::min_y() const {
  HEADROOM_CHECK(!empty(), "range of an empty curve");
  return std::ranges::min_element(points_, {}, &Point::y)->y;
}
double Curve::max_y() const {
  HEADROOM_CHECK(!empty(), "range of an empty curve");
  return std::ranges::max_element(points_, {}, &Point::y)->y;
}

Reading Curve::at(double x, bool extrapolate) const {
  if (empty()) return out_of_reach(x, true, extrapolate);
  return method_ == Method::kLinear ? read_linear(x, true, extrapolate) : read_steffen(x, true);
}

Reading Curve::inverse(double y, bool extrapolate) const {
  if (empty()) return out_of_reach(y, false, extrapolate);
  return method_ == Method::kLinear ? read_linear(y, false, extrapolate) : read_steffen(y, false);
}

Reading Curve::out_of_reach(double wanted, bool along_x, bool extrapolate) const {
  Reading reading;
  if (empty()) {
    reading.reason = "nothing measured";
    return reading;
  }
  const double low = along_x ? min_x() : min_y(), high = along_x ? max_x() : max_y();
  const bool above = wanted > high;
  const double edge = above ? high : low;
  const auto& end = *std::ranges::find(points_, edge, along_x ? &Point::x : &Point::y);
  reading.recipe = end.recipe;
  if (wanted >= low && wanted <= high) {
    reading.reason = "the curve does not pass there";
    return reading;
  }
  reading.reason = fmt::format("measured only {} {} {}", above ? "up to" : "from",
                               figure_text(edge), info(along_x ? x_.metric : y_.metric).title);
  if (end.concurrency)
    reading.reason += fmt::format(" (concurrency {})", figure_text(*end.concurrency, 0));
  if (method_ == Method::kSteffen) {
    reading.reason += "; steffen does not go past the data";
  } else if (extrapolate) {
    reading.reason += fmt::format(
        "; extrapolation ends {:.0f} % past the range, at a positive "
        "figure and at concurrency 1",
        kExtrapolationLimit * 100);
  } else if (points_.size() > 1) {
    reading.reason += "; --extrapolate is off";
  }
  return reading;
}

// A reading between points_[left] and its successor at the fraction t of the way.
Reading Curve::between(size_t left, double t, bool along_x, double value) const {
  const Point& a = points_[left];
  const Point& b = points_[std::min(left + 1, points_.size() - 1)];
  Reading reading;
  reading.value = value;
  reading.state = t < 0 || t > 1 ? State::kExtrapolated : State::kInterpolated;
  if (t == 0 || t == 1) {
    const Point& on = t == 0 ? a : b;
    reading.state = State::kMeasured;
    reading.value = along_x ? on.y : on.x;
    reading.concurrency = on.concurrency;
    reading.recipe = on.recipe;
    reading.source = on.source;
    reading.evidence = on.evidence;
    return reading;
  }
  if (a.recipe == b.recipe && a.concurrency && b.concurrency)
    reading.concurrency = *a.concurrency + t * (*b.concurrency - *a.concurrency);
  reading.recipe = a.recipe == b.recipe ? a.recipe : a.recipe + " | " + b.recipe;
  reading.source = a.source == b.source ? a.source : a.source + "+" + b.source;
  reading.evidence = a.evidence;
  reading.evidence.insert(reading.evidence.end(), b.evidence.begin(), b.evidence.end());
  return reading;
}

std::vector<std::pair<double, double>> Curve::drawn(size_t count) const {
  std::vector<std::pair<double, double>> out;
  if (method_ == Method::kLinear || points_.size() < 2) {
    for (const Point& point : points_) out.emplace_back(point.x, point.y);
    return out;
  }
  const double from = points_.front().x, to = points_.back().x;
  for (size_t i = 0; i < count; ++i) {
    const double x =
        i + 1 == count ? to : from + (to - from) * static_cast<double>(i) / double(count - 1);
    const Reading reading = at(x, false);
    if (reading.value) out.emplace_back(x, *reading.value);
  }
  return out;
}

namespace {

Reading best_of(std::span<const Curve> curves, const auto& read_one, Axis wanted) {
  std::optional<Reading> best;
  for (const Curve& curve : curves) {
    Reading reading = read_one(curve);
    // A measurement outranks a guess, however good the guess looks.
    const auto rank = [](const Reading& r) {
      return r.state == State::kUnreachable ? 2 : r.state == State::kExtrapolated ? 1 : 0;
    };
    if (!best || rank(reading) < rank(*best) ||
        (rank(reading) == rank(*best) && reading.value &&
         better(*reading.value, *best->value, wanted)))
      best = std::move(reading);
  }
  if (best) return std::move(*best);
  Reading none;
  none.reason = "nothing measured";
  return none;
}

}  // namespace

Reading best_at(std::span<const Curve> curves, double x, bool extrapolate, Axis y) {
  return best_of(curves, [&](const Curve& curve) { return curve.at(x, extrapolate); }, y);
}

Reading best_inverse(std::span<const Curve> curves, double y, bool extrapolate, Axis x) {
  return best_of(curves, [&](const Curve& curve) { return curve.inverse(y, extrapolate); }, x);
}

}  // namespace headroom::analysis
