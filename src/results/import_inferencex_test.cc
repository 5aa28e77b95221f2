// InferenceX's files: raw results become its published rows to the digit, and nothing is guessed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "results/export.h"
#include "results/import_json.h"

namespace headroom::results {
namespace {

using testing::HasSubstr;

std::optional<std::string> shared(const char* name) {
  const auto path = std::filesystem::path(HEADROOM_SOURCE_DIR) / "../shared/data/inferencex" / name;
  auto text = base::read_file(path);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

Imported imported(std::string_view text, const std::map<std::string, std::string>& given = {}) {
  auto rows = import_text(text, "rows.json", ImportFormat::kAuto, given);
  EXPECT_TRUE(rows) << rows.error().message;
  return rows ? std::move(*rows) : Imported{};
}

std::string exported(const Record& record) {
  StoredRecord stored;
  stored.record = record;
  return export_inferencex({&stored, 1});
}

/// Every field of both rows, as doubles where they are numbers.
void expect_equal_rows(std::string_view ours, const JsonRow& theirs, bool raw) {
  const auto rows = read_json_rows(ours, "ours");
  ASSERT_TRUE(rows) << rows.error().message;
  size_t figures = 0;
  for (const auto& [path, value] : theirs.values) {
    if (raw && (path == "image" || path == "infmax_model_prefix")) continue;
    const JsonValue* mine = rows->at(0).find(path);
    ASSERT_NE(mine, nullptr) << path;
    if (value.kind == JsonValue::Kind::kNumber) {
      EXPECT_EQ(Printed::parse(mine->text)->value, Printed::parse(value.text)->value) << path;
      ++figures;
    } else {
      EXPECT_EQ(mine->text, value.text) << path;
    }
  }
  EXPECT_GT(figures, 30u);
}

TEST(ImportInferenceX, PublishedRowsFollowFromRawOnesToTheDigit) {
  const auto raw = shared("pipeline-raw-rows.jsonl"), agg = shared("pipeline-agg-rows.jsonl");
  if (!raw || !agg) GTEST_SKIP() << "the pairs of rows are not beside the repository";
  const auto theirs = read_json_rows(*agg, "agg").value();
  const auto raw_rows = read_json_rows(*raw, "raw").value();
  ASSERT_EQ(theirs.size(), raw_rows.size());
  for (size_t i = 0; i < theirs.size(); ++i) {
    // What the raw row does not know: which job it belonged to.
    std::map<std::string, std::string> given;
    for (const char* name : {"hw", "framework", "precision", "spec_decoding", "disagg", "isl",
                             "osl", "is_multinode", "tp", "ep", "dp_attention"})
      given[name] = theirs[i].find(name)->text;
    given["devices"] = theirs[i].find("tp")->text;
    Imported one = imported(*raw, given);
    ASSERT_EQ(one.rows.size(), theirs.size());
    expect_equal_rows(exported(one.rows[i].entry.record), theirs[i], true);
  }
}

TEST(ImportInferenceX, PublishedRowsComeOutAsTheyWentIn) {
  const auto agg = shared("pipeline-agg-rows.jsonl");
  if (!agg) GTEST_SKIP() << "the rows are not beside the repository";
  const auto theirs = read_json_rows(*agg, "agg").value();
  const Imported rows = imported(*agg);
  ASSERT_EQ(rows.rows.size(), theirs.size());
  for (size_t i = 0; i < theirs.size(); ++i)
    expect_equal_rows(exported(rows.rows[i].entry.record), theirs[i], false);
}

TEST(ImportInferenceX, EveryRowOfTheApiIsTaken) {
  const auto api = shared("app-fixture-benchmarks.2026-05-05.json");
  if (!api) GTEST_SKIP() << "the answer of the API is not beside the repository";
  const Imported rows = imported(*api);
  ASSERT_EQ(rows.rows.size(), 435u);
  size_t apart = 0, without_input = 0, odd = 0, odd_count = 0;
  for (const Imported::Row& row : rows.rows) {
    const Record& r = row.entry.record;
    EXPECT_TRUE(r.published.tok_s_gpu && r.published.tpot_ms && r.published.interactivity);
    EXPECT_TRUE(r.published.statistics.contains("p99_ttft_ms"));
    EXPECT_TRUE(r.hardware.devices.value_or(0) > 0) << row.entry.origin;
    for (const auto& [name, value] : r.published.columns) EXPECT_EQ(name, "num_decode_gpu");
    odd_count += !r.published.columns.empty();
    without_input += !r.published.input_tok_s_gpu;
    const auto& layout = r.server.layout;
    apart += layout.prefill.has_value();
    odd += *layout.disaggregated && !*layout.multinode;
    if (!layout.prefill) {
      // One node: its two counts say the same and are not added up; tp x ep is no count.
      EXPECT_EQ(r.hardware.devices, layout.tp) << row.entry.origin;
    }
  }
  EXPECT_EQ(apart, 235u);
  EXPECT_EQ(odd, 8u);  // kept as they are
  EXPECT_EQ(odd_count, 46u);
  EXPECT_EQ(without_input, 4u);
}

constexpr const char* kDisaggregated =
    R"({"hw":"gb200","conc":256,"model":"m","framework":"dynamo-trt",
 "precision":"fp4","spec_decoding":"mtp","disagg":true,"isl":8192,"osl":1024,"is_multinode":true,
 "prefill_tp":4,"prefill_ep":4,"prefill_dp_attention":"true","prefill_num_workers":2,
 "decode_tp":8,"decode_ep":8,"decode_dp_attention":"false","decode_num_workers":1,
 "num_prefill_gpu":8,"num_decode_gpu":8,"tput_per_gpu":100.5,"output_tput_per_gpu":20.25,
 "input_tput_per_gpu":180.75,"median_tpot":0.0125,"median_intvty":80.0,"p99_ttft":1.5,
 "p90_ttft":0,"avg_total_gpu_power_w":9000.5,"total_gpu_energy_j":540030,"mystery":{"a":[1,2]}})";

TEST(ImportInferenceX, TwoRolesStayApart) {
  const Imported rows = imported(kDisaggregated);
  ASSERT_EQ(rows.rows.size(), 1u);
  const Record& r = rows.rows[0].entry.record;
  ASSERT_TRUE(r.server.layout.prefill && r.server.layout.decode);
  EXPECT_EQ(r.server.layout.prefill->workers, 2);
  EXPECT_EQ(r.server.layout.prefill->dp_attention, true);
  EXPECT_EQ(r.server.layout.decode->tp, 8);
  EXPECT_EQ(r.hardware.devices, 16);
  EXPECT_EQ(r.published.tpot_ms->text, "12.5");
  EXPECT_EQ(r.published.interactivity->text, "80.0");
  EXPECT_EQ(r.published.statistics.at("p99_ttft_ms").text, "1500");
  EXPECT_FALSE(r.published.statistics.contains("p90_ttft_ms"));  // 0 s was not measured
  EXPECT_EQ(r.measures.power->average_w, 9000.5);
  EXPECT_EQ(r.published.columns.at("mystery.a"), "[1,2]");  // kept, by its own name
  EXPECT_THAT(exported(r), HasSubstr(R"("num_prefill_gpu":8)"));
  EXPECT_THAT(exported(r), HasSubstr(R"("p99_ttft":1.5)"));
}

TEST(ImportInferenceX, EvaluationsKeepBothScores) {
  const Imported rows = imported(
      R"([{"id":"7","config_id":3,"hardware":"mi355x","framework":"vllm","model":"kimik2.5",
      "precision":"fp4","spec_method":"none","disagg":true,"is_multinode":false,"conc":null,
      "task":"gsm8k","date":"2026-03-27","metrics":{"em_strict":0.857,"em_strict_se":0.0096,
      "em_flexible":0.969,"em_flexible_se":0.0048,"n_eff":1319},"run_url":"u"}])");
  ASSERT_EQ(rows.rows.size(), 1u);
  const Record& r = rows.rows[0].entry.record;
  ASSERT_TRUE(r.measures.eval);
  EXPECT_EQ(r.measures.eval->score, 0.857);
  EXPECT_EQ(r.measures.eval->questions, 1319);
  EXPECT_EQ(r.published.statistics.at("em_flexible").text, "0.969");
  EXPECT_EQ(r.server.layout.disaggregated, true);  // an oddity of the source, kept
  EXPECT_FALSE(r.workload.concurrency);
}

TEST(ImportBenchServing, VllmWithRequests) {
  const Imported rows = imported(
      R"({"date":"20260301-101500","endpoint_type":"openai","backend":"openai","model_id":"m",
      "num_prompts":3,"request_rate":4.5,"burstiness":0.5,"max_concurrency":null,"duration":10.0,
      "completed":2,"failed":1,"total_input_tokens":200,"total_output_tokens":60,
      "request_throughput":0.2,"output_throughput":6.0,"total_token_throughput":26.0,
      "ttfts":[0.1,0.3,0.0],"itls":[[0.01,0.02],[0.03],[]],"errors":["","","boom"],
      "median_ttft_ms":200.0,"p99_ttft_ms":298.0,"mean_itl_ms":20.0})");
  ASSERT_EQ(rows.rows.size(), 1u);
  const Record& r = rows.rows[0].entry.record;
  EXPECT_EQ(r.published.source, "vllm bench serve");
  EXPECT_EQ(r.date, "2026-03-01");
  EXPECT_EQ(r.workload.arrivals, "gamma");
  EXPECT_EQ(r.workload.rate, 4.5);
  EXPECT_FALSE(r.workload.concurrency);
  EXPECT_EQ(r.measures.requests_failed.at("unknown"), 1);
  EXPECT_EQ(r.measures.whole.ttft->count(), 2u);  // the failed one's 0 is no measurement
  EXPECT_EQ(r.measures.whole.itl->count(), 3u);
  EXPECT_FALSE(r.hardware.devices);
  EXPECT_EQ(r.server.framework, "");  // the client's backend is no server
  EXPECT_EQ(r.published.statistics.at("p99_ttft_ms").value, 298);
}

TEST(ImportBenchServing, Sglang) {
  const Imported rows = imported(
      R"({"backend":"sglang","dataset_name":"random","request_rate":"inf","max_concurrency":8,
      "random_input_len":1024,"random_output_len":128,"duration":5.5,"completed":80,
      "total_input_tokens":81920,"total_output_tokens":10240,
      "total_output_tokens_retokenized":10200,"output_throughput":1861.8,
      "mean_e2e_latency_ms":500.5,"median_e2e_latency_ms":490.25,"p95_itl_ms":9.0,
      "accept_length":2.4})");
  ASSERT_EQ(rows.rows.size(), 1u);
  const Record& r = rows.rows[0].entry.record;
  EXPECT_EQ(r.published.source, "sglang bench_serving");
  EXPECT_EQ(r.workload.arrivals, "closed");
  EXPECT_EQ(r.published.e2e_ms->text, "490.25");
  EXPECT_EQ(r.published.statistics.at("p95_itl_ms").text, "9.0");
  EXPECT_EQ(r.published.columns.at("accept_length"), "2.4");
}

TEST(ImportJson, WrongRowsAreOneLine) {
  const auto message = [](std::string_view text) {
    const auto rows = import_text(text, "x.json");
    EXPECT_FALSE(rows) << text;
    return rows ? std::string() : rows.error().message;
  };
  EXPECT_THAT(message(R"([{"hw":"a","tput_per_gpu":-1}])"),
              HasSubstr("x.json[0]: field 'tput_per_gpu': '-1' is not a number from 0 to 1e12"));
  EXPECT_THAT(message(R"({"hw":"a","tput_per_gpu":"NaN"})"), HasSubstr("'NaN' is not"));
  EXPECT_THAT(message(R"({"hw":"a","tput_per_gpu":1e308})"), HasSubstr("1e308"));
  EXPECT_THAT(message(R"({"hw":"a","tput_per_gpu":[]})"), HasSubstr("tput_per_gpu"));
  EXPECT_THAT(message(R"({"hw":"a","hw":"b","tput_per_gpu":1})"), HasSubstr("given twice"));
  EXPECT_THAT(message(R"({"hw":"a","tput_per_gpu":1,"conc":2.5})"), HasSubstr("a whole number"));
  EXPECT_THAT(message(R"({"colour":"red"})"), HasSubstr("none of the known result files"));
  EXPECT_THAT(message("[]"), HasSubstr("has no rows"));
  EXPECT_THAT(message(R"([{"hw":"a","tput_per_gpu":1},{"hw":"b"}])"), HasSubstr("x.json[1]"));
  EXPECT_THAT(message("{\"hw\":\"\xff\",\"tput_per_gpu\":1}"), HasSubstr("not UTF-8"));
  EXPECT_THAT(message(R"({"hw":"a","tput_per_gpu":1} tail)"), HasSubstr("not whole JSON"));
}

TEST(ImportJson, CutAndBentFilesAreErrorsNotDeaths) {
  const std::string good = kDisaggregated;
  for (size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_FALSE(import_text(good.substr(0, cut), "x"));
  for (size_t at = 0; at < good.size(); ++at)
    for (const char c : {'"', '{', ']', '0', '\0', '\xff'}) {
      std::string bent = good;
      bent[at] = c;
      (void)import_text(bent, "x");
    }
}

TEST(ShiftedDigits, StayTheSame) {
  EXPECT_EQ(shifted("0.0174", 3), "17.4");
  EXPECT_EQ(shifted("0.01", 3), "10");
  EXPECT_EQ(shifted("12", 3), "12000");
  EXPECT_EQ(shifted("1.50", 1), "15.0");
  EXPECT_EQ(shifted("17.4", -3), "0.0174");
  EXPECT_EQ(shifted("-0.5", 3), "-500");
  EXPECT_EQ(shifted("1e-05", 3), "1e-2");
  EXPECT_EQ(shifted("0", 3), "0");
  EXPECT_EQ(shifted("0.0", 3), "0");
}

}  // namespace
}  // namespace headroom::results
