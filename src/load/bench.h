// Bench: the points of a run one after the other, each stored as soon as it is complete.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "load/summary.h"
#include "results/store.h"

namespace headroom::load {

struct BenchOptions {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  WorkloadOptions workload;          // model, lengths, dataset, salt (empty: none)
  bool token_range_given = false;    // else it follows the server's vocabulary where that is known
  std::vector<int64_t> concurrency;  // closed-loop points, in this order
  std::vector<double> rates;         // then open-loop points, requests a second; infinite: a burst
  /// How the open loop's requests come: its rate is one of `rates`. kSchedule and kTrace make one
  /// point of their file and need no rate.
  ArrivalOptions arrival;
  int64_t max_in_flight = 64;        // of the open loop: as many connections; more have to wait
  double stagger_s = 0;              // of the closed loop: the users start over that time
  std::optional<int64_t> requests;   // of each point; absent: max(3 × concurrency, 12)
  std::optional<double> duration_s;  // instead of a number of requests
  std::optional<int64_t> warmup;     // absent: one per stream
  double timeout_s = 300;
  std::string label;
  std::optional<int64_t> repeat;
  /// What the server does not tell: framework, version, precision, kv, attention, image, command,
  /// speculative, recipe, tp, pp, ep; any other key is a flag of the server.
  std::map<std::string, std::string> recipe;
  std::string hardware;  // stated by the user, with the count below
  std::optional<int64_t> devices;
  bool quiet = false;  // no progress on stderr

  results::Slo slo;                 // what a request must meet to count for goodput
  double max_failures_percent = 5;  // above: the run goes on, and `error` says so at its end
  std::string requests_out;         // JSONL, a line each request as it ends
  /// Beside `headers`, a bearer token, and the variable it came from: never stored, the replay line
  /// names the variable.
  std::string api_key, api_key_env;
  bool force_percentiles = false;  // shows p99 of fewer than 100 samples

  // For sweeps.
  std::string run;                                        // the run's id instead of a fresh one
  std::string point;                                      // goes into record.point
  std::map<std::string, std::string> server_environment;  // beside what the server tells
  std::optional<results::Eval> eval;                      // bound to the same server process
  double point_timeout_s = 0;  // a point that takes longer ends with what it has; 0: none
  /// What an earlier call told of the same server process: it is not asked again.
  std::shared_ptr<const ServerFacts> server_facts;
};

struct BenchPoint {
  results::Record record;
  std::string id;
};

/// Points that were completed, also when the run then failed; the first `stored` of them are in the
/// store.
struct BenchOutcome {
  std::string run;
  std::vector<BenchPoint> points;
  size_t stored = 0;
  std::optional<base::Error> error;
  std::shared_ptr<const ServerFacts> server_facts;  // for the next call
};

/// `store` may be null (nothing is kept); `on_point` hears of each point once it is measured and
/// stored, or could not be (which ends the run); `stop` drops the running point and ends the run
/// with kCancelled.
BenchOutcome run_bench(const BenchOptions& options, results::Store* store,
                       const std::function<void(const BenchPoint&)>& on_point = {},
                       const std::atomic<bool>* stop = nullptr);

}  // namespace headroom::load
