// Properties of frontiers and curves over random points.
#include "analysis/curve.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

namespace headroom::analysis {
namespace {

const Axis kX = axis(Metric::kTokSGpu), kY = axis(Metric::kInteractivity);

Point point(double x, double y, double concurrency, std::string id = "") {
  Point p;
  p.x = x;
  p.y = y;
  p.concurrency = concurrency;
  p.recipe = "r";
  p.evidence = {id.empty() ? fmt::format("{}/{}", x, y) : std::move(id)};
  return p;
}

double positive() {
  return *rc::gen::inRange(1, 2'000'000) / 997.0;
}

std::vector<Point> random_points(size_t least) {
  const auto n = *rc::gen::inRange<size_t>(least, 12);
  std::vector<Point> points;
  for (size_t i = 0; i < n; ++i) points.push_back(point(positive(), positive(), double(i + 1)));
  return points;
}

// As a server behaves: more load, more throughput, less interactivity.
std::vector<Point> monotone_points() {
  const auto n = *rc::gen::inRange<size_t>(2, 10);
  std::vector<Point> points;
  double x = 0, y = 0;
  for (size_t i = 0; i < n; ++i) points.push_back(point(x += positive(), 0, double(1 << i)));
  for (size_t i = n; i-- > 0;) points[i].y = y += positive();
  return points;
}

double close_to(double value) {
  return 1e-9 * std::max(1.0, std::abs(value));
}

TEST(Frontier, HoldsNoDominatedPointAndLosesNoOther) {
  EXPECT_TRUE(rc::check("frontier", [] {
    auto points = random_points(0);
    const Axis x{Metric::kTokSGpu, *rc::gen::arbitrary<bool>()};
    const Axis y{Metric::kInteractivity, *rc::gen::arbitrary<bool>()};
    if (!points.empty() && *rc::gen::arbitrary<bool>()) points.push_back(points.front());
    const auto kept = frontier(points, x, y);
    RC_ASSERT(kept.empty() == points.empty());
    for (const Point& p : kept)
      for (const Point& q : points) RC_ASSERT(!dominates(q, p, x, y));
    for (const Point& q : points) {
      const bool there =
          std::ranges::any_of(kept, [&](const Point& p) { return p.x == q.x && p.y == q.y; });
      const bool beaten =
          std::ranges::any_of(kept, [&](const Point& p) { return dominates(p, q, x, y); });
      RC_ASSERT(there != beaten);
    }
    for (size_t i = 1; i < kept.size(); ++i) RC_ASSERT(kept[i - 1].x < kept[i].x);
    std::reverse(points.begin(), points.end());
    const auto again = frontier(points, x, y);
    RC_ASSERT(again.size() == kept.size());
    for (size_t i = 0; i < kept.size(); ++i) RC_ASSERT(again[i].evidence == kept[i].evidence);
  }));
}

TEST(Curve, ReadsStayInsideTheirBracket) {
  EXPECT_TRUE(rc::check("bracket", [] {
    const auto points = monotone_points();
    const auto i = *rc::gen::inRange<size_t>(0, points.size() - 1);
    const double t = *rc::gen::inRange(1, 1000) / 1000.0;
    const double x = points[i].x + t * (points[i + 1].x - points[i].x);
    for (const Curve& curve : {Curve::linear(points, kX, kY), Curve::steffen(points, kX, kY)}) {
      const Reading reading = curve.at(x, false);
      RC_ASSERT(reading.value.has_value());
      RC_ASSERT(*reading.value <= points[i].y + close_to(points[i].y));
      RC_ASSERT(*reading.value >= points[i + 1].y - close_to(points[i].y));
      RC_ASSERT(reading.concurrency.has_value());
      RC_ASSERT(*reading.concurrency >= *points[i].concurrency);
      RC_ASSERT(*reading.concurrency <= *points[i + 1].concurrency);
    }
  }));
}

TEST(Curve, KnotsAreMeasured) {
  EXPECT_TRUE(rc::check("knots", [] {
    const auto points = monotone_points();
    for (const Curve& curve : {Curve::linear(points, kX, kY), Curve::steffen(points, kX, kY)})
      for (const Point& p : points) {
        const Reading up = curve.at(p.x, false), back = curve.inverse(p.y, false);
        RC_ASSERT(up.state == State::kMeasured && back.state == State::kMeasured);
        RC_ASSERT(*up.value == p.y && *back.value == p.x);
        RC_ASSERT(up.evidence == p.evidence);
      }
  }));
}

TEST(Curve, DirectAndInverseReadsAgree) {
  EXPECT_TRUE(rc::check("inverse", [] {
    const auto points = monotone_points();
    const double low = points.front().x, high = points.back().x;
    const double t = *rc::gen::inRange(-120, 1120) / 1000.0;
    const double x = low + t * (high - low);
    for (const Curve& curve : {Curve::linear(points, kX, kY), Curve::steffen(points, kX, kY)}) {
      const Reading reading = curve.at(x, true);
      if (!reading.value) continue;
      const Reading back = curve.inverse(*reading.value, true);
      RC_ASSERT(back.value.has_value());
      // The slope carries rounding in y over to x; flat stretches carry more.
      const double scale = std::max(std::abs(x), high - low);
      const Reading again = curve.at(*back.value, true);
      RC_ASSERT(again.value.has_value());
      RC_ASSERT(std::abs(*again.value - *reading.value) <= close_to(curve.max_y()));
      RC_ASSERT(std::abs(*back.value - x) <= 1e-6 * scale);
    }
  }));
}

TEST(Curve, CrookedLinesReadTheBestAndInvertOntoThemselves) {
  EXPECT_TRUE(rc::check("crooked", [] {
    const auto points = random_points(2);
    const Curve curve = Curve::linear(points, kX, kY);
    const double t = *rc::gen::inRange(0, 1000) / 1000.0;
    const double x = curve.min_x() + t * (curve.max_x() - curve.min_x());
    const Reading reading = curve.at(x, false);
    RC_ASSERT(reading.value.has_value());
    RC_ASSERT(*reading.value <= curve.max_y() + close_to(curve.max_y()));
    for (size_t i = 0; i + 1 < points.size(); ++i) {  // no stretch does better
      const Point &a = points[i], &b = points[i + 1];
      if (a.x == b.x || x < std::min(a.x, b.x) || x > std::max(a.x, b.x)) continue;
      const double y = a.y + (x - a.x) / (b.x - a.x) * (b.y - a.y);
      RC_ASSERT(*reading.value >= y - close_to(y));
    }
    const Reading back = curve.inverse(*reading.value, false);
    RC_ASSERT(back.value.has_value());
    RC_ASSERT(*back.value >= x - 1e-6 * curve.max_x());  // the best x at that y is at least this
  }));
}

TEST(Curve, ExtrapolationHasItsLimits) {
  const std::vector<Point> points = {point(10, 50, 1), point(20, 40, 2), point(110, 30, 4)};
  const Curve curve = Curve::linear(points, kX, kY);
  EXPECT_EQ(curve.at(120, false).state, State::kUnreachable);
  EXPECT_EQ(curve.at(120, true).state, State::kExtrapolated);  // a tenth of 100
  EXPECT_EQ(curve.at(120.1, true).state, State::kUnreachable);
  EXPECT_NEAR(*curve.at(120, true).value, 30 - 10.0 / 9, 1e-12);
  // Below: the line would pass concurrency 1.
  EXPECT_EQ(curve.at(9, true).state, State::kUnreachable);
  // Beyond the last point y would fall below 0.
  const Curve steep = Curve::linear({point(10, 100, 1), point(110, 1, 2)}, kX, kY);
  EXPECT_EQ(steep.at(112, true).state, State::kUnreachable);
  // Throughput that falls again under load: the line's end is not the range's end.
  const Curve turned =
      Curve::linear({point(10, 50, 1), point(50, 40, 2), point(40, 30, 4)}, kX, kY);
  EXPECT_EQ(turned.at(51, true).state, State::kUnreachable);
  EXPECT_EQ(*turned.at(45, true).value, 41.25);  // the better of the two stretches
}

TEST(Curve, FewPoints) {
  for (const Curve& curve : {Curve::linear({}, kX, kY), Curve::steffen({}, kX, kY)}) {
    EXPECT_EQ(curve.at(1, true).state, State::kUnreachable);
    EXPECT_EQ(curve.inverse(1, true).reason, "nothing measured");
  }
  const std::vector<Point> one = {point(10, 5, 4)};
  for (const Curve& curve : {Curve::linear(one, kX, kY), Curve::steffen(one, kX, kY)}) {
    EXPECT_EQ(curve.at(10, true).state, State::kMeasured);
    EXPECT_EQ(curve.at(10.5, true).state, State::kUnreachable);
    EXPECT_THAT(curve.at(10.5, true).reason, testing::HasSubstr("measured only up to 10.0"));
  }
}

TEST(Curve, SteffenLeavesConcurrencyOpenBetweenLayouts) {
  std::vector<Point> points = {point(10, 50, 1), point(20, 40, 2), point(30, 30, 4)};
  points[2].recipe = "other";
  const Curve curve = Curve::steffen(points, kX, kY);
  EXPECT_DOUBLE_EQ(*curve.at(15, false).concurrency, 1.5);
  EXPECT_EQ(curve.at(25, false).concurrency, std::nullopt);
  EXPECT_EQ(curve.at(25, false).recipe, "r | other");
}

}  // namespace
}  // namespace headroom::analysis
