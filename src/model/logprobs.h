// Log-probabilities from one logits row: of the best tokens, and of one that was given.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace headroom::model {

/// log Σ exp(logits), in double; not finite when a logit is NaN or infinite.
double log_sum_exp(std::span<const float> logits);

/// The `k` best ids with their log softmax, best first, ties to the lowest id.
std::vector<std::pair<int32_t, float>> top_logprobs(std::span<const float> logits, int32_t k);

/// How likely a given token was.
struct TokenScore {
  float logprob = 0;  // NaN: the row was not finite
  int32_t rank = 0;   // tokens at least as likely, itself included: 1 is the best
  std::vector<std::pair<int32_t, float>> top;  // as top_logprobs()
};
TokenScore score_token(std::span<const float> logits, int32_t id, int32_t top);

}  // namespace headroom::model
