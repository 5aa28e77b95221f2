// sample, portable: sorts the tokens, cuts the set by top-k and top-p, draws from what is left.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/sample/kernels.h"
#include "kernels/sample/weight.h"

namespace headroom::kernels {
namespace {

/// The tokens that top-k and top-p keep, in the order of their ids.
std::vector<int32_t> kept_tokens(const float* logits, const std::vector<uint64_t>& weights,
                                 const SampleParams& params) {
  std::vector<int32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  const bool limited = params.top_k > 0 && static_cast<size_t>(params.top_k) < order.size();
  if (!limited && params.top_p >= 1) return order;
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  });
  if (limited) order.resize(static_cast<size_t>(params.top_k));
  uint64_t total = 0;
  for (const int32_t id : order) total += weights[static_cast<size_t>(id)];
  const uint64_t needed = sampling::mass_needed(params.top_p, total);
  uint64_t mass = 0;
  size_t count = 0;
  while (mass < needed) mass += weights[static_cast<size_t>(order[count++])];
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

int32_t draw(const float* logits, size_t vocab, float top, const SampleParams& params) {
  std::vector<uint64_t> weights(vocab);
  for (size_t i = 0; i < vocab; ++i)
    weights[i] = sampling::weight((logits[i] - top) / params.temperature);
  const std::vector<int32_t> kept = kept_tokens(logits, weights, params);
  uint64_t total = 0;
  for (const int32_t id : kept) total += weights[static_cast<size_t>(id)];
  uint64_t left = sampling::draw_below(sampling::draw_bits(params.seed, params.position), total);
  for (const int32_t id : kept) {
    const uint64_t weight = weights[static_cast<size_t>(id)];
    if (left < weight) return id;
    left -= weight;
  }
  return -1;  // not reached: left < total
}

SampleResult sample_row(const float* logits, size_t vocab, const SampleParams& params) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  SampleResult result{-1, std::numeric_limits<float>::quiet_NaN()};
  size_t best = 0;
  for (size_t i = 0; i < vocab; ++i) {
    if (!(logits[i] < kInfinity)) return result;  // NaN or +inf
    if (logits[i] > logits[best]) best = i;
  }
  const float top = logits[best];
  if (top == -kInfinity) return result;
  result.id =
      params.temperature > 0 ? draw(logits, vocab, top, params) : static_cast<int32_t>(best);
  uint64_t total = 0;
  for (size_t i = 0; i < vocab; ++i) total += sampling::weight(logits[i] - top);
  result.logprob = sampling::logprob(logits[static_cast<size_t>(result.id)], top, total);
  return result;
}

}  // namespace

void sample_reference(const SampleDesc& desc, const SampleArgs& args, base::ThreadPool& pool) {
  pool.parallel_for(args.rows, [&](int64_t row, int) {
    args.results[row] = sample_row(args.logits + row * desc.vocab, static_cast<size_t>(desc.vocab),
                                   args.params[row]);
  });
}

}  // namespace headroom::kernels
