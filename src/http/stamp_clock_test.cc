// Receive stamps under clocks that step: none may move a figure.
#include "http/stamp_clock.h"

#include <gtest/gtest.h>
#include <linux/errqueue.h>

#include <cstring>

namespace headroom::http {
namespace {

int64_t g_wall, g_steady;
int64_t wall() {
  return g_wall;
}
int64_t steady() {
  return g_steady;
}

/// A recvmsg's control data with a stamp of that wall time.
struct Message {
  alignas(cmsghdr) char control[kStampControlBytes] = {};
  msghdr header{};
  explicit Message(int64_t at) {
    scm_timestamping stamps{};
    stamps.ts[0] = {.tv_sec = at / 1'000'000'000, .tv_nsec = at % 1'000'000'000};
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(sizeof stamps);
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_TIMESTAMPING;
    c->cmsg_len = CMSG_LEN(sizeof stamps);
    std::memcpy(CMSG_DATA(c), &stamps, sizeof stamps);
  }
};

constexpr int64_t kSecond = 1'000'000'000, kMs = 1'000'000;
constexpr int64_t kEpoch = 1'700'000'000 * kSecond;

void advance(int64_t ns) {
  g_wall += ns;
  g_steady += ns;
}

class StampClockTest : public testing::Test {
 protected:
  StampClockTest() {
    g_wall = kEpoch;
    g_steady = 1000 * kSecond;
    clock_.begin_batch();
  }
  /// A packet that came `ago` before now, read now.
  int64_t read(int64_t ago) {
    Message message(g_wall - ago);
    return clock_.arrival_ns(message.header, 999 * kSecond, g_steady);
  }
  StampClock clock_{wall, steady};
};

TEST_F(StampClockTest, a_stamp_is_the_arrival_on_the_monotonic_clock) {
  advance(5 * kMs);
  clock_.begin_batch();
  EXPECT_EQ(read(2 * kMs), g_steady - 2 * kMs);
  EXPECT_EQ(clock_.kernel_reads(), 1u);
  EXPECT_EQ(clock_.read_lag().max(), 2 * kMs);
}

TEST_F(StampClockTest, a_step_either_way_costs_only_the_stamps_of_its_batch) {
  for (const int64_t step : {3600 * kSecond, -3600 * kSecond, 50 * kMs, -50 * kMs, -200 * 1000L}) {
    SCOPED_TRACE(step);
    const int64_t packet_wall = g_wall;  // stamped before the step, read after it
    const int64_t packet_steady = g_steady;
    advance(kMs);
    g_wall += step;
    const uint64_t user = clock_.user_reads(), steps = clock_.steps();
    clock_.begin_batch();
    Message message(packet_wall);
    EXPECT_EQ(clock_.arrival_ns(message.header, packet_steady - kSecond, g_steady), g_steady);
    EXPECT_EQ(clock_.user_reads(), user + 1);
    EXPECT_EQ(clock_.steps(), steps + 1);
    advance(kMs);
    clock_.begin_batch();
    EXPECT_EQ(read(kMs / 2), g_steady - kMs / 2);  // the next batch is measured by the kernel again
    EXPECT_EQ(clock_.steps(), steps + 1);
  }
}

TEST_F(StampClockTest, a_slew_is_followed_and_is_no_step) {
  for (int i = 0; i < 5000; ++i) {
    advance(kMs);
    g_wall += 500;  // 500 ppm, the most that the kernel slews by
    clock_.begin_batch();
    EXPECT_NEAR(static_cast<double>(read(kMs / 10)), static_cast<double>(g_steady - kMs / 10),
                1'000);
  }
  EXPECT_EQ(clock_.user_reads(), 0u);
}

TEST_F(StampClockTest, stamps_from_the_future_or_from_before_the_request_are_not_believed) {
  EXPECT_EQ(read(-kSecond), g_steady);
  EXPECT_EQ(read(2 * kSecond), g_steady);  // before the floor
  EXPECT_EQ(clock_.user_reads(), 2u);
}

TEST_F(StampClockTest, a_read_without_a_stamp_takes_the_users_clock) {
  msghdr none{};
  EXPECT_EQ(clock_.arrival_ns(none, 0, g_steady), g_steady);
  EXPECT_EQ(clock_.user_reads(), 1u);
}

}  // namespace
}  // namespace headroom::http
