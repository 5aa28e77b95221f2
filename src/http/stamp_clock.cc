// Kernel receive stamps.
#include "http/stamp_clock.h"

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>

#include <cstring>
#include <limits>

#include "base/clock.h"

namespace headroom::http {

namespace {

constexpr int64_t kMeasureEveryNs = 1'000'000'000;
// Two clocks read one after the other and rounded: a stamp may seem that much in the future.
constexpr int64_t kSlackNs = 20'000;
// A change of the offset between two batches that no slew explains.
constexpr int64_t kStepNs = 100'000;
constexpr int64_t kTightNs = 1'000;  // reads so close together that nothing came between

int64_t stamp_of(const msghdr& message) {
  for (const cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr;
       c = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(c))) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPING) continue;
    scm_timestamping stamps{};
    if (c->cmsg_len < CMSG_LEN(sizeof stamps)) continue;
    std::memcpy(&stamps, CMSG_DATA(c), sizeof stamps);
    return stamps.ts[0].tv_sec * 1'000'000'000 + stamps.ts[0].tv_nsec;
  }
  return 0;
}

}  // namespace

bool StampClock::enable(int fd) {
  const int flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
  return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags) == 0;
}

void StampClock::measure_offset() {
  // The tightest of a few brackets: an interrupt between the reads would spoil a single one.
  int64_t best = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 5; ++i) {
    const int64_t before = steady_();
    const int64_t wall = wall_();
    const int64_t after = steady_();
    if (after - before < best) {
      best = after - before;
      offset_ns_ = wall - (before + (after - before) / 2);
    }
  }
  measured_ns_ = steady_();
}

void StampClock::begin_batch() {
  doubtful_ = false;
  if (measured_ns_ == 0) return measure_offset();
  const int64_t before = steady_();
  const int64_t wall = wall_();
  const int64_t after = steady_();
  const int64_t offset = wall - (before + (after - before) / 2);
  if (std::abs(offset - offset_ns_) > kStepNs) {
    const int64_t old = offset_ns_;
    measure_offset();  // an interrupt between the reads looks the same at first
    doubtful_ = std::abs(offset_ns_ - old) > kStepNs;
    steps_ += doubtful_;
  } else if (after - before <= kTightNs) {
    offset_ns_ = offset;  // follows a slew
    measured_ns_ = after;
  }
}

int64_t StampClock::arrival_ns(const msghdr& message, int64_t floor, int64_t now) {
  if (measured_ns_ == 0 || now - measured_ns_ > kMeasureEveryNs) measure_offset();
  const int64_t stamp = stamp_of(message);
  if (stamp != 0 && !doubtful_) {
    int64_t at = stamp - offset_ns_;
    if (at > now && at - now <= kSlackNs) at = now;
    if (at < floor && floor - at <= kSlackNs) at = floor;
    if (at >= floor && at <= now) {
      ++kernel_reads_;
      read_lag_.record(now - at);
      return at;
    }
  }
  ++user_reads_;
  return now;
}

void StampClock::reset_counts() {
  kernel_reads_ = user_reads_ = steps_ = 0;
  read_lag_ = {};
}

}  // namespace headroom::http
