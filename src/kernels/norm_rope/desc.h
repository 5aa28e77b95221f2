// norm_rope: RMS norm of rows, rotation of queries, and norm + rotation + encoding of new cache
// rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/thread_pool.h"
#include "kernels/kv_cache.h"
#include "kernels/plan/kernel.h"
#include "tensor/dtype.h"

namespace headroom::kernels {

/// rms_norm: y = x / sqrt(mean(x²) + eps) · weight, in float.
struct RmsNormDesc {
  int32_t width = 0;
  std::string text() const;
};
struct RmsNormArgs {
  const float* x = nullptr;
  int64_t x_stride = 0;
  const tensor::bf16* weight = nullptr;  // [width]
  float* y = nullptr;                    // may be x
  int64_t y_stride = 0;
  int64_t rows = 0;
  float eps = 0;
};
using RmsNormRun = void (*)(const RmsNormDesc&, const RmsNormArgs&, base::ThreadPool&);
using RmsNormKernel = Kernel<RmsNormDesc, RmsNormRun>;
std::span<const RmsNormKernel> rms_norm_kernels();

/// Rotations pair dims (2i, 2i+1) as complex numbers. Tables: [max_positions, rope/2] of cos and
/// sin, YaRN and its magnitude factor already inside.
struct RopeTables {
  const float* cos = nullptr;
  const float* sin = nullptr;
};

/// rope_query: rotates, in place, the last `rope` of each head's (nope + rope) values.
struct RopeQueryDesc {
  int32_t heads = 0, nope = 128, rope = 64;
  std::string text() const;
};
struct RopeQueryArgs {
  float* q = nullptr;                  // [rows, heads, nope + rope]
  const int32_t* positions = nullptr;  // [rows]
  RopeTables tables;
  int64_t rows = 0;
};
using RopeQueryRun = void (*)(const RopeQueryDesc&, const RopeQueryArgs&, base::ThreadPool&);
using RopeQueryKernel = Kernel<RopeQueryDesc, RopeQueryRun>;
std::span<const RopeQueryKernel> rope_query_kernels();

/// kv_write: kv_a rows → cache rows: the latent normed, the rope part rotated, both encoded.
struct KvWriteDesc {
  int32_t latent = 512, rope = 64;
  KvType kv = KvType::kBf16;
  int32_t page_size = 16;
  std::string text() const;
};
struct KvWriteArgs {
  const float* kv_a = nullptr;  // [rows, latent + rope]
  int64_t kv_a_stride = 0;
  const tensor::bf16* weight = nullptr;  // kv_a_layernorm [latent]
  float eps = 0;
  RopeTables tables;
  CacheView cache;
  std::span<const SequenceView> sequences;  // their new tokens' rows are written
};
using KvWriteRun = void (*)(const KvWriteDesc&, const KvWriteArgs&, base::ThreadPool&);
using KvWriteKernel = Kernel<KvWriteDesc, KvWriteRun>;
std::span<const KvWriteKernel> kv_write_kernels();

}  // namespace headroom::kernels
