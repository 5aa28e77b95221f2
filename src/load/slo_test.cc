// Service levels, the open loop's steady window, request lines: rules on made-up requests.
#include "load/slo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "load/request_log.h"
#include "load/steady_rate.h"

namespace headroom::load {
namespace {

using testing::HasSubstr;

constexpr int64_t kMs = 1'000'000;

RequestRecord request(int64_t ttft_ms, int64_t e2e_ms, int64_t tokens) {
  RequestRecord r;
  r.intended = r.released = 1000 * kMs;
  r.sent = 1000 * kMs;
  r.first_token = (1000 + ttft_ms) * kMs;
  r.last_token = (1000 + e2e_ms) * kMs;
  r.done = *r.last_token;
  r.output_tokens = r.chunk_tokens = tokens;
  return r;
}

TEST(Slo, reads_what_it_writes) {
  const auto slo = parse_slo("tpot=50,ttft=200.5");
  ASSERT_TRUE(slo);
  EXPECT_EQ(slo->ttft_ms, 200.5);
  EXPECT_FALSE(slo->e2e_ms);
  EXPECT_EQ(slo_text(*slo), "ttft=200.5,tpot=50");
  EXPECT_FALSE(has_bounds(*parse_slo("")));
  for (const char* bad : {"ttft", "ttft=", "ttft=x", "ttft=-1", "ttft=nan", "x=1", "ttft=1,ttft=2"})
    EXPECT_FALSE(parse_slo(bad)) << bad;
}

TEST(Slo, every_bound_must_be_met) {
  const RequestRecord r = request(100, 1000, 10);  // TPOT 100 ms
  EXPECT_TRUE(meets(*parse_slo("ttft=100,tpot=100,e2e=1000"), r));
  EXPECT_FALSE(meets(*parse_slo("ttft=99"), r));
  EXPECT_FALSE(meets(*parse_slo("tpot=99.9"), r));
  EXPECT_FALSE(meets(*parse_slo("e2e=999"), r));
}

TEST(Slo, what_is_absent) {
  EXPECT_TRUE(meets(*parse_slo("tpot=1"), request(100, 100, 1))) << "one token has no TPOT to miss";
  EXPECT_TRUE(meets(*parse_slo("tpot=1"), request(100, 100, 9))) << "nor have tokens in one piece";
  RequestRecord unary = request(0, 100, 9);
  unary.first_token.reset();
  EXPECT_FALSE(meets(*parse_slo("ttft=1000"), unary));
  RequestRecord failed = request(1, 2, 2);
  failed.failure = Failure::kCut;
  EXPECT_FALSE(meets(*parse_slo("ttft=1000"), failed));
}

std::vector<RequestRecord> ends_at(const std::vector<double>& seconds) {
  std::vector<RequestRecord> records;
  for (const double at : seconds) {
    RequestRecord r;
    r.done = static_cast<int64_t>(at * 1e9);
    records.push_back(r);
  }
  return records;
}

TEST(SteadyRate, finds_where_the_server_kept_step) {
  // 5 s at half the rate, 20 s at the rate, then a backlog at twice the rate.
  std::vector<double> times;
  for (double t = 0; t < 5; t += 0.2) times.push_back(t);
  for (double t = 5; t < 25; t += 0.1) times.push_back(t);
  for (double t = 25; t < 30; t += 0.05) times.push_back(t);
  const auto window = steady_rate_window(ends_at(times), 10, 0);
  ASSERT_TRUE(window);
  const double begin = static_cast<double>(window->begin) * 1e-9,
               end = static_cast<double>(window->end) * 1e-9;
  EXPECT_GT(end - begin, 19);
  const auto inside = std::ranges::count_if(times, [&](double t) { return t > begin && t <= end; });
  EXPECT_NEAR(static_cast<double>(inside) / (end - begin), 10, 0.11);
  EXPECT_FALSE(steady_rate_window(ends_at(times), 40, 0));
  const auto late = steady_rate_window(ends_at(times), 10, 10'000'000'000);
  ASSERT_TRUE(late);
  EXPECT_GE(late->begin, 10'000'000'000);
  EXPECT_FALSE(steady_rate_window({}, 10, 0));
  times.resize(9);
  EXPECT_FALSE(steady_rate_window(ends_at(times), 5, 0)) << "nine requests are too few";
}

TEST(SteadyRate, hundreds_of_thousands_of_requests_take_no_time) {
  base::Rng rng(1);
  std::vector<double> times;
  for (double t = 0; times.size() < 300'000;) times.push_back(t += rng.exponential() / 5000);
  EXPECT_FALSE(steady_rate_window(ends_at(times), 9000, 0));
  EXPECT_TRUE(steady_rate_window(ends_at(times), 5000, 0));
}

TEST(RequestLog, lines_hold_every_stage_from_the_start_on) {
  RequestRecord r = request(10, 30, 3);
  r.first_text = *r.sent + 30 * kMs;
  const std::string line = request_line(r, "", 900 * kMs, "id", 2, "4 streams");
  EXPECT_THAT(line, HasSubstr(R"("run":"id","point":2,"load":"4 streams")"));
  EXPECT_THAT(line, HasSubstr(R"("intended_ms":100,)"));
  EXPECT_THAT(line, HasSubstr(R"("first_byte_ms":null)"));
  EXPECT_THAT(line, HasSubstr(R"("first_token_ms":110,"first_text_ms":130)"));
  EXPECT_THAT(line, HasSubstr(R"("failure":null)"));
  r.failure = Failure::kHttp;
  r.http_status = 503;
  EXPECT_THAT(request_line(r, "busy\n", 0, "", 0, ""),
              HasSubstr(R"("failure":"http 503","why":"busy\n")"));
  EXPECT_FALSE(RequestLog::open("/nowhere/x.jsonl"));
  auto full = RequestLog::open("/dev/full");
  if (!full) GTEST_SKIP() << "no /dev/full here";
  full->add("x");
  full->flush();
  EXPECT_THAT(full->error(), HasSubstr("/dev/full: cannot be written: No space left"));
}

}  // namespace
}  // namespace headroom::load
