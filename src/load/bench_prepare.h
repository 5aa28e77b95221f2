// Preparation of a bench: options checked, the server asked, prompts fitted to it.
#pragma once

#include <atomic>

#include "http/url.h"
#include "load/bench.h"

namespace headroom::load {

struct Prepared {
  http::Url url;
  std::vector<std::string> headers;  // with the key's
  RunFacts facts;
  std::shared_ptr<const ServerFacts> server;  // as it told, before recipe and hardware
  std::optional<Workload> workload;
};

/// Errors: kInvalidArgument naming the option, before any word to the server; those of ask_server;
/// kCancelled when `stop` was set.
base::Result<Prepared> prepare_bench(const BenchOptions& options, const std::atomic<bool>* stop);

/// One point of the run.
struct Load {
  int64_t streams = 1;
  std::optional<ArrivalOptions> arrival;
};
std::vector<Load> loads_of(const BenchOptions& options);
/// "16 streams", "0.25 req/s poisson", "trace".
std::string load_label(const Load& load);

/// `rows`: of a dataset's file, for a trace that is replayed once; 0: none.
PointOptions point_options(const BenchOptions& options, const Prepared& prepared, const Load& load,
                           uint64_t first_index);

}  // namespace headroom::load
