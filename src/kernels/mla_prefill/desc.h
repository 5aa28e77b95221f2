// mla_prefill: causal attention of a chunk of prompt tokens over cached context and themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/thread_pool.h"
#include "kernels/kv_cache.h"
#include "kernels/plan/kernel.h"
#include "tensor/dtype.h"

namespace headroom::kernels {

struct MlaPrefillDesc {
  int32_t heads = 0;  // logical heads of this rank
  int32_t kernel_rows = 0;
  int32_t latent = 512, nope = 128, rope = 64, value = 128;
  KvType kv = KvType::kBf16;
  int32_t page_size = 16;
  int32_t max_tokens = 0;  // new tokens of a step
  int32_t max_length = 0;
  std::string text() const;
};

/// Per head: k = concat(W_UK · row_latent, row_rope), v = W_UV · row_latent; out = causal softmax
/// of scale · q · k over v. A kernel may use the absorbed form instead where that is a function of
/// position and model alone. A query's result must not depend on how its prompt was cut into
/// chunks, on the batch or on the thread count (key blocks are aligned to absolute positions).
struct MlaPrefillArgs {
  const float* q = nullptr;  // [rows, heads, nope + rope], rope part already rotated
  const tensor::bf16* kv_b =
      nullptr;           // [heads, nope + value, latent]: rows 0…nope-1 W_UK, then W_UV
  float* out = nullptr;  // [rows, heads, value]
  CacheView cache;
  std::span<const SequenceView> sequences;
  float scale = 0;
};

using MlaPrefillRun = void (*)(const MlaPrefillDesc&, const MlaPrefillArgs&, base::ThreadPool&);
using MlaPrefillKernel = Kernel<MlaPrefillDesc, MlaPrefillRun>;
std::span<const MlaPrefillKernel> mla_prefill_kernels();
int32_t mla_prefill_kernel_rows(std::string_view name, const MlaPrefillDesc& desc);

}  // namespace headroom::kernels
