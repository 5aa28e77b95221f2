// mla_decode: absorbed MLA attention of few query tokens per sequence over the paged latent cache.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/thread_pool.h"
#include "kernels/kv_cache.h"
#include "kernels/plan/kernel.h"

namespace headroom::kernels {

struct MlaDecodeDesc {
  int32_t heads = 0;  // logical heads of this rank, any count ≥ 1
  int32_t kernel_rows =
      0;  // rows the kernel computes per query token; 0 until the chosen kernel says
  int32_t latent = 512, rope = 64;
  KvType kv = KvType::kBf16;
  int32_t page_size = 16;
  int32_t max_query = 1;   // new tokens a sequence may have, ≥ 1
  int32_t max_batch = 1;   // sequences
  int32_t max_length = 0;  // rows of a sequence
  std::string text() const;
};

/// score = scale · (q_latent · row_latent + q_rope · row_rope); out = softmax(score) · row_latent.
/// The order of every reduction is a function of the query's position alone (blocks of rows aligned
/// to absolute positions), so a result does not depend on the batch, the thread count or the page
/// ids.
struct MlaDecodeArgs {
  const float* q = nullptr;  // [rows, heads, latent + rope], rope part already rotated
  float* out = nullptr;      // [rows, heads, latent]
  float* lse = nullptr;      // [rows, heads] natural log-sum-exp of the scaled scores, or null
  CacheView cache;
  std::span<const SequenceView> sequences;
  float scale = 0;  // (nope + rope)^-0.5 · mscale², never (latent + rope)^-0.5
};

using MlaDecodeRun = void (*)(const MlaDecodeDesc&, const MlaDecodeArgs&, base::ThreadPool&);
using MlaDecodeKernel = Kernel<MlaDecodeDesc, MlaDecodeRun>;
std::span<const MlaDecodeKernel> mla_decode_kernels();
/// Rows that kernel `name` computes for desc.heads logical heads.
int32_t mla_decode_kernel_rows(std::string_view name, const MlaDecodeDesc& desc);

/// Merges two partial results over disjoint rows into (out, lse); an empty part is (0, -inf), and
/// two empty parts give (0, -inf). out, other: [width].
void merge_partials(float* out, float* lse, const float* other, float other_lse, int width);

}  // namespace headroom::kernels
