// Servers that never stop sending, and servers that fail: no point hangs and none vanishes.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/clock.h"
#include "load/bench.h"
#include "load/mock/mock_server.h"
#include "load/point_report.h"
#include "load/runner.h"

namespace headroom::load {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

/// Answers every request with `first`, then `again` until the client hangs up.
class EndlessServer {
 public:
  EndlessServer(std::string first, std::string again)
      : first_(std::move(first)), again_(std::move(again)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, plain, size), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    EXPECT_EQ(::getsockname(listener_, plain, &size), 0);
    url_ = fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~EndlessServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  const std::string& url() const { return url_; }

 private:
  void serve() const {
    for (int c = 0; (c = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(c)) {
      char buffer[4096];
      if (::recv(c, buffer, sizeof buffer, 0) <= 0) continue;
      const auto send = [&](const std::string& text) {
        return ::send(c, text.data(), text.size(), MSG_NOSIGNAL) > 0;
      };
      if (!send(first_)) continue;
      const int64_t end = base::now_ns() + 5'000'000'000;
      while (send(again_) && base::now_ns() < end)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  std::string first_, again_, url_;
  int listener_ = -1;
  std::thread thread_;
};

struct Ended {
  double seconds = 0;
  base::Result<PointRun> run;
};

Ended measure(const EndlessServer& server) {
  WorkloadOptions workload;
  workload.model = "m";
  workload.input_tokens = workload.output_tokens = 2;
  const auto prompts = Workload::create(workload);
  PointOptions point;
  point.url = *http::parse_url(server.url());
  point.requests = 1;
  point.keep_failed = true;
  const int64_t start = base::now_ns();
  // These servers never end by themselves. The bound of half a minute is the point of the tests:
  // the client ends it long before its timeout of 300 s; an instrumented build needs five seconds.
  auto run = run_point(point, *prompts);
  return {static_cast<double>(base::now_ns() - start) * 1e-9, std::move(run)};
}

const std::string kToken = "data: {\"choices\":[{\"text\":\"a \",\"finish_reason\":null}]}\n\n";

TEST(RudeServer, TokensWithoutEndAreAFailure) {
  const EndlessServer server(std::string(kHead), kToken + kToken + kToken + kToken);
  const Ended ended = measure(server);
  ASSERT_TRUE(ended.run) << ended.run.error().message;
  EXPECT_LT(ended.seconds, 30);
  EXPECT_EQ(ended.run->recorder.records().at(0).failure, Failure::kBadStream);
  EXPECT_THAT(ended.run->first_failures.at("bad stream"), HasSubstr("2 tokens were asked for"));
}

TEST(RudeServer, ALineWithoutEndIsAFailureAtTheLimit) {
  const EndlessServer server(std::string(kHead) + "data: ", std::string(1 << 20, 'x'));
  const Ended ended = measure(server);
  ASSERT_TRUE(ended.run) << ended.run.error().message;
  EXPECT_LT(ended.seconds, 30);
  EXPECT_EQ(ended.run->recorder.records().at(0).failure, Failure::kBadStream);
}

TEST(RudeServer, WhatFollowsDoneDoesNotHoldTheSlot) {
  const EndlessServer server(std::string(kHead) + kToken + "data: [DONE]\n\n", kToken);
  const Ended ended = measure(server);
  ASSERT_TRUE(ended.run) << ended.run.error().message;
  EXPECT_LT(ended.seconds, 30);
  EXPECT_TRUE(ended.run->recorder.records().at(0).ok());
  EXPECT_EQ(ended.run->recorder.records().at(0).chunks, 1);
}

BenchOptions bench_of(const MockServer& server) {
  BenchOptions options;
  options.url = server.url();
  options.workload.model = "mock";
  options.workload.input_tokens = 8;
  options.workload.output_tokens = 6;
  options.concurrency = {4, 8};
  options.quiet = true;
  options.keep_failed = true;
  return options;
}

TEST(FailedPoint, NothingButFailuresIsARecordWithoutFigures) {
  const auto server = MockServer::start(*parse_mock_script("status=500"));
  ASSERT_TRUE(server);
  for (const int64_t warmup : {0, 8}) {
    BenchOptions options = bench_of(**server);
    options.warmup = warmup;
    const BenchOutcome outcome = run_bench(options, nullptr);
    ASSERT_TRUE(outcome.error);
    ASSERT_EQ(outcome.points.size(), 1u) << "the second load was tried";
    const results::Measures& m = outcome.points[0].record.measures;
    EXPECT_EQ(m.requests_ok, 0);
    EXPECT_GE(m.requests_sent.value_or(0), 4);
    EXPECT_EQ(m.requests_failed.at("http 500"), m.requests_sent);
    EXPECT_THAT(m.doubts.at("server_failed"), HasSubstr("requests failed (http 500)"));
    EXPECT_THAT(m.doubts.at("failures"), HasSubstr("; HTTP 500: "));
    EXPECT_FALSE(m.whole.output_tokens);
    EXPECT_FALSE(m.whole.input_tokens);
    EXPECT_FALSE(m.whole.ttft || m.whole.e2e || m.whole.tpot);
    EXPECT_FALSE(m.steady) << "streams that fail are no steady load";
    EXPECT_FALSE(m.doubts.contains("no_steady_window"));
  }
}

TEST(FailedPoint, AServerThatDiesLeavesWhatItDid) {
  const auto server = MockServer::start(*parse_mock_script("ttft=2,interval=1,die_after=100"));
  ASSERT_TRUE(server);
  BenchOptions options = bench_of(**server);
  options.warmup = 0;
  options.requests = 1000;
  const BenchOutcome outcome = run_bench(options, nullptr);
  ASSERT_TRUE(outcome.error);
  ASSERT_EQ(outcome.points.size(), 1u);
  const results::Measures& m = outcome.points[0].record.measures;
  EXPECT_GT(m.requests_ok.value_or(0), 8);
  EXPECT_TRUE(m.whole.tpot);
  EXPECT_TRUE(m.doubts.contains("server_failed"));
  options.keep_failed = false;  // as sweeps want it: the point is to be measured anew
  EXPECT_TRUE(run_bench(options, nullptr).points.empty());
}

TEST(FailedPoint, TokensOfFailuresAreInNoRate) {
  Recorder recorder;
  recorder.begin(0);
  RequestRecord bad;
  bad.failure = Failure::kCut;
  bad.chunk_tokens = 2;
  recorder.add(bad, {{1'000'000, 1}, {2'000'000, 1}});
  EXPECT_EQ(recorder.tokens().within({0, 10'000'000}), 0);
  RequestRecord whole;
  whole.streamed = false;
  whole.output_tokens = 5;
  whole.last_token = 3'000'000;
  recorder.add(whole, {});
  EXPECT_EQ(recorder.tokens().within({0, 10'000'000}), 5) << "an answer in one piece came then";
}

TEST(FailedPoint, ALogThatCannotBeWrittenIsFailedWorkAndAHalfLineIsLeftBehind) {
  const auto server = MockServer::start(*parse_mock_script("ttft=1,interval=1"));
  ASSERT_TRUE(server);
  BenchOptions options = bench_of(**server);
  options.requests_out = "/dev/full";
  const BenchOutcome outcome = run_bench(options, nullptr);
  ASSERT_TRUE(outcome.error);
  EXPECT_THAT(outcome.error->message, HasSubstr("/dev/full: cannot be written"));
  EXPECT_EQ(outcome.points.size(), 2u);
  const std::string path = fmt::format("{}/half-{}.jsonl", testing::TempDir(), ::getpid());
  std::ofstream(path) << "{\"half";
  options.requests_out = path;
  EXPECT_FALSE(run_bench(options, nullptr).error);
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "{\"half");
  std::getline(file, line);
  EXPECT_THAT(line, testing::AllOf(testing::StartsWith("{\"run\""), testing::EndsWith("}")));
  ::unlink(path.c_str());
}

TEST(FailedPoint, LongReasonsAreWrapped) {
  results::Record record;
  record.workload.concurrency = 4;
  record.measures.doubts["failures"] = std::string(300, 'x') + " and " + std::string(90, 'y');
  record.measures.client.limited = false;
  for (int i = 0; i < 60; ++i) record.measures.client.limited_reason += "word ";
  const std::string text = doubt_lines(record) + verdict_lines({&record});
  size_t lines = 0;
  for (size_t at = 0; at < text.size(); ++lines) {
    const size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 120u) << text.substr(at, end - at);
    at = end + 1;
  }
  EXPECT_GE(lines, 7u);
}

}  // namespace
}  // namespace headroom::load
