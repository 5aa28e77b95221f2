// router, portable: scores, the best groups, the best experts, their weights.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "kernels/reference_math.h"
#include "kernels/router/kernels.h"

namespace headroom::kernels {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

/// Index of the largest untaken value; ties go to the lowest index.
int best(const float* values, const std::vector<char>& taken, int count) {
  int found = -1;
  for (int i = 0; i < count; ++i)
    if (!taken[static_cast<size_t>(i)] && (found < 0 || values[i] > values[found])) found = i;
  return found;
}

float group_value(const RouterDesc& desc, const float* choice, int size) {
  float first = kLowest, second = kLowest;
  for (int i = 0; i < size; ++i) {
    if (choice[i] > first) {
      second = first;
      first = choice[i];
    } else if (choice[i] > second) {
      second = choice[i];
    }
  }
  return desc.group_score == GroupScore::kMax || size == 1 ? first : first + second;
}

void score(const RouterDesc& desc, const float* logits, float* scores) {
  if (desc.scoring == Scoring::kSigmoid) {
    for (int e = 0; e < desc.experts; ++e) scores[e] = reference::sigmoid(logits[e]);
    return;
  }
  const float top = *std::max_element(logits, logits + desc.experts);
  float sum = 0;
  for (int e = 0; e < desc.experts; ++e) sum += scores[e] = std::exp(logits[e] - top);
  for (int e = 0; e < desc.experts; ++e) scores[e] /= sum;
}

void route(const RouterDesc& desc, const float* logits, const float* bias, int32_t* ids,
           float* weights) {
  std::vector<float> scores(static_cast<size_t>(desc.experts)), choice(scores.size());
  score(desc, logits, scores.data());
  for (size_t e = 0; e < scores.size(); ++e) {
    choice[e] = scores[e] + (desc.bias ? bias[e] : 0.0f);
    // NaN is chosen last; its weight stays NaN, so that the fault shows in the logits.
    if (std::isnan(choice[e])) choice[e] = kLowest;
  }
  if (desc.groups > 1) {
    const int size = desc.experts / desc.groups;
    std::vector<float> value(static_cast<size_t>(desc.groups));
    std::vector<char> open(value.size());
    for (int g = 0; g < desc.groups; ++g)
      value[static_cast<size_t>(g)] = group_value(desc, choice.data() + g * size, size);
    for (int i = 0; i < desc.top_groups; ++i)
      open[static_cast<size_t>(best(value.data(), open, desc.groups))] = 1;
    for (int e = 0; e < desc.experts; ++e)
      if (!open[static_cast<size_t>(e / size)]) choice[static_cast<size_t>(e)] = kLowest;
  }
  std::vector<char> taken(scores.size());
  float sum = 0;
  for (int i = 0; i < desc.top_k; ++i) {
    ids[i] = best(choice.data(), taken, desc.experts);
    taken[static_cast<size_t>(ids[i])] = 1;
    weights[i] = scores[static_cast<size_t>(ids[i])];
    sum += weights[i];
  }
  for (int i = 0; i < desc.top_k; ++i) {
    if (desc.normalize) weights[i] /= sum + 1e-20f;
    weights[i] *= desc.scaling;
  }
}

}  // namespace

void router_check(const RouterDesc& desc) {
  HEADROOM_CHECK(desc.groups >= 1 && desc.experts % desc.groups == 0 && desc.top_groups >= 1 &&
                     desc.top_groups <= desc.groups && desc.top_k >= 1 &&
                     desc.top_k <= desc.experts / desc.groups * desc.top_groups,
                 "{}", desc.text());
}

void router_reference(const RouterDesc& desc, const RouterArgs& args, base::ThreadPool& pool) {
  router_check(desc);
  pool.parallel_for(args.tokens, [&](int64_t token, int) {
    route(desc, args.logits + token * desc.experts, args.bias, args.ids + token * desc.top_k,
          args.weights + token * desc.top_k);
  });
}

}  // namespace headroom::kernels
