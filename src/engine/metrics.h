// EngineMetrics: counters, gauges and histograms of the engine, copied out as one snapshot.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/request.h"

namespace headroom::engine {

/// Counts by upper bound, as Prometheus wants them; the bounds live as long as the program.
class BucketHistogram {
 public:
  explicit BucketHistogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1, 0) {}
  void observe(double value, uint64_t times = 1);
  std::span<const double> bounds() const { return bounds_; }
  /// One more than bounds(): the last counts values above every bound. Not cumulative.
  std::span<const uint64_t> counts() const { return counts_; }
  uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  double sum_ = 0;
};

/// The bounds are those of vLLM's metrics of the same names, so that dashboards fit.
struct EngineMetrics {
  EngineMetrics();

  int64_t running = 0, waiting = 0;         // requests
  int64_t pages_used = 0, pages_total = 0;  // of the cache
  uint64_t steps = 0;
  double step_seconds = 0;  // in model steps, sampling and delivery
  uint64_t prompt_tokens = 0, generation_tokens = 0;
  std::array<uint64_t, kFinishReasons> finished{};  // by FinishReason
  uint64_t corrupted = 0;                           // requests failed by NaN or infinite logits
  uint64_t rejected = 0;                            // queue full, or draining
  std::vector<uint64_t> op_runs;                    // as StepModel::op_runs()

  BucketHistogram step_tokens;           // per step
  BucketHistogram ttft, itl, tpot, e2e;  // seconds; from arrival in the engine
  BucketHistogram queue_time, prefill_time, decode_time, inference_time;  // seconds
  BucketHistogram request_prompt_tokens, request_generation_tokens, request_max_tokens;
};

}  // namespace headroom::engine
