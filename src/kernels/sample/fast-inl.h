// The passes of sample over any vector type.
#pragma once

#include "kernels/sample/kernels.h"
#include "kernels/sample/weight.h"

namespace headroom::kernels {

template <typename V>
bool sample_scan(const float* logits, int64_t count, float* top, int32_t* best) {
  using F = typename V::F;
  const F infinity = V::set(__builtin_inff());
  F highest = V::set(-__builtin_inff());
  uint32_t bad = 0;  // NaN or +inf: not below infinity
  for (int64_t i = 0; i < count; i += V::kLanes) {
    const F x = V::load_part_or(logits + i, count - i, -__builtin_inff());
    bad |= V::not_below(x, infinity);
    highest = V::max(highest, x);
  }
  *top = V::reduce_max(highest);
  if (bad != 0 || *top == -__builtin_inff()) return false;
  for (int64_t i = 0; i < count; i += V::kLanes) {
    const uint32_t lanes =
        V::equal(V::load_part_or(logits + i, count - i, -__builtin_inff()), V::set(*top));
    if (lanes == 0) continue;
    *best = static_cast<int32_t>(i) + __builtin_ctz(lanes);
    return true;
  }
  return false;
}

/// sampling::weight of the lanes, with the same operations in the same order: no fused ones.
template <typename V>
inline typename V::Weights sample_weights(typename V::F x) {
  using F = typename V::F;
  const F rounded = V::sub(V::add(V::mul(x, V::set(sampling::kLog2E)), V::set(sampling::kRound)),
                           V::set(sampling::kRound));
  const F r = V::sub(V::sub(x, V::mul(rounded, V::set(sampling::kLn2High))),
                     V::mul(rounded, V::set(sampling::kLn2Low)));
  F p = V::set(sampling::kExp[5]);
  for (int i = 4; i >= 0; --i) p = V::add(V::mul(p, r), V::set(sampling::kExp[i]));
  const F value = V::add(V::add(V::mul(V::mul(p, r), r), r), V::set(1.0f));
  return V::weights(value, rounded, V::not_below(x, V::set(sampling::kSmallest)));
}

template <typename V>
uint64_t sample_weigh(const float* logits, int64_t count, float top, float temperature,
                      uint64_t* weights) {
  auto sum = V::no_weights();
  for (int64_t i = 0; i < count; i += V::kLanes) {
    const auto x =
        V::div(V::sub(V::load_part_or(logits + i, count - i, -__builtin_inff()), V::set(top)),
               V::set(temperature));
    const auto w = sample_weights<V>(x);
    V::store_weights(weights + i, w, count - i);
    sum = V::add_weights(sum, w);
  }
  return V::sum_weights(sum);
}

template <typename V>
uint64_t sample_total(const float* logits, int64_t count, float top) {
  auto sum = V::no_weights();
  for (int64_t i = 0; i < count; i += V::kLanes)
    sum = V::add_weights(
        sum, sample_weights<V>(
                 V::sub(V::load_part_or(logits + i, count - i, -__builtin_inff()), V::set(top))));
  return V::sum_weights(sum);
}

template <typename V>
SamplePasses sample_passes() {
  return {sample_scan<V>, sample_weigh<V>, sample_total<V>};
}

}  // namespace headroom::kernels
