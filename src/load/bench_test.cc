// Bench as a library: what was measured survives a store that refuses it.
#include "load/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "load/mock/mock_server.h"
#include "load/point_report.h"

namespace headroom::load {
namespace {

TEST(Bench, APointThatTheStoreRefusesIsStillGivenBack) {
  const auto server = MockServer::start(*parse_mock_script("ttft=2,interval=1"));
  ASSERT_TRUE(server);
  const auto path =
      std::filesystem::path(testing::TempDir()) / fmt::format("refusing-{}.db", ::getpid());
  std::filesystem::remove(path);
  auto store = results::Store::open(path);
  ASSERT_TRUE(store) << store.error().message;
  ASSERT_TRUE(store->limit_pages(1));  // full, whatever comes
  BenchOptions options;
  options.url = (*server)->url();
  options.workload.model = "mock";
  options.workload.input_tokens = 8;
  options.workload.output_tokens = 4;
  options.label = std::string(200'000, 'x');  // more than the pages there are
  options.concurrency = {1, 2};
  options.quiet = true;
  size_t heard = 0;
  const BenchOutcome outcome = run_bench(options, &*store, [&](const BenchPoint&) { ++heard; });
  ASSERT_TRUE(outcome.error);
  EXPECT_THAT(outcome.error->message, testing::HasSubstr("no space left"));
  EXPECT_EQ(outcome.points.size(), 1u);  // the second is not begun
  EXPECT_EQ(heard, 1u);
  EXPECT_EQ(outcome.stored, 0u);
  EXPECT_EQ(outcome.points.at(0).record.measures.requests_ok, 12);
  std::filesystem::remove(path);
}

TEST(Bench, ColumnsWithoutAnyFigureAreNotShown) {
  results::Record record;
  record.workload.concurrency = 4;
  record.measures.whole.duration_s = 2;
  record.measures.whole.input_tokens = 10;
  record.measures.whole.output_tokens = 6;
  const auto last = [&] {
    base::Table table = point_table();
    add_point_row(table, record);
    drop_absent_columns(table);
    EXPECT_EQ(table.rows[0].size(), table.columns.size());
    return table.columns.back().title;
  };
  EXPECT_EQ(last(), "tok/s");
  record.measures.steady = record.measures.whole;
  EXPECT_EQ(last(), "steady out");
  record.hardware.devices = 2;
  EXPECT_EQ(last(), "tok/s/GPU");
}

TEST(Bench, ImpossibleNumbersAreRefusedBeforeAnyRequest) {
  const auto refused = [](const auto& change) {
    BenchOptions options;
    options.url = "http://127.0.0.1:1";  // would fail in another way
    options.workload.model = "m";
    change(options);
    const auto outcome = run_bench(options, nullptr);
    return outcome.error ? outcome.error->message : "";
  };
  EXPECT_EQ(refused([](auto& o) { o.duration_s = std::nan(""); }),
            "duration nan s is not above 0 and at most 1000000");
  EXPECT_EQ(refused([](auto& o) { o.timeout_s = 1e300; }),
            "timeout 1e+300 s is not above 0 and at most 1000000");
  EXPECT_EQ(refused([](auto& o) { o.requests = 0; }), "requests 0 is not 1 to 1000000000");
  EXPECT_EQ(refused([](auto& o) { o.warmup = -1; }), "warmup -1 is not 0 to 1000000000");
  EXPECT_EQ(refused([](auto& o) { o.devices = 0; }), "devices 0 is not 1 to 1000000");
  EXPECT_EQ(refused([](auto& o) { o.devices = INT64_MAX; }),
            "devices 9223372036854775807 is not 1 to 1000000");
  for (const char* bad : {"no colon", ": x", "A B: x", "X: a\r\nEvil: 1", "X: \x01"})
    EXPECT_THAT(refused([&](auto& o) { o.headers = {bad}; }), testing::HasSubstr("not \"Name"))
        << bad;
  EXPECT_EQ(refused([](auto& o) { o.headers = {"content-Length: 3"}; }),
            "header content-Length: the client sets it itself");
  EXPECT_EQ(refused([](auto& o) { o.repeat = -1; }), "repeat -1 is not 0 to 1000000000");
  EXPECT_EQ(refused([](auto& o) { o.first_index = UINT64_MAX; }),
            "first index 18446744073709551615 is not 0 to 4611686018427387904");
}

TEST(Bench, AKeyThatTheServerRepeatsIsBlanked) {
  const auto server = MockServer::start(*parse_mock_script("status=503"));
  ASSERT_TRUE(server);
  BenchOptions options;
  options.url = (*server)->url();
  options.workload.model = "mock";
  options.concurrency = {1};
  options.quiet = true;
  const auto said = [&] {
    const BenchOutcome outcome = run_bench(options, nullptr);
    return outcome.error ? outcome.error->message : "no error";
  };
  // What the mock says of every request stands for a key here.
  EXPECT_THAT(said(), testing::HasSubstr("mock failure"));
  options.api_key = "failure";
  EXPECT_THAT(said(), testing::EndsWith("mock ***"));
  options.api_key.clear();
  options.headers = {"X-Api-Key: failure"};
  EXPECT_THAT(said(), testing::EndsWith("mock ***"));
  options.headers = {"Authorization: Bearer failure", "X-Note: mock"};
  EXPECT_THAT(said(), testing::EndsWith("mock ***"));
}

TEST(Bench, WhatASweepSaysGoesIntoTheRecordAndTheServerIsAskedOnce) {
  const auto server = MockServer::start(*parse_mock_script("ttft=1,interval=1"));
  ASSERT_TRUE(server);
  BenchOptions options;
  options.url = (*server)->url();
  options.workload.model = "mock";
  options.workload.input_tokens = 8;
  options.workload.output_tokens = 2;
  options.concurrency = {2};
  options.requests = 6;
  options.fresh_salt = true;
  options.quiet = true;
  options.run = "the run";
  options.point = "the point";
  options.server_environment = {{"driver", "570"}};
  options.eval = results::Eval{};
  options.eval->task = "gsm8k";
  const BenchOutcome first = run_bench(options, nullptr);
  ASSERT_FALSE(first.error) << first.error->message;
  ASSERT_TRUE(first.server_facts);
  const results::Record& record = first.points.at(0).record;
  EXPECT_EQ(first.run, "the run");
  EXPECT_EQ(record.run, "the run");
  EXPECT_EQ(record.point, "the point");
  EXPECT_EQ(record.server.environment.at("driver"), "570");
  EXPECT_EQ(record.measures.eval->task, "gsm8k");
  EXPECT_FALSE(record.measures.client.environment.empty());
  EXPECT_THAT(record.replay, testing::HasSubstr("--concurrency 2 --requests 6 --warmup 2"));
  EXPECT_EQ(record.replay.find("--salt"), std::string::npos);
  const int64_t connections = (*server)->connections();
  options.server_facts = first.server_facts;
  const BenchOutcome second = run_bench(options, nullptr);
  ASSERT_FALSE(second.error) << second.error->message;
  EXPECT_EQ((*server)->connections() - connections, 2) << "the streams alone";
  EXPECT_NE(second.points.at(0).record.measures.client.settings.at("salt"),
            record.measures.client.settings.at("salt"));
  EXPECT_EQ(second.points.at(0).record.server.recipe_fingerprint, record.server.recipe_fingerprint);
}

TEST(Bench, APointTimeoutKeepsWhatItHasAndTheRunGoesOn) {
  const auto server = MockServer::start(*parse_mock_script("ttft=20,interval=1"));
  ASSERT_TRUE(server);
  BenchOptions options;
  options.url = (*server)->url();
  options.workload.model = "mock";
  options.workload.input_tokens = 8;
  options.workload.output_tokens = 2;
  options.concurrency = {1, 2};
  options.requests = 100'000;
  options.point_timeout_s = 0.4;
  options.quiet = true;
  const BenchOutcome outcome = run_bench(options, nullptr);
  EXPECT_FALSE(outcome.error) << outcome.error->message;
  ASSERT_EQ(outcome.points.size(), 2u);
  for (const BenchPoint& point : outcome.points) {
    EXPECT_TRUE(point.record.measures.doubts.contains("interrupted"));
    EXPECT_GT(point.record.measures.requests_ok.value_or(0), 3);
  }
}

TEST(Bench, PercentilesOfFewSamplesSayNothing) {
  EXPECT_EQ(percentile_refusal(99, 99), "99 samples, fewer than 100");
  EXPECT_EQ(percentile_refusal(99, 100), "");
  EXPECT_EQ(percentile_refusal(99.9, 999), "999 samples, fewer than 1000");
  EXPECT_EQ(percentile_refusal(99.9, 1000), "");
  EXPECT_EQ(percentile_refusal(50, 1), "");
}

}  // namespace
}  // namespace headroom::load
