// The points that InferenceX's generator makes of a configuration, entry by entry.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sweep/inferencex.h"

namespace headroom::sweep {

/// One entry of its matrix: one concurrency, or for several nodes all that one server start
/// measures. Points into the configurations, which must stay.
struct IxPoint {
  const IxConfig* config = nullptr;
  const IxScenario* scenario = nullptr;
  const IxSearch* search = nullptr;
  std::vector<int64_t> concurrency;
  int64_t cpu_dram_gb = 0;  // agentic: KV offload budget of a node
  bool run_eval = false;
  std::optional<int64_t> eval_concurrency;  // several nodes

  bool multinode() const { return search->prefill.has_value(); }
  /// Field → JSON text; what the generator prints for this entry.
  std::map<std::string, std::string> fields() const;
  std::string json() const;
  /// SHA-256 of the canonical entry without concurrency and name, before evals are chosen.
  std::string fingerprint() const;
  /// Fixed lengths: both and 256 tokens to spare, 200 in the time of the older layout.
  int64_t max_model_len() const {
    return scenario->isl + scenario->osl + (config->older_layout ? 200 : 256);
  }
  std::string experiment() const;  // "dsr1_8k1k"
};

/// start, start × step … up to end, the last clipped to it.
std::vector<int64_t> ix_ladder(int64_t start, int64_t end, int64_t step = 2);

/// All entries, evals chosen: of 8k/1k with concurrency from 16 on the highest and the median
/// level of each (model, runner, framework, precision, lengths, speculation, dp-attention), for
/// several nodes the highest of each layout. Errors: a KV offload without its runner's hardware, a
/// layout that does not fit the node.
base::Result<std::vector<IxPoint>> ix_points(const std::vector<IxConfig>& configs,
                                             const IxRunners& runners);

}  // namespace headroom::sweep
