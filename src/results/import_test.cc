// Import: names file, line, column and value; absent stays absent; twice is once.
#include "results/import.h"

#include <gtest/gtest.h>

#include <random>

#include "results/csv_reader.h"
#include "results/export.h"

namespace headroom::results {
namespace {

using testing::HasSubstr;

constexpr const char* kGood =
    "date,framework,conc,tp,tput_per_gpu_tok_s,tpot_ms,intvty_tok_s_user\n"
    "2026-03-01,vllm 0.16.0,4,8,28.7,152,6.6\n"
    "2026-03-26,vllm 0.18.0,8,8,521,16,\n";

std::string message(std::string_view csv) {
  const auto imported = import_csv(csv, "rows.csv");
  return imported ? std::string("accepted") : imported.error().message;
}

TEST(ImportCsv, KeepsWhatIsPrintedAndInventsNothing) {
  const auto imported = import_csv(kGood, "rows.csv");
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_EQ(imported->rows.size(), 2u);
  const Record& first = imported->rows[0].entry.record;
  EXPECT_EQ(imported->rows[0].entry.origin, "rows.csv:2");
  EXPECT_EQ(first.server.framework, "vllm");
  EXPECT_EQ(first.server.framework_version, "0.16.0");
  EXPECT_EQ(first.server.layout.tp, 8);
  EXPECT_EQ(first.workload.concurrency, 4);
  EXPECT_EQ(first.published.tpot_ms->text, "152");
  EXPECT_EQ(first.published.interactivity->text, "6.6");
  EXPECT_EQ(first.hardware.devices, std::nullopt);  // tok/s/GPU does not say of how many
  EXPECT_EQ(imported->rows[1].entry.record.published.interactivity, std::nullopt);
  EXPECT_TRUE(imported->unknown_columns.empty());
}

TEST(ImportCsv, NamesUnknownColumnsAndTakesGivenOnes) {
  const auto imported = import_csv("\xEF\xBB\xBFtpot_ms,colour\r\n12.5,red\r\n\r\n", "rows.csv",
                                   {{"model", "Kimi-K2.5"}, {"hw", "mi355x"}, {"devices", "8"}});
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->unknown_columns, std::vector<std::string>{"colour"});
  const Record& record = imported->rows.at(0).entry.record;
  EXPECT_EQ(record.server.model, "Kimi-K2.5");
  EXPECT_EQ(record.hardware.name, "mi355x");
  EXPECT_EQ(record.hardware.devices_source, kDevicesStated);
  EXPECT_FALSE(import_csv(kGood, "rows.csv", {{"tp", "8"}}));
  EXPECT_FALSE(import_csv(kGood, "rows.csv", {{"colour", "red"}}));
}

TEST(ImportCsv, ComplaintsNameThePlace) {
  EXPECT_EQ(message("conc,tpot_ms\n4,12\nx,13\n"),
            "rows.csv:3: column 'conc': 'x' is not a whole number above 0");
  EXPECT_THAT(message("conc,tpot_ms\n4,-12\n"),
              HasSubstr("rows.csv:2: column 'tpot_ms': '-12' is not a positive number"));
  for (const char* bad : {"0", "nan", "1e308", "1e999", "12ms", "١٢"})
    EXPECT_THAT(message(fmt::format("tpot_ms\n{}\n", bad)), HasSubstr("rows.csv:2: column")) << bad;
  EXPECT_THAT(message("date,tpot_ms\n2026-02-29,1\n"), HasSubstr("YYYY-MM-DD"));
  EXPECT_EQ(message("date,tpot_ms\n2024-02-29,1\n"), "accepted");
  EXPECT_EQ(message("conc,tpot_ms\n4\n"), "rows.csv:2: 1 fields under 2 columns");
  EXPECT_EQ(message("tpot_ms,tpot_ms\n1,1\n"), "rows.csv:1: column 'tpot_ms' is there twice");
  EXPECT_EQ(message("conc,concurrency,tpot_ms\n1,1,1\n"),
            "rows.csv:1: column 'concurrency' is there twice");
  EXPECT_THAT(message("conc\n4\n"), HasSubstr("no column holds a figure"));
  EXPECT_EQ(message("conc,tpot_ms\n4,\n"), "rows.csv:2: a row without any figure");
  EXPECT_EQ(message(""), "rows.csv: empty, no header");
  EXPECT_EQ(message("tpot_ms\n"), "rows.csv: a header but no rows");
  EXPECT_EQ(message("model,tpot_ms\n\"a\nb\",1\n\"c,1\n"),
            "rows.csv:4: a quote that is not closed");
  EXPECT_EQ(message("model,tpot_ms\n\"a\"b,1\n"), "rows.csv:2: 'b' behind a closing quote");
  EXPECT_EQ(message("model,tpot_ms\nok,1\n\xff,1\n"), "rows.csv:3: not UTF-8");
  EXPECT_THAT(message("model,tpot_ms\n" + std::string(20000, 'a') + ",1\n"),
              HasSubstr("a cell of 20000 bytes"));
}

TEST(ImportCsv, QuotedFieldsAreTakenWhole) {
  const auto rows = read_csv("a,\"b \"\"c\"\", d\ne\"\n\n1,2", "x").value();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].fields, (std::vector<std::string>{"a", "b \"c\", d\ne"}));
  EXPECT_EQ(rows[1].line, 4u);
}

TEST(ImportCsv, MutatedTextIsAnErrorOrRecords) {
  std::mt19937_64 random(1);
  const std::string good = kGood;
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    if (i % 3 == 0) bad.resize(random() % bad.size());
    if (i % 3 == 1) bad[random() % bad.size()] = static_cast<char>(random());
    if (i % 3 == 2) bad.insert(random() % bad.size(), good.substr(random() % good.size(), 7));
    const auto imported = import_text(bad, "rows.csv");
    if (!imported) {
      EXPECT_THAT(imported.error().message, HasSubstr("rows.csv"));
    } else {
      for (const auto& row : imported->rows)
        EXPECT_TRUE(record_from_json(to_json(row.entry.record)));
    }
  }
}

TEST(ImportCsv, ReadsTheColumnsOfInferenceX) {
  const auto imported = import_csv(
      "hw,framework,model,dp_attention,isl,osl,conc,tp,tput_per_gpu,median_tpot,median_intvty,"
      "median_ttft,median_e2el\n"
      "mi355x,vllm,dsr1,True,8192,1024,4,8,337,0.0127,78.9,0.90,14\n",
      "ix.csv");
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_TRUE(imported->unknown_columns.empty());
  const Record& r = imported->rows.at(0).entry.record;
  EXPECT_EQ(r.server.layout.dp_attention, true);
  EXPECT_EQ(r.published.tpot_ms->text, "12.7");
  EXPECT_DOUBLE_EQ(r.published.tpot_ms->value, 12.7);
  EXPECT_EQ(r.published.interactivity->text, "78.9");
  EXPECT_EQ(r.published.ttft_ms->value, 900);
  EXPECT_EQ(r.published.ttft_ms->significant_digits(), 2);
  EXPECT_EQ(r.published.e2e_ms->value, 14000);
}

TEST(ImportCsv, NamesTheWrongSeparator) {
  EXPECT_EQ(import_csv("date;tpot_ms\n2026-01-01;5\n", "f").error().message,
            "f:1: the columns are parted by semicolons; commas are due");
}

TEST(ImportRecords, ExportReadsBackWhole) {
  auto imported = import_csv(kGood, "rows.csv").value();
  std::vector<StoredRecord> stored;
  for (auto& row : imported.rows) {
    const std::string id = record_id(row.entry.record);
    stored.push_back({id, row.entry.record, row.entry.origin, "2026-03-01T00:00:00Z", ""});
  }
  stored[1].quarantine = "too few requests";
  const std::string json = export_json(stored);
  const auto back = import_text(json, "points.json");
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->rows.size(), 2u);
  EXPECT_EQ(record_id(back->rows[0].entry.record), stored[0].id);
  EXPECT_EQ(back->rows[0].entry.origin, "rows.csv:2");
  EXPECT_EQ(back->rows[1].quarantine, "too few requests");

  std::string forged = json;
  forged.replace(forged.find("\"152\""), 5, "\"151\"");
  EXPECT_THAT(import_text(forged, "points.json").error().message,
              HasSubstr("is not the digest of its record"));
  EXPECT_EQ(import_text(R"({"records":[]})", "p").error().message, "p: 'records' is empty");
  EXPECT_THAT(import_text("{}", "p").error().message, HasSubstr("none of the known result files"));
  EXPECT_THAT(import_text(R"({"records":[{"record":{"x":1}}]})", "p").error().message,
              HasSubstr("p: records[0].record.x: no such field"));
}

}  // namespace
}  // namespace headroom::results
