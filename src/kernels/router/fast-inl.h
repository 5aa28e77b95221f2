// router over any vector type: scores in vectors, choices by repeated search for the maximum.
#pragma once

#include "kernels/router/kernels.h"
#include "kernels/scratch.h"

namespace headroom::kernels {

template <typename V>
class TokenRouter {
 public:
  /// scores, choice: room for the experts in whole vectors.
  TokenRouter(const RouterDesc& desc, float* scores, float* choice)
      : desc_(desc), scores_(scores), choice_(choice), padded_(padded(desc.experts)) {}

  static int64_t padded(int64_t experts) {
    return (experts + V::kLanes - 1) / V::kLanes * V::kLanes;
  }

  void route(const float* logits, const float* bias, int32_t* ids, float* weights) {
    score(logits);
    choose(bias);
    if (desc_.groups > 1) close_groups();
    float sum = 0;
    for (int i = 0; i < desc_.top_k; ++i) {
      ids[i] = best(choice_, padded_);
      if (ids[i] < 0) ids[i] = first_untaken(ids, i);
      choice_[ids[i]] = kLowest;
      weights[i] = scores_[ids[i]];
      sum += weights[i];
    }
    for (int i = 0; i < desc_.top_k; ++i) {
      if (desc_.normalize) weights[i] /= sum + 1e-20f;
      weights[i] *= desc_.scaling;
    }
  }

 private:
  using F = typename V::F;
  static constexpr float kLowest = -__builtin_inff();

  void score(const float* logits) {
    const int64_t n = desc_.experts;
    const F one = V::set(1);
    if (desc_.scoring == Scoring::kSigmoid) {
      for (int64_t e = 0; e < n; e += V::kLanes) {
        const F x = V::load_part(logits + e, n - e);
        // exp of -|x| cannot overflow: sigmoid = 1 / (1 + power) above 0, power / (1 + power)
        // below.
        const F power = V::exp(V::sub(V::zero(), V::abs(x)));
        const F top = V::select_negative(x, power, one);
        V::store(scores_ + e, V::div(top, V::add(one, power)));
      }
      return;
    }
    F highest = V::set(kLowest);
    for (int64_t e = 0; e < n; e += V::kLanes)
      highest = V::max(highest, V::load_part_or(logits + e, n - e, kLowest));
    const F top = V::set(V::reduce_max(highest));
    F sum = V::zero();
    for (int64_t e = 0; e < n; e += V::kLanes) {
      const F power = V::exp(V::sub(V::load_part_or(logits + e, n - e, kLowest), top));
      V::store(scores_ + e, power);
      sum = V::add(sum, power);
    }
    const F total = V::set(V::reduce(sum));
    for (int64_t e = 0; e < padded_; e += V::kLanes)
      V::store(scores_ + e, V::div(V::load(scores_ + e), total));
  }

  void choose(const float* bias) {
    const int64_t n = desc_.experts;
    for (int64_t e = 0; e < n; e += V::kLanes) {
      F value = V::load(scores_ + e);
      if (desc_.bias) value = V::add(value, V::load_part(bias + e, n - e));
      V::store(choice_ + e, V::nan_to_lowest(value));
    }
    for (int64_t e = n; e < padded_; ++e) choice_[e] = kLowest;
  }

  /// Leaves -inf as the choice of every expert outside the best groups.
  void close_groups() {
    const int64_t size = desc_.experts / desc_.groups;
    float* values = choice_ + padded_;  // [groups], then [groups] flags
    float* open = values + desc_.groups;
    for (int64_t g = 0; g < desc_.groups; ++g) {
      float first = kLowest, second = kLowest;
      for (int64_t i = 0; i < size; ++i) {
        const float value = choice_[g * size + i];
        second = value > first ? first : value > second ? value : second;
        first = value > first ? value : first;
      }
      values[g] = desc_.group_score == GroupScore::kMax || size == 1 ? first : first + second;
      open[g] = 0;
    }
    for (int i = 0; i < desc_.top_groups; ++i) {
      int64_t found = -1;
      for (int64_t g = 0; g < desc_.groups; ++g)
        if (open[g] == 0 && (found < 0 || values[g] > values[found])) found = g;
      open[found] = 1;
    }
    for (int64_t g = 0; g < desc_.groups; ++g)
      for (int64_t i = 0; open[g] == 0 && i < size; ++i) choice_[g * size + i] = kLowest;
  }

  /// Lowest index of the largest value; -1 where nothing is above -inf.
  static int32_t best(const float* values, int64_t n) {
    F highest = V::set(kLowest);
    for (int64_t i = 0; i < n; i += V::kLanes) highest = V::max(highest, V::load(values + i));
    const float top = V::reduce_max(highest);
    if (top == kLowest) return -1;
    for (int64_t i = 0; i < n; i += V::kLanes) {
      const uint32_t lanes = V::equal(V::load(values + i), V::set(top));
      if (lanes != 0) return static_cast<int32_t>(i) + __builtin_ctz(lanes);
    }
    return -1;
  }

  /// Among choices that are all -inf the lowest index not chosen yet.
  static int32_t first_untaken(const int32_t* ids, int count) {
    for (int32_t e = 0;; ++e) {
      bool taken = false;
      for (int i = 0; i < count; ++i) taken = taken || ids[i] == e;
      if (!taken) return e;
    }
  }

  const RouterDesc& desc_;
  float *scores_, *choice_;
  int64_t padded_;
};

template <typename V>
void router_fast(const RouterDesc& desc, const RouterArgs& args, base::ThreadPool& pool) {
  router_check(desc);
  // A token costs about a microsecond: less than handing it to another thread.
  constexpr int64_t kTokens = 16;
  pool.parallel_for((args.tokens + kTokens - 1) / kTokens, [&](int64_t task, int) {
    const int64_t padded = TokenRouter<V>::padded(desc.experts);
    float* space =
        scratch(Scratch::kTaskA, static_cast<size_t>(2 * padded + 2 * int64_t{desc.groups}));
    TokenRouter<V> router(desc, space, space + padded);
    const int64_t end = args.tokens < (task + 1) * kTokens ? args.tokens : (task + 1) * kTokens;
    for (int64_t token = task * kTokens; token < end; ++token)
      router.route(args.logits + token * desc.experts, args.bias, args.ids + token * desc.top_k,
                   args.weights + token * desc.top_k);
  });
}

}  // namespace headroom::kernels
