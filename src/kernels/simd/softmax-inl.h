// One block of an online softmax over any vector type.
#pragma once

#include <cstdint>
#include <limits>

namespace headroom::kernels {

/// What a query row carries from block to block.
struct SoftmaxState {
  float top;     // largest scaled score so far, -inf before the first
  float sum;     // Σ exp(score - top)
  float shrink;  // factor that brings the output so far to the new top
};

constexpr SoftmaxState kEmptySoftmax{-std::numeric_limits<float>::infinity(), 0, 1};

/// s[0 … seen) holds raw scores; s[0 … kBlock) becomes exp(scale · s - top), zeros behind `seen`.
template <typename V, int kBlock>
inline void soften(float* s, int64_t seen, float scale, SoftmaxState& state) {
  constexpr float kEmpty = -std::numeric_limits<float>::infinity();
  using F = typename V::F;
  state.shrink = 1;
  if (seen <= 0) {
    for (int r = 0; r < kBlock; r += V::kLanes) V::store(s + r, V::zero());
    return;
  }
  for (int64_t r = seen; r < kBlock; ++r) s[r] = kEmpty;
  F highest = V::set(kEmpty);
  for (int r = 0; r < kBlock; r += V::kLanes) {
    const F scaled = V::mul(V::load(s + r), V::set(scale));
    V::store(s + r, scaled);
    highest = V::max(highest, scaled);
  }
  const float block_top = V::reduce_max(highest);
  const float top = block_top > state.top ? block_top : state.top;
  F total = V::zero();
  for (int r = 0; r < kBlock; r += V::kLanes) {
    const F p = V::exp(V::sub(V::load(s + r), V::set(top)));
    V::store(s + r, p);
    total = V::add(total, p);
  }
  if (state.top != kEmpty) state.shrink = V::first_lane(V::exp(V::set(state.top - top)));
  state.sum = state.sum * state.shrink + V::reduce(total);
  state.top = top;
}

}  // namespace headroom::kernels
