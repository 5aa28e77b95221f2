// The ready recipes: each is read and has the points it promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sweep/plan.h"

namespace headroom::sweep {
namespace {

namespace fs = std::filesystem;
using testing::UnorderedElementsAre;

const fs::path kFolder = fs::path(HEADROOM_SOURCE_DIR) / "recipes";

TEST(Recipes, EachIsReadAndNamedAsItsFile) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".yaml") continue;
    const auto recipe = read_recipe(entry.path());
    ASSERT_TRUE(recipe) << recipe.error().message;
    EXPECT_EQ(recipe->name, entry.path().stem().string());
    const auto plan = make_plan(*recipe);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_GE(plan->points.size(), 5u) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 7);
}

TEST(Recipes, TheArticlesPointsAreThere) {
  using Point = std::pair<int64_t, int64_t>;  // tp, concurrency
  const auto points = [](const char* name, size_t configurations) {
    const Recipe recipe = read_recipe(kFolder / name).value();
    const Plan plan = make_plan(recipe).value();
    std::vector<Point> result;
    for (const PlannedPoint& point : plan.points)
      if (point.configuration < configurations)
        result.emplace_back(*plan.configurations[point.configuration].devices,
                            *point.load.concurrency);
    EXPECT_EQ(recipe.bench.workload.input_tokens, 8192);
    EXPECT_EQ(recipe.bench.workload.output_tokens, 1024);
    return result;
  };
  EXPECT_THAT(
      points("kimi-k2.5-mi355x-before.yaml", 1),
      UnorderedElementsAre(Point{8, 4}, Point{8, 8}, Point{8, 16}, Point{8, 32}, Point{8, 64}));
  EXPECT_THAT(points("kimi-k2.5-mi355x-after.yaml", 2),
              UnorderedElementsAre(Point{8, 4}, Point{8, 8}, Point{8, 16}, Point{8, 32},
                                   Point{8, 64}, Point{4, 4}, Point{4, 64}));
}

}  // namespace
}  // namespace headroom::sweep
