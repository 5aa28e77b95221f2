// Summary: a finished point as a record for the store.
#pragma once

#include <string>

#include "load/runner.h"
#include "load/server_facts.h"
#include "load/workload.h"
#include "results/record.h"

namespace headroom::load {

/// What all points of a run share.
struct RunFacts {
  std::string run, label;
  ServerFacts server;
  /// Nominal lengths and the like come from here.
  WorkloadOptions workload;
  std::string dataset;
  std::string input_lengths = "fixed", output_lengths = "fixed";
  size_t distinct_prompts = 0;   // of a file; 0: endless
  bool shares_prefixes = false;  // a trace
  results::Slo slo;
  std::map<std::string, std::string> client_environment;
};

/// Everything that was measured and nothing that was not; what speaks against the figures is in
/// measures.doubts.
results::Record summarize(const PointRun& point, const RunFacts& facts);

}  // namespace headroom::load
