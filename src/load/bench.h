// Bench: the points of a run one after the other, each stored as soon as it is complete.
#pragma once

#include <atomic>
#include <functional>
#include <map>
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
  std::vector<double> rates;         // then constant-rate points, requests a second
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
};

/// `store` may be null (nothing is kept); `on_point` hears of each point once it is measured and
/// stored, or could not be (which ends the run); `stop` drops the running point and ends the run
/// with kCancelled.
BenchOutcome run_bench(const BenchOptions& options, results::Store* store,
                       const std::function<void(const BenchPoint&)>& on_point = {},
                       const std::atomic<bool>* stop = nullptr);

}  // namespace headroom::load
