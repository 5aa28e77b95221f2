// The verdict on the client, cause by cause.
#include "load/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::load {
namespace {

constexpr int64_t kMs = 1'000'000;

/// A hundred good requests of a second each, sent `late` after they were due.
PointRun point(int64_t late = 0, int64_t coalesced = 0) {
  PointRun run;
  run.concurrency = 4;
  run.most_in_flight = 4;
  for (int i = 0; i < 100; ++i) {
    RequestRecord r;
    r.intended = r.released = 1000 * kMs;
    r.sent = r.intended + late;
    r.first_token = *r.sent + 100 * kMs;
    r.last_token = *r.sent + 1000 * kMs;
    r.chunks = r.chunk_tokens = 100;
    r.coalesced = coalesced;
    run.recorder.add(r, {});
  }
  run.client.kernel_reads = 10'000;
  run.client.busiest_thread = 0.3;
  run.client.read_lag.record(kMs);
  return run;
}

TEST(Verdict, a_client_with_room_is_not_the_limit_and_says_why) {
  const Verdict v = judge_client(point());
  EXPECT_FALSE(v.limited);
  EXPECT_EQ(v.reason,
            "threads busy 30 % at most, requests sent 0.00 ms after they were due (p99), stamps by "
            "the kernel, read 1.00 ms late (p99), 0.00 % of chunks merged");
}

TEST(Verdict, a_busy_thread) {
  PointRun run = point();
  run.client.busiest_thread = 0.95;
  EXPECT_TRUE(judge_client(run).limited);
  EXPECT_THAT(judge_client(run).reason, testing::HasSubstr("busy 95 %"));
}

TEST(Verdict, late_requests_count_against_their_length) {
  EXPECT_FALSE(judge_client(point(15 * kMs)).limited);  // 1.5 % of a second
  const Verdict v = judge_client(point(30 * kMs));
  EXPECT_TRUE(v.limited);
  EXPECT_THAT(v.reason, testing::HasSubstr("after they were due"));
}

TEST(Verdict, the_cap_of_an_open_loop_is_named) {
  PointRun run = point(30 * kMs);
  run.arrival = ArrivalOptions{};
  EXPECT_THAT(judge_client(run).reason, testing::HasSubstr("all 4 connections were taken"));
  run.most_in_flight = 3;
  EXPECT_THAT(judge_client(run).reason, testing::HasSubstr("after they were due"));
}

TEST(Verdict, the_users_clock_counts_when_the_client_is_slow) {
  PointRun run = point();
  run.client.kernel_reads = 0;
  run.client.user_reads = 10'000;
  EXPECT_FALSE(judge_client(run).limited);
  run.client.loop_lag.record(2 * kMs);
  EXPECT_TRUE(judge_client(run).limited);
}

TEST(Verdict, merged_reads_count_when_the_client_read_late) {
  PointRun run = point(0, 5);
  EXPECT_FALSE(judge_client(run).limited);  // the server or a proxy bundles
  run.client.read_lag.record(20 * kMs, 1000);
  EXPECT_TRUE(judge_client(run).limited);
  results::ClientLoad client;
  fill_verdict(run, client);
  EXPECT_EQ(client.limited, true);
  EXPECT_NEAR(*client.coalesced, 0.05, 1e-12);
  EXPECT_EQ(client.retries, 0);
}

}  // namespace
}  // namespace headroom::load
