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
  // The server.
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  /// A bearer token, and the variable it came from: never stored, the replay line names the
  /// variable.
  std::string api_key, api_key_env;
  std::string ca_file;    // PEM, instead of the system's authorities
  bool insecure = false;  // any certificate will do

  // The requests.
  WorkloadOptions workload;        // model, lengths, dataset, salt (empty: none)
  bool fresh_salt = false;         // instead of workload.salt one that no run had
  bool token_range_given = false;  // else it follows the server's vocabulary where that is known
  uint64_t first_index = 0;        // of the first prompt

  // The points: closed loops, then open ones, each in the order given.
  std::vector<int64_t> concurrency;
  std::vector<double> rates;  // requests/s; infinite: a burst
  /// How an open loop's requests come: its rate is one of `rates`. kSchedule and kTrace make one
  /// point of their file and need no rate.
  ArrivalOptions arrival;
  int64_t max_in_flight = 256;       // of an open loop: requests beyond have to wait
  double stagger_s = 0;              // of a closed loop: the users start over that time
  std::optional<int64_t> requests;   // measured, of each point
  std::optional<double> duration_s;  // instead of a number of requests
  /// Instead, so many times the concurrency. With none of them: max(3 × concurrency, 12), a
  /// schedule's or trace's length.
  std::optional<int64_t> requests_per_stream;
  std::optional<int64_t> warmup,
      warmup_per_stream;  // absent: one per stream; none for files' times
  double timeout_s = 300;
  double point_timeout_s = 0;  // a point that takes longer ends with what it has; 0: none

  // The client.
  int64_t threads = 0;               // 0: one, and more where the load needs it
  std::vector<std::string> sources;  // local addresses to connect from, in turn
  uint32_t retries = 0;              // of a request whose answer never began; counted
  double pace_ms = 0;                // least time between two releases

  // What is said of it.
  std::string label;
  std::optional<int64_t> repeat;
  /// What the server does not tell: framework, version, precision, kv, attention, image, command,
  /// speculative, recipe, tp, pp, ep; any other key is a flag of the server.
  std::map<std::string, std::string> recipe;
  std::string hardware;  // stated by the user, with the count below
  std::optional<int64_t> devices;
  results::Slo slo;                 // what a request must meet to count for goodput
  double max_failures_percent = 5;  // more make the run fail at its end; the records are kept
  bool force_percentiles = false;   // p99 of fewer than 100 samples is shown
  std::string requests_out;         // file for a JSON line of each request as it ends
  bool quiet = false;               // no progress on stderr
  /// A point that ends because the server fails becomes a flagged record beside the error.
  bool keep_failed = false;

  // For sweeps.
  std::string run;                                        // the run's id instead of a fresh one
  std::string point;                                      // goes into record.point
  std::map<std::string, std::string> server_environment;  // beside what the server tells
  std::optional<results::Eval> eval;                      // bound to the same server process
  /// What an earlier call told of the same server process: it is not asked again.
  std::shared_ptr<const ServerFacts> server_facts;
};

/// InferenceX's random workload: lengths uniform in [0.8 L, L], 10 × concurrency requests, 2 ×
/// concurrency warm-ups, seed 0. Leaves alone what was set already. kInvalidArgument for a name
/// that is not "inferencex".
base::Result<> apply_preset(std::string_view name, BenchOptions& options);

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
