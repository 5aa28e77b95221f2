// Reading records: spans, devices, repeats, percentiles, doubts.
#include "analysis/series.h"

#include <gtest/gtest.h>

#include "analysis/point_table.h"
#include "analysis/validity.h"

namespace headroom::analysis {
namespace {

using results::Record;
using results::StoredRecord;
using testing::HasSubstr;

// 100 requests with TPOT from 10 to 19.9 ms in 10 s, of 100 + 20 tokens each.
Record measured(int64_t concurrency) {
  Record r;
  r.server.framework = "headroom";
  r.server.attention = "avx512";
  r.server.kv = "bf16";
  r.workload.concurrency = concurrency;
  auto& whole = r.measures.whole;
  whole.duration_s = 10;
  whole.input_tokens = 10'000;
  whole.output_tokens = 2'000;
  whole.tpot.emplace();
  for (int i = 0; i < 100; ++i) whole.tpot->record(10'000'000 + i * 100'000);
  r.limit.emplace().tpot_ms = 5;
  return r;
}

StoredRecord stored(Record record) {
  StoredRecord out;
  out.id = results::record_id(record);
  out.record = std::move(record);
  return out;
}

TEST(Metric, PerDeviceNeedsACountOfDevices) {
  Record r = measured(4);
  EXPECT_FALSE(read(r, Metric::kTokSGpu, {}));
  EXPECT_DOUBLE_EQ(read(r, Metric::kTokS, {})->value, 1200);
  r.hardware.devices = 8;
  EXPECT_DOUBLE_EQ(read(r, Metric::kTokSGpu, {})->value, 150);
  EXPECT_DOUBLE_EQ(read(r, Metric::kOutputTokSGpu, {})->value, 25);
  r.measures.whole.input_tokens.reset();
  EXPECT_FALSE(read(r, Metric::kTokSGpu, {}));  // not 25: absent is not 0
  EXPECT_DOUBLE_EQ(read(r, Metric::kOutputTokSGpu, {})->value, 25);
}

TEST(Metric, PercentilesAndSpans) {
  Record r = measured(4);
  EXPECT_NEAR(read(r, Metric::kTpotMs, {})->value, 14.9, 0.02);
  EXPECT_NEAR(read(r, Metric::kHeadroom, {})->value, 14.9 / 5, 0.005);
  ReadOptions slow;
  slow.percentile = 99;
  EXPECT_NEAR(read(r, Metric::kInteractivity, slow)->value, 1000 / 19.8, 0.1);
  EXPECT_EQ(metric_title(Metric::kInteractivity, 99), "tok/s/user (slowest 1 %)");
  r.measures.steady.emplace().tpot.emplace().record(8'000'000);
  ReadOptions steady;
  steady.span = Span::kSteady;
  EXPECT_NEAR(read(r, Metric::kTpotMs, steady)->value, 8, 0.01);
  EXPECT_FALSE(read(r, Metric::kTokS, steady));
  Record printed;  // a published median answers no other percentile
  printed.published.tpot_ms = results::Printed::parse("12").value();
  EXPECT_TRUE(read(printed, Metric::kInteractivity, {}));
  EXPECT_FALSE(read(printed, Metric::kInteractivity, slow));
  EXPECT_FALSE(read(Record{}, Metric::kInteractivity, {}));
}

TEST(Series, RepeatsAreAveragedAndRecipesKeptApart) {
  Record again = measured(4);
  again.repeat = 2;
  again.measures.whole.duration_s = 12;
  Record other = measured(4);
  other.server.attention = "reference";
  Record blind = measured(16);
  blind.measures.whole.tpot.reset();
  const std::vector<StoredRecord> records = {stored(measured(8)), stored(measured(4)),
                                             stored(again), stored(other), stored(blind)};
  const SeriesSet set = build_series(records, Metric::kTokS, Metric::kInteractivity, {});
  EXPECT_EQ(set.left_out, 1u);
  ASSERT_EQ(set.series.size(), 2u);
  EXPECT_EQ(set.series[0].label, "avx512 bf16");
  ASSERT_EQ(set.series[0].points.size(), 2u);
  const Point& mean = set.series[0].points[0];
  EXPECT_EQ(mean.concurrency, 4);
  EXPECT_DOUBLE_EQ(mean.x, (1200 + 1000) / 2.0);
  EXPECT_EQ(mean.repeats, 2u);
  EXPECT_EQ(mean.evidence.size(), 2u);
  EXPECT_EQ(set.series[1].label, "reference bf16");
}

TEST(Series, AConstantRateIsAPointOfTheSameLine) {
  Record slow = measured(1);
  slow.workload.concurrency.reset();
  slow.workload.arrivals = "constant";
  slow.workload.rate = 0.5;
  auto& whole = slow.measures.whole;
  whole.requests = 5;
  whole.e2e.emplace().record(400'000'000, 5);
  Record closed = measured(4);
  closed.workload.arrivals = "closed";
  const std::vector<StoredRecord> records = {stored(closed), stored(slow)};
  const SeriesSet set = build_series(records, Metric::kTokS, Metric::kInteractivity, {});
  ASSERT_EQ(set.series.size(), 1u);
  ASSERT_EQ(set.series[0].points.size(), 2u);
  // 5 requests of 0.4 s in 10 s.
  EXPECT_NEAR(*set.series[0].points[0].concurrency, 0.2, 1e-3);
  EXPECT_EQ(*set.series[0].points[1].concurrency, 4);
  // A repeat of a rate meets another mean of requests in flight, and is a repeat all the same.
  Record again = slow;
  again.repeat = 2;
  again.measures.whole.e2e.emplace().record(800'000'000, 5);
  const std::vector<StoredRecord> repeated = {stored(slow), stored(closed), stored(again)};
  const SeriesSet both = build_series(repeated, Metric::kTokS, Metric::kInteractivity, {});
  ASSERT_EQ(both.series[0].points.size(), 2u);
  EXPECT_EQ(both.series[0].points[0].repeats, 2u);
  EXPECT_NEAR(*both.series[0].points[0].concurrency, 0.3, 1e-3);
  EXPECT_EQ(in_flight_text(0.2), "0.2");
  EXPECT_EQ(in_flight_text(16), "16");
}

TEST(Series, DifferencesNameFlagsPlansAndEnvironment) {
  Record a = measured(4), b = a;
  a.server.flags["--block-size"] = "64";
  b.server.environment["driver"] = "550";
  a.plan.push_back({"mla_decode", "", "reference", {}, {}, {}, {}, {}});
  b.plan.push_back({"mla_decode", "", "avx512", {}, {}, {}, {}, {}});
  const std::vector<StoredRecord> of_a = {stored(a)}, of_b = {stored(b)};
  std::map<std::string, std::string> found;
  for (const Difference& d : recipe_differences(of_a, of_b)) found[d.field] = d.a + " | " + d.b;
  const std::map<std::string, std::string> expected = {{"env.driver", "— | 550"},
                                                       {"flag.--block-size", "64 | —"},
                                                       {"plan.mla_decode", "reference | avx512"}};
  EXPECT_EQ(found, expected);
}

TEST(Validity, SaysWhatSpeaksAgainstARecord) {
  Record r = measured(4);
  EXPECT_TRUE(validity_flags(r).empty());
  r.measures.requests_sent = 100;
  r.measures.requests_ok = 98;
  r.measures.client_output_tokens = 100;
  r.measures.server_output_tokens = 103;
  r.measures.client.limited = true;
  r.measures.client.limited_reason = "a thread was busy 95 %";
  r.measures.tokens_per_chunk = 1.8;
  r.limit->tpot_ms = 20;
  std::map<std::string, std::string> flags;
  for (const Flag& flag : validity_flags(r)) flags[flag.code] += flag.text;
  EXPECT_EQ(flags.size(), 5u);
  EXPECT_EQ(flags["success_rate"], "98 of 100 requests succeeded (98.0 %)");
  EXPECT_EQ(flags["client_limited"], "a thread was busy 95 %");
  EXPECT_THAT(flags["token_mismatch"], HasSubstr("100 by the client, 103 by the server"));
  EXPECT_TRUE(flags.contains("faster_than_limit"));
  EXPECT_TRUE(flags.contains("chunked"));
  // What the client says itself is not said twice.
  r.measures.doubts["failures"] = "2 of 100 requests failed";
  r.measures.doubts["tokens_per_chunk"] = "1.80 tokens per chunk";
  flags.clear();
  for (const Flag& flag : validity_flags(r)) flags[flag.code] += flag.text;
  EXPECT_EQ(flags.size(), 5u);
  EXPECT_FALSE(flags.contains("success_rate"));
  EXPECT_FALSE(flags.contains("chunked"));
  EXPECT_TRUE(flags.contains("failures"));
  EXPECT_TRUE(flags.contains("tokens_per_chunk"));
}

}  // namespace
}  // namespace headroom::analysis
