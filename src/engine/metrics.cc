// Bucket bounds.
#include "engine/metrics.h"

#include <algorithm>

namespace headroom::engine {
namespace {

constexpr double kTtft[] = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                            1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 2560};
constexpr double kPerToken[] = {.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                                .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
constexpr double kLatency[] = {.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                               30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
constexpr double kTokens[] = {1,    2,    5,    10,    20,    50,    100,    200,   500,
                              1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000};
constexpr double kStepTokens[] = {1,   2,   4,    8,    16,   32,   64,   128,
                                  256, 512, 1024, 2048, 4096, 8192, 16384};

}  // namespace

void BucketHistogram::observe(double value, uint64_t times) {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<size_t>(at)] += times;
  count_ += times;
  sum_ += value * static_cast<double>(times);
}

EngineMetrics::EngineMetrics()
    : step_tokens(kStepTokens),
      ttft(kTtft),
      itl(kPerToken),
      tpot(kPerToken),
      e2e(kLatency),
      queue_time(kLatency),
      prefill_time(kLatency),
      decode_time(kLatency),
      inference_time(kLatency),
      request_prompt_tokens(kTokens),
      request_generation_tokens(kTokens),
      request_max_tokens(kTokens) {}

}  // namespace headroom::engine
