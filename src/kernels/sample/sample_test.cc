// Tests of sample: greedy, the distribution of draws, limits, agreement of all kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/sample/desc.h"
#include "kernels/sample/weight.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<SampleResult> run(const SampleKernel& kernel, const std::vector<float>& logits,
                              const std::vector<SampleParams>& params, int threads = 2) {
  base::ThreadPool pool(threads);
  const SampleDesc desc{static_cast<int32_t>(logits.size() / params.size())};
  std::vector<SampleResult> results(params.size());
  kernel.run(desc,
             {logits.data(), params.data(), results.data(), static_cast<int64_t>(params.size())},
             pool);
  return results;
}

template <typename Check>
void for_each_kernel(Check&& check) {
  for (const SampleKernel& kernel : sample_kernels())
    if (!kernel.refuses(SampleDesc{1})) check(kernel);
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature) {
  const double top = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p;
  double sum = 0;
  for (const float x : logits) sum += p.emplace_back(std::exp((x - top) / temperature));
  for (double& value : p) value /= sum;
  return p;
}

/// Draws `count` tokens at positions 0, 1, … of one seed.
std::vector<int32_t> draws(const SampleKernel& kernel, const std::vector<float>& logits,
                           SampleParams params, int count) {
  std::vector<float> rows;
  std::vector<SampleParams> all;
  for (int i = 0; i < count; ++i) {
    rows.insert(rows.end(), logits.begin(), logits.end());
    params.position = i;
    all.push_back(params);
  }
  std::vector<int32_t> ids;
  for (const SampleResult& result : run(kernel, rows, all)) ids.push_back(result.id);
  return ids;
}

TEST(Sample, GreedyTakesTheLowestOfTheLargest) {
  for (const size_t vocab : {1u, 7u, 16u, 100u, 1000u}) {
    auto logits = test::random_floats(vocab, vocab);
    const size_t first = vocab / 3, second = vocab - 1;
    logits[first] = logits[second] = 9.5f;
    for_each_kernel([&](const SampleKernel& kernel) {
      const auto result = run(kernel, logits, {SampleParams{}})[0];
      EXPECT_EQ(result.id, static_cast<int32_t>(std::min(first, second))) << kernel.name;
      const double expected = std::log(softmax(logits, 1)[first]);
      // Weights are exact sums; each is within 4e-7 of exp, and the truncation takes 2^-40 of each.
      EXPECT_NEAR(result.logprob, expected, 1e-6 + test::kUnit * std::abs(expected));
    });
  }
}

TEST(Sample, LogprobIsOfTheUnmodifiedLogits) {
  const auto logits = test::random_floats(500, 3, 4);
  const auto p = softmax(logits, 1);
  for_each_kernel([&](const SampleKernel& kernel) {
    for (int seed = 0; seed < 20; ++seed) {
      const auto result =
          run(kernel, logits, {{0.3f, 0.5f, 10, static_cast<uint64_t>(seed), 1}})[0];
      const double expected = std::log(p[static_cast<size_t>(result.id)]);
      EXPECT_NEAR(result.logprob, expected, 2e-6 + test::kUnit * std::abs(expected));
    }
  });
}

TEST(Sample, DrawsFollowTheSoftmax) {
  std::vector<float> logits;
  for (int i = 0; i < 24; ++i) logits.push_back(2.0f * std::sin(static_cast<float>(i)));
  constexpr int kDraws = 40000;
  for (const float temperature : {0.7f, 1.0f, 2.0f}) {
    const auto p = softmax(logits, temperature);
    for_each_kernel([&](const SampleKernel& kernel) {
      std::vector<int> counts(24);
      for (const int32_t id : draws(kernel, logits, {temperature, 1, 0, 42, 0}, kDraws))
        ++counts[static_cast<size_t>(id)];
      double chi2 = 0;
      for (size_t i = 0; i < 24; ++i)
        chi2 += std::pow(counts[i] - kDraws * p[i], 2) / (kDraws * p[i]);
      EXPECT_LT(chi2, 49.7) << kernel.name;  // 99.9 % point of 23 degrees of freedom
      EXPECT_GT(chi2, 6.0) << kernel.name;   // 0.01 % point: draws that are too even are wrong too
    });
  }
}

TEST(Sample, TopKAndTopPKeepTheMostProbable) {
  // Probabilities 0.4, 0.3, 0.2, 0.1 at shuffled ids.
  const std::vector<float> logits{std::log(0.2f), std::log(0.4f), std::log(0.1f), std::log(0.3f)};
  const auto seen = [&](const SampleKernel& kernel, float top_p, int32_t top_k) {
    std::vector<int32_t> ids = draws(kernel, logits, {1, top_p, top_k, 7, 0}, 400);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  };
  using Ids = std::vector<int32_t>;
  for_each_kernel([&](const SampleKernel& kernel) {
    EXPECT_EQ(seen(kernel, 1, 0), (Ids{0, 1, 2, 3})) << kernel.name;
    EXPECT_EQ(seen(kernel, 1, 1), (Ids{1}));
    EXPECT_EQ(seen(kernel, 1, 2), (Ids{1, 3}));
    EXPECT_EQ(seen(kernel, 1, 9), (Ids{0, 1, 2, 3}));
    EXPECT_EQ(seen(kernel, 0.39f, 0), (Ids{1}));
    EXPECT_EQ(seen(kernel, 0.41f, 0), (Ids{1, 3}));
    EXPECT_EQ(seen(kernel, 0.69f, 0), (Ids{1, 3}));
    EXPECT_EQ(seen(kernel, 0.71f, 0), (Ids{0, 1, 3}));
    EXPECT_EQ(seen(kernel, 0, 0), (Ids{1}));
    // Of the two that top-k keeps, 4/7 and 3/7, the first reaches half.
    EXPECT_EQ(seen(kernel, 0.5f, 2), (Ids{1}));
    EXPECT_EQ(seen(kernel, 0.6f, 2), (Ids{1, 3}));
  });
}

TEST(Sample, AllKernelsDrawTheSameTokens) {
  const SampleKernel& reference = sample_kernels().back();
  base::Rng rng(5);
  for (const size_t vocab : {1u, 5u, 64u, 1003u, 20000u}) {
    for (int trial = 0; trial < 12; ++trial) {
      auto logits = test::random_floats(vocab, rng.next(), 1 + 3 * rng.uniform());
      // Ties, and tokens far below the rest.
      for (float& x : logits) {
        if (trial % 3 == 1) x = std::round(x * 2) / 2;
        if (rng.below(10) == 0) x = rng.below(2) ? -kInfinity : -200.0f;
      }
      if (trial % 6 == 5) std::fill(logits.begin(), logits.end(), 1.5f);
      logits[rng.below(vocab)] = 0.25f;
      std::vector<float> rows;
      std::vector<SampleParams> params;
      for (int i = 0; i < 24; ++i) {
        rows.insert(rows.end(), logits.begin(), logits.end());
        SampleParams p;
        p.temperature = std::array{0.0f, 0.01f, 0.7f, 1.0f, 1.3f, 50.0f}[rng.below(6)];
        p.top_p = std::array{1.0f, 0.95f, 0.5f, 1e-6f, 0.999999f}[rng.below(5)];
        p.top_k = std::array{0, 1, 3, 50, 5000}[rng.below(5)];
        p.seed = rng.next();
        p.position = static_cast<int32_t>(rng.below(100000));
        params.push_back(p);
      }
      const auto expected = run(reference, rows, params);
      for_each_kernel([&](const SampleKernel& kernel) {
        const auto results = run(kernel, rows, params, 3);
        for (size_t i = 0; i < results.size(); ++i) {
          ASSERT_EQ(results[i].id, expected[i].id)
              << kernel.name << " vocab " << vocab << " T " << params[i].temperature << " top_p "
              << params[i].top_p << " top_k " << params[i].top_k;
          ASSERT_EQ(results[i].logprob, expected[i].logprob) << kernel.name;
          ASSERT_GE(results[i].id, 0);
        }
      });
    }
  }
}

TEST(Sample, OnlySeedAndPositionDecideTheDraw) {
  const auto logits = test::random_floats(200, 1);
  for_each_kernel([&](const SampleKernel& kernel) {
    const auto a = draws(kernel, logits, {1, 1, 0, 1, 0}, 200);
    EXPECT_EQ(a, draws(kernel, logits, {1, 1, 0, 1, 0}, 200));
    EXPECT_NE(a, draws(kernel, logits, {1, 1, 0, 2, 0}, 200));
    const auto alone = run(kernel, logits, {{1, 1, 0, 1, 77}}, 1)[0];
    EXPECT_EQ(alone.id, a[77]);
  });
}

TEST(Sample, NanAndInfinityFailTheRowAlone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {nan, kInfinity})
    for (const size_t at : {0u, 17u, 99u}) {
      auto rows = test::random_floats(300, 2);
      rows[100 + at] = bad;
      for_each_kernel([&](const SampleKernel& kernel) {
        for (const float temperature : {0.0f, 1.0f}) {
          const SampleParams p{temperature, 1, 0, 1, 0};
          const auto results = run(kernel, rows, {p, p, p});
          EXPECT_GE(results[0].id, 0);
          EXPECT_EQ(results[1].id, -1) << kernel.name;
          EXPECT_TRUE(std::isnan(results[1].logprob));
          EXPECT_GE(results[2].id, 0);
        }
      });
    }
  for_each_kernel([&](const SampleKernel& kernel) {
    EXPECT_EQ(run(kernel, std::vector<float>(20, -kInfinity), {SampleParams{}})[0].id, -1);
  });
}

TEST(Weight, IsExpInFixedPoint) {
  double worst = 0;
  for (int i = 0; i <= 300000; ++i) {
    const float x = -30.0f * static_cast<float>(i) / 300000;
    const double exact = std::exp(double{x});
    const double weight = std::ldexp(static_cast<double>(sampling::weight(x)), -40);
    worst = std::max(worst, std::abs(weight - exact) - 0x1.0p-40 - 4e-7 * exact);
  }
  EXPECT_LE(worst, 0);
  EXPECT_EQ(sampling::weight(0), uint64_t{1} << 40);
  EXPECT_EQ(sampling::weight(-kInfinity), 0u);
  EXPECT_EQ(sampling::weight(std::numeric_limits<float>::quiet_NaN()), 0u);
}

}  // namespace
}  // namespace headroom::kernels
