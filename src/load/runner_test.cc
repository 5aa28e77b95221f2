// The closed loop against the mock server: accuracy, counts, concurrency, stopping, a dying server.
#include "load/runner.h"

#include <gtest/gtest.h>

#include <set>

#include "base/clock.h"
#include "load/mock/mock_server.h"

namespace headroom::load {
namespace {

struct Bench {
  std::unique_ptr<MockServer> server;
  std::optional<Workload> workload;
  PointOptions point;
};

Bench make(const std::string& script, int64_t concurrency, int64_t requests, int64_t output) {
  Bench setup;
  auto parsed = parse_mock_script(script);
  EXPECT_TRUE(parsed) << parsed.error().message;
  setup.server = std::move(*MockServer::start(*parsed));
  WorkloadOptions options;
  options.model = "mock";
  options.input_tokens = 16;
  options.output_tokens = output;
  options.salt = "salt";
  setup.workload = *Workload::create(options);
  setup.point.url = *http::parse_url(setup.server->url());
  setup.point.concurrency = concurrency;
  setup.point.requests = requests;
  return setup;
}

TEST(Runner, hundreds_of_streams_are_measured_truly) {
  constexpr int64_t kStreams = 256;
  Bench s = make("ttft=100,interval=10", kStreams, 2 * kStreams, 40);
  s.point.warmup = 32;
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run) << run.error().message;
  std::map<std::string, MockTruth> truths;
  for (const MockTruth& truth : s.server->truths()) truths[truth.request_id] = truth;
  base::Histogram ttft_error, tpot_error;
  std::set<uint64_t> prompts;
  int64_t warmups = 0;
  for (const RequestRecord& r : run->recorder.records()) {
    const MockTruth& truth = truths.at(fmt::format("salt-{}", r.index));
    EXPECT_TRUE(truth.whole);
    EXPECT_TRUE(r.ok());
    EXPECT_EQ(r.tokens(), 40);
    EXPECT_EQ(r.chunks, 40);
    EXPECT_EQ(r.prompt_tokens, 16);
    prompts.insert(truth.prompt_digest);
    warmups += r.warmup;
    // Against what the server sent, not what it was to send: its own lateness is not our error.
    ttft_error.record(std::abs(*r.ttft() - (truth.first_token - *r.sent)));
    const double true_tpot = static_cast<double>(truth.last_token - truth.first_token) / 39;
    tpot_error.record(static_cast<int64_t>(std::abs(*r.tpot() - true_tpot)));
  }
  EXPECT_EQ(warmups, 32);
  EXPECT_EQ(run->recorder.records().size(), 2u * kStreams + 32);
  EXPECT_EQ(prompts.size(), 2u * kStreams + 32) << "prompts were repeated";
  // Never above the concurrency, and the loop does fill it.
  EXPECT_EQ(s.server->most_in_flight(), kStreams);
  EXPECT_EQ(run->most_in_flight, kStreams);
  EXPECT_EQ(s.server->connections(), kStreams) << "connections were not kept alive";
  fmt::print(
      "{} streams: TTFT error mean {:.4f} ms p99 {:.4f} ms, TPOT error mean {:.5f} ms p99 {:.5f} "
      "ms,"
      " client {:.2f} cores, kernel stamps {} of {} reads\n",
      kStreams, ttft_error.mean() * 1e-6, static_cast<double>(ttft_error.percentile(99)) * 1e-6,
      tpot_error.mean() * 1e-6, static_cast<double>(tpot_error.percentile(99)) * 1e-6,
      run->client.cpu_cores, run->client.kernel_reads,
      run->client.kernel_reads + run->client.user_reads);
  // Bounds that hold on a busy machine; a client that stamps late misses them by far.
  EXPECT_LT(ttft_error.percentile(50), 2'000'000);
  EXPECT_LT(tpot_error.percentile(50), 200'000);
}

TEST(Runner, steady_window_has_the_true_throughput) {
  // 16 streams, a token each 5 ms: 3200 tok/s while all are busy; TTFT takes its part.
  Bench s = make("ttft=5,interval=5", 16, 64, 40);
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run);
  const auto window = steady_window(run->recorder.records(), 16);
  ASSERT_TRUE(window);
  const double seconds = static_cast<double>(window->length()) * 1e-9;
  const double rate = run->recorder.tokens().within(*window) / seconds;
  EXPECT_GT(seconds, 0.7);
  EXPECT_LT(rate, 16 / 0.005 * 1.02);
  EXPECT_GT(rate, 16 / 0.005 * 0.7);  // the mock may be late on a busy machine, never early
}

TEST(Runner, a_duration_ends_the_point) {
  Bench s = make("ttft=5,interval=1", 4, 1, 5);
  s.point.requests.reset();
  s.point.duration_ns = 300'000'000;
  const int64_t start = base::now_ns();
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run);
  EXPECT_GE(base::now_ns() - start, 300'000'000);
  EXPECT_GT(run->recorder.succeeded(), 8);
}

TEST(Runner, refused_connection_names_the_address) {
  Bench s = make("", 2, 4, 5);
  s.server.reset();
  const auto run = run_point(s.point, *s.workload);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, base::ErrorCode::kUnavailable);
  EXPECT_EQ(run.error().message,
            fmt::format("no connection to {}: connection refused", s.point.url.address()));
}

TEST(Runner, a_server_that_dies_ends_the_point_with_its_address) {
  Bench s = make("ttft=2,interval=1,die_after=100", 4, 1000, 20);
  const auto run = run_point(s.point, *s.workload);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, base::ErrorCode::kUnavailable);
  EXPECT_NE(run.error().message.find(s.point.url.address()), std::string::npos);
  EXPECT_NE(run.error().message.find("no longer accepts connections"), std::string::npos)
      << run.error().message;
}

TEST(Runner, stop_gives_up_at_once) {
  Bench s = make("ttft=10000", 2, 4, 5);
  std::atomic<bool> stop{false};
  PointControl control{.stop = &stop, .progress = [&](const PointProgress& p) {
                         if (p.in_flight == 2) stop = true;
                       }};
  const int64_t start = base::now_ns();
  const auto run = run_point(s.point, *s.workload, control);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, base::ErrorCode::kCancelled);
  EXPECT_LT(base::now_ns() - start, 5'000'000'000);
}

TEST(Runner, user_clock_when_there_are_no_kernel_stamps) {
  Bench s = make("ttft=5,interval=1", 2, 6, 5);
  s.point.kernel_stamps = false;
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->client.kernel_reads, 0u);
  EXPECT_EQ(run->recorder.succeeded(), 6);
}

TEST(SteadyWindow, longest_span_at_95_percent) {
  const auto record = [](uint32_t slot, int64_t from_ms, int64_t to_ms, bool warmup = false) {
    RequestRecord r;
    r.slot = slot;
    r.released = from_ms * 1'000'000;
    r.done = to_ms * 1'000'000;
    r.warmup = warmup;
    return r;
  };
  // Slot 1 pauses from 300 to 400: both slots are busy from 0 to 300 and from 400 to 1000.
  const std::vector<RequestRecord> records = {record(0, 0, 500, true), record(0, 501, 1200),
                                              record(1, 0, 300), record(1, 400, 1000)};
  const auto window = steady_window(records, 2);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->begin, 400'000'000);
  EXPECT_EQ(window->end, 1'000'000'000);
  EXPECT_FALSE(steady_window(records, 3));
  EXPECT_FALSE(steady_window({record(0, 0, 500, true)}, 1)) << "warm-up alone is no measurement";
}

TEST(Timeline, windows_cut_bins_and_slices) {
  TokenTimeline tokens;
  tokens.begin(1'000'000'000);
  for (int i = 0; i < 1000; ++i) tokens.add(1'000'000'000 + i * 1'000'000, 2);
  EXPECT_NEAR(tokens.within({1'100'000'000, 1'200'000'000}), 200, 1e-3);
  EXPECT_NEAR(tokens.within({1'100'500'000, 1'101'000'000}), 1, 1e-3);
  EXPECT_NEAR(tokens.within({0, 9'000'000'000}), 2000, 1e-3);
  SlicedHistogram gaps;
  gaps.begin(0);
  for (int64_t ms = 0; ms < 60'000; ms += 10) gaps.record(ms * 1'000'000, ms);
  EXPECT_EQ(gaps.all().count(), 6000u);
  EXPECT_EQ(gaps.all().max(), 59'990);
  const base::Histogram part = gaps.within({10'000'000'000, 20'000'000'000});
  EXPECT_GE(part.min(), 10'000);
  EXPECT_LT(part.max(), 20'000);
  EXPECT_GT(part.count(), 700u);
}

TEST(Runner, a_constant_rate_keeps_its_schedule_whatever_the_server_does) {
  // Every answer takes longer than the period, so requests must overlap.
  Bench s = make("ttft=120,interval=5", 8, 12, 8);
  s.point.arrival = ArrivalOptions{.rate = 20};
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run) << run.error().message;
  const auto& records = run->recorder.records();
  ASSERT_EQ(records.size(), 12u);
  std::vector<int64_t> due;
  for (const RequestRecord& r : records) {
    EXPECT_TRUE(r.ok());
    EXPECT_GE(r.released, r.intended);
    due.push_back(r.intended);
  }
  std::sort(due.begin(), due.end());
  for (size_t i = 1; i < due.size(); ++i) EXPECT_EQ(due[i] - due[i - 1], 50'000'000);
  EXPECT_GE(run->most_in_flight, 2);
}

TEST(Runner, a_rate_beyond_the_streams_waits_and_keeps_its_due_times) {
  Bench s = make("ttft=60,interval=1", 1, 5, 2);
  s.point.arrival = ArrivalOptions{.rate = 100};
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->most_in_flight, 1);
  const auto& records = run->recorder.records();
  ASSERT_EQ(records.size(), 5u);
  // Served one after the other, ≥ 60 ms each, due every 10 ms: the last is late by the difference.
  EXPECT_EQ(records.back().intended - records.front().intended, 40'000'000);
  EXPECT_GE(records.back().released - records.back().intended, 150'000'000);
}

}  // namespace
}  // namespace headroom::load
