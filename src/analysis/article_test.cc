// The published case: every printed figure of a real comparison follows, and so do its weaknesses.
#include <gtest/gtest.h>

#include "analysis/compare.h"
#include "results/import.h"

namespace headroom::analysis {
namespace {

using results::StoredRecord;
using testing::HasSubstr;

// Kimi K2.5 on MI355X, 8k/1k, as InferenceX published it for two dates.
constexpr const char* kRows = R"(date,framework,conc,tp,tput_per_gpu_tok_s,tpot_ms,intvty_tok_s_user
2026-03-01,vllm 0.16.0,4,8,28.7,152,6.6
2026-03-01,vllm 0.16.0,8,8,55.0,158,6.3
2026-03-01,vllm 0.16.0,16,8,104.8,164,6.1
2026-03-01,vllm 0.16.0,32,8,191.2,179,5.6
2026-03-01,vllm 0.16.0,64,8,348.5,199,5.0
2026-03-26,vllm 0.18.0,4,8,337,13,78.9
2026-03-26,vllm 0.18.0,8,8,521,16,60.8
2026-03-26,vllm 0.18.0,16,8,870,20,50.5
2026-03-26,vllm 0.18.0,32,8,1255,27,36.4
2026-03-26,vllm 0.18.0,64,8,1647,43,23.3
2026-03-26,vllm 0.18.0,4,4,650,13,76.2
2026-03-26,vllm 0.18.0,64,4,2687,53,19.0
)";

std::vector<StoredRecord> stored() {
  std::vector<StoredRecord> out;
  auto imported = results::import_csv(kRows, "article.csv");
  for (auto& row : imported.value().rows) {
    StoredRecord record;
    record.id = results::record_id(row.entry.record);
    record.record = std::move(row.entry.record);
    out.push_back(std::move(record));
  }
  return out;
}

CompareInput side(std::string_view selector) {
  const auto parsed = results::parse_selector(selector).value();
  CompareInput input{std::string(selector), {}};
  for (StoredRecord& record : stored())
    if (parsed.matches(record.record)) input.records.push_back(std::move(record));
  return input;
}

Comparison article(CompareOptions options) {
  if (options.levels.empty()) options.levels = {337, 380};
  auto result =
      compare(side("date=2026-03-01,tp=8"), side("date=2026-03-26,tp=8"), stored(), options);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return std::move(*result);
}

std::string warning(const Comparison& c, std::string_view code) {
  std::string text;
  for (const Warning& w : c.warnings)
    if (w.code == code) text += w.text + "\n";
  return text;
}

TEST(Article, LinearOnThePreciseBasisPrintsThePublishedTable) {
  const Comparison c = article({.extrapolate = true});
  const base::Table table = iso_throughput_table(c);
  const std::vector<std::vector<std::string>> expected = {
      {"337", "5.1~", "≈62", "78.9 ", "4", "15.6x"},
      {"380", "4.9^", "≈70", "74.7~", "≈5", "15.2x"}};
  EXPECT_EQ(table.rows, expected);
  ASSERT_EQ(c.iso_throughput.size(), 2u);
  const IsoRow &at337 = c.iso_throughput[0], &at380 = c.iso_throughput[1];
  EXPECT_NEAR(*at337.a.value, 5.0662, 5e-5);
  EXPECT_NEAR(*at337.a.concurrency, 61.66, 0.005);
  EXPECT_EQ(at337.a.source, "tpot");
  EXPECT_EQ(at337.b.value, 78.9);
  EXPECT_EQ(at337.b.state, State::kMeasured);
  EXPECT_EQ(at337.b.source, "interactivity");
  EXPECT_NEAR(*at337.gain, 15.574, 5e-4);
  EXPECT_NEAR(*at380.a.value, 4.9127, 5e-5);
  EXPECT_EQ(at380.a.state, State::kExtrapolated);
  EXPECT_NEAR(*at380.b.value, 74.6701, 5e-5);
  EXPECT_EQ(at380.b.state, State::kInterpolated);
  EXPECT_NEAR(*at380.b.concurrency, 4.93, 0.005);
  EXPECT_NEAR(*at380.gain, 15.199, 5e-4);
  EXPECT_EQ(at380.b.evidence.size(), 2u);
}

TEST(Article, WithoutExtrapolationTheSecondLevelIsOutOfReach) {
  const Comparison c = article({});
  const IsoRow& row = c.iso_throughput[1];
  EXPECT_EQ(row.a.state, State::kUnreachable);
  EXPECT_EQ(row.a.value, std::nullopt);
  EXPECT_EQ(row.gain, std::nullopt);
  EXPECT_THAT(row.a.reason, HasSubstr("measured only up to 348.5 tok/s/GPU (concurrency 64)"));
  EXPECT_NEAR(*row.b.value, 74.6701, 5e-5);
  // A tenth of the range is 31.98: 380 is inside it, 381 is not.
  EXPECT_EQ(article({.levels = {381}, .extrapolate = true}).iso_throughput[0].a.state,
            State::kUnreachable);
}

TEST(Article, PrintedBasisGivesThePublishedGains) {
  const Comparison c = article({.basis = Basis::kPrinted});
  std::vector<std::string> gains;
  for (const auto& row : same_concurrency_table(c).rows) gains.push_back(row[3]);
  EXPECT_EQ(gains, (std::vector<std::string>{"12.0x", "9.7x", "8.3x", "6.5x", "4.7x"}));
  EXPECT_NEAR(*c.same_concurrency[0].gain, 11.955, 5e-4);
  EXPECT_NEAR(*c.same_concurrency[4].gain, 4.660, 5e-4);
}

TEST(Article, TpotBasisReadsTheOtherColumn) {
  const Comparison c = article({.basis = Basis::kTpot});
  EXPECT_EQ(c.same_concurrency[0].b.source, "tpot");
  EXPECT_DOUBLE_EQ(*c.same_concurrency[0].b.value, 1000.0 / 13);
}

TEST(Article, SteffenPrintsItsOwnValues) {
  const Comparison c = article({.method = Method::kSteffen, .extrapolate = true});
  EXPECT_NEAR(*c.iso_throughput[0].a.value, 5.0575, 5e-5);
  EXPECT_NEAR(*c.iso_throughput[0].gain, 15.601, 5e-4);
  EXPECT_EQ(c.iso_throughput[1].a.state, State::kUnreachable);
  EXPECT_THAT(c.iso_throughput[1].a.reason, HasSubstr("steffen does not go past the data"));
  EXPECT_NEAR(*c.iso_throughput[1].b.value, 73.8704, 5e-5);
}

TEST(Article, PeaksAndOverlap) {
  const Comparison c = article({});
  EXPECT_NEAR(*c.peak_gain, 4.726, 5e-4);
  ASSERT_TRUE(c.level_overlap);
  EXPECT_EQ(c.level_overlap->low, 337);
  EXPECT_EQ(c.level_overlap->high, 348.5);
  EXPECT_FALSE(c.value_overlap);
  EXPECT_TRUE(c.iso_interactivity.empty());
}

TEST(Article, WarnsOfWhatAnHonestReaderWantsToKnow) {
  const Comparison c = article({.extrapolate = true});
  EXPECT_THAT(warning(c, "better_layout_outside_selection"),
              testing::AllOf(HasSubstr("at 380 tok/s/GPU, tp=4 at concurrency 4"),
                             HasSubstr("reads 78.5 there and the gain is 16.0x")));
  EXPECT_THAT(warning(c, "range_overlap"),
              testing::AllOf(HasSubstr("[337, 348.5]"), HasSubstr("380 lies outside")));
  EXPECT_THAT(warning(c, "iso_interactivity_disjoint"),
              testing::AllOf(HasSubstr("A ends at 6.6, B starts at 23.3"),
                             HasSubstr("19.0 over all its stored layouts")));
  EXPECT_THAT(warning(c, "mixed_layouts"),
              testing::AllOf(HasSubstr("2687"), HasSubstr("7.7x, tp=4 against tp=8"),
                             HasSubstr("like with like (tp=8) it is 4.7x")));
  EXPECT_THAT(warning(c, "rounded_inputs"), testing::AllOf(HasSubstr("5.0 (not 5.1) for A at 337"),
                                                           HasSubstr("15.3x (not 15.2x) at 380")));
}

TEST(Article, NoWarningWithoutItsCause) {
  // The same selection against itself: same layout, same range, nothing better outside tp=4 and 8.
  const auto all = side("date=2026-03-26");
  const auto c = compare(all, all, stored(), {.levels = {400, 800}});
  ASSERT_TRUE(c);
  for (const char* code : {"better_layout_outside_selection", "range_overlap",
                           "iso_interactivity_disjoint", "workload_differs"})
    EXPECT_EQ(warning(*c, code), "") << code;
  EXPECT_THAT(warning(*c, "mixed_layouts"), HasSubstr("tp=4, tp=8"));
  for (const IsoRow& row : c->iso_throughput) EXPECT_DOUBLE_EQ(*row.gain, 1);
}

TEST(Article, ChoosesLevelsInsideTheOverlapAndBeyond) {
  auto c = compare(side("date=2026-03-01"), side("date=2026-03-26,tp=8"), stored(), {});
  ASSERT_TRUE(c);
  EXPECT_THAT(c->levels_note, HasSubstr("levels chosen"));
  const auto& levels = c->options.levels;
  ASSERT_GE(levels.size(), 4u);
  EXPECT_EQ(levels.front(), 337);
  EXPECT_EQ(levels.back(), 1647);
  EXPECT_EQ(c->iso_throughput[0].b.state, State::kMeasured);
  EXPECT_EQ(c->iso_throughput.back().a.state, State::kUnreachable);
}

TEST(Article, EveryOutputHoldsTheTable) {
  const Comparison c = article({.extrapolate = true});
  EXPECT_THAT(terminal_text(c), HasSubstr("15.2x"));
  EXPECT_THAT(markdown_text(c), HasSubstr("| 380 | 4.9^ | ≈70 | 74.7~ | ≈5 | 15.2x |"));
  EXPECT_THAT(csv_text(c), HasSubstr("iso_throughput,380,tok/s/GPU,a,4.912"));
  EXPECT_THAT(json_text(c), HasSubstr(R"("level":380,"a":{"value":4.912)"));
}

TEST(Article, RecordsOnBothSidesAreSaid) {
  const CompareInput a = side("date=2026-03-01"), b = side("tp=8");
  EXPECT_THAT(warning(compare(a, b, {}, {}).value(), "shared_records"),
              HasSubstr("5 of the 10 records of B are also in A"));
}

TEST(Article, AnotherModelOnOneSideIsSaid) {
  CompareInput a = side("date=2026-03-01,tp=8"), b = side("date=2026-03-26,tp=8");
  const auto both = [&](const char* model_a, const char* model_b) {
    for (StoredRecord& record : a.records) record.record.server.model = model_a;
    for (StoredRecord& record : b.records) record.record.server.model = model_b;
    return compare(a, b, {}, {}).value();
  };
  EXPECT_EQ(warning(both("Kimi-K2.5", "Kimi-K2.5"), "model_differs"), "");
  EXPECT_EQ(warning(both("Kimi-K2.5", "DeepSeek-R1"), "model_differs"),
            "the two sides served different models: A Kimi-K2.5, B DeepSeek-R1\n");
  both("X", "X");
  a.records[0].record.server.model = "Y";
  EXPECT_THAT(warning(compare(a, b, {}, {}).value(), "mixed_models"),
              HasSubstr("A holds several models (X, Y)"));
}

}  // namespace
}  // namespace headroom::analysis
