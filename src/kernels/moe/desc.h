// moe: gated MLPs, Σ over a token's experts of weight · down(silu(gate(x)) · up(x)). A dense MLP
// and the shared expert are the case of one expert that every token uses with weight 1.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/thread_pool.h"
#include "kernels/plan/kernel.h"
#include "tensor/dtype.h"

namespace headroom::kernels {

struct MoeDesc {
  int32_t hidden = 0, inter = 0;
  int32_t experts = 1, top_k = 1;  // experts of this rank
  tensor::DType weight = tensor::DType::kBF16;
  int32_t max_tokens = 0;
  std::string text() const;
};

struct ExpertWeights {
  const void* gate = nullptr;  // [inter, hidden]
  const void* up = nullptr;    // [inter, hidden]
  const void* down = nullptr;  // [hidden, inter]
};

/// A token's sum runs in the order of its ids, whatever else is in the batch.
struct MoeArgs {
  const float* x = nullptr;                // [tokens, hidden]
  float* y = nullptr;                      // [tokens, hidden]
  bool add = false;                        // y += instead of y =
  std::span<const ExpertWeights> experts;  // [desc.experts]
  const int32_t* ids = nullptr;            // [tokens, top_k]; an id < 0 is skipped; null: expert 0
  const float* weights = nullptr;          // [tokens, top_k]; null: 1
  int64_t tokens = 0;
};

using MoeRun = void (*)(const MoeDesc&, const MoeArgs&, base::ThreadPool&);
using MoeKernel = Kernel<MoeDesc, MoeRun>;
std::span<const MoeKernel> moe_kernels();

}  // namespace headroom::kernels
