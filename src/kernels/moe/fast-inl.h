// moe over any vector type: tokens are grouped by expert, so an expert's weights are read once.
#pragma once

#include <algorithm>

#include "kernels/moe/kernels.h"
#include "kernels/scratch.h"
#include "kernels/simd/dot-inl.h"

namespace headroom::kernels {

template <typename V, typename W>
class MoeStep {
 public:
  MoeStep(const MoeDesc& desc, const MoeArgs& args, base::ThreadPool& pool)
      : desc_(desc),
        args_(args),
        pool_(pool),
        hidden_(desc.hidden),
        inter_(desc.inter),
        pairs_(args.tokens * desc.top_k),
        x_stride_(packed_width<V>(hidden_)),
        inner_stride_(packed_width<V>(inter_)) {}

  void run() {
    group();
    if (count_ > 0) {
      pack();
      gate_and_up();
      down();
    }
    sum();
  }

 private:
  // Multiplications below which waking another thread costs more than it brings.
  static constexpr int64_t kTaskWork = 1 << 16;

  int64_t expert_of(int64_t pair) const { return args_.ids ? args_.ids[pair] : 0; }

  /// (token, slot) pairs sorted by expert: order_[start_[e] … start_[e + 1]) are those of expert e.
  void group() {
    const int64_t experts = desc_.experts;
    // Integers in a float buffer: the same four bytes.
    auto* space = reinterpret_cast<int32_t*>(
        scratch(Scratch::kSharedIndex, static_cast<size_t>(3 * experts + 2 + 2 * pairs_)));
    start_ = space;
    active_ = start_ + experts + 1;
    int32_t* next = active_ + experts;
    order_ = next + experts + 1;
    place_ = order_ + pairs_;
    std::fill(start_, start_ + experts + 1, 0);
    for (int64_t pair = 0; pair < pairs_; ++pair)
      if (expert_of(pair) >= 0) ++start_[expert_of(pair) + 1];
    for (int64_t e = 0; e < experts; ++e) {
      if (start_[e + 1] > 0) active_[active_count_++] = static_cast<int32_t>(e);
      start_[e + 1] += start_[e];
      next[e] = start_[e];
    }
    count_ = start_[experts];
    for (int64_t pair = 0; pair < pairs_; ++pair) {
      place_[pair] = -1;
      if (expert_of(pair) < 0) continue;
      place_[pair] = next[expert_of(pair)]++;
      order_[place_[pair]] = static_cast<int32_t>(pair);
    }
  }

  /// Rows of x in the order of the groups.
  void pack() {
    x_ = scratch(Scratch::kSharedInput, static_cast<size_t>(count_ * x_stride_));
    const auto row = [&](int64_t i) {
      pack_row<V, W>(args_.x + order_[i] / desc_.top_k * hidden_, hidden_, x_ + i * x_stride_);
    };
    if (count_ * hidden_ < kTaskWork) {
      for (int64_t i = 0; i < count_; ++i) row(i);
    } else {
      pool_.parallel_for(count_, [&](int64_t i, int) { row(i); });
    }
  }

  /// Rows of a weight matrix [n, k] that one task takes, whole tiles of 3, 4 and 8.
  int64_t slice(int64_t n, int64_t k, int64_t matrices) const {
    const int64_t wanted =
        std::clamp<int64_t>(count_ * n * k * matrices / kTaskWork, 1, int64_t{4} * pool_.size());
    const int64_t by_threads = (active_count_ * n + wanted - 1) / wanted;
    const int64_t by_cache =
        std::max<int64_t>(24, (256 << 10) / (k * matrices * static_cast<int64_t>(sizeof(W))));
    return (std::min({by_threads, by_cache, n}) + 23) / 24 * 24;
  }

  void gate_and_up() {
    inner_ = scratch(Scratch::kSharedInner, static_cast<size_t>(count_ * inner_stride_));
    const int64_t width = slice(inter_, hidden_, 2), slices = (inter_ + width - 1) / width;
    // gate and up as they come from the tiles; silu(gate) · up lands in the order of the next pack.
    raw_ = scratch(Scratch::kSharedOutput,
                   static_cast<size_t>(std::max(2 * inter_, hidden_) * count_));
    pool_.parallel_for(active_count_ * slices, [&](int64_t task, int) {
      const int32_t e = active_[task / slices];
      const int64_t begin = task % slices * width, n = std::min(width, inter_ - begin);
      const int64_t first = start_[e], m = start_[e + 1] - first;
      const ExpertWeights& expert = args_.experts.data()[e];
      const float* x = x_ + first * x_stride_;
      float* gate = raw_ + first * 2 * inter_ + begin;
      float* up = gate + inter_;
      dot_block<V, W>(x, x_stride_, m, static_cast<const W*>(expert.gate) + begin * hidden_, n,
                      hidden_, gate, 2 * inter_);
      dot_block<V, W>(x, x_stride_, m, static_cast<const W*>(expert.up) + begin * hidden_, n,
                      hidden_, up, 2 * inter_);
      for (int64_t i = 0; i < m; ++i, gate += 2 * inter_, up += 2 * inter_)
        for (int64_t c = 0; c < n; c += V::kLanes) {
          const auto g = V::load_part(gate + c, n - c), u = V::load_part(up + c, n - c);
          const auto one = V::set(1.0f);
          const auto silu = V::div(g, V::add(one, V::exp(V::sub(V::zero(), g))));
          V::store_part(gate + c, V::mul(silu, u), n - c);
        }
    });
    const auto row = [&](int64_t i) {
      pack_row<V, W>(raw_ + i * 2 * inter_, inter_, inner_ + i * inner_stride_);
    };
    if (count_ * inter_ < kTaskWork) {
      for (int64_t i = 0; i < count_; ++i) row(i);
    } else {
      pool_.parallel_for(count_, [&](int64_t i, int) { row(i); });
    }
  }

  /// Whether the down projection may write y itself: nothing to weigh, add or sum.
  bool direct() const {
    return desc_.top_k == 1 && desc_.experts == 1 && !args_.ids && !args_.weights && !args_.add;
  }

  void down() {
    const int64_t width = slice(hidden_, inter_, 1), slices = (hidden_ + width - 1) / width;
    float* out = direct() ? args_.y : raw_;
    pool_.parallel_for(active_count_ * slices, [&](int64_t task, int) {
      const int32_t e = active_[task / slices];
      const int64_t begin = task % slices * width, n = std::min(width, hidden_ - begin);
      const int64_t first = start_[e], m = start_[e + 1] - first;
      const W* w = static_cast<const W*>(args_.experts.data()[e].down) + begin * inter_;
      dot_block<V, W>(inner_ + first * inner_stride_, inner_stride_, m, w, n, inter_,
                      out + first * hidden_ + begin, hidden_);
    });
  }

  /// y of each token, its slots in order.
  void sum() {
    if (direct()) return;
    const auto token = [&](int64_t t) {
      float* y = args_.y + t * hidden_;
      for (int64_t d = 0; d < hidden_; d += V::kLanes) {
        auto total = V::zero();
        for (int64_t pair = t * desc_.top_k; pair < (t + 1) * desc_.top_k; ++pair) {
          if (place_[pair] < 0) continue;
          const float weight = args_.weights ? args_.weights[pair] : 1.0f;
          const float* part = raw_ + place_[pair] * hidden_ + d;
          total = V::fma(V::set(weight), V::load_part(part, hidden_ - d), total);
        }
        if (args_.add) total = V::add(V::load_part(y + d, hidden_ - d), total);
        V::store_part(y + d, total, hidden_ - d);
      }
    };
    if (pairs_ * hidden_ < kTaskWork) {
      for (int64_t t = 0; t < args_.tokens; ++t) token(t);
    } else {
      pool_.parallel_for(args_.tokens, [&](int64_t t, int) { token(t); });
    }
  }

  const MoeDesc& desc_;
  const MoeArgs& args_;
  base::ThreadPool& pool_;
  int64_t hidden_, inter_, pairs_, x_stride_, inner_stride_;
  int64_t count_ = 0, active_count_ = 0;
  int32_t *start_ = nullptr, *active_ = nullptr, *order_ = nullptr, *place_ = nullptr;
  float *x_ = nullptr, *inner_ = nullptr, *raw_ = nullptr;
};

template <typename V>
void moe_fast(const MoeDesc& desc, const MoeArgs& args, base::ThreadPool& pool) {
  if (args.tokens == 0) return;
  moe_check_ids(desc, args);
  if (desc.weight == tensor::DType::kF32)
    MoeStep<V, float>(desc, args, pool).run();
  else
    MoeStep<V, tensor::bf16>(desc, args, pool).run();
}

}  // namespace headroom::kernels
