// The client's own error: load cases against a mock server whose log is the truth.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/result.h"
#include "base/table.h"
#include "load/mock/mock_truth.h"
#include "load/runner.h"

namespace headroom::load {

struct SelfTestOptions {
  int64_t streams = 2048;
  double ttft_ms = 200, interval_ms = 25;
  int64_t input_tokens = 32, output_tokens = 64;
  int64_t rounds = 10;  // of the closed loop, measured
  int64_t many_streams = 20'000;
  std::vector<double> rates = {100, 1000, 5000};
  double rate_seconds = 10;
  bool hog = false;               // a CPU hog beside every case, not just beside its own
  std::string only;               // cases whose names contain this; empty: all
  std::optional<int> client_cpu;  // the loop is pinned there, and hogs are too
};
/// The same cases with few streams and short: some ten seconds in all.
SelfTestOptions quick_self_test();

/// What the figures are held to.
struct SelfTestTargets {
  double ttft_mean_ms = 0.1, ttft_p99_ms = 0.5;
  double tpot_mean_ms = 0.01, tpot_p99_ms = 0.05;
  double itl_p99_ms = 0.2;
  double delivered = 0.99;
  double tokens_per_cpu_second = 250'000;
  double rss_mb = 64;
  double rate_error = 0.001, schedule_lag_p99_ms = 1;
};

/// A mock server, in a process of its own or not.
class MockHost {
 public:
  virtual ~MockHost() = default;
  virtual std::string url() const = 0;
  /// Ends it and hands out what it sent.
  virtual base::Result<std::vector<MockTruth>> stop() = 0;
};
/// `script` as for parse_mock_script; `connections` is how many there will be at once.
using StartMock = std::function<base::Result<std::unique_ptr<MockHost>>(const std::string& script,
                                                                        int64_t connections)>;

/// Absolute differences between the client's figures and the server's log.
struct ErrorFigures {
  double mean = 0, p99 = 0;
  uint64_t samples = 0;
};

struct CaseResult {
  std::string name;  // "closed loop", "synchronised start", …
  int64_t streams = 0;
  std::optional<double> rate;  // asked, requests/s
  bool hog = false;
  int64_t requests = 0, failed = 0;
  int64_t unmatched = 0;  // requests or chunks of which the two sides disagree
  ErrorFigures ttft_ms, tpot_ms, itl_ms;
  std::optional<double> delivered;  // share of the offered tokens/s inside the steady window
  std::optional<double> window_s, rounds;
  std::optional<double> rate_error;  // relative, of the sends
  std::optional<double> schedule_lag_p99_ms;
  double tokens_per_cpu_second = 0, cpu_cores = 0, rss_mb = 0;
  double coalesced = 0, read_lag_p99_ms = 0;
  bool limited = false;
  std::string limited_reason;
  std::vector<std::string> missed;  // targets, one line each
};

struct SelfTestReport {
  SelfTestOptions options;
  std::vector<CaseResult> cases;
  std::vector<std::string> notes;  // what this machine would not allow
  bool passed() const;
};

/// One case: the point is run and each of its requests compared with the log.
struct CasePlan {
  std::string name;
  int64_t streams = 0, output_tokens = 64;
  double ttft_ms = 200, interval_ms = 25;
  std::string script;  // beyond the times
  std::optional<double> rate;
  int64_t requests = 0, warmup = 0;
  double stagger_s = 0;
  bool hog = false;
  // Which targets hold it: the CPU and memory figures are named for the closed loop alone.
  bool hold_cost = false;
};
base::Result<CaseResult> run_case(const SelfTestOptions& options, const CasePlan& plan,
                                  const StartMock& start, const std::atomic<bool>* stop = nullptr);

/// `on_case` hears the name of each case before it begins.
base::Result<SelfTestReport> run_self_test(const SelfTestOptions& options, const StartMock& start,
                                           const std::function<void(const std::string&)>& on_case,
                                           const std::atomic<bool>* stop = nullptr);

/// Figures beside their targets, then what was missed.
std::string self_test_text(const SelfTestReport& report);
void write_self_test(base::JsonWriter& json, const SelfTestReport& report);

}  // namespace headroom::load
