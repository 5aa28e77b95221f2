// Verdict: did the client, rather than the server, bound a point's figures? The one place that
// says.
#pragma once

#include <string>

#include "load/runner.h"
#include "results/record.h"

namespace headroom::load {

struct Verdict {
  bool limited = false;
  std::string reason;  // one line, also when the verdict is no
};

/// The limits, each with its reason.
inline constexpr double kBusyThread = 0.9;     // CPU share: above, there is no room for bursts
inline constexpr int64_t kLateNs = 5'000'000;  // p99 of due to sent, and …
inline constexpr double kLateShare = 0.02;     // … of the mean E2E: the load was not the one named
inline constexpr double kCoalescedShare = 0.01;   // above: gaps were lost
inline constexpr int64_t kReadLagNs = 5'000'000;  // p99: gaps were lost because we read late
inline constexpr double kUserClockShare = 0.01;  // of reads; above, our own delay is in the times …
inline constexpr double kUserClockThread = 0.5;  // … and it shows when the thread is busy
inline constexpr int64_t kUserClockLagNs = 1'000'000;  // or wakes late (p99)

Verdict judge_client(const PointRun& point);

/// Verdict, coalesced share, retries and what the loops were granted, as the record keeps them.
void fill_verdict(const PointRun& point, results::ClientLoad& client);

}  // namespace headroom::load
