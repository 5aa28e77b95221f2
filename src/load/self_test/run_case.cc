// One case of the self-test: load, then the comparison with the server's log.
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <unordered_map>

#include "base/clock.h"
#include "base/file.h"
#include "http/socket.h"
#include "load/self_test/self_test.h"
#include "load/verdict.h"

namespace headroom::load {

namespace {

/// This thread, and those it makes, on one core for a while.
class Pinned {
 public:
  explicit Pinned(std::optional<int> cpu) {
    if (!cpu || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(*cpu), &one);
    pinned_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~Pinned() {
    if (pinned_) sched_setaffinity(0, sizeof before_, &before_);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t before_{};
  bool pinned_ = false;
};

/// A process that does nothing but use the core it was born on.
class Hog {
 public:
  explicit Hog(bool wanted) {
    if (!wanted) return;
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile uint64_t spin = 0;;) spin = spin + 1;
  }
  ~Hog() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Hog(const Hog&) = delete;
  Hog& operator=(const Hog&) = delete;

 private:
  pid_t pid_ = -1;
};

/// The peak from here on counts, not that of an earlier case.
void reset_peak_memory() {
  malloc_trim(0);
  if (std::FILE* file = std::fopen("/proc/self/clear_refs", "we")) {
    std::fputs("5", file);
    std::fclose(file);
  }
}

double peak_memory_mb() {
  long kb = 0;
  if (std::FILE* file = std::fopen("/proc/self/status", "re")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr)
      if (std::sscanf(line, "VmHWM: %ld", &kb) == 1) break;
    std::fclose(file);
  }
  return static_cast<double>(kb) / 1024;
}

/// Exact: nanoseconds go into a histogram, whose buckets are a thousandth wide.
ErrorFigures figures_of(const base::Histogram& errors) {
  if (errors.empty()) return {};
  return {errors.mean() * 1e-6, static_cast<double>(errors.percentile(99)) * 1e-6, errors.count()};
}

using Gaps = std::unordered_map<uint64_t, std::vector<uint32_t>>;

void compare(const PointRun& run, const Gaps& gaps, const std::vector<MockTruth>& truths,
             const std::string& salt, CaseResult& result) {
  std::unordered_map<std::string, const MockTruth*> by_id;
  for (const MockTruth& truth : truths) by_id[truth.request_id] = &truth;
  base::Histogram ttft, tpot, itl;
  for (const RequestRecord& r : run.recorder.records()) {
    ++result.requests;
    if (!r.ok()) {
      ++result.failed;
      continue;
    }
    const auto found = by_id.find(fmt::format("{}-{}", salt, r.index));
    if (found == by_id.end() || found->second->tokens != r.tokens() || !r.ttft()) {
      ++result.unmatched;
      continue;
    }
    const MockTruth& truth = *found->second;
    ttft.record(std::abs(*r.ttft() - (truth.first_token - truth.received)));
    if (const auto value = r.tpot()) {
      const double whole = static_cast<double>(truth.last_token - truth.first_token);
      tpot.record(std::llround(std::abs(*value - whole / static_cast<double>(truth.tokens - 1))));
    }
    const auto mine = gaps.find(r.index);
    if (mine == gaps.end() || mine->second.size() != truth.gaps.size()) {
      ++result.unmatched;
      continue;
    }
    for (size_t i = 0; i < truth.gaps.size(); ++i)
      itl.record(std::abs(int64_t{mine->second[i]} - int64_t{truth.gaps[i]}));
  }
  result.ttft_ms = figures_of(ttft);
  result.tpot_ms = figures_of(tpot);
  result.itl_ms = figures_of(itl);
}

/// How much of what the server's script offers came inside the steady window.
void fill_delivery(const CasePlan& plan, const PointRun& run, CaseResult& result) {
  const auto window = steady_window(run.recorder.records(), plan.streams);
  result.delivered = result.window_s = result.rounds = 0;
  if (!window) return;
  const double period_s =
      (plan.ttft_ms + static_cast<double>(plan.output_tokens - 1) * plan.interval_ms) * 1e-3;
  const double offered = static_cast<double>(plan.streams * plan.output_tokens) / period_s;
  result.window_s = static_cast<double>(window->length()) * 1e-9;
  result.rounds = *result.window_s / period_s;
  result.delivered = run.recorder.tokens().within(*window) / *result.window_s / offered;
}

/// Of the sends: what the server sees, not what the client meant.
void fill_rate(const PointRun& run, double asked, CaseResult& result) {
  int64_t first = INT64_MAX, last = 0, count = 0;
  base::Histogram lag;
  for (const RequestRecord& r : run.recorder.records()) {
    if (!r.sent) continue;
    first = std::min(first, *r.sent);
    last = std::max(last, *r.sent);
    ++count;
    lag.record(*r.sent - r.intended);
  }
  if (count < 2) return;
  const double achieved = static_cast<double>(count - 1) * 1e9 / static_cast<double>(last - first);
  result.rate_error = std::abs(achieved - asked) / asked;
  result.schedule_lag_p99_ms = static_cast<double>(lag.percentile(99)) * 1e-6;
}

void hold(const CasePlan& plan, CaseResult& r) {
  const SelfTestTargets t;
  const auto at_most = [&](const char* what, double value, double limit, const char* unit) {
    if (!(value <= limit))
      r.missed.push_back(
          fmt::format("{}: {} {:.4g}{} is above {:g}{}", r.name, what, value, unit, limit, unit));
  };
  const auto at_least = [&](const char* what, double value, double limit) {
    if (!(value >= limit))
      r.missed.push_back(fmt::format("{}: {} {:.6g} is below {:g}", r.name, what, value, limit));
  };
  at_most("failed requests", static_cast<double>(r.failed), 0, "");
  at_most("requests that the log tells otherwise", static_cast<double>(r.unmatched), 0, "");
  at_most("TTFT error, mean", r.ttft_ms.mean, t.ttft_mean_ms, " ms");
  at_most("TTFT error, p99", r.ttft_ms.p99, t.ttft_p99_ms, " ms");
  at_most("TPOT error, mean", r.tpot_ms.mean, t.tpot_mean_ms, " ms");
  at_most("TPOT error, p99", r.tpot_ms.p99, t.tpot_p99_ms, " ms");
  at_most("ITL error, p99", r.itl_ms.p99, t.itl_p99_ms, " ms");
  if (r.delivered) at_least("delivered", *r.delivered, t.delivered);
  if (plan.hold_cost) {
    at_least("tokens per CPU second", r.tokens_per_cpu_second, t.tokens_per_cpu_second);
    at_most("memory", r.rss_mb, t.rss_mb, " MB");
  }
  if (r.rate_error) at_most("rate error", *r.rate_error * 100, t.rate_error * 100, " %");
  if (r.schedule_lag_p99_ms)
    at_most("schedule lag, p99", *r.schedule_lag_p99_ms, t.schedule_lag_p99_ms, " ms");
}

}  // namespace

base::Result<CaseResult> run_case(const SelfTestOptions& options, const CasePlan& plan,
                                  const StartMock& start, const std::atomic<bool>* stop) {
  CaseResult result;
  result.name = plan.name;
  result.streams = plan.streams;
  result.rate = plan.rate;
  result.hog = plan.hog;
  WorkloadOptions workload;
  workload.model = "mock";
  workload.input_tokens = options.input_tokens;
  workload.output_tokens = plan.output_tokens;
  workload.salt = fresh_salt();
  HEADROOM_TRY(const Workload prompts, Workload::create(workload));
  HEADROOM_TRY(auto mock,
               start(fmt::format("ttft={},interval={},log=1{}{}", plan.ttft_ms, plan.interval_ms,
                                 plan.script.empty() ? "" : ",", plan.script),
                     plan.streams + 16));
  PointOptions point;
  HEADROOM_TRY(point.url, http::parse_url(mock->url()));
  point.concurrency = plan.streams;
  point.requests = plan.requests;
  point.warmup = plan.warmup;
  point.stagger_ns = static_cast<int64_t>(plan.stagger_s * 1e9);
  if (options.client_cpu) point.threads = 1;
  if (static_cast<size_t>(plan.streams) > http::local_ports())
    point.sources = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};
  if (plan.rate) {
    point.arrival.emplace();
    point.arrival->rate = *plan.rate;
  }
  Gaps gaps;
  PointControl control;
  control.stop = stop;
  control.chunks = [&](const RequestRecord& r, const std::vector<ChunkMark>& marks) {
    std::vector<uint32_t>& mine = gaps[r.index];
    mine.reserve(marks.size());
    for (size_t i = 1; i < marks.size(); ++i)
      mine.push_back(
          static_cast<uint32_t>(std::min<int64_t>(marks[i].at - marks[i - 1].at, UINT32_MAX)));
  };
  reset_peak_memory();
  base::Result<PointRun> run;
  {
    const Pinned pinned(options.client_cpu);
    const Hog hog(plan.hog);
    const int64_t cpu = base::process_cpu_ns();
    run = run_point(point, prompts, control);
    const auto used = static_cast<double>(base::process_cpu_ns() - cpu) * 1e-9;
    result.rss_mb = peak_memory_mb();
    if (!run) return tl::unexpected<base::Error>(run.error());
    double tokens = 0;
    for (const RequestRecord& r : run->recorder.records())
      tokens += static_cast<double>(r.tokens());
    result.tokens_per_cpu_second = tokens / std::max(used, 1e-9);
  }
  if (run->interrupted) return base::fail(base::ErrorCode::kCancelled, "{}", run->interrupted_why);
  HEADROOM_TRY(const std::vector<MockTruth> truths, mock->stop());
  result.cpu_cores = run->client.cpu_cores;
  if (!run->client.read_lag.empty())
    result.read_lag_p99_ms = static_cast<double>(run->client.read_lag.percentile(99)) * 1e-6;
  const Verdict verdict = judge_client(*run);
  result.limited = verdict.limited;
  result.limited_reason = verdict.reason;
  results::ClientLoad filled;
  fill_verdict(*run, filled);
  result.coalesced = filled.coalesced.value_or(0);
  compare(*run, gaps, truths, workload.salt, result);
  if (plan.rate)
    fill_rate(*run, *plan.rate, result);
  else
    fill_delivery(plan, *run, result);
  hold(plan, result);
  return result;
}

}  // namespace headroom::load
