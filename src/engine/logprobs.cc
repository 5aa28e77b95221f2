// A partial sort over the row.
#include "engine/logprobs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headroom::engine {

double log_sum_exp(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(double{x} - top);
  return top + std::log(sum);
}

std::vector<std::pair<int32_t, float>> top_logprobs(std::span<const float> logits, int32_t k) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto kept = std::min<size_t>(static_cast<size_t>(k), ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(kept), ids.end(),
                    [&](int32_t a, int32_t b) {
                      const float x = logits[static_cast<size_t>(a)];
                      const float y = logits[static_cast<size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  const double norm = log_sum_exp(logits);
  std::vector<std::pair<int32_t, float>> best;
  for (size_t i = 0; i < kept; ++i)
    best.emplace_back(ids[i], static_cast<float>(logits[static_cast<size_t>(ids[i])] - norm));
  return best;
}

}  // namespace headroom::engine
