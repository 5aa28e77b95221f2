// The self-test in short: errors against the mock's log, bounds that a busy machine keeps too.
#include "load/self_test/self_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "load/mock/mock_server.h"

namespace headroom::load {
namespace {

class Inside final : public MockHost {
 public:
  explicit Inside(std::unique_ptr<MockServer> server) : server_(std::move(server)) {}
  std::string url() const override { return server_->url(); }
  base::Result<std::vector<MockTruth>> stop() override {
    server_->stop();
    server_->wait();
    return server_->truths();
  }

 private:
  std::unique_ptr<MockServer> server_;
};

base::Result<std::unique_ptr<MockHost>> start_inside(const std::string& text, int64_t) {
  HEADROOM_TRY(MockScript script, parse_mock_script(text));
  HEADROOM_TRY(auto server, MockServer::start(std::move(script)));
  return std::make_unique<Inside>(std::move(server));
}

CasePlan plan(const char* name) {
  CasePlan p;
  p.name = name;
  p.streams = 256;
  p.ttft_ms = 60;
  p.interval_ms = 20;
  p.output_tokens = 24;
  p.warmup = 256;
  p.requests = 2 * 256;
  p.stagger_s = 0.5;
  return p;
}

void expect_right(const CaseResult& r) {
  EXPECT_EQ(r.failed, 0);
  EXPECT_EQ(r.unmatched, 0);
  EXPECT_EQ(r.ttft_ms.samples, static_cast<uint64_t>(r.requests));
  // Two orders above the figures of a quiet machine, far below those of a client that stamps late.
  EXPECT_LT(r.tpot_ms.mean, 0.5);
  EXPECT_LT(r.ttft_ms.mean, 10);
  EXPECT_GT(r.tokens_per_cpu_second, 0);
}

TEST(SelfTest, closed_loop_agrees_with_the_log) {
  const auto r = run_case({}, plan("closed"), start_inside);
  ASSERT_TRUE(r) << r.error().message;
  expect_right(*r);
  EXPECT_EQ(r->requests, 3 * 256);
  EXPECT_EQ(r->itl_ms.samples, 3u * 256 * 23);
  ASSERT_TRUE(r->delivered);
  EXPECT_GT(*r->delivered, 0.8);
  EXPECT_LT(*r->delivered, 1.02);
}

TEST(SelfTest, synchronised_start_and_a_hog_agree_with_the_log) {
  CasePlan p = plan("start");
  p.warmup = 0;
  p.stagger_s = 0;
  p.requests = 256;
  p.hog = true;
  const auto r = run_case({}, p, start_inside);
  ASSERT_TRUE(r) << r.error().message;
  expect_right(*r);
}

TEST(SelfTest, lock_step_and_random_lengths_agree_with_the_log) {
  for (const char* script : {"lock_step=1", "shortest=0.3"}) {
    SCOPED_TRACE(script);
    CasePlan p = plan("shape");
    p.script = script;
    p.requests = 256;
    p.warmup = 0;
    const auto r = run_case({}, p, start_inside);
    ASSERT_TRUE(r) << r.error().message;
    expect_right(*r);
  }
}

TEST(SelfTest, open_loop_keeps_its_rate) {
  CasePlan p = plan("open");
  p.rate = 400;
  p.requests = 400;
  p.warmup = 0;
  p.stagger_s = 0;
  p.output_tokens = 4;
  const auto r = run_case({}, p, start_inside);
  ASSERT_TRUE(r) << r.error().message;
  expect_right(*r);
  ASSERT_TRUE(r->rate_error && r->schedule_lag_p99_ms);
  EXPECT_LT(*r->rate_error, 0.05);
}

TEST(SelfTest, a_server_that_sends_other_tokens_than_it_logs_is_found_out) {
  CasePlan p = plan("liar");
  p.streams = 4;
  p.requests = 8;
  p.warmup = 0;
  p.stagger_s = 0;
  p.script = "output_off=1";  // usage speaks of one token more than were sent
  const auto r = run_case({}, p, start_inside);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->unmatched, 8);
  EXPECT_THAT(r->missed, testing::Contains(testing::HasSubstr("the log tells otherwise")));
}

TEST(SelfTest, a_report_names_what_was_missed) {
  SelfTestReport report;
  report.cases.emplace_back().name = "closed loop";
  EXPECT_TRUE(report.passed());
  EXPECT_THAT(self_test_text(report), testing::HasSubstr("All targets held."));
  report.cases.emplace_back().missed.push_back("many streams: memory 80 MB is above 64 MB");
  EXPECT_FALSE(report.passed());
  EXPECT_THAT(self_test_text(report), testing::HasSubstr("Missed: many streams: memory 80 MB"));
  base::JsonWriter json;
  write_self_test(json, report);
  EXPECT_THAT(json.text(), testing::HasSubstr(R"("passed":false)"));
  EXPECT_THAT(json.text(), testing::HasSubstr(R"("errors":{"ttft_ms":{"mean":0,"p99":0)"));
}

}  // namespace
}  // namespace headroom::load
