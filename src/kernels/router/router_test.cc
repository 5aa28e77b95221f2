// Tests of router: choices and weights against float64, ties, groups, NaN.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "kernels/router/desc.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

struct Routed {
  std::vector<int32_t> ids;
  std::vector<float> weights;
};

Routed run(const RouterKernel& kernel, const RouterDesc& desc, const std::vector<float>& logits,
           const std::vector<float>& bias, int threads = 2) {
  base::ThreadPool pool(threads);
  const auto tokens = static_cast<int64_t>(logits.size()) / desc.experts;
  const auto count = static_cast<size_t>(tokens * desc.top_k);
  Routed result{std::vector<int32_t>(count + 1, -77), std::vector<float>(count + 1, -77.0f)};
  kernel.run(desc, {logits.data(), bias.data(), result.ids.data(), result.weights.data(), tokens},
             pool);
  EXPECT_EQ(result.ids.back(), -77);
  EXPECT_EQ(result.weights.back(), -77.0f);
  result.ids.pop_back();
  result.weights.pop_back();
  return result;
}

struct Exact {
  std::vector<double> scores, choice;  // choice: -inf outside the chosen groups
};

Exact exact_scores(const RouterDesc& d, const float* logits, const float* bias) {
  Exact exact;
  double sum = 0, top = *std::max_element(logits, logits + d.experts);
  for (int e = 0; e < d.experts; ++e) {
    exact.scores.push_back(d.scoring == Scoring::kSigmoid ? 1 / (1 + std::exp(-double{logits[e]}))
                                                          : std::exp(double{logits[e]} - top));
    sum += exact.scores.back();
  }
  for (int e = 0; e < d.experts; ++e) {
    auto& score = exact.scores[static_cast<size_t>(e)];
    if (d.scoring == Scoring::kSoftmax) score /= sum;
    exact.choice.push_back(score + (d.bias ? double{bias[e]} : 0));
  }
  const int size = d.experts / d.groups;
  std::vector<std::pair<double, int>> groups;
  for (int g = 0; g < d.groups; ++g) {
    std::vector<double> sorted(exact.choice.begin() + g * size,
                               exact.choice.begin() + (g + 1) * size);
    std::sort(sorted.rbegin(), sorted.rend());
    const bool two = d.group_score == GroupScore::kTopTwoSum && size > 1;
    groups.emplace_back(-(sorted[0] + (two ? sorted[1] : 0)), g);
  }
  std::sort(groups.begin(), groups.end());
  for (size_t i = static_cast<size_t>(d.top_groups); i < groups.size(); ++i)
    for (int e = 0; e < size; ++e)
      exact.choice[static_cast<size_t>(groups[i].second * size + e)] =
          -std::numeric_limits<double>::infinity();
  return exact;
}

std::vector<RouterDesc> descriptors() {
  std::vector<RouterDesc> all;
  for (const auto& [experts, top_k, groups, top_groups] : {std::array{256, 8, 8, 4},
                                                           {384, 8, 1, 1},
                                                           {64, 6, 1, 1},
                                                           {160, 6, 8, 3},
                                                           {8, 2, 1, 1},
                                                           {13, 13, 1, 1},
                                                           {6, 2, 6, 3}})
    for (const Scoring scoring : {Scoring::kSigmoid, Scoring::kSoftmax})
      for (const bool flag : {false, true}) {
        RouterDesc d;
        d.experts = experts;
        d.top_k = top_k;
        d.groups = groups;
        d.top_groups = top_groups;
        d.scoring = scoring;
        d.group_score = flag ? GroupScore::kTopTwoSum : GroupScore::kMax;
        d.bias = flag;
        d.normalize = flag != (scoring == Scoring::kSoftmax);
        d.scaling = 2.5f;
        all.push_back(d);
      }
  return all;
}

template <typename Check>
void for_each_kernel(const RouterDesc& desc, Check&& check) {
  for (const RouterKernel& kernel : router_kernels())
    if (!kernel.refuses(desc)) check(kernel);
}

TEST(Router, MatchesFloat64) {
  constexpr int kTokens = 37;
  for (const RouterDesc& d : descriptors()) {
    const auto experts = static_cast<size_t>(d.experts);
    const auto logits = test::random_floats(kTokens * experts, 1, 2);
    const auto bias = test::random_floats(experts, 2, 0.1);
    for_each_kernel(d, [&](const RouterKernel& kernel) {
      const Routed routed = run(kernel, d, logits, bias);
      for (size_t token = 0; token < kTokens; ++token) {
        const Exact exact = exact_scores(d, &logits[token * experts], bias.data());
        const int32_t* ids = &routed.ids[token * static_cast<size_t>(d.top_k)];
        const float* weights = &routed.weights[token * static_cast<size_t>(d.top_k)];
        std::vector<double> order = exact.choice;
        std::sort(order.rbegin(), order.rend());
        double sum = 0;
        for (int i = 0; i < d.top_k; ++i) sum += exact.scores[static_cast<size_t>(ids[i])];
        for (int i = 0; i < d.top_k; ++i) {
          const auto id = static_cast<size_t>(ids[i]);
          ASSERT_LT(id, experts);
          // The i-th best choice, unless two lie closer than float scores can tell apart.
          ASSERT_NEAR(exact.choice[id], order[static_cast<size_t>(i)], 1e-6)
              << kernel.name << " " << d.text() << " token " << token << " slot " << i;
          const double weight = exact.scores[id] / (d.normalize ? sum : 1) * d.scaling;
          // exp within 4 ulp of its argument's rounding, sums of at most 384 terms in lanes.
          ASSERT_NEAR(weights[i], weight, 64 * test::kUnit * weight)
              << kernel.name << " " << d.text();
        }
      }
    });
  }
}

TEST(Router, TiesGoToTheLowestIndex) {
  RouterDesc d;
  d.experts = 40;
  d.top_k = 5;
  d.bias = false;
  std::vector<float> logits(40, 0.25f);
  for_each_kernel(d, [&](const RouterKernel& kernel) {
    EXPECT_EQ(run(kernel, d, logits, {}).ids, (std::vector<int32_t>{0, 1, 2, 3, 4})) << kernel.name;
  });
  logits[39] = logits[20] = logits[18] = 1.0f;
  for_each_kernel(d, [&](const RouterKernel& kernel) {
    EXPECT_EQ(run(kernel, d, logits, {}).ids, (std::vector<int32_t>{18, 20, 39, 0, 1}));
  });
  d.groups = 4;
  d.top_groups = 2;
  std::fill(logits.begin(), logits.end(), 0.0f);
  for_each_kernel(d, [&](const RouterKernel& kernel) {
    EXPECT_EQ(run(kernel, d, logits, {}).ids, (std::vector<int32_t>{0, 1, 2, 3, 4})) << kernel.name;
  });
}

TEST(Router, NegativeChoicesInAnOpenGroupBeatClosedGroups) {
  RouterDesc d;
  d.experts = 8;
  d.top_k = 4;
  d.groups = 2;
  d.top_groups = 1;
  d.group_score = GroupScore::kMax;
  const std::vector<float> logits{0, 0, 0, 0, 5, 0, 0, 0};
  const std::vector<float> bias{0, 0, 0, 0, 0, -3, -2, -4};
  for_each_kernel(d, [&](const RouterKernel& kernel) {
    EXPECT_EQ(run(kernel, d, logits, bias).ids, (std::vector<int32_t>{4, 6, 5, 7})) << kernel.name;
  });
}

TEST(Router, NanNeverLeavesTheRangeNorRepeatsAnExpert) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const RouterDesc& d : descriptors()) {
    const auto experts = static_cast<size_t>(d.experts);
    for (int kind = 0; kind < 4; ++kind) {
      auto logits = test::random_floats(experts, 3, 2);
      for (size_t e = 0; e < experts; ++e) {
        if (kind == 0) logits[e] = nan;
        if (kind == 1 && e != 5) logits[e] = nan;
        if (kind == 2 && e % 3 == 0) logits[e] = e % 2 ? infinity : -infinity;
        if (kind == 3) logits[e] = -infinity;
      }
      const std::vector<float> bias(experts, 0.0f);
      for_each_kernel(d, [&](const RouterKernel& kernel) {
        const Routed routed = run(kernel, d, logits, bias);
        const std::set<int32_t> distinct(routed.ids.begin(), routed.ids.end());
        EXPECT_EQ(distinct.size(), routed.ids.size()) << kernel.name << " " << d.text();
        EXPECT_GE(*distinct.begin(), 0);
        EXPECT_LT(*distinct.rbegin(), d.experts);
        if (kind == 1 && d.scoring == Scoring::kSigmoid) {
          EXPECT_EQ(routed.ids[0], 5);
        }
        // The fault shows: a weight taken from NaN is NaN.
        if (kind == 0) {
          EXPECT_TRUE(std::isnan(routed.weights[0]));
        }
      });
    }
  }
}

TEST(Router, ATokenAloneEqualsTheTokenInABatch) {
  const RouterDesc d = descriptors()[1];
  const auto experts = static_cast<size_t>(d.experts), top_k = static_cast<size_t>(d.top_k);
  const auto logits = test::random_floats(64 * experts, 4, 2);
  const auto bias = test::random_floats(experts, 5, 0.1);
  for_each_kernel(d, [&](const RouterKernel& kernel) {
    const Routed all = run(kernel, d, logits, bias, 5);
    for (size_t token = 0; token < 64; token += 7) {
      const auto begin = logits.begin() + static_cast<ptrdiff_t>(token * experts);
      const Routed alone =
          run(kernel, d, {begin, begin + static_cast<ptrdiff_t>(experts)}, bias, 1);
      EXPECT_TRUE(std::equal(alone.ids.begin(), alone.ids.end(), &all.ids[token * top_k]));
      EXPECT_TRUE(test::same_bits(alone.weights.data(), &all.weights[token * top_k], top_k));
    }
  });
}

TEST(RouterDeathTest, MoreExpertsThanTheGroupsHold) {
  RouterDesc d;
  d.experts = 8;
  d.groups = 4;
  d.top_groups = 1;
  d.top_k = 3;
  for_each_kernel(d, [&](const RouterKernel& kernel) {
    EXPECT_DEATH(run(kernel, d, std::vector<float>(8), std::vector<float>(8), 1), "top_k=3");
  });
}

}  // namespace
}  // namespace headroom::kernels
