// Refinement on curves whose shape is known.
#include "sweep/refine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace headroom::sweep {
namespace {

using testing::HasSubstr;

/// A server of `peak` tok/s that gives each of c users at most `speed` tok/s.
Level level(int64_t c, double speed, double peak, std::optional<double> slo = {}) {
  const double total = std::min(speed * static_cast<double>(c), peak);
  Level result{c, total / static_cast<double>(c), total, {}};
  if (slo) result.meets_slo = result.x >= *slo;
  return result;
}

/// A step takes √(1 + (c ÷ 20)²): flat at first, then proportional, with a rounded corner at 20.
Level rounded(int64_t c) {
  const double tpot = std::hypot(1.0, static_cast<double>(c) / 20);
  return {c, 1 / tpot, static_cast<double>(c) / tpot, {}};
}

TEST(Refine, AStraightFrontierNeedsNothing) {
  // x falls as y rises on one line.
  const std::vector<Level> line = {{1, 10, 10, {}}, {2, 8, 16, {}}, {4, 6, 22, {}}, {8, 4, 28, {}}};
  EXPECT_FALSE(next_level(line, {}));
}

TEST(Refine, AddsWhereTheFrontierBendsMost) {
  std::vector<Level> curve;
  for (const int64_t c : {1, 4, 16, 64, 256}) curve.push_back(rounded(c));
  const auto added = next_level(curve, {});
  ASSERT_TRUE(added);
  EXPECT_THAT(added->reason, HasSubstr("the frontier bends at"));
  std::vector<int64_t> asked;
  for (int i = 0; i < 40; ++i) {
    const auto next = next_level(curve, {});
    if (!next) break;
    for (const Level& known : curve) ASSERT_NE(known.concurrency, next->concurrency);
    asked.push_back(next->concurrency);
    curve.push_back(rounded(next->concurrency));
  }
  EXPECT_LT(asked.size(), 40u);
  ASSERT_FALSE(asked.empty());
  EXPECT_GE(asked.front(), 4);
  EXPECT_LE(asked.front(), 64);
}

TEST(Refine, BisectsTheServiceLevelToItsLastInteger) {
  // 1000 tok/s shared: 40 tok/s for each of 25 users.
  std::vector<Level> curve;
  for (const int64_t c : {1, 8, 64}) curve.push_back(level(c, 1000, 1000, 40.0));
  int steps = 0;
  for (; steps < 20; ++steps) {
    const auto next = next_level(curve, {.most_points = 20, .bend = 1, .smallest_gap = 1});
    if (!next) break;
    EXPECT_THAT(next->reason, HasSubstr("the service level is met at"));
    curve.push_back(level(next->concurrency, 1000, 1000, 40.0));
  }
  EXPECT_LE(steps, 7);
  int64_t best = 0;
  for (const Level& l : curve)
    if (*l.meets_slo) best = std::max(best, l.concurrency);
  EXPECT_EQ(best, 25);
  EXPECT_TRUE(std::any_of(curve.begin(), curve.end(), [](auto& l) { return l.concurrency == 26; }));
}

TEST(Refine, ADominatedBranchNeedsTwoLevelsAndTheMargin) {
  analysis::Point strong;
  strong.recipe = "tp=4";
  strong.x = 50;
  strong.y = 500;
  const std::vector<Level> weak = {{4, 45, 180, {}}, {8, 30, 240, {}}};
  EXPECT_EQ(dominated(weak, std::vector{strong}, {}),
            "worse than tp=4 by more than 10 % on both axes at 4 and 8 streams");
  EXPECT_FALSE(dominated(std::vector{weak[0]}, std::vector{strong}, {}));
  EXPECT_FALSE(dominated(weak, std::vector{strong}, {.margin = 0.2}));  // 50 < 45 × 1.2
  EXPECT_FALSE(dominated(weak, std::vector<analysis::Point>{}, {}));
  const std::vector<Level> crossing = {{4, 45, 180, {}}, {8, 30, 600, {}}};
  EXPECT_FALSE(dominated(crossing, std::vector{strong}, {}));
}

}  // namespace
}  // namespace headroom::sweep
