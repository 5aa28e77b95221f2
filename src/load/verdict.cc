// The client's judgement of itself.
#include "load/verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::load {

namespace {

struct Evidence {
  int64_t late_p99 = 0;
  double mean_e2e = 0;
  int64_t chunks = 0, coalesced = 0;
  double coalesced_share() const {
    return chunks > 0 ? static_cast<double>(coalesced) / static_cast<double>(chunks) : 0;
  }
};

Evidence evidence_of(const PointRun& point) {
  Evidence e;
  base::Histogram late, e2e;
  for (const RequestRecord& r : point.recorder.records()) {
    if (r.warmup || !r.sent) continue;
    // Sent twice for the server's sake: when it left is not this client's lateness.
    if (!r.again && r.retries == 0) late.record(*r.sent - r.intended);
    if (!r.ok()) continue;
    if (r.e2e()) e2e.record(*r.e2e());
    e.chunks += r.chunks;
    e.coalesced += r.at_once() ? 0 : r.coalesced;  // in one piece: a proxy's doing
  }
  if (!late.empty()) e.late_p99 = late.percentile(99);
  e.mean_e2e = e2e.mean();
  return e;
}

double ms(int64_t ns) {
  return static_cast<double>(ns) * 1e-6;
}

int64_t p99(const base::Histogram& histogram) {
  return histogram.empty() ? 0 : histogram.percentile(99);
}

}  // namespace

Verdict judge_client(const PointRun& point) {
  const Evidence e = evidence_of(point);
  const ClientState& client = point.client;
  if (client.busiest_thread > kBusyThread)
    return {true, fmt::format("a thread of the client was busy {:.0f} % of the time: give it more "
                              "threads or cores",
                              client.busiest_thread * 100)};
  const bool late =
      e.late_p99 > kLateNs && static_cast<double>(e.late_p99) > kLateShare * e.mean_e2e;
  if (late && point.arrival && point.most_in_flight >= point.concurrency)
    return {true,
            fmt::format("all {} connections were taken and requests waited for one, {:.1f} ms "
                        "at p99: allow more in flight",
                        point.concurrency, ms(e.late_p99))};
  if (late)
    return {true, fmt::format("requests left {:.1f} ms after they were due (p99)", ms(e.late_p99))};
  const auto reads = static_cast<double>(client.kernel_reads + client.user_reads);
  const double user = reads > 0 ? static_cast<double>(client.user_reads) / reads : 0;
  if (user > kUserClockShare &&
      (client.busiest_thread > kUserClockThread || p99(client.loop_lag) > kUserClockLagNs))
    return {true, fmt::format("{:.0f} % of the times are the client's own clock, on a thread busy "
                              "{:.0f} % that woke {:.2f} ms late (p99)",
                              user * 100, client.busiest_thread * 100, ms(p99(client.loop_lag)))};
  if (e.coalesced_share() > kCoalescedShare && p99(client.read_lag) > kReadLagNs)
    return {true,
            fmt::format("the client read {:.1f} ms late (p99), and {:.1f} % of the chunks came "
                        "in one read with the one before: ITL is coarse, TTFT and TPOT are not",
                        ms(p99(client.read_lag)), e.coalesced_share() * 100)};
  return {false,
          fmt::format("threads busy {:.0f} % at most, requests sent {:.2f} ms after they were due "
                      "(p99), {} {:.2f} ms late (p99), {:.2f} % of chunks merged",
                      client.busiest_thread * 100, ms(e.late_p99),
                      client.kernel_reads > 0 ? "stamps by the kernel, read" : "woken",
                      ms(p99(client.kernel_reads > 0 ? client.read_lag : client.loop_lag)),
                      e.coalesced_share() * 100)};
}

void fill_verdict(const PointRun& point, results::ClientLoad& client) {
  const Evidence e = evidence_of(point);
  Verdict verdict = judge_client(point);
  client.limited = verdict.limited;
  client.limited_reason = std::move(verdict.reason);
  if (e.chunks > 0) client.coalesced = e.coalesced_share();
  client.retries = point.client.retries;
  client.settings["threads"] = std::to_string(point.client.threads);
  client.settings["priority"] = point.client.priority;
  if (point.client.clock_steps > 0)
    client.settings["clock_steps"] = std::to_string(point.client.clock_steps);
}

}  // namespace headroom::load
