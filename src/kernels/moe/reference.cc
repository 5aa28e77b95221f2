// moe, portable: silu(gate) · up of every (token, slot), then the weighted sum of the down
// projections in slot order.
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "kernels/moe/kernels.h"
#include "kernels/reference_math.h"

namespace headroom::kernels {
namespace {

// Rows of the weights that one task takes: the slice stays in the cache while the tokens pass by.
constexpr int64_t kSlice = 32;

template <typename Weight>
void run(const MoeDesc& desc, const MoeArgs& args, base::ThreadPool& pool) {
  const int64_t hidden = desc.hidden, inter = desc.inter, top_k = desc.top_k;
  const int64_t pairs = args.tokens * top_k;
  const auto expert_of = [&](int64_t pair) -> const ExpertWeights* {
    const int32_t id = args.ids ? args.ids[pair] : 0;
    if (id < 0) return nullptr;
    return &args.experts[static_cast<size_t>(id)];
  };
  std::vector<float> inner(static_cast<size_t>(pairs * inter));  // [tokens, top_k, inter]

  pool.parallel_for((inter + kSlice - 1) / kSlice, [&](int64_t task, int) {
    const int64_t begin = task * kSlice, end = std::min(begin + kSlice, inter);
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const ExpertWeights* expert = expert_of(pair);
      if (!expert) continue;
      const float* x = args.x + pair / top_k * hidden;
      for (int64_t i = begin; i < end; ++i) {
        const float gate =
            reference::dot(x, static_cast<const Weight*>(expert->gate) + i * hidden, hidden);
        const float up =
            reference::dot(x, static_cast<const Weight*>(expert->up) + i * hidden, hidden);
        inner[static_cast<size_t>(pair * inter + i)] = reference::silu(gate) * up;
      }
    }
  });

  pool.parallel_for((hidden + kSlice - 1) / kSlice, [&](int64_t task, int) {
    const int64_t begin = task * kSlice, end = std::min(begin + kSlice, hidden);
    for (int64_t token = 0; token < args.tokens; ++token) {
      float sum[kSlice] = {};
      for (int64_t pair = token * top_k; pair < (token + 1) * top_k; ++pair) {
        const ExpertWeights* expert = expert_of(pair);
        if (!expert) continue;
        const float weight = args.weights ? args.weights[pair] : 1.0f;
        for (int64_t i = begin; i < end; ++i)
          sum[i - begin] +=
              weight * reference::dot(inner.data() + pair * inter,
                                      static_cast<const Weight*>(expert->down) + i * inter, inter);
      }
      float* y = args.y + token * hidden;
      for (int64_t i = begin; i < end; ++i)
        y[i] = args.add ? y[i] + sum[i - begin] : sum[i - begin];
    }
  });
}

}  // namespace

void moe_check_ids(const MoeDesc& desc, const MoeArgs& args) {
  HEADROOM_CHECK(static_cast<int64_t>(args.experts.size()) == desc.experts, "{} of {} experts",
                 args.experts.size(), desc.experts);
  for (int64_t i = 0; args.ids && i < args.tokens * desc.top_k; ++i)
    HEADROOM_CHECK(args.ids[i] < desc.experts, "expert {} of {}", args.ids[i], desc.experts);
}

void moe_reference(const MoeDesc& desc, const MoeArgs& args, base::ThreadPool& pool) {
  moe_check_ids(desc, args);
  if (desc.weight == tensor::DType::kF32) return run<float>(desc, args, pool);
  run<tensor::bf16>(desc, args, pool);
}

}  // namespace headroom::kernels
