// Intervals from repeats: known cases, coverage, and what has none.
#include "analysis/bootstrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/compare.h"

namespace headroom::analysis {
namespace {

using results::StoredRecord;
using testing::HasSubstr;

StoredRecord measured(const char* kv, int64_t concurrency, int64_t repeat, double tpot_ms) {
  StoredRecord stored;
  results::Record& r = stored.record;
  r.date = "2026-01-01";
  r.repeat = repeat;
  r.server.model = "m";
  r.server.kv = kv;
  r.hardware = {"h", 1, "stated"};
  r.workload.concurrency = concurrency;
  auto& whole = r.measures.whole;
  whole.duration_s = 10;
  whole.input_tokens = static_cast<int64_t>(1e4 * static_cast<double>(concurrency) / tpot_ms);
  whole.output_tokens = 0;
  whole.tpot.emplace().record(static_cast<int64_t>(tpot_ms * 1e6), 10);
  stored.id = results::record_id(r);
  return stored;
}

std::vector<StoredRecord> repeats(const char* kv, const std::vector<double>& tpots) {
  std::vector<StoredRecord> records;
  for (size_t i = 0; i < tpots.size(); ++i)
    records.push_back(measured(kv, 4, static_cast<int64_t>(i), tpots[i]));
  return records;
}

Comparison compared(const std::vector<StoredRecord>& a, const std::vector<StoredRecord>& b) {
  CompareOptions options;
  options.span = Span::kWhole;
  std::vector<StoredRecord> all = a;
  all.insert(all.end(), b.begin(), b.end());
  auto comparison = compare({"a", a}, {"b", b}, all, options);
  EXPECT_TRUE(comparison) << comparison.error().message;
  return std::move(*comparison);
}

TEST(Bootstrap, AClearGainIsSignificant) {
  const Comparison c =
      compared(repeats("bf16", {20, 20.2, 19.8, 20.1}), repeats("fp8", {10, 10.1, 9.9, 10.05}));
  ASSERT_EQ(c.same_concurrency.size(), 1U);
  const auto& row = c.same_concurrency[0];
  ASSERT_TRUE(row.interval);
  EXPECT_EQ(row.interval->repeats, 4U);
  EXPECT_LT(row.interval->low, *row.gain);
  EXPECT_GT(row.interval->high, *row.gain);
  EXPECT_GT(row.interval->low, 1.9);
  EXPECT_LT(row.interval->high, 2.1);
  EXPECT_TRUE(row.interval->significant());
  ASSERT_TRUE(c.peak_interval);
  EXPECT_TRUE(c.peak_interval->significant());
}

TEST(Bootstrap, NoiseIsNoChange) {
  const Comparison c =
      compared(repeats("bf16", {20, 23, 18, 21}), repeats("fp8", {19, 22, 20.5, 18.5}));
  ASSERT_TRUE(c.same_concurrency[0].interval);
  EXPECT_FALSE(c.same_concurrency[0].interval->significant());
  EXPECT_THAT(terminal_text(c), HasSubstr("no significant change"));
  EXPECT_THAT(json_text(c), HasSubstr(R"("significant":false)"));
}

TEST(Bootstrap, OneMeasurementHasNoInterval) {
  const Comparison c = compared(repeats("bf16", {20}), repeats("fp8", {10, 10.1, 9.9}));
  EXPECT_FALSE(c.same_concurrency[0].interval);
  EXPECT_THAT(json_text(c), HasSubstr(R"("interval":null)"));
  EXPECT_FALSE(confidence_interval({1, 2, 3}, 1));
  EXPECT_FALSE(confidence_interval({}, 5));
}

TEST(Bootstrap, TheSameRecordsGiveTheSameInterval) {
  const auto a = repeats("bf16", {20, 21, 19}), b = repeats("fp8", {10, 11, 9.5});
  const auto first = compared(a, b).same_concurrency[0].interval;
  const auto second = compared(a, b).same_concurrency[0].interval;
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->low, second->low);
  EXPECT_EQ(first->high, second->high);
}

TEST(Bootstrap, TwoRepeatsNeedAnEffectFarAboveTheirNoise) {
  // The settings differ by 10 %, their repeats by as much: two of each cannot tell.
  EXPECT_FALSE(compared(repeats("bf16", {20, 21}), repeats("fp8", {18, 19}))
                   .same_concurrency[0]
                   .interval->significant());
  EXPECT_TRUE(compared(repeats("bf16", {20, 20.1}), repeats("fp8", {10, 10.05}))
                  .same_concurrency[0]
                  .interval->significant());
}

// Of many pairs of equal settings, nearly 95 % must be called no change. Plain percentiles of five
// repeats would manage about 85 %, and the draws of two cannot lie far enough out at all.
class Coverage : public testing::TestWithParam<int> {};

TEST_P(Coverage, IsNearWhatItClaims) {
  base::Rng rng(7);
  constexpr int kTrials = 120;
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> a, b;
    for (int i = 0; i < GetParam(); ++i) {
      a.push_back(20 + rng.normal());
      b.push_back(20 + rng.normal());
    }
    const auto interval =
        compared(repeats("bf16", a), repeats("fp8", b)).same_concurrency[0].interval;
    ASSERT_TRUE(interval);
    covered += interval->low <= 1 && interval->high >= 1;
  }
  EXPECT_GE(covered, kTrials * 90 / 100);
  EXPECT_LE(covered, GetParam() == 2 ? kTrials : kTrials * 99 / 100 + 1);
}

INSTANTIATE_TEST_SUITE_P(Repeats, Coverage, testing::Values(2, 3, 5));

}  // namespace
}  // namespace headroom::analysis
