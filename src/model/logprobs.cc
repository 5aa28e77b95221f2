// One pass over the row for the norm, one for the best.
#include "model/logprobs.h"

#include <algorithm>
#include <cmath>

namespace headroom::model {
namespace {

std::vector<std::pair<int32_t, float>> best_of(std::span<const float> logits, int32_t k,
                                               double norm) {
  // Sorted, best first; few logits of a row ever enter it.
  std::vector<std::pair<int32_t, float>> best;
  const auto kept = std::min(static_cast<size_t>(std::max(k, 0)), logits.size());
  best.reserve(kept + 1);
  if (kept == 0) return best;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (best.size() == kept && !(logits[i] > best.back().second)) continue;
    const auto at = std::find_if(best.begin(), best.end(),
                                 [&](const auto& held) { return logits[i] > held.second; });
    best.insert(at, {static_cast<int32_t>(i), logits[i]});
    if (best.size() > kept) best.pop_back();
  }
  for (auto& [id, value] : best) value = static_cast<float>(value - norm);
  return best;
}

}  // namespace

double log_sum_exp(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(double{x} - top);
  return top + std::log(sum);
}

std::vector<std::pair<int32_t, float>> top_logprobs(std::span<const float> logits, int32_t k) {
  return best_of(logits, k, log_sum_exp(logits));
}

TokenScore score_token(std::span<const float> logits, int32_t id, int32_t top) {
  const double norm = log_sum_exp(logits);
  TokenScore score;
  if (!std::isfinite(norm)) {
    score.logprob = NAN;
    return score;
  }
  const float own = logits[static_cast<size_t>(id)];
  score.logprob = static_cast<float>(own - norm);
  score.rank = static_cast<int32_t>(
      std::count_if(logits.begin(), logits.end(), [&](float x) { return x >= own; }));
  score.top = best_of(logits, top, norm);
  return score;
}

}  // namespace headroom::model
