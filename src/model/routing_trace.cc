// The margin of a routing decision, computed in double from the logits.
#include "model/routing_trace.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace headroom::model {

namespace {

/// k-th largest minus the next, or +inf when there is no next.
double margin(std::vector<double> values, size_t k) {
  if (k >= values.size()) return std::numeric_limits<double>::infinity();
  std::sort(values.begin(), values.end(), std::greater<>());
  return values[k - 1] - values[k];
}

}  // namespace

std::vector<float> choice_values(const kernels::RouterDesc& desc, const float* logits,
                                 const float* bias) {
  std::vector<double> values(logits, logits + desc.experts);
  if (desc.scoring == kernels::Scoring::kSigmoid) {
    for (double& v : values) v = 1 / (1 + std::exp(-v));
  } else {
    const double top = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (double& v : values) sum += v = std::exp(v - top);
    for (double& v : values) v /= sum;
  }
  if (desc.bias && bias != nullptr)
    for (size_t i = 0; i < values.size(); ++i) values[i] += bias[i];
  return {values.begin(), values.end()};
}

float routing_gap(const kernels::RouterDesc& desc, std::span<const float> choice) {
  const std::vector<double> values(choice.begin(), choice.end());
  const auto top_k = static_cast<size_t>(desc.top_k);
  if (desc.groups == 1) return static_cast<float>(margin(values, top_k));

  const auto width = static_cast<size_t>(desc.experts / desc.groups);
  std::vector<double> scores;
  for (size_t g = 0; g < values.size(); g += width) {
    std::vector<double> group(values.begin() + static_cast<std::ptrdiff_t>(g),
                              values.begin() + static_cast<std::ptrdiff_t>(g + width));
    std::sort(group.begin(), group.end(), std::greater<>());
    scores.push_back(desc.group_score == kernels::GroupScore::kMax ? group[0]
                                                                   : group[0] + group[1]);
  }
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  });
  std::vector<double> allowed;
  for (size_t i = 0; i < static_cast<size_t>(desc.top_groups); ++i)
    for (size_t e = order[i] * width; e < (order[i] + 1) * width; ++e) allowed.push_back(values[e]);
  return static_cast<float>(
      std::min(margin(allowed, top_k), margin(scores, static_cast<size_t>(desc.top_groups))));
}

}  // namespace headroom::model
