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
  EXPECT_EQ(refused([](auto& o) { o.devices = 0; }), "devices 0 must be at least 1");
}

}  // namespace
}  // namespace headroom::load
