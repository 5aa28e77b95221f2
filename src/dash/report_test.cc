// The page: complete, self-contained, and safe whatever a label holds.
#include "dash/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace headroom::dash {
namespace {

using results::Record;
using results::StoredRecord;
using testing::HasSubstr;

/// Without the page in the failure's text: it is long.
bool contains(const std::string& page, std::string_view text) {
  return page.find(text) != std::string::npos;
}

Record article_row(const std::string& date, int64_t concurrency, int64_t tp, const char* throughput,
                   const char* tpot, const char* interactivity) {
  Record r;
  r.date = date;
  r.label = "vllm " + date;
  r.server.model = "Kimi-K2.5";
  r.server.framework = "vllm";
  r.server.layout.tp = tp;
  r.hardware = {"mi355x", tp, std::string(results::kDevicesStated)};
  r.server.precision = "fp4";
  r.server.kv = "bf16";
  r.workload.concurrency = concurrency;
  r.workload.input_tokens = 8192;
  r.workload.output_tokens = 1024;
  r.published.tok_s_gpu = *results::Printed::parse(throughput);
  r.published.tpot_ms = *results::Printed::parse(tpot);
  r.published.interactivity = *results::Printed::parse(interactivity);
  return r;
}

std::vector<ReportRun> article() {
  std::vector<Record> rows = {article_row("2026-03-01", 4, 8, "28.7", "152", "6.6"),
                              article_row("2026-03-01", 16, 8, "104.8", "164", "6.1"),
                              article_row("2026-03-01", 64, 8, "348.5", "199", "5.0"),
                              article_row("2026-03-26", 4, 8, "337", "13", "78.9"),
                              article_row("2026-03-26", 16, 8, "870", "20", "50.5"),
                              article_row("2026-03-26", 64, 8, "1647", "43", "23.3")};
  std::vector<StoredRecord> stored;
  for (Record& row : rows) {
    StoredRecord one;
    one.id = results::record_id(row);
    one.record = std::move(row);
    stored.push_back(std::move(one));
  }
  return runs_of(std::move(stored));
}

ReportOptions options() {
  ReportOptions o;
  o.date = "2026-12-01T12:00:00Z";
  o.command = "headroom report --db x.db --out x.html";
  o.compare.levels = {337, 380};
  o.compare.extrapolate = true;
  return o;
}

TEST(Report, RunsAreSplitByLabelInOrderOfTime) {
  const auto runs = article();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].name, "vllm 2026-03-01");
  EXPECT_EQ(runs[0].records.size(), 3U);
}

TEST(Report, TellsTheArticlesStory) {
  ReportOptions printed = options();
  printed.compare.basis = analysis::Basis::kPrinted;
  const auto page = report_html(article(), printed);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_TRUE(contains(*page, "Kimi-K2.5 on mi355x"));
  EXPECT_TRUE(contains(*page, "gives each user 4.7 to 12.0 times the tokens per second"));
  EXPECT_TRUE(contains(*page, "12.0×"));
  EXPECT_TRUE(contains(*page, "class=\"n extrapolated\""));
  EXPECT_TRUE(contains(*page, "hardware bound"));        // dashed
  EXPECT_TRUE(contains(*page, "headroom report --db"));  // replay
}

TEST(Report, LimitsAreStrictAndOfTheRecordsOwnPoint) {
  auto runs = article();
  EXPECT_THAT(add_limits(runs, {}), testing::IsEmpty());
  for (const ReportRun& run : runs)
    for (const StoredRecord& stored : run.records) {
      ASSERT_TRUE(stored.record.limit);
      EXPECT_LT(*stored.record.limit->tpot_ms, stored.record.published.tpot_ms->value);
      EXPECT_GT(*stored.record.limit->tok_s_gpu, stored.record.published.tok_s_gpu->value);
    }
  // Concurrency 4, BF16 rows, 8704 tokens: 1.5 ms of reading on the datasheet's 8 TB/s.
  EXPECT_NEAR(*runs[0].records.front().record.limit->tpot_ms, 11.9e9 / 8e12 * 1e3,
              runs[0].records.front().record.workload.concurrency == 4 ? 0.05 : 20);
}

TEST(Report, SaysWhyThereIsNoBound) {
  auto runs = article();
  for (ReportRun& run : runs)
    for (StoredRecord& stored : run.records) stored.record.server.precision.clear();
  const auto notes = add_limits(runs, {});
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], HasSubstr("the record names no weight precision"));
  const auto page = report_html(runs, options());
  ASSERT_TRUE(page);
  EXPECT_TRUE(contains(*page, "the record names no weight precision"));
  EXPECT_FALSE(contains(*page, "hardware bound</text>"));
}

TEST(Report, NeedsNoNetwork) {
  const auto page = report_html(article(), options());
  ASSERT_TRUE(page);
  EXPECT_FALSE(std::regex_search(*page, std::regex("(src|href)=\"")));
  EXPECT_FALSE(contains(*page, "url(http"));
  EXPECT_FALSE(contains(*page, "@import"));
  EXPECT_TRUE(contains(*page, "default-src 'none'"));
}

TEST(Report, HostileLabelsStayText) {
  const std::string evil = "\"><script>alert(1)</script><img src=x onerror=alert(2)>'&\x01\xFF";
  auto runs = article();
  for (ReportRun& run : runs) {
    run.name += evil;
    for (StoredRecord& stored : run.records) {
      Record& r = stored.record;
      r.label = r.server.framework = r.server.command = r.hardware.name = r.server.attention = evil;
      r.server.environment[evil] = evil;
      r.server.flags[evil] = evil + run.name;
      r.workload.dataset = r.client = r.server.framework_version = evil;
      results::PlanLine line;
      line.op = line.chosen = line.descriptor = evil;
      line.refused = {{evil, evil}};
      r.plan = {line};
    }
  }
  ReportOptions o = options();
  o.title = o.command = evil;
  o.notes = {evil};
  const auto page = report_html(runs, o);
  ASSERT_TRUE(page) << page.error().message;
  // One script, ours; no element or attribute that a label brought.
  EXPECT_EQ(page->find("<script>alert"), std::string::npos);
  EXPECT_EQ(page->find("<img"), std::string::npos);
  EXPECT_EQ(page->find('\x01'), std::string::npos);
  EXPECT_FALSE(std::regex_search(*page, std::regex("<[^>\"]*(\"[^\"]*\"[^>\"]*)*\\sonerror=")));
}

TEST(Report, NamesTheRunWithoutPoints) {
  auto runs = article();
  for (StoredRecord& stored : runs[1].records) stored.record.published = {};
  const auto page = report_html(runs, options());
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error().message, HasSubstr("vllm 2026-03-26"));
  EXPECT_FALSE(report_html({}, options()));
}

}  // namespace
}  // namespace headroom::dash
