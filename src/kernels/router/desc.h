// router: from expert logits to each token's experts and weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/thread_pool.h"
#include "kernels/plan/kernel.h"

namespace headroom::kernels {

enum class Scoring : uint8_t { kSoftmax, kSigmoid };
/// How a group is scored: by its best expert (DeepSeek-V2) or by the sum of its two best (V3,
/// noaux_tc).
enum class GroupScore : uint8_t { kMax, kTopTwoSum };

struct RouterDesc {
  int32_t experts = 0, top_k = 0;
  int32_t groups = 1, top_groups = 1;  // 1/1: plain top-k
  Scoring scoring = Scoring::kSigmoid;
  GroupScore group_score = GroupScore::kTopTwoSum;
  bool bias = true;       // e_score_correction_bias is added for the choice only
  bool normalize = true;  // weights divided by their sum (+ 1e-20)
  float scaling = 1;      // then multiplied by this
  std::string text() const;
};

/// Choice values are score + bias; experts outside the chosen groups count as -inf; ties go to the
/// lowest index; weights are the scores without bias. NaN logits never index out of range.
struct RouterArgs {
  const float* logits = nullptr;  // [tokens, experts]
  const float* bias = nullptr;    // [experts] fp32
  int32_t* ids = nullptr;         // [tokens, top_k], best choice first
  float* weights = nullptr;       // [tokens, top_k]
  int64_t tokens = 0;
};

using RouterRun = void (*)(const RouterDesc&, const RouterArgs&, base::ThreadPool&);
using RouterKernel = Kernel<RouterDesc, RouterRun>;
std::span<const RouterKernel> router_kernels();

}  // namespace headroom::kernels
