// Comparison beyond the published case: what the warnings say of lines that run flat.
#include "analysis/compare.h"

#include <gtest/gtest.h>

namespace headroom::analysis {
namespace {

using results::Record;
using results::StoredRecord;

StoredRecord point(const char* kv, int64_t concurrency, int64_t tokens_in_10_s, double tpot_ms) {
  StoredRecord stored;
  Record& r = stored.record;
  r.date = "2026-01-01";
  r.server.model = "m";
  r.server.kv = kv;
  r.hardware.name = "h";
  r.hardware.devices = 1;
  r.workload.concurrency = concurrency;
  auto& whole = r.measures.whole;
  whole.duration_s = 10;
  whole.input_tokens = tokens_in_10_s;
  whole.output_tokens = 0;
  whole.tpot.emplace().record(static_cast<int64_t>(tpot_ms * 1e6), 10);
  stored.id = results::record_id(r);
  return stored;
}

std::vector<Warning> warnings_of(const std::vector<StoredRecord>& a,
                                 const std::vector<StoredRecord>& b, double level) {
  std::vector<StoredRecord> all = a;
  all.insert(all.end(), b.begin(), b.end());
  CompareOptions options;
  options.span = Span::kWhole;
  options.levels = {level};
  const auto comparison = compare({"a", a}, {"b", b}, all, options);
  EXPECT_TRUE(comparison) << comparison.error().message;
  return comparison ? comparison->warnings : std::vector<Warning>{};
}

std::string text_of(const std::vector<Warning>& warnings, std::string_view code) {
  for (const Warning& warning : warnings)
    if (warning.code == code) return warning.text;
  return "";
}

TEST(Compare, AReadingBelowTheSidesOwnPointIsSaid) {
  // A is full at one user: more users only wait. At 490 tok/s its line reads 50 tok/s/user,
  // although its first point gives 500 tok/s at 100.
  const std::vector<StoredRecord> flat = {point("bf16", 1, 5000, 10), point("bf16", 2, 4800, 50)};
  const std::vector<StoredRecord> b = {point("fp8", 1, 4000, 5), point("fp8", 2, 6000, 6)};
  const std::string text = text_of(warnings_of(flat, b, 490), "own_point_better");
  EXPECT_THAT(text, testing::HasSubstr("A at 490"));
  EXPECT_THAT(text, testing::HasSubstr("500.0 tok/s/GPU at 100.0 tok/s/user"));
  EXPECT_THAT(text, testing::HasSubstr("the gain is 1.9x"));
}

TEST(Compare, ALineThatRisesHasNoSuchWarning) {
  const std::vector<StoredRecord> a = {point("bf16", 1, 4000, 10), point("bf16", 2, 6000, 12)};
  const std::vector<StoredRecord> b = {point("fp8", 1, 4000, 5), point("fp8", 2, 6000, 6)};
  EXPECT_EQ(text_of(warnings_of(a, b, 490), "own_point_better"), "");
}

}  // namespace
}  // namespace headroom::analysis
