// Log-probabilities of the best tokens of one logits row.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace headroom::engine {

/// log Σ exp(logits), in double.
double log_sum_exp(std::span<const float> logits);

/// The `k` best ids with their log softmax, best first, ties to the lowest id.
std::vector<std::pair<int32_t, float>> top_logprobs(std::span<const float> logits, int32_t k);

}  // namespace headroom::engine
